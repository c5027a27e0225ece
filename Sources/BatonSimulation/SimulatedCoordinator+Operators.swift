import BatonCoordinator
import BatonModel
import BatonStore

/// What clients and operators ask for, as `Coordinator+Submit`, `Coordinator+Operators` and `Coordinator+Simulate`
/// answer it.
extension SimulatedCoordinator {
  // MARK: Submitting

  func submit(
    _ submission: Submission, _ plan: Schedule.RequestPlan, then: @escaping (SubmissionAnswer) throws -> Void
  ) throws {
    let now = now().moment
    guard let stored = index.definition(for: submission.identifier) else {
      return try then(.refused(.notPermitted(submission.identifier, nearest: nil)))
    }
    dispatcher.learn(stored.id, stored.definition)
    let (offer, reservation) = offer(submission, stored)
    writer.write(.ordinary) {
      try $0.submit([offer], at: now)
    } committed: { [world] answers in
      guard case .accepted(let receipt, _, let launch, let isRepeat)? = answers.first else { return }
      if !isRepeat { try world.journal.submitted(plan, receipt, at: now.steady) }
      guard let launch, let place = offer.host else { return }
      try world.started(launch, on: place.host, place.incarnation, at: now)
    } then: { [self] result in
      let answer = try result.get()[0]
      try decide { dispatcher in
        let isUse = submission.poke == nil && answer.isAccepted
        return settle(answer, reservation, &dispatcher)
          + (isUse ? dispatcher.used(stored.definition.pattern) : [])
      }
      raiseDispatch()
      try then(answer)
    }
  }

  private func offer(
    _ submission: Submission, _ stored: StoredDefinition
  ) -> (SubmissionOffer, Dispatcher.Reservation?) {
    if dispatcher.isPaused {
      let refusal = Refusal.unavailable("the fleet is paused")
      return (SubmissionOffer(submission: submission, definition: stored.id, refusal: refusal), nil)
    }
    let requirementClass = RequirementClass(
      definition: stored.id, priority: submission.priority ?? stored.definition.priority)
    let mayOvertake = stored.definition.strategy == .fail
    guard mayOvertake || dispatcher.mayStartAtOnce(requirementClass),
      let reservation = dispatcher.reserve(requirementClass, submission.identifier, count: 1).first
    else {
      let refusal = mayOvertake ? Refusal.immediateRunIneligible([]) : nil
      return (SubmissionOffer(submission: submission, definition: stored.id, refusal: refusal), nil)
    }
    let place = SubmissionOffer.Offer(
      host: reservation.host, incarnation: reservation.incarnation, gpus: reservation.places[0],
      spanID: world.drawSpanID())
    let history = dispatcher.history(of: requirementClass)
    return (
      SubmissionOffer(submission: submission, definition: stored.id, host: place, history: history), reservation
    )
  }

  private func settle(
    _ answer: SubmissionAnswer, _ reservation: Dispatcher.Reservation?, _ dispatcher: inout Dispatcher
  ) -> [Dispatcher.Effect] {
    var launches: [Assignment] = []
    if case .accepted(let receipt, let requirementClass, let launch, _) = answer {
      launches = launch.map { [$0] } ?? []
      if receipt.state == .ready { dispatcher.noteReady(requirementClass) }
      nextDue.join(receipt.due)
    }
    return reservation.map { dispatcher.settle($0, with: launches, hasMore: true) } ?? []
  }

  // MARK: Definitions

  func apply(_ definitions: [Definition], then: @escaping () throws -> Void = {}) throws {
    let now = now().moment
    let seeds = definitions.map { _ in
      TraceContext(traceID: world.drawSpanID() + world.drawSpanID(), spanID: world.drawSpanID(), isSampled: true)
    }
    writer.write(.ordinary) {
      try $0.apply(definitions, seeds: seeds, at: now)
    } then: { [self] result in
      let applied = try result.get()
      let stored = try world.store.transaction { try $0.definitions() }
      index = DefinitionIndex(stored)
      for one in stored { dispatcher.learn(one.id, one.definition) }
      for receipt in applied.compactMap(\.submitted) {
        if let one = index.definition(for: receipt.identifier) {
          dispatcher.noteReady(RequirementClass(definition: one.id, priority: one.definition.priority))
        }
        nextDue.join(receipt.due)
      }
      raiseDispatch()
      try then()
    }
  }

  // MARK: Requests

