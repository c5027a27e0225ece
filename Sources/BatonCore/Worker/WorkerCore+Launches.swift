package import BatonModel

/// What handlers and the host bring.
extension WorkerCore {
  /// A handler asks something. The answer comes as `answered` with this number, sooner or later.
  /// - Parameter id: no other question of the launch has it.
  package mutating func ask(_ launch: LaunchKey, _ question: Dialogue.Question, id: Int) -> [Effect] {
    guard let index = launches.index(forKey: launch) else {
      return [.answered(launch, question: id, .refused(WorkerLaunch.isOver, isSuperseded: true))]
    }
    let refusal = launches.values[index].ask(question, id: id)
    return refusal.map { [.answered(launch, question: id, $0)] } ?? askNext(launch)
  }

  /// The handler does not wait for the answer any more.
  package mutating func giveUp(_ launch: LaunchKey, question id: Int) { launches[launch]?.giveUp(id) }

  /// This worker gets no answers any more, because it does not go on: nothing may wait for one.
  package mutating func cutOff() -> [Effect] {
    launches.keys.sorted().flatMap { launches[$0]?.cutOff(WorkerLaunch.isOver) ?? [] }
  }

  private mutating func askNext(_ launch: LaunchKey) -> [Effect] {
    // Not even sent: a sibling that commits all the time would begin a batch after each answer until the process is gone.
    guard endsProcessAt == nil, let message = launches[launch]?.askNext() else { return [] }
    return say(message)
  }

  /// The coordinator has answered, and the launch says whom.
  mutating func answer(_ launch: LaunchKey, _ body: (inout WorkerLaunch) -> [Effect]) -> [Effect] {
    guard let index = launches.index(forKey: launch) else { return [] }
    return body(&launches.values[index]) + askNext(launch)
  }

  /// Something that is said again after each welcome until it is answered.
  private func say(_ message: WorkerMessage) -> [Effect] { openHello == nil ? [.send(message)] : [] }

  /// A refresh says what it found. The last word counts, and goes with the ending.
  package mutating func conclude(_ launch: LaunchKey, _ result: RefreshResult) { launches[launch]?.conclude(result) }

  /// The handler is through: the launch has ended as `WorkerLaunch.ending(of:)` says.
  package mutating func handlerEnded(_ launch: LaunchKey, _ end: HandlerEnd) -> [Effect] {
    guard let index = launches.index(forKey: launch), !launches.values[index].hasEnded else { return [] }
    let (ending, isSuperseded) = (launches.values[index].ending(of: end), launches.values[index].isSuperseded)
    let answers = launches.values[index].end(ending)
    return answers + (isSuperseded || isLeaving ? forget([launch]) : say(.ended(ending)))
  }

  /// These launches are over for both sides. A worker that shuts down ends with the last of them.
  mutating func forget(_ keys: [LaunchKey]) -> [Effect] {
    for key in keys { launches[key] = nil }
    return keys.map { .forget($0) } + (isDraining && isQuiet ? [.end(nil)] : [])
  }

  /// It shuts down and holds no lease: its launches are lost to the coordinator anyway, and waiting until that answers
  /// could be for ever.
  private var isLeaving: Bool {
    if case .held = lease { return false }
    return isDraining
  }

  private mutating func forgetEndings() -> [Effect] { forget(isLeaving ? launchKeys { $0.hasEnded } : []) }

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
          expireHere(launch.key, $0, at: now)
        } ?? []
      }
  }

  /// Takes nothing new and expires what runs.
  package mutating func drain(at now: Instant) -> [Effect] {
    guard !isDraining else { return [] }
    isDraining = true
    return say(.draining) + running.flatMap { expireHere($0.key, .draining, at: now) } + forgetEndings()
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
    heartbeat(at: now) + lapse(at: now) + endSimulation(at: now) + endLaunches(at: now) + loseHello(at: now)
      + leave(at: now) + endProcess(at: now)
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
    return running.flatMap { expireHere($0.key, .leaseLost, at: now) } + forgetEndings()
      + [.reconnect("the lease ran out before the coordinator renewed it")]
  }

  /// Budgets that are spent, and deadlines that have come.
  private mutating func endLaunches(at now: Instant) -> [Effect] {
    launchKeys { $0.dueAt.map { $0 <= now } ?? false }.flatMap { launch in
      if launches[launch]?.isRunning == true { return spendBudget(launch, at: now) }
      #if PLANTED_BUGS
        if isPlanted(.forgetsDeadline) { return [] }
      #endif
      return (launches[launch]?.reachDeadline(at: now) ?? []) + condemn(launch, at: now)
    }
  }

  private mutating func spendBudget(_ launch: LaunchKey, at now: Instant) -> [Effect] {
    #if PLANTED_BUGS
      if isPlanted(.forgetsBudget) { return [] }
    #endif
    return expireHere(launch, .budgetSpent, at: now)
  }

  /// The process has to end if this launch's Swift handler ignored its deadline: nothing else frees the host. The
  /// coordinator hears it first: it sends no more launches here, and gives nobody what the launch holds before the process
  /// is gone.
  private mutating func condemn(_ launch: LaunchKey, at now: Instant) -> [Effect] {
    guard endsProcessOnOverrun, case .overrun(let window, _)? = launches[launch]?.life,
      launches[launch]?.definition.work == nil
    else { return [] }
    // On a machine that was stopped the deadline may be long past: the word needs a moment all the same.
    if endsProcessAt == nil { endsProcessAt = max(window.deadline + Self.partingMoment, now + Self.busyTickInterval) }
    return say(.overran(launch, window.reason))
  }

  /// How long a process that has to end goes on: for the word to get out, and for answers to what was asked before. It
  /// does not depend on what else runs there.
  package static let partingMoment = Duration.milliseconds(300)

  private func endProcess(at now: Instant) -> [Effect] {
    endsProcessAt.map { $0 <= now } == true ? [.endProcess] : []
  }

  /// How long a worker that drains waits for the coordinator to commit its endings. Then the end of its lease tells them.
  package static let drainPatience = Duration.seconds(10)

  private mutating func leave(at now: Instant) -> [Effect] {
    guard isDraining, launches.values.allSatisfy(\.hasEnded) else {
      onlyWaitsSince = nil
      return []
    }
    let since = onlyWaitsSince ?? now
    onlyWaitsSince = since
    return now - since > Self.drainPatience ? [.end(nil)] : []
  }

  /// Expires a launch because of something here, and tells the coordinator.
  mutating func expireHere(_ launch: LaunchKey, _ reason: ExpiryReason, at now: Instant) -> [Effect] {
    let effects = expire(launch, reason, at: now)
    return effects.isEmpty ? [] : effects + say(.expiring(launch, reason))
  }

  mutating func expire(_ launch: LaunchKey, _ reason: ExpiryReason, at now: Instant) -> [Effect] {
    launches[launch]?.expire(reason, at: now).map { [.expire(launch, $0)] } ?? []
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

  private var running: [WorkerLaunch] { launches.values.filter(\.isRunning).sorted { $0.key < $1.key } }
}
