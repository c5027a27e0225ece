internal import BatonModel
internal import GRDB

/// The verbs of the store as plain functions on one open connection. They are called inside a transaction:
/// `SQLiteStore` runs many of them in one transaction, the simulation runs them one by one. There is one instance per
/// connection, and only one thread at a time may use it.
///
/// A verb that throws before it has changed a row has changed nothing. After any other error the transaction must be
/// rolled back and `forget()` must be called.
package final class Verbs {
  private let source: any StatementSource
  let limits: StoreLimits
  let cache: DefinitionCache
  /// Whether spans are queued in `unsent_span` until a backend has confirmed them.
  let queuesSpans: Bool
  /// The tenure of the writer; `nil` for a reader.
  var tenure: Tenure?
  private var prepared: [ObjectIdentifier: PreparedQuery] = [:]
  /// Whether other coordinators can have this store open at the same time.
  let isShared: Bool
  /// This coordinator's rows of `share`. They are kept over transactions, because only this coordinator writes them
  /// while its tenure lasts, and each transaction begins with a look at its tenure.
  var shares: [Int64: Share] = [:]
  // What this transaction has read and changed. `flush()` writes changes back, and nothing of it is kept: before the
  // next transaction another coordinator may change any of it.
  var patterns: [Int64: PatternRow] = [:]
  var changedShares: Set<Int64> = []
  /// What the launches of the request get that was asked for last (`inputs(of:)`).
  var inputsOfRequest: [RequestID: [RequestInput]] = [:]
  /// How this transaction changes the number of pending requests.
  var pendingChange = 0
  /// What hosts have used of their daily allowances, by the row number of the host.
  var hostUses: [Int64: DailyUse] = [:]
  var changedHosts: Set<Int64> = []
  /// What this transaction knows of namespaces, by their prefixes.
  var namespaceRows: [String: NamespaceRow] = [:]
  /// The prefix of the namespace of each pattern, by the row number of the pattern. It is kept over transactions,
  /// because it never changes.
  var namespacesOfPatterns: [Int64: String] = [:]
  /// The evicted patterns by the row number of the host; `nil` until they are needed.
  var knownEvictions: [Int64: [IdentifierPattern]]?
  /// The number of pending requests when this transaction began; `nil` until it is needed.
  var pendingBefore: Int?
  /// The name that this transaction has given the store; `nil` if it keeps its name.
  var renewedStore: String?
  /// The numbers of the next rows; those that this transaction has not drawn from are not there.
  var nextNumbers: [NumberedTable: Int64] = [:]
  var nextRequestChanged = false
  /// How many statements that change rows this connection has begun.
  var writes = 0
  /// The rows that this transaction has, if the connection has only those; `nil` if it has the whole store.
  var held: HeldRows?
  /// What the queries of this transaction may have changed, if the connection has only the rows of `held`.
  private(set) var changes: [QueryChange] = []
  /// The number of the transaction with `held`.
  private var turn = 0

  init(
    _ source: any StatementSource, limits: StoreLimits, cache: DefinitionCache, queuesSpans: Bool, isShared: Bool
  ) {
    self.isShared = isShared
    self.source = source
    self.limits = limits
    self.cache = cache
    self.queuesSpans = queuesSpans
  }

  /// The connection to SQLite. Verbs on a database elsewhere have none; they only read.
  var db: Database {
    guard let db = source as? Database else { preconditionFailure("these verbs run on no connection to SQLite") }
    return db
  }

  /// The prepared statement of a query, prepared at the first use on this connection.
  func prepare(_ query: Query) throws -> Prepared {
    let key = ObjectIdentifier(query)
    let known: PreparedQuery
    if let found = prepared[key] {
      known = found
    } else {
      known = PreparedQuery(try source.prepared(query))
      prepared[key] = known
    }
    if query.isWrite { note(query, known) }
    return known.statement
  }

  private func note(_ query: Query, _ known: PreparedQuery) {
    writes &+= 1
    guard held != nil, known.lastTurn != turn, let change = query.change else { return }
    known.lastTurn = turn
    changes.append(change)
  }

  /// A query that was prepared, and the last transaction with `held` that used it.
  private final class PreparedQuery {
    let statement: Prepared
    var lastTurn = 0

    init(_ statement: Prepared) { self.statement = statement }
  }

  /// The next transaction has these rows.
  func hold(_ rows: HeldRows) {
    held = rows
    turn += 1
    changes = []
  }

  /// Writes back what the verbs of this transaction have counted. It is called once before the commit, and by verbs
  /// that read these rows.
  func flush() throws {
    if nextRequestChanged, let nextRequest = nextNumbers[.request] {
      try prepare(.setNextRequest).run(nextRequest)
      nextRequestChanged = false
    }
    for id in changedShares.sorted() {
      guard let share = shares[id] else { preconditionFailure("a changed share is not known") }
      try write(share, of: id)
    }
    changedShares.removeAll(keepingCapacity: true)
    if !changedHosts.isEmpty { try writeHostUses() }
    if !namespaceRows.isEmpty { try writeNamespaces() }
  }

  /// Forgets what the last transaction has read, so that the next one reads it again.
  func beginAnew() {
    patterns.removeAll(keepingCapacity: true)
    changedShares.removeAll(keepingCapacity: true)
    pendingChange = 0
    hostUses.removeAll(keepingCapacity: true)
    changedHosts.removeAll(keepingCapacity: true)
    namespaceRows.removeAll(keepingCapacity: true)
    knownEvictions = nil
    pendingBefore = nil
    renewedStore = nil
    nextNumbers.removeAll(keepingCapacity: true)
    nextRequestChanged = false
    inputsOfRequest.removeAll()
    tenure?.renewed = nil
  }

  /// Forgets everything that is kept in memory, because a transaction that changed it was rolled back.
  func forget() {
    forgetRows()
    cache.removeAll()
  }

  /// Forgets what was read and counted. The definitions in the cache, which readers share, are kept.
  func forgetRows() {
    beginAnew()
    shares.removeAll()
    namespacesOfPatterns.removeAll()
  }

  /// Draws the number of the row that is about to be inserted. A number of a request is given only once, even if the
  /// request is deleted later.
  func draw(_ table: NumberedTable) throws -> Int64 {
    if held != nil { return try held?.draw(table) ?? 0 }
    let number = try next(table)
    nextNumbers[table] = number + 1
    if table == .request { nextRequestChanged = true }
    return number
  }

  /// The number that the next row of the table gets.
  func next(_ table: NumberedTable) throws -> Int64 {
    if let known = nextNumbers[table] { return known }
    return try prepare(.next[table]).first { $0.int64(0) } ?? 1
  }
}

extension Query {
  static let next = NextNumbers()
  static let setNextRequest = Query("UPDATE store SET next_request = ? WHERE id = 1")
}

/// The queries for the numbers of the next rows.
struct NextNumbers: Sendable {
  private let queries = NumberedTable.allCases.map { table in
    switch table {
    case .request: Query("SELECT next_request FROM store WHERE id = 1")
    case .identifier, .submission, .pattern, .definition, .host, .itemPage:
      Query("SELECT coalesce(max(id), 0) + 1 FROM \(table.name)")
    }
  }

  subscript(table: NumberedTable) -> Query { queries[table.rawValue] }
}
