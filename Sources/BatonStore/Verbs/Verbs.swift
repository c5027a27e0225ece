internal import BatonModel
internal import GRDB

/// The verbs of the store as plain functions on one open connection. They are called inside a transaction:
/// `SQLiteStore` runs many of them in one transaction, the simulation runs them one by one. There is one instance per
/// connection, and only one thread at a time may use it.
///
/// A verb that throws before it has changed a row has changed nothing. After any other error the transaction must be
/// rolled back and `forget()` must be called.
package final class Verbs {
  let db: Database
  let limits: StoreLimits
  let cache: DefinitionCache
  /// Whether spans are queued in `unsent_span` until a backend has confirmed them.
  let queuesSpans: Bool
  /// The tenure of the writer; `nil` for a reader.
  var tenure: Tenure?
  private var prepared: [ObjectIdentifier: Prepared] = [:]
  /// The rows of `pattern` as this transaction has changed them. Like the values below, they are kept over
  /// transactions, and `flush()` writes changed ones back.
  var patterns: [Int64: PatternRow] = [:]
  var changedPatterns: Set<Int64> = []
  /// What hosts have used of their daily allowances, by the row number of the host.
  var hostUses: [Int64: DailyUse] = [:]
  var changedHosts: Set<Int64> = []
  /// The evicted patterns by the row number of the host; `nil` until they are needed.
  var knownEvictions: [Int64: [IdentifierPattern]]?
  var pendingTotal: Int?
  var nextRequest: Int64?
  var nextRequestChanged = false

  init(_ db: Database, limits: StoreLimits, cache: DefinitionCache, queuesSpans: Bool) {
    self.db = db
    self.limits = limits
    self.cache = cache
    self.queuesSpans = queuesSpans
  }

  /// The prepared statement of a query, prepared at the first use on this connection.
  func prepare(_ query: Query) throws -> Prepared {
    let key = ObjectIdentifier(query)
    if let known = prepared[key] { return known }
    let made = Prepared(try db.cachedStatement(sql: query.sql))
    prepared[key] = made
    return made
  }

  /// Writes back what the verbs of this transaction have counted. It is called once before the commit, and by verbs
  /// that read these rows.
  func flush() throws {
    if nextRequestChanged, let nextRequest {
      try prepare(.setNextRequest).run(nextRequest)
      nextRequestChanged = false
    }
    for id in changedPatterns.sorted() {
      guard let pattern = patterns[id] else { preconditionFailure("a changed pattern is not known") }
      try write(pattern, of: id)
    }
    changedPatterns.removeAll(keepingCapacity: true)
    if !changedHosts.isEmpty { try writeHostUses() }
  }

  /// Forgets all values that are kept in memory, because a transaction that changed them was rolled back.
  func forget() {
    patterns.removeAll()
    changedPatterns.removeAll()
    hostUses.removeAll()
    changedHosts.removeAll()
    knownEvictions = nil
    pendingTotal = nil
    nextRequest = nil
    nextRequestChanged = false
    tenure?.renewed = nil
    cache.removeAll()
  }

  /// Draws the id of the request that is about to be inserted. Each id is given only once, even if its request is
  /// deleted later.
  func drawRequestID() throws -> Int64 {
    let id = try nextRequest ?? prepare(.nextRequest).first { $0.int64(0) } ?? 1
    nextRequest = id + 1
    nextRequestChanged = true
    return id
  }
}

extension Query {
  static let nextRequest = Query("SELECT next_request FROM store WHERE id = 1")
  static let setNextRequest = Query("UPDATE store SET next_request = ? WHERE id = 1")
}
