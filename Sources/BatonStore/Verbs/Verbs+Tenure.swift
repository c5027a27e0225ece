internal import BatonModel
internal import GRDB
internal import GRDBSQLite

/// The writer's turn: from when it opened the store until another process opens it.
struct Tenure {
  /// Each start of a coordinator raises it, and each writing transaction compares it (promise P11).
  let epoch: Int64
  /// How far the store is, by the last commit.
  var receipt: Receipt
  /// What `receipt` will be if this transaction is committed; nil if it is only counted.
  var renewed: Receipt?
}

extension Verbs {
  /// Raises the epoch: whoever opened this store before writes nothing more.
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

  /// How many starts are remembered: a worker that was away for more of them is taken for one that has seen too much.
  private static let tenuresKept: Int64 = 10_000

  /// Throws `.superseded` if another process has opened the store since. Call it first in a transaction, which then
  /// holds the only lock for writing: nobody can open it before the commit.
  func demandTenure() throws {
    guard let tenure else { return }
    guard try prepare(.epoch).first(row: { $0.int64(0) }) == tenure.epoch else { throw StoreError.superseded }
  }

  /// Counts this transaction if it changed anything since `changes`; call it last before the commit.
  func countCommit(since changes: Int32) throws {
    guard let tenure, sqlite3_total_changes(db.sqliteConnection) != changes else { return }
    var next = tenure.renewed ?? tenure.receipt
    next.sequence += 1
    try prepare(.setSequence).run(next.sequence)
    self.tenure?.renewed = next
  }

  /// What was counted is durable.
  func noteCommit() {
    guard let renewed = tenure?.renewed else { return }
    tenure?.receipt = renewed
    tenure?.renewed = nil
  }

  /// Gives the store another name and pauses the fleet: it lacks what it has told workers, so nothing runs again before
  /// a person has looked. Nothing happens if it has another name than `incarnation` already.
  func renewIncarnation(of incarnation: String, as name: String) throws {
    guard let sequence = tenure?.receipt.sequence, let current = tenure?.receipt.tenure,
      try prepare(.renewIncarnation).first(name, incarnation, row: { _ in true }) == true
    else { return }
    tenure?.renewed = Receipt(store: name, tenure: current, sequence: sequence)
  }

  /// What a worker's last receipt says of this store.
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
  fileprivate static let unnamed = StoreError(.corrupt, "The database has no row that says which store it is.")
  static let superseded = StoreError(
    .superseded,
    """
    Another coordinator has opened this store; this one writes nothing more and ends. Only one may run on a store: see \
    which one is to stay, and whether somebody took the lock file away.
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
