import BatonBase
import BatonModel
package import BatonStore
import Logging
import Synchronization

/// Moving the store while this coordinator runs.
extension Coordinator {
  package func moveStore(
    to place: StorePlace, isRehearsal: Bool, _ report: @escaping @Sendable (StoreMove.Progress) -> Void
  ) async throws -> StoreMove.Summary {
    if settings.embeddedHost != nil {
      throw OperatorError.conflict(
        "'baton up' and 'baton run' keep their store in their data folder; start 'baton coordinator' on the folder, "
          + "and move the store then")
    }
    var options = StoreMove.Options()
    (options.isRehearsal, options.report) = (isRehearsal, report)
    logger.notice("a move of the store begins", metadata: ["to": "\(place.shown)", "dryRun": "\(isRehearsal)"])
    do {
      return try await carryOutMove(to: place, options)
    } catch {
      let why = error is CancellationError ? "it was given up" : "\(error)"
      logger.notice("a move of the store ended early", metadata: ["to": "\(place.shown)", "why": "\(why)"])
      if let error = error as? StoreError {
        // The error may be that of the other place. Only some say that this coordinator cannot go on.
        if error.endsCoordinator { note(error, while: "moving the store") }
        throw OperatorError.conflict(error.message)
      }
      guard error is CancellationError, !Task.isCancelled else { throw error }
      throw OperatorError.refused(.unavailable("the coordinator shuts down, and the store stays; try again"))
    }
  }

  private func carryOutMove(to place: StorePlace, _ options: StoreMove.Options) async throws -> StoreMove.Summary {
    // The next coordinator goes on from here, and would otherwise go on from up to a minute ago.
    if !options.isRehearsal, state.withLock({ $0.core.isSteward }) {
      // The row of the audit log is not written before it is known that the store can be copied.
      try await AuditedCall.$current.withValue(nil) { try await saveClock() }
    }
    let fleet = settings.receiptKey.map { ReceiptSeal($0).fleet }
    let summary = try await store.move(to: place, fleet: fleet, options)
    if !options.isRehearsal { end(with: .relocated(to: place.shown)) }
    return summary
  }
}

extension StoreError {
  fileprivate static func relocated(to place: String) -> StoreError {
    StoreError(
      .relocated,
      "The store has moved to \(place). This coordinator ends; when it is started again, it goes on there.")
  }
}
