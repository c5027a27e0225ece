package import BatonModel

/// What the connection brings.
extension WorkerCore {
  package mutating func connected(at now: Instant) -> [Effect] {
    if case .held = lease {} else { lease = .asked(at: now) }
    openHello = now
    // The GPUs of a launch that has ended are free.
    let running = launches.values.map { RunningLaunch(launch: $0.key, gpus: $0.hasEnded ? [] : $0.assignment.gpus) }
      .sorted { $0.launch < $1.launch }
    let hello = Hello(
      host: host, incarnation: incarnation, version: version, capabilities: capabilities,
      conditions: conditions.aged(by: now - conditionsReadAt),
      running: running, receipt: receipt, secret: secret)
    return [.send(.hello(hello))]
  }

  /// How long to wait before the next attempt to connect.
  /// - Parameter lifetime: of the connection that has just ended, or of the attempt that failed.
  package mutating func pauseBeforeConnecting(
    afterConnectionOf lifetime: Duration, using generator: inout some RandomNumberGenerator
  ) -> Duration {
    // A tenth of the lease: a coordinator that comes back within the lease finds the worker in time.
    var longest = Reconnection.longestRefused
    if case .held(_, let term, _) = lease { longest = min(term / 10, Reconnection.longest) }
    return reconnection.next(afterConnectionOf: lifetime, refusals: refusals, atMost: longest, using: &generator)
  }

  package mutating func received(_ message: CoordinatorMessage, at now: Instant) -> [Effect] {
    switch message {
    case .welcome(let term): return welcomed(term: term, at: now)
    case .refused(let text, let isFinal): return refused(text, isFinal: isFinal, at: now)
    case .heartbeatAnswered(let number): return answered(number)
    case .definition(let id, let definition): return learn(id, definition)
    case .unusableDefinition(let id, let problem):
      definitions[id] = .failure(problem)
      return []
    case .launch(let assignment): return assigned(assignment, at: now)
    case .items(let page): return answer(page.launch) { $0.found(page) }
    case .itemsCommitted(let launch, let count, let isFrozen):
      return answer(launch) { $0.itemsCommitted(count, isFrozen: isFrozen) }
    case .committed(let launch, let batch): return answer(launch) { $0.committed(batch) }
    case .refuse(let launch, let text): return answer(launch) { $0.refused(text) }
    case .expire(let launch, let reason): return expire(launch, reason, at: now)
    case .withdraw(let launch, let text): return withdrawn(launch, text, at: now)
    case .receipt(let receipt): return keep(receipt)
    case .simulate(let overrides, let lasting): return simulate(overrides, until: now + lasting, at: now)
    case .endingCommitted(let launch):
      return launches[launch]?.hasEnded == true ? forget([launch]) : []
    }
  }

  private mutating func welcomed(term: Duration, at now: Instant) -> [Effect] {
    guard let sentAt = openHello else { return [] }
    (openHello, refusals) = (nil, 0)
    lease = .held(until: sentAt + term, term: term, heartbeats: Heartbeats(lastSentAt: sentAt))
    #if PLANTED_BUGS
      if isPlanted(.countsLeaseFromWelcome) {
        lease = .held(until: now + term, term: term, heartbeats: Heartbeats(lastSentAt: sentAt))
      }
    #endif
    return (isDraining ? [.send(.draining)] : []) + repeated()
  }

  /// Everything that waits for an answer, said again.
  private func repeated() -> [Effect] {
    #if PLANTED_BUGS
      if isPlanted(.saysNothingAgain) { return [] }
    #endif
    return launches.values.sorted { $0.key < $1.key }.flatMap { launch in
      [launch.dialogue.unanswered, launch.news(processEnds: endsProcessAt != nil)].compactMap { $0.map { .send($0) } }
    }
  }

