import BatonModel
import BatonStore

extension CoordinatorCore {
  /// How far the starting of launches is. One claim is open at a time, so that each decides with the answer of the last.
  enum Dispatching: Sendable {
    case idle
    /// The driver was asked to call `dispatch`.
    case wanted
    /// The store is being asked. `again`: something has changed meanwhile.
    case claiming(again: Bool)
  }

  /// Something may be able to start.
  package mutating func wantDispatch() {
    switch dispatching {
    case .idle:
      dispatching = .wanted
      add(.dispatch)
    case .wanted: break
    case .claiming: dispatching = .claiming(again: true)
    }
  }

  /// Asks the store for what can be started now.
  /// - Parameter drawSpanID: a new span id for each launch that may come of it.
  package mutating func dispatch(_ drawSpanID: () -> [UInt8]) {
    let unlearned = dispatcher.unlearned
    // Requests that were submitted before this coordinator started name definitions that it has not seen yet.
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

  private func claims(for reservations: [Dispatcher.Reservation], _ drawSpanID: () -> [UInt8]) -> [Claim] {
    reservations.map { reservation in
      Claim(
        requirementClass: reservation.requirementClass, host: reservation.host, incarnation: reservation.incarnation,
        places: reservation.places.map { Claim.Place(gpus: $0, spanID: drawSpanID()) },
        history: dispatcher.history(of: reservation.requirementClass))
    }
  }

  /// - Parameter session: whose launches name the definitions; nil if ready requests do.
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
          reservation, with: answer.assignments, hasMore: answer.hasMore, hasFitting: answer.hasFitting))
    }
    started(answers.flatMap(\.assignments))
    // A class that had nothing for a host held places there that another one may use.
    let isProgress = zip(reservations, answers).contains { reservation, answer in
      !answer.assignments.isEmpty || (!reservation.places.isEmpty && !answer.hasFitting)
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

  mutating func started(_ launches: [Assignment]) {
    guard !launches.isEmpty else { return }
    tell(.started(launches))
    for launch in launches { tell(.changed(launch.launch.request)) }
  }
}
