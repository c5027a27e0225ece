internal import BatonModel
internal import GRDB
internal import GRDBSQLite

/// The writer's turn: from when it opened the store until another process opens it.
struct Tenure {
  /// Raised by each start; checked in every writing transaction (promise P11).
  let epoch: Int64
  /// How far the store is, by the last commit.
  var receipt: Receipt
  /// What `receipt` will be if this transaction is committed; nil if it is only counted.
  var renewed: Receipt?
}

extension Verbs {
  /// Raises the epoch: whoever opened this store before writes nothing more.
  func beginTenure() throws {
    let begun = try prepare(.raiseEpoch).first { row in
      Tenure(epoch: row.int64(0), receipt: Receipt(store: row.text(1), sequence: row.int64(2)))
    }
    guard let begun else { throw StoreError(.corrupt, "The database has no row that says which store it is.") }
    tenure = begun
  }

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
    guard let sequence = tenure?.receipt.sequence,
      try prepare(.renewIncarnation).first(name, incarnation, row: { _ in true }) == true
    else { return }
    tenure?.renewed = Receipt(store: name, sequence: sequence)
  }

  /// What a worker's last receipt says of this store.
  func standing(of receipt: Receipt) throws -> ReceiptStanding {
    let known = try prepare(.receipts).first { row in
      (
        now: Receipt(store: row.text(0), sequence: row.int64(1)),
        former: row.optionalText(2).map { Receipt(store: $0, sequence: row.int64(3)) }
      )
    }
    guard let known else { throw StoreError(.corrupt, "The database has no row that says which store it is.") }
    if receipt.store == known.now.store {
      return receipt.sequence <= known.now.sequence ? .covered : .ahead(of: known.now)
    }
    guard let former = known.former, former.store == receipt.store else { return .foreign }
    return receipt.sequence <= former.sequence ? .covered : .ahead(of: former)
  }
}

extension StoreError {
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
  static let receipts = Query(
    "SELECT incarnation, sequence, former_incarnation, former_sequence FROM store WHERE id = 1")
  static let renewIncarnation = Query(
    """
    UPDATE store SET former_incarnation = incarnation, former_sequence = sequence, is_paused = 1,
      incarnation = ?
    WHERE id = 1 AND incarnation = ? RETURNING id
    """)
}