  func cancel(_ selection: RequestSelection, then: @escaping () throws -> Void = {}) {
    let now = now().moment
    let histories = dispatcher.waits
    writer.write(.urgent) {
      try $0.cancel(selection, by: "operator", histories: histories, at: now)
    } committed: { [world] cancellations in
      for cancellation in cancellations { try world.journal.cancelled(cancellation) }
    } then: { [self] result in
      let cancellations = try result.get()
      try decide { dispatcher in
        cancellations.flatMap { cancellation -> [Dispatcher.Effect] in
          guard case .stopping(let launch, _, _, _) = cancellation else { return [] }
          return dispatcher.expire(launch, .cancelled(by: "operator"))
        }
      }
      learnReadiness()
      try then()
    }
  }

  private func learnReadiness() {
    writer.read {
      try $0.ready()
    } then: { [self] ready in
      for requirementClass in ready.classes { dispatcher.noteReady(requirementClass) }
      nextDue.join(ready.nextDue)
      raiseDispatch()
    }
  }

  func retry(_ record: RequestRecord) {
    let now = now().moment
    writer.write(.ordinary) {
      try $0.retry(record.id, skippingBatch: false, at: now)
    } committed: { [world] record in
      world.journal.retried(record.id)
    } then: { [self] result in
      guard case .success(let record) = result else { return }
      dispatcher.noteReady(RequirementClass(definition: record.definition, priority: record.priority))
      raiseDispatch()
    }
  }

  // MARK: Hosts

  func setDraining(_ host: HostName, _ isDraining: Bool) {
    guard dispatcher.hosts[host] != nil else { return }
    let now = now().moment
    say(nil, off: host, isDraining) {
      try $0.setDraining(host, isDraining, at: now)
    } decide: {
      $0.setDraining(host, isDraining)
    }
  }

  func setEvicted(_ pattern: IdentifierPattern, from host: HostName, _ isEvicted: Bool) {
    guard dispatcher.hosts[host] != nil else { return }
    say(pattern, off: host, isEvicted) {
      try $0.setEvicted(pattern, from: host, isEvicted)
    } decide: {
      $0.setEvicted(pattern, from: host, isEvicted)
    }
  }

  func setPaused(_ isPaused: Bool) {
    say(nil, off: nil, isPaused) {
      try $0.setPaused(isPaused)
    } decide: {
      $0.setPaused(isPaused)
    }
  }

  /// One word after the other, as at the coordinator's turnstile.
  private func say(
    _ pattern: IdentifierPattern?, off host: HostName?, _ isWished: Bool, _ body: @escaping (Verbs) throws -> Void,
    decide change: @escaping (inout Dispatcher) -> [Dispatcher.Effect]
  ) {
    words.append { [self] in
      writer.write(.urgent, body) { [world] in
        world.journal.wished(pattern, off: host, isWished)
      } then: { [self] result in
        if case .success = result {
          try decide { change(&$0) }
          raiseDispatch()
        }
        words.removeFirst()
        words.first?()
      }
    }
    if words.count == 1 { words[0]() }
  }

  // MARK: Simulated launches

  func simulateLaunch(_ record: RequestRecord) throws {
    guard record.state.isPending else { return }
    if dispatcher.definitions[record.definition] == nil,
      let definition = try world.store.transaction({ try $0.definition(record.definition) })
    {
      dispatcher.learn(record.definition, definition)
    }
    let requirementClass = RequirementClass(definition: record.definition, priority: record.priority)
    guard case .reserved(let reservation) = dispatcher.reserveSimulated(requirementClass, record.identifier, on: nil)
    else { return }
    let offer = SubmissionOffer.Offer(
      host: reservation.host, incarnation: reservation.incarnation, gpus: reservation.places[0],
      spanID: world.drawSpanID())
    let now = now().moment
    writer.write(.ordinary) {
      try $0.launchNow(record.id, on: offer, at: now)
    } committed: { [world] assignment in
      try world.started(assignment, on: offer.host, offer.incarnation, at: now)
    } then: { [self] result in
      let assignments = (try? result.get()).map { [$0] } ?? []
      if !assignments.isEmpty { nextDue.join(NextDue(steady: self.now().steady)) }
      try decide { $0.settle(reservation, with: assignments, hasMore: true) }
    }
  }

  func simulateExpiry(_ record: RequestRecord) throws {
    guard record.state == .running else { return }
    try decide { $0.expire(LaunchKey(request: record.id, number: record.launches), .simulated(as: .powerLost)) }
  }

  func simulateConditions(_ overrides: ConditionOverrides, on host: HostName, lasting: Duration) throws {
    try decide { $0.simulate(overrides, on: host, lasting: lasting).effects }
  }
}

extension SubmissionAnswer {
  fileprivate var isAccepted: Bool { if case .accepted = self { true } else { false } }
}
