package import BatonModel

/// What handlers and the host bring.
extension WorkerCore {
  /// A handler finished a batch. The answer is `committed` or `refused`; a launch has one question open at a time.
  package mutating func checkpoint(_ launch: LaunchKey, _ checkpoint: Checkpoint) -> [Effect] {
    ask(launch, .checkpoint(checkpoint))
  }

  /// The first launch found items. The answer is `itemsCommitted` or `refused`.
  package mutating func freeze(_ page: ItemPage) -> [Effect] { ask(page.launch, .items(page)) }

  /// The answer is `items` or `refused`.
  package mutating func wantItems(_ launch: LaunchKey, start: Int, count: Int) -> [Effect] {
    ask(launch, .itemsWanted(launch, start: start, count: count))
  }

  private mutating func ask(_ launch: LaunchKey, _ message: WorkerMessage) -> [Effect] {
    guard let state = launches[launch], !state.hasEnded, !state.isCutOff else {
      return [.refused(launch, "the launch is over", isSuperseded: true)]
    }
    if state.isSuperseded { return [.refused(launch, "another launch of this request is live", isSuperseded: true)] }
    precondition(state.unanswered == nil, "launch \(launch) asks again before it was answered")
    // Not even sent: a sibling that commits all the time would begin a batch after each answer until the process is gone.
    if endsProcessAt != nil { return [] }
    launches[launch]?.unanswered = message
    return say(message)
  }

  /// Something that is said again after each welcome until it is answered.
  private func say(_ message: WorkerMessage) -> [Effect] { openHello == nil ? [.send(message)] : [] }

  /// The handler returned or threw. Whatever it threw after it was asked to stop, the launch has expired; returning is
  /// completion even then.
  /// - Parameters:
  ///   - result: what a refresh said that it found.
  ///   - errorType: what kind of error a failure was; left out where the launch has not failed.
  package mutating func handlerEnded(
    _ launch: LaunchKey, _ outcome: LaunchOutcome, isGraceful: Bool, result: RefreshResult? = nil,
    errorType: String? = nil
  ) -> [Effect] {
    guard let index = launches.index(forKey: launch), !launches.values[index].hasEnded else { return [] }
    var ending = Ending(launch: launch, outcome: outcome, isGraceful: isGraceful, result: result)
    let isSuperseded = launches.values[index].end(&ending, errorType)
    if isSuperseded || isLeaving {
      launches[launch] = nil
      return [.forget(launch)]
    }
    return say(.ended(ending))
  }

  /// It shuts down and holds no lease: its launches are lost to the coordinator anyway, and waiting until that answers
  /// could be for ever.
  private var isLeaving: Bool {
    if case .held = lease { return false }
    return isDraining
  }

  private mutating func forgetEndings() -> [Effect] {
    guard isLeaving else { return [] }
    let ended = launches.values.filter(\.hasEnded).map(\.assignment.launch).sorted()
    for launch in ended { launches[launch] = nil }
    return ended.map { .forget($0) }
  }

  /// The host's conditions changed: the coordinator hears of it, and what they forbid expires at once.
  package mutating func conditionsChanged(_ conditions: Conditions, at now: Instant) -> [Effect] {
    measured = conditions
    conditionsReadAt = now
    return weighConditions(at: now)
  }

  /// Puts other conditions in the place of the real ones until then; none at all takes them back.
  mutating func simulate(_ overrides: ConditionOverrides, until: Instant, at now: Instant) -> [Effect] {
    simulation = overrides.isEmpty ? nil : (overrides, until)
    return weighConditions(at: now)
  }

  private mutating func endSimulation(at now: Instant) -> [Effect] {
    guard let simulation, simulation.until <= now else { return [] }
    self.simulation = nil
    return weighConditions(at: now)
  }

  private mutating func weighConditions(at now: Instant) -> [Effect] {
    let conditions = simulation?.overrides.applied(to: measured) ?? measured
    guard conditions != self.conditions else { return [] }
    self.conditions = conditions
    #if PLANTED_BUGS
      if isPlanted(.runsOnBattery) { return [.send(.conditions(conditions))] }
    #endif
    return [.send(.conditions(conditions))]
      + running.flatMap { launch in
        Policy.expiry(of: launch.definition, under: conditions, isSimulated: launch.assignment.isSimulated).map {
          expireHere(launch.assignment.launch, $0, at: now)
        } ?? []
      }
  }

