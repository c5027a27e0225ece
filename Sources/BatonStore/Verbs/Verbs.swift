internal import BatonModel
internal import GRDB

/// The verbs of the store as plain functions on one open connection, called inside a transaction: `SQLiteStore` runs
/// them in groups, the simulation one by one. One instance per connection, used by one thread at a time.
///
/// A verb that throws before it changed a row changed nothing; any other throw must be followed by a rollback and
/// `forget()`.
package final class Verbs {
  let db: Database
  let limits: StoreLimits
  let cache: DefinitionCache
  /// Spans are to be sent, and wait for that in `unsent_span`.
  let queuesSpans: Bool
  /// Of the writer; nil for a reader.
  var tenure: Tenure?
  private var prepared: [ObjectIdentifier: Prepared] = [:]
  /// What the writer knows of the rows of `pattern` and `host`, and of the next request's id; `flush()` writes it back.
  var patterns: [Int64: PatternRow] = [:]
  var changedPatterns: Set<Int64> = []
  /// What hosts used of their daily allowances, by the number of the host.
  var hostUses: [Int64: DailyUse] = [:]
  var changedHosts: Set<Int64> = []
  /// By the number of the host; nil until it is needed.
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

  func prepare(_ query: Query) throws -> Prepared {
    let key = ObjectIdentifier(query)
    if let known = prepared[key] { return known }
    let made = Prepared(try db.cachedStatement(sql: query.sql))
    prepared[key] = made
    return made
  }

  /// Writes back what the verbs of this transaction counted; called once before the commit.
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

  /// Forgets what a rolled back transaction made this instance believe.
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

  /// The id of the request that is about to be inserted: each is given once, also if its request is deleted later.
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
