package import BatonModel

extension Verbs {
  package func request(_ id: RequestID) throws -> RequestRecord? {
    try complete(try prepare(.requestByID).first(id.rawValue, row: Self.record))
  }

  /// The request with this number. Without a number: the live request, else the waiting one, else the one that ended
  /// last.
  package func request(_ identifier: JobIdentifier, number: Int?) throws -> RequestRecord? {
    let name = identifier.rawValue
    if let number { return try complete(try prepare(.requestByNumber).first(name, number, row: Self.record)) }
    for query in [Query.liveRequest, .waitingRequest, .lastRequest] {
      if let found = try prepare(query).first(name, row: Self.record) { return try complete(found) }
    }
    return nil
  }

  /// The live request, else the request with the highest number that was launched.
  package func lastLaunched(_ identifier: JobIdentifier) throws -> RequestRecord? {
    let name = identifier.rawValue
    if let live = try prepare(.liveRequest).first(name, row: Self.record) { return try complete(live) }
    return try complete(try prepare(.lastLaunchedRequest).first(name, row: Self.record))
  }

  package func waiting(_ identifier: JobIdentifier) throws -> RequestRecord? {
    try complete(try prepare(.waitingRequest).first(identifier.rawValue, row: Self.record))
  }

  package func lastOutput(of identifier: JobIdentifier, before number: Int) throws -> Int? {
    try prepare(.lastRequestWithOutput).first(identifier.rawValue, number) { $0.int(0) }
  }

  package func launches(of request: RequestID) throws -> [LaunchRecord] {
    try prepare(.launches).all(request.rawValue) { row in
      LaunchRecord(
        launch: LaunchKey(request: request, number: row.int(0)), host: HostName(row.text(1)), startedAt: row.time(2),
        endedAt: row.optionalTime(3), outcome: row.outcome(4), reason: row.optionalText(5),
        isGraceful: row.bool(6), firstBatch: row.int(7), batches: row.int(8), spanID: row.spanID(9),
        expiringReason: row.optionalText(10).flatMap { ExpiryReason(code: $0, detail: row.optionalText(11)) },
        expiringSince: row.optionalTime(12), isSimulated: row.bool(13))
    }
  }

  package func counts() throws -> [DefinitionCount] {
    let rows = try prepare(.patternCounts).all { row in
      (pattern: IdentifierPattern(trusted: row.text(0)), counts: Self.stateCounts(row, from: 1))
    }
    return rows.flatMap { row in
      RequestState.allCases.filter { row.counts[$0] > 0 }.map {
        DefinitionCount(pattern: row.pattern, state: $0, count: row.counts[$0])
      }
    }
  }

  /// Examines only the 64 requests of each class that start first, with one index lookup per class, so the cost does
  /// not depend on the number of requests. More than one request has to be examined, because a resumed request starts
  /// before requests that have waited longer. There are no more resumed requests than launches that were running.
  package func oldestReady(of classes: [RequirementClass]) throws -> Timestamp? {
    try classes.compactMap { wanted in
      try prepare(.firstReady).first(wanted.definition.rawValue, wanted.priority.rawValue) { $0.optionalTime(0) } ?? nil
    }.min()
  }

  /// The record with the parts of its definition that the row does not contain.
  func complete(_ record: RequestRecord?) throws -> RequestRecord? {
    guard var record else { return nil }
    let definition = try knownDefinition(record.definition).definition
    (record.pattern, record.kind, record.title) = (definition.pattern, definition.kind, definition.title)
    record.subtitle = record.subtitle ?? definition.subtitle
    record.repeats = definition.repeatEvery != nil
    return record
  }

  /// The columns of the row; `complete` adds what the definition says.
  static func record(_ row: Columns) -> RequestRecord {
    let (eligibleAt, isDated) = eligible(row)
    let cause = row.optionalInt64(9).flatMap { Cause(rawValue: Int($0)) }
    return RequestRecord(
      id: RequestID(row.int64(0)), identifier: JobIdentifier(trusted: row.text(1)), number: row.int(2),
      definition: DefinitionID(row.int64(3)), pattern: IdentifierPattern(trusted: ""), kind: .processing, title: nil,
      subtitle: row.optionalText(4), state: RequestState(code: row.int(5)), priority: Priority(code: row.int(6)),
      submittedAt: row.time(7), principal: row.text(11), eligibleAt: eligibleAt, isDated: isDated,
      waitsBecause: cause?.obstacle(until: eligibleAt, liveNumber: row.int(10)), launches: row.int(12),
      progress: progress(row, from: 13),
      ledger: Ledger(
        failures: row.int(17), losses: row.int(18), strikes: row.int(19), cancelledBy: row.optionalText(20)),
      host: row.optionalText(21).map(HostName.init), startedAt: row.optionalTime(22), endedAt: row.optionalTime(23),
      lastOutcome: row.outcome(24), reason: row.optionalText(25), trace: row.trace(26),
      payload: row.optionalBlob(29), frozenItems: row.optionalInt64(30).map(Int.init),
      poke: row.poke(33), skippedBatches: batches(row.optionalText(34)), skippedUnits: row.int64(35))
  }