  /// Takes nothing new and expires what runs.
  package mutating func drain(at now: Instant) -> [Effect] {
    guard !isDraining else { return [] }
    isDraining = true
    return say(.draining) + running.flatMap { expireHere($0.assignment.launch, .draining, at: now) } + forgetEndings()
  }

  /// How soon the next tick is due: well below the shortest lease and deadline while there is work, and where there is
  /// none, as seldom as heartbeats allow. The first launch makes it due at once.
  package var tickInterval: Duration {
    guard launches.isEmpty, !isDraining, endsProcessAt == nil else { return Self.busyTickInterval }
    guard case .held(_, let term, _) = lease else { return .seconds(1) }
    return min(.seconds(1), max(Self.busyTickInterval, term / 10))
  }

  package static let busyTickInterval = Duration.milliseconds(100)

  /// Time has passed: heartbeats, the lease, budgets and deadlines.
  package mutating func tick(at now: Instant) -> [Effect] {
    heartbeat(at: now) + lapse(at: now) + endSimulation(at: now) + spend(at: now) + overrun(at: now)
      + loseHello(at: now) + endProcess(at: now)
  }

  /// How long a hello may stay unanswered: a connection that goes nowhere is given up.
  package static let helloPatience = Duration.seconds(10)

  private mutating func loseHello(at now: Instant) -> [Effect] {
    #if PLANTED_BUGS
      if isPlanted(.waitsForEverForWelcome) { return [] }
    #endif
    guard let sentAt = openHello, now - sentAt >= Self.helloPatience else { return [] }
    openHello = now
    return [.reconnect("the coordinator did not answer the hello within \(Self.helloPatience)")]
  }

  private mutating func heartbeat(at now: Instant) -> [Effect] {
    guard openHello == nil, case .held(let until, let term, var heartbeats) = lease,
      now - heartbeats.lastSentAt >= term / 3
    else { return [] }
    lastHeartbeat += 1
    heartbeats.lastSentAt = now
    heartbeats.unanswered[lastHeartbeat] = now
    heartbeats.unanswered = heartbeats.unanswered.filter { now - $0.value < term }
    lease = .held(until: until, term: term, heartbeats: heartbeats)
    return [.send(.heartbeat(number: lastHeartbeat))]
  }

  /// Without a lease nothing may run on: the coordinator gives it to others.
  private mutating func lapse(at now: Instant) -> [Effect] {
    #if PLANTED_BUGS
      if isPlanted(.outlivesLease) { return [] }
    #endif
    guard case .held(let until, _, _) = lease, until <= now else { return [] }
    lease = .none
    return running.flatMap { expireHere($0.assignment.launch, .leaseLost, at: now) } + forgetEndings()
      + [.reconnect("the lease ran out before the coordinator renewed it")]
  }

  private mutating func spend(at now: Instant) -> [Effect] {
    #if PLANTED_BUGS
      if isPlanted(.forgetsBudget) { return [] }
    #endif
    return launchKeys { $0.isRunning && $0.budgetEndsAt.map { $0 <= now } ?? false }
      .flatMap { expireHere($0, .budgetSpent, at: now) }
  }

  private mutating func overrun(at now: Instant) -> [Effect] {
    #if PLANTED_BUGS
      if isPlanted(.forgetsDeadline) { return [] }
    #endif
    return launchKeys { $0.expiry.map { $0.deadline <= now } ?? false }.flatMap { launch -> [Effect] in
      guard case .expiring(let reason, let deadline, false)? = launches[launch]?.phase, deadline <= now else {
        return []
      }
      if launches[launch]?.unanswered != nil { return cutOff(launch, reason, at: now) }
      launches[launch]?.phase = .expiring(reason, deadline: deadline, isOverrun: true)
      return [.overrun(launch)]
    }
  }

