package import BatonModel

/// The facts that come from handlers, from the host and from the clock.
extension WorkerCore {
  /// A handler asks the coordinator a question. Each question is answered once, with the effect `Effect.answered` and
  /// this id.
  /// - Parameter id: a number that no other question of the launch has.
  package mutating func ask(_ launch: LaunchKey, _ question: Dialogue.Question, id: Int) -> [Effect] {
    guard let index = launches.index(forKey: launch) else {
      return [.answered(launch, question: id, .refused(WorkerLaunch.isOver, isSuperseded: true))]
    }
    let refusal = launches.values[index].ask(question, id: id)
    return refusal.map { [.answered(launch, question: id, $0)] } ?? askNext(index)
  }

  /// The handler no longer waits for the answer to this question.
  package mutating func giveUp(_ launch: LaunchKey, question id: Int) { launches[launch]?.giveUp(id) }

  /// Refuses all open questions and all later ones. The worker calls it when its run is cancelled: no answers come any
  /// more, and a handler must not wait for one.
  package mutating func cutOff() -> [Effect] {
    launches.keys.sorted().flatMap { launches[$0]?.cutOff(WorkerLaunch.isOver) ?? [] }
  }

  private mutating func askNext(_ index: [LaunchKey: WorkerLaunch].Index) -> [Effect] {
    // While the process is about to end, no question is sent. Otherwise another handler could go on to commit, and
    // would begin a new batch after each answer until the process ends.
    guard endsProcessAt == nil, let message = launches.values[index].askNext() else { return [] }
    return say(message)
  }

  /// Passes an answer of the coordinator to its launch, and sends the launch's next question.
  mutating func answer(_ launch: LaunchKey, _ body: (inout WorkerLaunch) -> [Effect]) -> [Effect] {
    guard let index = launches.index(forKey: launch) else { return [] }
    return body(&launches.values[index]) + askNext(index)
  }

  /// Sends a message that is sent again after each welcome until it is answered. Between a hello and its welcome
  /// nothing is sent, because the welcome sends the message anyway.
  private func say(_ message: WorkerMessage) -> [Effect] { openHello == nil ? [.send(message)] : [] }

  /// Records what a refresh found. The last call counts, and the ending carries the result.
  package mutating func conclude(_ launch: LaunchKey, _ result: RefreshResult) { launches[launch]?.conclude(result) }

  /// Records what is saved when the handler returns: it is sent together with the ending, so that both are in one
  /// transaction, and the handler waits for no answer. After any other end of the handler it is dropped.
  /// - Returns: a refusal if this cannot be saved; otherwise `nil`.
  package mutating func conclude(_ launch: LaunchKey, with commit: Commit) -> Dialogue.Answer? {
    guard let index = launches.index(forKey: launch) else { return .refused(WorkerLaunch.isOver, isSuperseded: true) }
    return launches.values[index].conclude(with: commit)
  }

  /// The handler has ended. The launch ends as `WorkerLaunch.ending(of:)` decides, and the coordinator is told. Two
  /// kinds of launches are forgotten at once instead: a superseded one, whose ending no longer counts, and those of a
  /// worker that shuts down without a lease.
  package mutating func handlerEnded(_ launch: LaunchKey, _ end: HandlerEnd) -> [Effect] {
    guard let index = launches.index(forKey: launch), !launches.values[index].hasEnded else { return [] }
    let (ending, isSuperseded) = (launches.values[index].ending(of: end), launches.values[index].isSuperseded)
    let answers = launches.values[index].end(ending)
    if isSuperseded || isLeaving { return answers + forget([launch]) }
    return answers + launches.values[index].news(processEnds: false).flatMap { say($0) }
  }

  /// Forgets launches that have ended for this worker and for the coordinator. A worker that shuts down ends when it
  /// has forgotten the last one.
  mutating func forget(_ keys: [LaunchKey]) -> [Effect] {
    for key in keys { launches[key] = nil }
    return keys.map { .forget($0) } + (isDraining && isQuiet ? [.end(nil)] : [])
  }

