package import BatonModel

/// The facts that come from the connection: that it was opened, and the coordinator's messages.
extension WorkerCore {
  /// A connection was opened. Returns the hello, which must be the first message on it.
  package mutating func connected(at now: Instant) -> [Effect] {
    if case .held = lease {} else { lease = .asked(at: now) }
    (openHello, isOpen) = (now, true)
    // A launch that has ended is named until the coordinator has stored its ending, but its GPUs are free.
    let running = launches.values.map { RunningLaunch(launch: $0.key, gpus: $0.hasEnded ? [] : $0.assignment.gpus) }
      .sorted { $0.launch < $1.launch }
    let hello = Hello(
      host: host, incarnation: incarnation, version: version, capabilities: capabilities,
      conditions: conditions.aged(by: now - conditionsReadAt),
      running: running, receipts: receipts, secret: secret)
    return [.send(.hello(hello))]
  }

  /// The connection was closed. A hello on it waits for no answer any more.
  package mutating func disconnected() { isOpen = false }

  /// Returns how long to wait before the next attempt to connect.
  /// - Parameter lifetime: how long the connection that has just ended lasted, or the attempt that failed took.
  package mutating func pauseBeforeConnecting(
    afterConnectionOf lifetime: Duration, using generator: inout some RandomNumberGenerator
  ) -> Duration {
    // A tenth of the lease: a coordinator that comes back within the lease finds the worker in time.
    var longest = Reconnection.longestRefused
    if case .held(_, let term, _) = lease { longest = min(term / 10, Reconnection.longest) }
    return reconnection.next(afterConnectionOf: lifetime, refusals: refusals, atMost: longest, using: &generator)
  }

  /// Takes a message of the coordinator, and returns what follows from it.
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
    case .itemsCommitted(let launch, let count, let isFrozen, let end):
      return answer(launch) { $0.itemsCommitted(count, isFrozen: isFrozen, end: end, at: now) }
    case .committed(let launch, let batch, let end): return answer(launch) { $0.committed(batch, end: end, at: now) }
    case .refuse(let launch, let text): return answer(launch) { $0.refused(text) }
    case .submitted(let launch, let name, let reply): return answer(launch) { $0.submitted(name, reply) }
    case .expire(let launch, let reason): return expire(launch, reason, at: now)
    case .withdraw(let launch, let text): return withdrawn(launch, text, at: now)
    case .receipt(let receipt): return keep(receipt)
    case .simulate(let overrides, let lasting): return simulate(overrides, until: now + lasting, at: now)
    // The driver passes them on to the host's transfers.
    case .transfers: return []
    case .endingCommitted(let launch):
      return launches[launch]?.hasEnded == true ? forget([launch]) : []
    }
  }

  private mutating func welcomed(term: Duration, at now: Instant) -> [Effect] {
    guard let sentAt = openHello else { return [] }
    (openHello, refusals, hasGivenUp) = (nil, 0, false)
    lease = .held(until: sentAt + term, term: term, heartbeats: Heartbeats(lastSentAt: sentAt))
    return (isDraining ? [.send(.draining)] : []) + repeated()
  }

  /// Returns all messages that have not been answered yet, to be sent again after a welcome.
  private func repeated() -> [Effect] {
    return launches.values.sorted { $0.key < $1.key }.flatMap { launch in
      ((launch.dialogue.unanswered.map { [$0] } ?? []) + launch.news(processEnds: endsProcessAt != nil)).map {
        .send($0)
      }
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
    // Another store may give out launch numbers that this worker has seen. A store that went backwards has a new name,
    // so it is another store here.
    if let last = receipts.last, last.store != news.store { seen = SeenLaunches() }
    Receipt.keep(news, among: &receipts)
    return []
  }

  /// Stores a definition, or the reason why it cannot be run. The worker checks the rules itself, because the
  /// coordinator may have an older version, or an old store.
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
    // If a withdrawn launch is assigned again, a store that went backwards has given its number to another launch.
    let isOther = launches[launch]?.isSuperseded == true
    if launches[launch] != nil, !isOther { return [] }
    if isOther || seen.contains(launch) { return [.send(.ended(Ending(launch: launch, outcome: .lost)))] }
    // The assignment was on its way when the coordinator learned that this process ends. Another host takes the launch.
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

  /// Ends a launch that cannot begin as failed. The ending is sent again after each welcome until the coordinator has
  /// stored it.
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

  /// The coordinator refuses this worker. After a final refusal no question will be answered, so all questions are
  /// refused, every launch expires, and the worker ends. Otherwise the worker connects again.
  private mutating func refused(_ text: String, isFinal: Bool, at now: Instant) -> [Effect] {
    refusals += 1
    guard isFinal else { return [.reconnect(text)] }
    return launches.keys.sorted().flatMap { launch in
      (launches[launch]?.cutOff(text) ?? []) + expire(launch, .leaseLost, at: now)
    } + [.end(text)]
  }

  /// The coordinator has withdrawn the launch, for example because another launch of the request is live. It can save
  /// nothing more, so it expires `superseded`, which has a short closing window.
  private mutating func withdrawn(_ launch: LaunchKey, _ text: String, at now: Instant) -> [Effect] {
    if launches[launch]?.hasEnded == true { return forget([launch]) }
    return (launches[launch]?.refuseAll(text) ?? []) + expire(launch, .superseded, at: now)
  }
}
