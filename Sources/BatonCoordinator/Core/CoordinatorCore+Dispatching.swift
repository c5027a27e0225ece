package import BatonModel
import BatonStore

extension CoordinatorCore {
  /// The state of the dispatching of launches. One claim is open at a time, so that each claim is decided with the
  /// answer to the previous claim known.
  enum Dispatching: Sendable {
    case idle
    /// The driver has been asked to call `dispatch`.
    case wanted
    /// An order to claim launches, or to read definitions for them, is open. `again` says that something has changed
    /// meanwhile, so that dispatching starts again after the answer.
    case claiming(again: Bool)
  }

  /// Notes that a launch may be able to start, and asks the driver for a call of `dispatch` if none is pending.
  package mutating func wantDispatch() {
    switch dispatching {
    case .idle:
      dispatching = .wanted
      add(.dispatch)
    case .wanted: break
    case .claiming: dispatching = .claiming(again: true)
    }
  }

  /// Reserves places for the ready requests and orders the store to claim launches for them.
  /// - Parameter drawSpanID: returns a new span id for each launch that the claim may start.
  package mutating func dispatch(_ drawSpanID: () -> SpanID) {
    let unlearned = dispatcher.unlearned
    // Requests that were submitted before this coordinator started refer to definitions that it has not read yet.
    guard unlearned.isEmpty else {
      dispatching = .claiming(again: true)
      return add(.store(.learn(unlearned, for: nil), after: .zero))
    }
    let reservations = dispatcher.reserveReady(limit: Self.claimLimit)
    guard !reservations.isEmpty else {
      dispatching = .idle
      return
    }
    dispatching = .claiming(again: false)
    add(.store(.claim(claims(for: reservations, drawSpanID), for: reservations), after: .zero))
  }

  private func claims(for reservations: [Dispatcher.Reservation], _ drawSpanID: () -> SpanID) -> [Claim] {
    reservations.map { reservation in
      Claim(
        requirementClass: reservation.requirementClass, lease: reservation.lease,
        places: reservation.places.map { Claim.Place(gpus: $0, spanID: drawSpanID()) },
        history: dispatcher.history(of: reservation.requirementClass),
        principals: dispatcher.hosts[reservation.host]?.host.capabilities.permissions?.principals,
        isOutOfRoom: dispatcher.hosts[reservation.host]?.isOutOfRoom ?? false)
    }
  }

  /// - Parameter session: the session whose launches refer to the definitions; nil if ready requests refer to them.
  mutating func learned(
    _ ids: [DefinitionID], _ definitions: [DefinitionID: Definition], for session: SessionID?, at now: Now
  ) {
    for id in ids {
      guard let definition = definitions[id] else {
        preconditionFailure("a request names definition \(id.rawValue), which the store does not have")
      }
      dispatcher.learn(id, definition)
    }
    if let session { learned(for: session, at: now) } else { goOnDispatching() }
  }

  mutating func claimed(_ reservations: [Dispatcher.Reservation], _ answers: [ClaimAnswer]) {
    for (reservation, answer) in zip(reservations, answers) {
      nextDue.join(answer.nextDue)
      perform(
        dispatcher.settle(
          reservation, with: answer.assignments, hasMore: answer.hasMore, hasFitting: answer.hasFitting,
          first: answer.first))
      if answer.isMoved { moved(reservation.lease) }
    }
    started(answers.flatMap(\.assignments))
    // A class that had no fitting request for a host held places there, which another class may now use. A class that
    // got transfers only may get some for more requests.
    let isProgress = zip(reservations, answers).contains { reservation, answer in
      !answer.assignments.isEmpty || answer.hasPlaced || (!reservation.places.isEmpty && !answer.hasFitting)
    }
    if isProgress { dispatching = .claiming(again: true) }
    goOnDispatching()
  }

  private mutating func goOnDispatching() {
    guard case .claiming(let again) = dispatching else {
      preconditionFailure("a claim was answered while dispatching is \(dispatching)")
    }
    dispatching = .idle
    if again { wantDispatch() }
  }

  package mutating func started(_ launches: [Assignment]) {
    guard !launches.isEmpty else { return }
    // The next request of such a schedule does not wait for the end of this one, so its time has to be asked for.
    if launches.contains(where: { $0.launch.number == 1 && replacesItself($0.identifier) }) {
      nextDue.join(NextDue(steady: Timestamp(nanoseconds: 0)))
    }
    tell(.started(launches))
    for launch in launches { tell(.changed(launch.launch.request)) }
  }

  private func replacesItself(_ identifier: JobIdentifier) -> Bool {
    index.definition(for: identifier)?.definition.schedule?.overlap == .replace
  }
}