  /// A handler that waits for an answer at its deadline ignores nothing: the coordinator is away. It waits no longer,
  /// and gets a moment to return; its process need not end for that.
  private mutating func cutOff(_ launch: LaunchKey, _ reason: ExpiryReason, at now: Instant) -> [Effect] {
    launches[launch]?.unanswered = nil
    launches[launch]?.isCutOff = true
    launches[launch]?.phase = .expiring(reason, deadline: now + Self.lastMoment, isOverrun: false)
    return [.refused(launch, "no answer came before the launch had to end", isSuperseded: true)]
  }

  /// What a handler has to return that waited for an answer at its deadline. With `partingMoment` and two ticks it makes
  /// less than the second within which the process of a handler that ignores its deadline is gone.
  package static let lastMoment = Duration.milliseconds(500)

  /// The process has to end, because this launch's handler ignored its deadline. The coordinator hears it first: it sends
  /// no more launches here, and gives nobody what the launch holds before the process is gone.
  package mutating func condemn(_ launch: LaunchKey, at now: Instant) -> [Effect] {
    guard case .expiring(let reason, let deadline, isOverrun: true)? = launches[launch]?.phase else { return [] }
    // On a machine that was stopped the deadline may be long past: the word needs a moment all the same.
    if endsProcessAt == nil { endsProcessAt = max(deadline + Self.partingMoment, now + Self.busyTickInterval) }
    return say(.overran(launch, reason))
  }

  /// How long a process that has to end goes on: for the word to get out, and for answers to what was asked before. It
  /// does not depend on what else runs there.
  package static let partingMoment = Duration.milliseconds(300)

  private func endProcess(at now: Instant) -> [Effect] {
    endsProcessAt.map { $0 <= now } == true ? [.endProcess] : []
  }

  /// Expires a launch because of something here, and tells the coordinator.
  mutating func expireHere(_ launch: LaunchKey, _ reason: ExpiryReason, at now: Instant) -> [Effect] {
    let effects = expire(launch, reason, at: now)
    return effects.isEmpty ? [] : effects + say(.expiring(launch, reason))
  }

  /// The first reason wins: one launch, one cause, one span status.
  mutating func expire(_ launch: LaunchKey, _ reason: ExpiryReason, at now: Instant) -> [Effect] {
    guard let state = launches[launch] else { return [] }
    switch state.phase {
    case .running:
      let deadline = now + reason.closingWindow(of: state.definition)
      launches[launch]?.phase = .expiring(reason, deadline: deadline, isOverrun: false)
      return [.expire(launch, reason, deadline: deadline)]
    case .expiring(let first, let deadline, let isOverrun):
      guard reason == .superseded, first != .superseded else { return [] }
      launches[launch]?.phase = .expiring(reason, deadline: deadline, isOverrun: isOverrun)
      return []
    case .ended:
      return []
    }
  }

  /// The launches that are as `condition` says, in their order. They are looked at where they are: each tick asks, and
  /// copies would be most of what it costs.
  private func launchKeys(where condition: (borrowing WorkerLaunch) -> Bool) -> [LaunchKey] {
    var keys: [LaunchKey] = []
    var index = launches.startIndex
    while index != launches.endIndex {
      if condition(launches.values[index]) { keys.append(launches.keys[index]) }
      launches.formIndex(after: &index)
    }
    return keys.sorted()
  }

  private var running: [WorkerLaunch] {
    launches.values.filter(\.isRunning).sorted { $0.assignment.launch < $1.assignment.launch }
  }
}

extension WorkerLaunch {
  /// The handler is through. Completes what is said of it, and answers whether there is another launch by now.
  fileprivate mutating func end(_ ending: inout Ending, _ errorType: String?) -> Bool {
    let wasSuperseded = isSuperseded
    if case .expiring(_, _, isOverrun: true) = phase, definition.work == nil { ending.isGraceful = false }
    if let (reason, _) = expiry, ending.outcome != .finished { ending.outcome = .expired(reason) }
    if case .failed = ending.outcome { ending.errorType = errorType }
    unanswered = nil
    phase = .ended(ending)
    return wasSuperseded
  }

  var isRunning: Bool { if case .running = phase { true } else { false } }
  var isSuperseded: Bool { expiry?.reason == .superseded }
}
