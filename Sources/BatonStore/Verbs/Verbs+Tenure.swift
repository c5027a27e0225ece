package import BatonModel
internal import GRDB
internal import GRDBSQLite

/// What a worker's last receipt says about the store that the worker connects to.
package enum ReceiptStanding: Hashable, Sendable {
  /// The store has everything that the worker was told.
  case covered
  /// The store lacks something that it has acknowledged: it went backwards, under its present name or under the name
  /// before. The associated receipt says how far the store reaches.
  case ahead(of: Receipt)
  /// The receipt is of another store.
  case foreign
}

/// The tenure of the writer: from when this process opened the store until another process opens it.
struct Tenure {
  /// The epoch that this process raised when it opened the store. Each writing transaction compares it (promise P11).
  let epoch: Int64
  /// The receipt of the last commit.
  var receipt: Receipt
  /// The receipt that the store will have after this transaction; `nil` until the transaction is counted or gives the
  /// store another name.
  var renewed: Receipt?
}

extension Verbs {
  /// Raises the epoch and begins a tenure. A process that opened this store before can write nothing more.
  /// - Parameter name: a random number that no tenure had before.
  func beginTenure(_ name: Int64) throws {
    let begun = try prepare(.raiseEpoch).first { row in
      Tenure(epoch: row.int64(0), receipt: Receipt(store: row.text(1), tenure: name, sequence: row.int64(2)))
    }
    guard let begun else { throw StoreError.unnamed }
    try prepare(.endTenures).run(begun.receipt.sequence)
    try prepare(.beginTenure).run(name)
    try prepare(.forgetTenures).run(Self.tenuresKept)
    tenure = begun
  }

  /// The number of tenures that are remembered. A receipt from an earlier tenure looks as if it were ahead of the
  /// store.
  private static let tenuresKept: Int64 = 10_000

  /// Throws `.superseded` if another process has opened the store since this tenure began. Call it first in a
  /// transaction: the transaction then holds the only write lock, so no other process can begin a tenure before the
  /// commit.
  func demandTenure() throws {
    guard let tenure else { return }
    guard try prepare(.epoch).first(row: { $0.int64(0) }) == tenure.epoch else { throw StoreError.superseded }
  }

  /// Raises the number of commits if this transaction has changed anything since `changes`. Call it last before the
  /// commit.
  /// - Parameter changes: SQLite's total number of changes when the transaction began.
  func countCommit(since changes: Int32) throws {
    guard let tenure, sqlite3_total_changes(db.sqliteConnection) != changes else { return }
    var next = tenure.renewed ?? tenure.receipt
    next.sequence += 1
    try prepare(.setSequence).run(next.sequence)
    self.tenure?.renewed = next
  }

  /// Takes over the counted receipt, after the commit made it durable.
  func noteCommit() {
    guard let renewed = tenure?.renewed else { return }
    tenure?.receipt = renewed
    tenure?.renewed = nil
  }

  /// Gives the store another name and pauses the fleet. The store lacks something that it has told workers, so nothing
  /// may run again before a person has looked. Nothing happens if the store's name is no longer `incarnation`.
  func renewIncarnation(of incarnation: String, as name: String) throws {
    guard let sequence = tenure?.receipt.sequence, let current = tenure?.receipt.tenure,
      try prepare(.renewIncarnation).first(name, incarnation, row: { _ in true }) == true
    else { return }
    tenure?.renewed = Receipt(store: name, tenure: current, sequence: sequence)
  }

  /// Compares a worker's last receipt with this store.
  func standing(of receipt: Receipt) throws -> ReceiptStanding {
    let store = try prepare(.names).first { (name: $0.text(0), former: $0.optionalText(1), sequence: $0.int64(2)) }
    guard let store else { throw StoreError.unnamed }
    guard [store.name, store.former].contains(receipt.store) else { return .foreign }
    var known = Receipt(store: receipt.store, tenure: receipt.tenure, sequence: store.sequence)
    guard let ended = try prepare(.tenure).first(receipt.tenure, row: { (last: $0.optionalInt64(0), ()) }) else {
      known.tenure = try prepare(.presentTenure).first { $0.int64(0) } ?? 0
      return .ahead(of: known)
    }
    if let last = ended.last { known.sequence = last }
    return receipt.sequence <= known.sequence ? .covered : .ahead(of: known)
  }
}

extension StoreError {
  fileprivate static let unnamed = StoreError(.corrupt, "The database is damaged: the name of the store is missing.")
  static let superseded = StoreError(
    .superseded,
    """
    Another coordinator has opened this store, so this coordinator stops without writing anything more. Only one \
    coordinator may use a store: decide which one to keep, and check whether the lock file was removed.
    """)
}

extension Query {
  static let raiseEpoch = Query(
    "UPDATE store SET epoch = epoch + 1 WHERE id = 1 RETURNING epoch, incarnation, sequence")
  static let epoch = Query("SELECT epoch FROM store WHERE id = 1")
  static let setSequence = Query("UPDATE store SET sequence = ? WHERE id = 1")
  static let names = Query("SELECT incarnation, former_incarnation, sequence FROM store WHERE id = 1")
  static let tenure = Query("SELECT last FROM tenure WHERE name = ?")
  static let presentTenure = Query("SELECT name FROM tenure WHERE last IS NULL")
  static let endTenures = Query("UPDATE tenure SET last = ? WHERE last IS NULL")
  static let beginTenure = Query("INSERT INTO tenure (name) VALUES (?)")
  static let forgetTenures = Query("DELETE FROM tenure WHERE id <= (SELECT max(id) FROM tenure) - ?")
  static let renewIncarnation = Query(
    """
    UPDATE store SET former_incarnation = incarnation, is_paused = 1, incarnation = ?
    WHERE id = 1 AND incarnation = ? RETURNING id
    """)
}
