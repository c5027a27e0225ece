package import BatonModel

/// What a worker's receipts say about the store that the worker connects to.
package enum ReceiptStanding: Hashable, Sendable {
  /// The store has everything that the worker was told.
  case covered
  /// The store lacks something that it has acknowledged with `receipt`: it went backwards, under its present name or
  /// under the name before. `known` says how far the store reaches.
  case ahead(receipt: Receipt, known: Receipt)
  /// The last receipt is of another store.
  case foreign
}

/// The tenure of the writer: from its coordinator's start until the coordinator ends or is ended.
struct Tenure {
  /// The number of the tenure. Each writing transaction begins by reading its row, which says whether it has ended
  /// (promise P11).
  let epoch: Int64
  /// The receipt of the last commit.
  var receipt: Receipt
  /// How many requests became pending through this coordinator, less those that ceased to be.
  var pending = 0
  /// The name that the store gets if it turns out to have gone backwards.
  let nextStore: String
  /// Whether this coordinator is the steward, as this transaction has read it.
  var isSteward = false
  /// The receipt and the number of pending requests after this transaction; `nil` until the transaction is counted.
  var renewed: (receipt: Receipt, pending: Int)?
}

extension Verbs {
  /// Begins a tenure.
  ///
  /// If no other coordinator can have this store open (`isShared` is false), every earlier tenure ends, and this
  /// coordinator is the steward and owns every lease.
  /// - Parameters:
  ///   - name: a random number that no tenure had before.
  ///   - nextStore: a random name that no store had before.
  ///   - address: where the coordinator serves, for people.
  package func join(as name: Int64, nextStore: String, address: String) throws {
    try need(.everything)
    try need(.tenures)
    let store = try prepare(.store).first { $0.text(0) }
    let last = try prepare(.lastTenure).first { (epoch: $0.int64(0), commits: $0.int64(1)) }
    guard let store, let last else { throw StoreError.unnamed }
    let epoch = last.epoch + 1
    try prepare(.insertCoordinator).run(epoch, name, address, last.commits, limits.namespaces.digest)
    try prepare(.forgetTenures).run(epoch - Self.tenuresKept)
    tenure = Tenure(
      epoch: epoch, receipt: Receipt(store: store, tenure: name, sequence: last.commits), nextStore: nextStore)
    shares.removeAll()
    if !isShared {
      try prepare(.endOthers).run(epoch)
      try takeShares(at: epoch)
    }
    try takeOver(at: epoch)
    if isShared, !limits.namespaces.isEmpty { try recountNamespaces(at: epoch) }
  }

  /// The number of tenures that are remembered. A receipt from an earlier tenure looks as if it were ahead of the
  /// store.
  private static let tenuresKept: Int64 = 10_000

  /// The receipt of the last commit of this tenure; `nil` for a reader.
  package var receipt: Receipt? { tenure?.receipt }

  /// Reads the row of this tenure. Call it first in a transaction: no other coordinator can end the tenure before the
  /// commit.
  /// - Throws: `.superseded` if another coordinator has ended this tenure; `.wentBackwards` if the store lacks a commit
  ///   of this tenure, or if another coordinator has given the store another name for such a reason.
  func demandTenure() throws {
    guard var tenure else { return }
    let row = try prepare(.ownTenure).first(tenure.epoch, tenure.receipt.tenure) { row in
      (
        commits: row.int64(0), isEnded: row.bool(1), isOurName: row.equals(2, tenure.receipt.store),
        steward: row.int64(3)
      )
    }
    guard let row, row.commits >= tenure.receipt.sequence else { throw StoreError.wentBackwards }
    if row.isEnded { throw isShared ? StoreError.takenOver : .superseded }
    tenure.isSteward = row.steward == tenure.epoch
    // What this coordinator remembers of leases and requests may be of the lost history.
    guard row.isOurName else { throw StoreError.renamed }
    self.tenure = tenure
  }

  /// Whether this tenure's commit of this number was made, for a caller that lost its connection in the commit. Call it
  /// in a transaction that has locked the row of this tenure: the lock waits for a commit that is still being made, and
  /// a read without it would take that commit for one that was not made.
  package func hasCommitted(_ sequence: Int64) throws -> Bool {
    guard let tenure else { return false }
    return try prepare(.commits).first(tenure.receipt.tenure) { $0.int64(0) } ?? 0 >= sequence
  }

  /// Throws `.moved` unless this coordinator is the steward. A reader and the tools that have no tenure are not asked.
  func demandStewardship() throws {
    guard let tenure, !tenure.isSteward else { return }
    throw StoreError(.moved, "Another coordinator keeps house in this store.")
  }

  /// Raises this tenure's number of commits. Call it last before the commit of a transaction that has changed anything.
  func countCommit() throws {
    guard let tenure else { return }
    var receipt = tenure.receipt
    receipt.store = renewedStore ?? receipt.store
    receipt.sequence += 1
    let pending = tenure.pending + pendingChange
    try prepare(.setCommits).run(receipt.sequence, pending, tenure.epoch)
    self.tenure?.renewed = (receipt, pending)
  }

