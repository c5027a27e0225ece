internal import BatonBase
internal import BatonModel
internal import BatonPostgres
internal import GRDB

/// What a store says of a move.
struct StoreMark: Hashable {
  enum State: String { case arriving, moved }
  var state: State
  /// A random name of the move, which both sides have.
  var move: String
  /// Where the store comes from, or where it went.
  var place: String
  /// The name of the store (`store.incarnation`).
  var store: String

  /// The mark of a copy that is about to be made.
  /// - Throws: `.refused` if another version wrote the store.
  static func arriving(of source: Database, from folder: String) throws -> StoreMark {
    try Migrations.expectOurs(source)
    guard try FileMark.isCurrent(source) else {
      throw StoreError(
        .refused, "The store in \(folder) was written by another version: start this version on it once first.")
    }
    return StoreMark(
      state: .arriving, move: RandomNumbers.name(), place: folder, store: try FileMark.storeName(source))
  }

  /// Whether the store has arrived in the place that this mark names, and has left it too, as the mark there says.
  func isFollowed(by other: StoreMark) -> Bool { state == .moved && other.state == .moved && other.store == store }

  /// What a coordinator says that finds the mark.
  var refusal: StoreError {
    switch state {
    case .arriving:
      StoreError(
        .refused,
        "the store is a copy from \(place) whose move has not ended: give 'baton store move' once more, or go on with "
          + "the store there")
    case .moved where !PostgresAddress.isURI(place):
      StoreError(
        .refused,
        "the store has moved to the folder \(place) of one machine: the coordinator there uses it without 'store' (or "
          + "BATON_STORE), with that folder as 'data', and coordinators of other machines are not needed any more. If the "
          + "move was interrupted, give 'baton store move' there once more")
    case .moved:
      StoreError(
        .refused,
        "the store has moved to \(place): set 'store' in coordinator.yaml (or BATON_STORE) to where it is now. If the "
          + "move was interrupted, give 'baton store move' once more")
    }
  }
}

extension StoreError {
  static func noStore(_ folder: String) -> StoreError {
    StoreError(.notFound, "There is no store in \(folder): no file \(StoreFolder.databaseName).")
  }

  /// The store has left `old`, durably, but the copy is not ready for coordinators yet.
  static func unfinished(_ old: String, _ place: String, _ cause: any Error) -> StoreError {
    StoreError(
      .relocated,
      "The store has left \(old) for \(place), and the last step of the move failed: \(StoreError(anything: cause)) "
        + "The coordinator of \(old) makes this step when it starts, and so does 'baton store move'.")
  }

  /// What writes are answered with after the store has left its place.
  static func gone(to place: String) -> StoreError {
    StoreError(
      .unavailable,
      "The store has just moved to \(place), and this coordinator ends; nothing was changed. Try again in some seconds."
    )
  }
}

/// What has to hold in every store, as queries that count what is wrong. Both databases understand them.
enum StoreInvariants {
  static let all = [
    (
      "a request that runs has one open launch",
      """
      SELECT count(*) FROM request r WHERE r.state = 2
        AND NOT EXISTS (SELECT 1 FROM launch l WHERE l.request = r.id AND l.ended_at IS NULL)
      """
    ),
    (
      "an open launch belongs to a request that runs",
      """
      SELECT count(*) FROM launch l WHERE l.ended_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM request r WHERE r.id = l.request AND r.state = 2)
      """
    ),
    (
      "the numbers of waiting and running requests are those of the rows",
      """
      SELECT abs((SELECT coalesce(sum(scheduled + ready + running), 0) FROM share)
        - (SELECT count(*) FROM request r WHERE r.state = 2 OR r.state <= 1 AND r.head IS NULL AND NOT EXISTS (
          SELECT 1 FROM request s WHERE s.head = r.id AND s.state = 2)))
      """
    ),
  ]

  static func error(_ what: String) -> StoreError {
    StoreError(.corrupt, "The store is damaged and is not moved: it does not hold that \(what).")
  }
}