  /// Whether this worker shuts down and holds no lease. The coordinator records its launches as lost in any case, so
  /// the worker does not wait for the coordinator to store their endings. That wait could last for ever.
  private var isLeaving: Bool {
    if case .held = lease { return false }
    return isDraining
  }

  private mutating func forgetEndings() -> [Effect] { forget(isLeaving ? launchKeys { $0.hasEnded } : []) }

  /// The host's conditions have changed. The coordinator is told, and launches that the new conditions forbid expire at
  /// once, without a question to the coordinator.
  package mutating func conditionsChanged(_ conditions: Conditions, at now: Instant) -> [Effect] {
    measured = conditions
    conditionsReadAt = now
    return weighConditions(at: now)
  }

  /// Overrides conditions of the host until the instant `until`, for `baton simulate conditions`. Empty overrides end
  /// the simulation.
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
    return [.send(.conditions(conditions))]
      + running.flatMap { launch in
        Policy.expiry(of: launch.definition, under: conditions, isSimulated: launch.assignment.isSimulated).map {
          expireHere(launch.key, $0, at: now)
        } ?? []
      }
  }

  /// Begins the shutdown of the worker: it takes no new launches, and the running ones expire `draining`.
  package mutating func drain(at now: Instant) -> [Effect] {
    guard !isDraining else { return [] }
    isDraining = true
    return say(.draining) + running.flatMap { expireHere($0.key, .draining, at: now) } + forgetEndings()
  }

  /// How long to wait until the next tick. While there are launches it is 100 ms, well below the shortest lease and the
  /// shortest deadline. Without launches it is as long as the heartbeats allow, at most 1 s. The shell ends that wait
  /// early when a launch begins.
  package var tickInterval: Duration {
    guard launches.isEmpty, !isDraining, endsProcessAt == nil else { return Self.busyTickInterval }
    guard case .held(_, let term, _) = lease else { return .seconds(1) }
    return min(.seconds(1), max(Self.busyTickInterval, term / 10))
  }

  /// The time between two ticks while there are launches.
  package static let busyTickInterval = Duration.milliseconds(100)

  /// Returns what has become due at `now`: heartbeats, the end of the lease, of a simulation, of budgets and of closing
  /// windows, and the end of the worker.
  package mutating func tick(at now: Instant) -> [Effect] {
    heartbeat(at: now) + lapse(at: now) + giveUp(at: now) + endSimulation(at: now) + endLaunches(at: now)
      + loseHello(at: now) + leave(at: now) + endProcess(at: now)
  }

  /// How long a hello may stay unanswered. After that the worker closes the connection and opens another one. A worker
  /// that holds a lease and knows other coordinators waits at most a quarter of the lease's term; see `giveUp(at:)`.
  package static let helloPatience = Duration.seconds(10)

  private mutating func loseHello(at now: Instant) -> [Effect] {
    let patience = patienceForHello
    guard isOpen, let sentAt = openHello, now - sentAt >= patience else { return [] }
    openHello = now
    return [.reconnect("the coordinator did not answer the hello within \(patience.inWords)")]
  }

  private var patienceForHello: Duration {
    guard knowsOtherCoordinators, case .held(_, let term, _) = lease else { return Self.helloPatience }
    return min(Self.helloPatience, term / 4)
  }

  /// Gives up a coordinator that has not answered for half of the lease's term, if the worker knows others. The second
  /// half is left for them: with hellos that each wait for a quarter of the term, the worker can try more than one.
  /// The launches go on, because the lease still holds.
  private mutating func giveUp(at now: Instant) -> [Effect] {
    guard knowsOtherCoordinators, !hasGivenUp, openHello == nil, case .held(let until, let term, _) = lease,
      until - now <= term / 2
    else { return [] }
    hasGivenUp = true
    return [
      .reconnect("the coordinator has not answered for half of the lease's term, so another one is tried")
    ]
  }

  private mutating func heartbeat(at now: Instant) -> [Effect] {
    guard openHello == nil, case .held(let until, let term, var heartbeats) = lease,
      now - heartbeats.lastSentAt >= heartbeatInterval(term)
    else { return [] }
    lastHeartbeat += 1
    heartbeats.lastSentAt = now
    heartbeats.unanswered[lastHeartbeat] = now
    heartbeats.unanswered = heartbeats.unanswered.filter { now - $0.value < term }
    lease = .held(until: until, term: term, heartbeats: heartbeats)
    return [.send(.heartbeat(number: lastHeartbeat))]
  }

  /// The time between two heartbeats: a third of the term. A worker without launches has nothing to lose with its
  /// lease, and sends one each half of the term, unless it would give up its coordinator for another one by then.
  private func heartbeatInterval(_ term: Duration) -> Duration {
    launches.isEmpty && !knowsOtherCoordinators ? term / 2 : term / 3
  }

  /// Ends the lease when its time is over. All launches expire, because the coordinator gives them to other hosts.
  private mutating func lapse(at now: Instant) -> [Effect] {
    guard case .held(let until, _, _) = lease, until <= now else { return [] }
    lease = .none
    return running.flatMap { expireHere($0.key, .leaseLost, at: now) } + forgetEndings()
      + [.reconnect("the lease ran out before the coordinator renewed it")]
  }

  /// Expires launches whose budget is spent or whose batch takes too long, and handles the deadlines that have come.
  private mutating func endLaunches(at now: Instant) -> [Effect] {
    launchKeys { $0.dueAt.map { $0 <= now } ?? false }.flatMap { launch in
      if let reason = launches[launch]?.expiryDue(at: now), launches[launch]?.isRunning == true {
        return expireHere(launch, reason, at: now)
      }
      return (launches[launch]?.reachDeadline(at: now) ?? []) + condemn(launch, at: now)
    }
  }

  /// Decides that the process ends if a Swift handler has ignored its deadline, because nothing else frees the host.
  /// The coordinator is told before: it then sends no more launches to this worker, and does not give the slots of the
  /// launch to another launch until the process has ended.
  private mutating func condemn(_ launch: LaunchKey, at now: Instant) -> [Effect] {
    guard endsProcessOnOverrun, case .overrun(let window, _)? = launches[launch]?.life,
      launches[launch]?.definition.work == nil
    else { return [] }
    // If the machine was suspended, the deadline may be long past. The message still needs a moment to be sent.
    if endsProcessAt == nil { endsProcessAt = max(window.deadline + Self.partingMoment, now + Self.busyTickInterval) }
    return say(.overran(launch, window.reason))
  }

  /// The time from the deadline until the process ends. In this time the message `overran` is sent, and questions that
  /// were asked before may be answered. Other launches in the process do not make it longer.
  package static let partingMoment = Duration.milliseconds(300)

  private func endProcess(at now: Instant) -> [Effect] {
    endsProcessAt.map { $0 <= now } == true ? [.endProcess] : []
  }

  /// How long a worker that drains waits for the coordinator to store its endings, after its last launch has ended.
  /// After that the worker ends, and the coordinator records the launches as lost when the lease ends.
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

  /// Expires a launch for a reason that this worker has found, and tells the coordinator.
  mutating func expireHere(_ launch: LaunchKey, _ reason: ExpiryReason, at now: Instant) -> [Effect] {
    let effects = expire(launch, reason, at: now)
    return effects.isEmpty ? [] : effects + say(.expiring(launch, reason))
  }

  /// Expires a launch. Returns no effect if the launch is not known or has been asked to stop before.
  mutating func expire(_ launch: LaunchKey, _ reason: ExpiryReason, at now: Instant) -> [Effect] {
    launches[launch]?.expire(reason, at: now).map { [.expire(launch, $0)] } ?? []
  }

  /// Returns the sorted keys of the launches that meet `condition`. The launches are borrowed and not copied: every
  /// tick calls this, and copies would be most of its cost.
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