  /// Takes over what was counted, after the commit made it durable.
  func noteCommit() {
    guard let renewed = tenure?.renewed else { return }
    tenure?.receipt = renewed.receipt
    tenure?.pending = renewed.pending
    tenure?.renewed = nil
  }

  /// Gives the store another name and pauses the fleet. The store lacks something that it has told workers, so nothing
  /// may run again before a person has looked. Nothing happens if the store's name is no longer `incarnation`.
  package func renewIncarnation(of incarnation: String, as name: String) throws -> Bool {
    try need(.everything)
    guard try prepare(.renewIncarnation).first(name, incarnation, row: { _ in true }) == true else { return false }
    renewedStore = name
    return true
  }

  /// Compares a worker's receipts with this store.
  /// - Parameter receipts: one for each tenure, the one that came last at the end.
  package func standing(of receipts: [Receipt]) throws -> ReceiptStanding {
    let store = try prepare(.names).first { (name: $0.text(0), former: $0.optionalText(1)) }
    guard let store else { throw StoreError.unnamed }
    for receipt in receipts where [store.name, store.former].contains(receipt.store) {
      if let known = try shortfall(of: receipt) { return .ahead(receipt: receipt, known: known) }
    }
    guard let last = receipts.last, ![store.name, store.former].contains(last.store) else { return .covered }
    return .foreign
  }

  /// How far the store reaches if it lacks what the receipt says; otherwise `nil`.
  private func shortfall(of receipt: Receipt) throws -> Receipt? {
    if let commits = try prepare(.commits).first(receipt.tenure, row: { $0.int64(0) }) {
      if receipt.sequence <= commits { return nil }
      return Receipt(store: receipt.store, tenure: receipt.tenure, sequence: commits)
    }
    return try prepare(.newestTenure).first {
      Receipt(store: receipt.store, tenure: $0.int64(0), sequence: $0.int64(1))
    } ?? Receipt(store: receipt.store, tenure: 0, sequence: 0)
  }
}

extension StoreError {
  static let unnamed = StoreError(.corrupt, "The database is damaged: the name of the store is missing.")
  static let superseded = StoreError(
    .superseded,
    """
    Another coordinator has taken over the work of this one, so this coordinator stops without writing anything more. \
    If only one coordinator should use the store, check whether another one was started, and whether the lock file was \
    removed.
    """)
  static let takenOver = StoreError(
    .superseded,
    """
    Another coordinator of this store has taken over the work of this one, because this one stood still for longer than \
    its term. It stops without writing anything more; start it again.
    """)
  static let renamed = StoreError(
    .wentBackwards,
    """
    Another coordinator has found that the store lacks changes that were acknowledged: was an older backup put in its \
    place? What this coordinator knows of the store may be wrong, so it stops without writing anything more. The fleet \
    is paused. Put the right database back, or start the coordinator again and let the fleet go on with 'baton resume'.
    """)
  static let wentBackwards = StoreError(
    .wentBackwards,
    """
    The store lacks changes that this coordinator has made and acknowledged: was an older backup put in its place? The \
    fleet is paused, and this coordinator stops without writing anything more. Put the right database back, or start \
    the coordinator again and let the fleet go on with 'baton resume'.
    """)
}

extension Query {
  static let lastTenure = Query("SELECT coalesce(max(epoch), 0), coalesce(max(commits), 0) FROM coordinator")
  static let insertCoordinator = Query(
    "INSERT INTO coordinator (epoch, tenure, address, commits, namespaces) VALUES (?, ?, ?, ?, ?)")
  static let forgetTenures = Query("DELETE FROM coordinator WHERE epoch <= ? AND is_ended = 1")
  static let endOthers = Query(
    "UPDATE coordinator SET is_ended = 1, ended_at = \(lastReading) WHERE epoch <> ? AND is_ended = 0")
  static let ownTenure = Query(
    """
    SELECT c.commits, c.is_ended, s.incarnation, s.steward FROM coordinator c, store s
    WHERE c.epoch = ? AND c.tenure = ? AND s.id = 1
    """)
  static let setCommits = Query("UPDATE coordinator SET commits = ?, pending = ? WHERE epoch = ?")
  static let names = Query("SELECT incarnation, former_incarnation FROM store WHERE id = 1")
  static let commits = Query("SELECT commits FROM coordinator WHERE tenure = ?")
  static let newestTenure = Query("SELECT tenure, commits FROM coordinator ORDER BY epoch DESC LIMIT 1")
  static let renewIncarnation = Query(
    """
    UPDATE store SET former_incarnation = incarnation, is_paused = 1, incarnation = ?
    WHERE id = 1 AND incarnation = ? RETURNING id
    """)
}
