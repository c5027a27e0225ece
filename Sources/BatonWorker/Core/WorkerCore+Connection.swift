package import BatonModel

/// What the connection brings.
extension WorkerCore {
  package mutating func connected(at now: Instant) -> [Effect] {
    if case .held = lease {} else { lease = .asked(at: now) }
    openHello = now
    let running = launches.values.filter { !$0.hasEnded }.map { launch in
      RunningLaunch(launch: launch.assignment.launch, gpus: launch.assignment.gpus)
    }
    let ended = launches.values.filter(\.hasEnded).map { RunningLaunch(launch: $0.assignment.launch) }
    let hello = Hello(
      host: host, incarnation: incarnation, version: version, capabilities: capabilities,
      conditions: conditions.aged(by: now - conditionsReadAt),
      running: (running + ended).sorted { $0.launch < $1.launch }, receipt: receipt, secret: secret)
    return [.send(.hello(hello))]
  }

  package mutating func received(_ message: CoordinatorMessage, at now: Instant) -> [Effect] {
    switch message {
    case .welcome(let term): return welcomed(term: term, at: now)
    case .refused(let text, isFinal: false): return [.reconnect(text)]
    case .refused(let text, isFinal: true): return turnedAway(text, at: now)
    case .heartbeatAnswered(let number): return answered(number)
    case .definition(let id, let definition): return learn(id, definition)
    case .unusableDefinition(let id, let problem):
      definitions[id] = .failure(problem)
      return []
    case .launch(let assignment): return assigned(assignment, at: now)
    case .items(let page): return found(page)
    case .itemsCommitted(let launch, let count, let isFrozen):
      return froze(launch, count: count, isFrozen: isFrozen)
    case .committed(let launch, let batch): return committed(launch, batch)
    case .expire(let launch, let reason): return expire(launch, reason, at: now)
    case .withdraw(let launch, let text): return withdrawn(launch, text, at: now)
    case .refuse(let launch, let text): return answer(launch, .refused(launch, text, isSuperseded: false))
    case .receipt(let receipt): return keep(receipt)
    case .simulate(let overrides, let lasting): return simulate(overrides, until: now + lasting, at: now)
    case .endingCommitted(let launch):
      guard launches[launch]?.hasEnded == true else { return [] }
      launches[launch] = nil
      return [.forget(launch)]
    }
  }

  private mutating func welcomed(term: Duration, at now: Instant) -> [Effect] {
    guard let sentAt = openHello else { return [] }
    openHello = nil
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
    return launches.values.sorted { $0.assignment.launch < $1.assignment.launch }.flatMap { launch in
      var effects: [Effect] = []
      if let message = launch.unanswered { effects.append(.send(message)) }
      switch launch.phase {
      case .running: break
      case .expiring(let reason, _, isOverrun: true) where endsProcessAt != nil:
        effects.append(.send(.overran(launch.assignment.launch, reason)))
      case .expiring(let reason, _, _): effects.append(.send(.expiring(launch.assignment.launch, reason)))
      case .ended(let ending): effects.append(.send(.ended(ending)))
      }
      return effects
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
    launches[launch] = WorkerLaunch(assignment: assignment, definition: definition, phase: .running, startedAt: now)
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
    launches[assignment.launch] = WorkerLaunch(
      assignment: assignment,
      definition: Definition(pattern: IdentifierPattern(assignment.identifier), kind: .processing),
      phase: .ended(ending), startedAt: now)
    return [.send(.ended(ending))]
  }

  private mutating func committed(_ launch: LaunchKey, _ batch: Int) -> [Effect] {
    guard case .checkpoint(let checkpoint)? = launches[launch]?.unanswered, checkpoint.batch == batch else { return [] }
    launches[launch]?.unanswered = nil
    launches[launch]?.assignment.progress = Progress(
      batches: checkpoint.batch + (checkpoint.isEndOnly ? 0 : 1), cursor: checkpoint.cursor,
      completedUnits: checkpoint.completedUnits, totalUnits: checkpoint.totalUnits)
    return [.committed(launch, batch: batch)]
  }

  /// Only what was asked for: an answer that comes late or twice must not stand for the items of another batch.
  private mutating func found(_ page: ItemPage) -> [Effect] {
    guard case .itemsWanted(_, page.start, let count)? = launches[page.launch]?.unanswered, page.items.count <= count
    else { return [] }
    return answer(page.launch, .items(page))
  }

  /// Only if the page that was sent is in the store.
  private mutating func froze(_ launch: LaunchKey, count: Int, isFrozen: Bool) -> [Effect] {
    if isFrozen { launches[launch]?.assignment.frozenItems = count }
    guard case .items(let page)? = launches[launch]?.unanswered,
      isFrozen || (count >= page.start + page.items.count && !page.isLast)
    else { return [] }
    return answer(launch, .itemsCommitted(launch, count: count, isFrozen: isFrozen))
  }

  /// The coordinator takes no word of this worker: whoever waits for an answer must not wait for ever.
  private mutating func turnedAway(_ text: String, at now: Instant) -> [Effect] {
    launches.keys.sorted().flatMap { launch in
      launches[launch]?.isCutOff = true
      return answer(launch, .refused(launch, text, isSuperseded: true)) + expire(launch, .leaseLost, at: now)
    } + [.end(text)]
  }

  private mutating func answer(_ launch: LaunchKey, _ effect: Effect) -> [Effect] {
    guard launches[launch]?.unanswered != nil else { return [] }
    launches[launch]?.unanswered = nil
    return [effect]
  }

  /// The launch is not this worker's any more: it can save nothing, so it stops at once.
  private mutating func withdrawn(_ launch: LaunchKey, _ text: String, at now: Instant) -> [Effect] {
    guard let state = launches[launch] else { return [] }
    if state.hasEnded {
      launches[launch] = nil
      return [.forget(launch)]
    }
    let refusal = answer(launch, .refused(launch, text, isSuperseded: true))
    return refusal + expire(launch, .superseded, at: now)
  }
}

extension WorkerLaunch {
  package var hasEnded: Bool { if case .ended = phase { true } else { false } }
}
