package import BatonModel
package import BatonStore

/// What follows after the store has committed an operator's order. The operator is answered afterwards.
extension CoordinatorCore {
  /// An operator's order about the fleet or its hosts. The driver stores one word, tells it with `said`, and only then
  /// stores the next word. Two words that are stored concurrently could reach the store and the dispatcher in
  /// different orders.
  package enum Word: Hashable, Sendable {
    case pause(Bool)
    case drain(HostName, Bool)
    case evict(IdentifierPattern, from: HostName, Bool)
  }

  /// Applies a word that the store has committed.
  package mutating func said(_ word: Word) {
    switch word {
    case .pause(let isPaused): perform(dispatcher.setPaused(isPaused))
    case .drain(let host, let isDraining): perform(dispatcher.setDraining(host, isDraining))
    case .evict(let pattern, let host, let isEvicted):
      perform(dispatcher.setEvicted(pattern, from: host, isEvicted))
    }
    wantDispatch()
  }

  // MARK: Definitions

  /// Takes over definitions that the store has applied, and the requests that it submitted for them.
  /// - Parameter stored: every definition that is applied now.
  package mutating func applied(_ applied: [AppliedDefinition], _ stored: [StoredDefinition]) {
    definitionsChanged(stored)
    for one in stored { dispatcher.learn(one.id, one.definition) }
    for receipt in applied.compactMap(\.submitted) {
      if let one = index.definition(for: receipt.identifier) {
        dispatcher.noteReady(RequirementClass(definition: one.id, priority: one.definition.priority))
      }
      nextDue.join(receipt.due)
    }
    wantDispatch()
  }

  /// - Parameter stored: every definition that is applied now.
  package mutating func definitionsChanged(_ stored: [StoredDefinition]) { index = DefinitionIndex(stored) }

  // MARK: Requests

  /// Asks the running launches of cancelled requests to stop, and has the store read which requests are ready, because
  /// a request that waited behind an ended request may start now.
  package mutating func cancelled(_ cancellations: [Cancellation], by principal: String) {
    for cancellation in cancellations {
      switch cancellation {
      case .stopping(let launch, _, _, _): perform(dispatcher.expire(launch, .cancelled(by: principal)))
      case .ended(let request, _, _): tell(.changed(request))
      }
    }
    add(.store(.findReady, after: .zero))
  }

  mutating func noteReady(_ ready: ReadyRecord) {
    for requirementClass in ready.classes {
      dispatcher.noteReady(requirementClass, first: ready.first[requirementClass])
    }
    nextDue.join(ready.nextDue)
    wantDispatch()
  }

  /// A person has retried a request or given it another definition, and the request is ready.
  package mutating func becameReady(_ record: RequestRecord) {
    dispatcher.noteReady(RequirementClass(definition: record.definition, priority: record.priority))
    perform(dispatcher.used(record.pattern))
    tell(.changed(record.id))
    wantDispatch()
  }

  /// A person has given a pending request another definition. It may wait for another time now, and others may have the
  /// turn that it had at the keys of the earlier one.
  package mutating func redefined(_ record: RequestRecord) {
    if record.state == .ready { becameReady(record) } else { tell(.changed(record.id)) }
    add(.store(.findReady, after: .zero))
  }

  /// A person has said something of schedules: requests may be ready now, and others not any more.
  package mutating func schedulesChanged() { add(.store(.findReady, after: .zero)) }

  /// A person has set the limit of a key: requests that wait for it may start now.
  package mutating func limitChanged() { promoteSoon() }

  /// A person has changed how many shards of a request may be in work at once.
  package mutating func spreadChanged(_ answer: SpreadAnswer) {
    for stop in answer.stops { perform(dispatcher.expire(stop.launch, stop.reason)) }
    if answer.madeShards { dispatcher.noteReady(answer.requirementClass) }
    tell(.changed(answer.record.id))
    wantDispatch()
  }

  // MARK: Simulated launches

  /// Reserves a place for a simulated launch and prepares the offer for the store. Tell the store's answer with
  /// `launched`.
  /// - Returns: the place, or what prevents it; and the offer, which is nil if no place was reserved.
  package mutating func planSimulated(
    _ record: RequestRecord, on host: HostName?, _ drawSpanID: () -> SpanID
  ) -> (place: Dispatcher.SimulatedPlace, offer: SubmissionOffer.Offer?) {
    let requirementClass = RequirementClass(definition: record.definition, priority: record.priority)
    let place = dispatcher.reserveSimulated(requirementClass, record.identifier, by: record.principal, on: host)
    guard case .reserved(let reservation) = place else { return (place, nil) }
    return (place, SubmissionOffer.Offer(reservation, spanID: drawSpanID()))
  }

  /// Takes over the store's answer to a simulated launch.
  /// - Parameter launch: the launch that the store has started; nil if the store refused it, in which case the place
  ///   becomes free again.
  package mutating func launched(
    _ launch: Assignment?, for reservation: Dispatcher.Reservation, _ request: RequestID, at now: Now
  ) {
    let launches = launch.map { [$0] } ?? []
    // The store may have scheduled the next request of a repeating definition.
    if launch != nil { nextDue.join(NextDue(steady: now.steady)) }
    if let launch, launch.madeShards { dispatcher.noteReady(launch.requirementClass) }
    perform(dispatcher.settle(reservation, with: launches, hasMore: true))
    started(launches)
    tell(.changed(request))
  }
}
