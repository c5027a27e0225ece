package import BatonModel

/// How long, and how many of, ended requests, submission ids and unsent spans are kept.
package struct RetentionLimits: Hashable, Sendable {
  /// The time for which an ended request is kept, on the steady clock.
  package var endedFor: Duration
  /// The largest number of ended requests that are kept.
  package var endedCount: Int
  /// The time for which the id of a submission is kept, on the steady clock.
  package var submissionsFor: Duration
  /// How long spans that no backend accepted are kept after the end of their request, on the steady clock
  /// (Documentation/reference/limits.md).
  package var spansFor: Duration
  /// The largest number of unsent occasions that are kept, each of one to three spans.
  package var spanCount: Int
  /// How long a host without a lease is kept, on the steady clock.
  package var hostsFor: Duration
  /// How long the changes of a host's conditions are kept, on the steady clock; of each host at most
  /// `ConditionChange.most`.
  package var conditionsFor: Duration
  /// The largest number of rows that one step deletes.
  package var step: Int

  package init(
    endedFor: Duration = .seconds(30 * 86_400), endedCount: Int = 100_000,
    submissionsFor: Duration = .seconds(7 * 86_400), spansFor: Duration = .seconds(7 * 86_400),
    spanCount: Int = 1_000_000, hostsFor: Duration = .seconds(30 * 86_400),
    conditionsFor: Duration = .seconds(7 * 86_400), step: Int = 500
  ) {
    (self.hostsFor, self.conditionsFor) = (hostsFor, conditionsFor)
    self.spansFor = spansFor
    self.spanCount = spanCount
    self.endedFor = endedFor
    self.endedCount = endedCount
    self.submissionsFor = submissionsFor
    self.step = step
  }
}

/// Ended requests that may be deleted.
struct Prunable: Sendable {
  typealias Ended = (id: Int64, definition: DefinitionID, state: RequestState)
  var requests: [Ended] = []
  /// Whether there may be more of them.
  var isFull = false
}

extension Verbs {
  /// Finds and deletes in one transaction, for the simulation.
  package func prune(_ limits: RetentionLimits, at now: Moment) throws -> Bool {
    try flush()
    return try prune(prunable(limits, keepingUnsent: queuesSpans, at: now), limits, at: now)
  }

  /// Finds ended requests that are older or more numerous than `limits` allows, at most one step of them.
  /// - Parameter keepingUnsent: true to keep requests whose spans were not sent yet.
  func prunable(_ limits: RetentionLimits, keepingUnsent: Bool, at now: Moment) throws -> Prunable {
    let step = max(1, limits.step)
    let before = now.steady + (.zero - limits.endedFor)
    var found = Prunable()
    found.requests = try prepare(.endedBefore).all(before, keepingUnsent, step, row: Self.ended)
    if found.requests.count < step, try prepare(.hasRetention).first(row: { _ in true }) == true {
      found.requests += try prepare(.endedForTheirTime).all(
        now.steady, keepingUnsent, step - found.requests.count, row: Self.ended)
    }
    if found.requests.count < step {
      let ended = try prepare(.endedCount).first { $0.int(0) } ?? 0
      let surplus = min(step, ended - limits.endedCount) - found.requests.count
      let known = Set(found.requests.map(\.id))
      if surplus > 0 {
        found.requests += try prepare(.oldestEnded).all(keepingUnsent, found.requests.count + surplus, row: Self.ended)
          .filter { !known.contains($0.id) }
      }
    }
    found.isFull = found.requests.count >= step
    return found
  }

  /// Deletes the requests that were found, and old submission ids, at most one step of each.
  /// - Returns: true if there may be more to delete.
  func prune(_ found: Prunable, _ limits: RetentionLimits, at now: Moment) throws -> Bool {
    try demandStewardship()
    let step = max(1, limits.step)
    var found = found
    if try pruneLimits(limit: step, at: now) { found.isFull = true }
    try delete(found.requests)
    let submissions = try deleteSubmissions(before: now.steady + (.zero - limits.submissionsFor), limit: step)
    return found.isFull || submissions == step
  }

  /// Deletes the requests with their launches, progress, payload, events, items and output. A request that was retried
  /// in the meantime stays.
  /// - Returns: the states of those that were deleted.
  @discardableResult
  func delete(_ requests: [Prunable.Ended]) throws -> [RequestState] {
    var deleted: [RequestState] = []
    try need(requests.flatMap { [.identifierOf(RequestID($0.id)), .spans(RequestID($0.id))] })
    for request in requests {
      try need(.identifierOf(RequestID(request.id)))
      try need(.spans(RequestID(request.id)))
      guard try prepare(.endedState).first(request.id, row: { $0.int(0) }) == request.state.code else { continue }
      try prepare(.deleteUnsent).run(request.id)
      try deleteUnsentOfShards(of: request.id)
      try prepare(.deleteRequest).run(request.id)
      try count(pattern: try knownDefinition(request.definition).pattern, from: request.state, to: nil)
      deleted.append(request.state)
    }
    return deleted
  }