  private mutating func answered(_ number: Int) -> [Effect] {
    guard case .held(let until, let term, var heartbeats) = lease,
      let sentAt = heartbeats.unanswered.removeValue(forKey: number)
    else { return [] }
    heartbeats.unanswered = heartbeats.unanswered.filter { $0.key > number }
    lease = .held(until: max(until, sentAt + term), term: term, heartbeats: heartbeats)
    return []
  }

  private mutating func keep(_ news: Receipt) -> [Effect] {
    // A store that went backwards, or another one, gives numbers out again.
    if let receipt, receipt.store != news.store { seen = SeenLaunches() }
    if receipt?.join(news) == nil { receipt = news }
    return []
  }

  /// The worker holds a definition to the rules itself: the coordinator may be older, or have an old store.
  private mutating func learn(_ id: DefinitionID, _ definition: Definition) -> [Effect] {
    do throws(DefinitionProblem) {
      try definition.validate()
      definitions[id] = .success(definition)
    } catch {
      definitions[id] = .failure(error)
    }
    return []
  }

  private mutating func assigned(_ assignment: Assignment, at now: Instant) -> [Effect] {
    let launch = assignment.launch
    // One that was withdrawn and is assigned again is another launch of the same number, by a store that went backwards.
    let isOther = launches[launch]?.isSuperseded == true
    if launches[launch] != nil, !isOther { return [] }
    if isOther || seen.contains(launch) { return [.send(.ended(Ending(launch: launch, outcome: .lost)))] }
    // It was on its way when the coordinator heard that this process ends; another host takes it.
    if endsProcessAt != nil { return [.send(.ended(Ending(launch: launch, outcome: .expired(.draining))))] }
    let definition: Definition
    do throws(DefinitionProblem) {
      guard let known = definitions[assignment.definition] else {
        return [.reconnect("launch \(launch) came before its definition")]
      }
      definition = try known.get()
      try definition.validate(assignment.identifier)
    } catch {
      return fail(assignment, error, at: now)
    }
    seen.insert(launch)
    launches[launch] = WorkerLaunch(assignment, definition, at: now)
    var effects: [Effect] = [.start(assignment, definition)]
    if let reason = assignment.pendingExpiry {
      effects += expire(launch, reason, at: now)
    } else if isDraining {
      effects += expireHere(launch, .draining, at: now)
    } else if let reason = Policy.expiry(
      of: definition, under: conditions, isSimulated: assignment.isSimulated)
    {
      effects += expireHere(launch, reason, at: now)
    }
    return effects
  }

  /// A launch that cannot begin. It ends failed, and is said to have until the coordinator knows.
  private mutating func fail(_ assignment: Assignment, _ problem: DefinitionProblem, at now: Instant) -> [Effect] {
    seen.insert(assignment.launch)
    let ending = Ending(
      launch: assignment.launch, outcome: .failed("the definition cannot be run: \(problem)"),
      errorType: "invalidDefinition")
    let definition = Definition(pattern: IdentifierPattern(assignment.identifier), kind: .processing)
    var launch = WorkerLaunch(assignment, definition, at: now)
    _ = launch.end(ending)
    launches[launch.key] = launch
    return [.send(.ended(ending))]
  }

  /// The coordinator does not take this worker, now or ever. If it never will, no answer comes to what was asked.
  private mutating func refused(_ text: String, isFinal: Bool, at now: Instant) -> [Effect] {
    refusals += 1
    guard isFinal else { return [.reconnect(text)] }
    return launches.keys.sorted().flatMap { launch in
      (launches[launch]?.cutOff(text) ?? []) + expire(launch, .leaseLost, at: now)
    } + [.end(text)]
  }

  /// The launch is not this worker's any more: it can save nothing, so it stops at once.
  private mutating func withdrawn(_ launch: LaunchKey, _ text: String, at now: Instant) -> [Effect] {
    if launches[launch]?.hasEnded == true { return forget([launch]) }
    return (launches[launch]?.refuseAll(text) ?? []) + expire(launch, .superseded, at: now)
  }
}