  /// When a request may start. For a request that waits for a date, or ended while it did, this is the date; otherwise
  /// it is a time of the steady clock.
  private static func eligible(_ row: Columns) -> (at: Timestamp, isDated: Bool) {
    let steady = row.time(8)
    let isHeld = row.optionalInt64(9) == Int64(Cause.waitsForLiveRequest.rawValue)
    guard steady == .distantFuture, row.bool(32), !isHeld else { return (steady, false) }
    return (row.time(31), true)
  }
}

extension Query {
  /// The columns that `Verbs.record` reads. A list leaves out cursors and payloads, which may be large.
  static func recordColumns(withBlobs: Bool) -> String {
    """
    SELECT r.id, i.name, r.number, r.definition, p.subtitle, r.state, r.priority, r.submitted_at, r.eligible_at,
      r.cause,
      CASE WHEN r.cause = 3 THEN (SELECT v.number FROM request v
        WHERE v.identifier = r.identifier AND v.launches > 0 AND v.state <= 2) END,
      r.principal, r.launches, coalesce(p.batches, 0), \(withBlobs ? "p.cursor" : "NULL"),
      coalesce(p.completed_units, 0), p.total_units, r.failures, r.losses, r.strikes, r.cancelled_by, h.name,
      r.started_at, r.ended_at, r.outcome, r.reason, r.trace_id, r.span_id, r.is_sampled,
      \(withBlobs ? "(SELECT y.bytes FROM payload y WHERE y.request = r.id)" : "NULL"), r.frozen_items,
      r.earliest_at, r.is_dated, r.poke, p.skipped, coalesce(p.skipped_units, 0)

    """
  }
  static let recordJoins = """
    JOIN identifier i ON i.id = r.identifier LEFT JOIN progress p ON p.request = r.id
      LEFT JOIN host h ON h.id = r.host

    """
  private static let ofIdentifier = """
    \(recordColumns(withBlobs: true)) FROM request r \(recordJoins)
    WHERE r.identifier = (SELECT id FROM identifier WHERE name = ?)
    """
  static let requestByID = Query("\(recordColumns(withBlobs: true)) FROM request r \(recordJoins) WHERE r.id = ?")
  static let requestByNumber = Query("\(ofIdentifier) AND r.number = ?")
  static let liveRequest = Query("\(ofIdentifier) AND r.launches > 0 AND r.state <= 2")
  static let waitingRequest = Query("\(ofIdentifier) AND r.launches = 0 AND r.state <= 1")
  static let lastRequest = Query(
    "\(ofIdentifier) AND +r.ended_at IS NOT NULL ORDER BY r.ended_at DESC, r.id DESC LIMIT 1")
  static let lastLaunchedRequest = Query(
    "\(ofIdentifier) AND r.launches > 0 ORDER BY r.number DESC LIMIT 1")
  static let lastRequestWithOutput = Query(
    """
    SELECT r.number FROM request r
    WHERE r.identifier = (SELECT id FROM identifier WHERE name = ?) AND r.number < ?
      AND EXISTS (SELECT 1 FROM output o WHERE o.request = r.id)
    ORDER BY r.number DESC LIMIT 1
    """)
  static let launches = Query(
    """
    SELECT l.number, h.name, l.started_at, l.ended_at, l.outcome, l.reason, l.is_graceful, l.first_batch,
      CASE WHEN l.ended_at IS NULL
        THEN coalesce((SELECT batches FROM progress WHERE request = l.request), 0) - l.first_batch
        ELSE l.batches END,
      l.span_id, l.expiring_reason, l.expiring_detail, l.expiring_since, l.is_simulated
    FROM launch l JOIN host h ON h.id = l.host WHERE l.request = ? ORDER BY l.number
    """)
  static let firstReady = Query(
    """
    SELECT min(ready_at) FROM (
      SELECT ready_at FROM request INDEXED BY request_ready WHERE state = 1 AND definition = ? AND priority = ?
      ORDER BY id LIMIT 64)
    """)
  static let patternCounts = Query(
    "SELECT name, scheduled, ready, running, succeeded, failed, cancelled FROM pattern ORDER BY name")
}