  /// The rows of shards go with their request; the list of unsent spans has no foreign key.
  private func deleteUnsentOfShards(of request: Int64) throws {
    guard try launched(RequestID(request))?.isSpread == true else { return }
    try need(.allShards(RequestID(request)))
    let shards = try prepare(.shardIDs).all(request, row: { $0.int64(0) })
    try need(shards.map { .spans(RequestID($0)) })
    for shard in shards {
      try prepare(.deleteUnsent).run(shard)
    }
  }

  /// Deletes submissions that are older than `time`, on the steady clock, in the order in which they came. Returns how
  /// many were deleted.
  private func deleteSubmissions(before time: Timestamp, limit: Int) throws -> Int {
    try need(.oldestSubmissions(limit))
    let oldest = try prepare(.oldestSubmissions).all(limit) { row in (id: row.int64(0), at: row.time(1)) }
    let old = oldest.filter { $0.at < time }
    for submission in old { try prepare(.deleteSubmission).run(submission.id) }
    return old.count
  }

  static func ended(_ row: Columns) -> Prunable.Ended {
    (row.int64(0), DefinitionID(row.int64(1)), RequestState(code: row.int(2)))
  }
}

extension Query {
  /// When a request ended, on the steady clock; of a request that ended in a version that did not store this time, the
  /// date. The index `request_ended_steady` has this expression.
  static func endedSteady(_ request: String) -> String { "coalesce(\(request).ended_steady, \(request).ended_at)" }
  /// Neither the request nor a shard of it has spans that were not sent.
  static let hasAllSent = """
    NOT EXISTS (SELECT 1 FROM unsent_span u WHERE u.request = r.id) AND NOT EXISTS (
      SELECT 1 FROM request s JOIN unsent_span u ON u.request = s.id WHERE s.head = r.id)
    """
  /// No request that has not ended waits, or has waited, for the end of this one. It may still get its result.
  static let isDone = """
    (r.is_awaited = 0 OR NOT EXISTS (SELECT 1 FROM dependency d JOIN request w ON w.id = d.request
      WHERE d.awaited = r.id AND w.ended_at IS NULL))
    """
  /// The retention that the definition of a request sets; null if it sets none.
  private static let ownRetention = """
    (SELECT p.retention FROM definition d JOIN pattern p ON p.id = d.pattern WHERE d.id = r.definition)
    """
  static let endedBefore = Query(
    """
    SELECT r.id, r.definition, r.state FROM request r WHERE \(endedSteady("r")) < ?1 AND r.ended_at IS NOT NULL
      AND r.head IS NULL AND (?2 = 0 OR \(hasAllSent)) AND \(isDone) AND \(ownRetention) IS NULL
    ORDER BY \(endedSteady("r")) LIMIT ?3
    """)
  static let hasRetention = Query("SELECT 1 FROM pattern WHERE retention IS NOT NULL LIMIT 1")
  /// Requests that have been kept as long as their definition says.
  static let endedForTheirTime = Query(
    """
    SELECT r.id, r.definition, r.state FROM request r WHERE \(endedSteady("r")) < ?1 AND r.ended_at IS NOT NULL
      AND r.head IS NULL AND (?2 = 0 OR \(hasAllSent)) AND \(isDone) AND \(endedSteady("r")) < ?1 - \(ownRetention)
    ORDER BY \(endedSteady("r")) LIMIT ?3
    """)
  static let oldestEnded = Query(
    """
    SELECT r.id, r.definition, r.state FROM request r WHERE r.ended_at IS NOT NULL
      AND r.head IS NULL AND (?1 = 0 OR \(hasAllSent)) AND \(isDone)
    ORDER BY \(endedSteady("r")) LIMIT ?2
    """)
  static let endedState = Query("SELECT state FROM request WHERE id = ? AND ended_at IS NOT NULL")
  static let deleteUnsent = Query("DELETE FROM unsent_span WHERE request = ?")
  static let endedCount = Query(
    "SELECT CAST(coalesce(sum(succeeded + failed + cancelled), 0) AS bigint) FROM share")
  static let deleteRequest = Query("DELETE FROM request WHERE id = ?")
  static let oldestSubmissions = Query("SELECT id, at FROM submission ORDER BY id LIMIT ?")
  static let deleteSubmission = Query("DELETE FROM submission WHERE id = ?")
}
