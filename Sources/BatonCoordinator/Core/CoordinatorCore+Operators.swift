package import BatonModel
package import BatonStore

/// What follows when the store has taken what an operator said. The caller is answered after that.
extension CoordinatorCore {
  /// What operators say of the fleet and its hosts. The driver stores one word, tells it with `said`, and only then stores
  /// the next: two that are stored at once would reach the store and the dispatcher in different orders.
  package enum Word: Hashable, Sendable {
    case pause(Bool)
    case drain(HostName, Bool)
    case evict(IdentifierPattern, from: HostName, Bool)
  }

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

  /// What ran is asked to stop; what waited behind a request that has ended may start.
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
    for requirementClass in ready.classes { dispatcher.noteReady(requirementClass) }
    nextDue.join(ready.nextDue)
    wantDispatch()
  }

  /// A person has retried a request, or given it another definition.
  package mutating func becameReady(_ record: RequestRecord) {
    dispatcher.noteReady(RequirementClass(definition: record.definition, priority: record.priority))
    perform(dispatcher.used(record.pattern))
    tell(.changed(record.id))
    wantDispatch()
  }

  // MARK: Simulated launches

  /// A place for a simulated launch, and what the store is asked for it. Tell the answer with `launched`.
  package mutating func planSimulated(
    _ record: RequestRecord, on host: HostName?, _ drawSpanID: () -> [UInt8]
  ) -> (place: Dispatcher.SimulatedPlace, offer: SubmissionOffer.Offer?) {
    let requirementClass = RequirementClass(definition: record.definition, priority: record.priority)
    let place = dispatcher.reserveSimulated(requirementClass, record.identifier, on: host)
    guard case .reserved(let reservation) = place else { return (place, nil) }
    return (place, SubmissionOffer.Offer(reservation, spanID: drawSpanID()))
  }

  /// - Parameter launch: nil if the store refused it, and the place is free again.
  package mutating func launched(
    _ launch: Assignment?, for reservation: Dispatcher.Reservation, _ request: RequestID, at now: Now
  ) {
    let launches = launch.map { [$0] } ?? []
    // The next request of a repeating definition may be there now.
    if launch != nil { nextDue.join(NextDue(steady: now.steady)) }
    perform(dispatcher.settle(reservation, with: launches, hasMore: true))
    started(launches)
    tell(.changed(request))
  }
}
