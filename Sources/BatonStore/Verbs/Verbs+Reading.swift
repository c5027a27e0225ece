package import BatonModel

/// How many requests of a pattern are in a state.
package struct DefinitionCount: Hashable, Sendable {
  package var pattern: IdentifierPattern
  package var state: RequestState
  package var count: Int
}

/// A request as it is read from the store, with its progress and the parts of its definition that lists show.
package struct RequestRecord: Hashable, Sendable {
  package var id: RequestID
  package var identifier: JobIdentifier
  /// The number of the request within its identifier, from 1.
  package var number: Int
  package var definition: DefinitionID
  package var pattern: IdentifierPattern
  package var kind: JobKind
  package var title: String?
  package var subtitle: String?
  package var state: RequestState
  package var priority: Priority
  package var submittedAt: Timestamp
  package var principal: String
  /// The earliest time of the next launch. It is on the wall clock if `isDated` is true, and otherwise on the steady
  /// clock; the times in `waitsBecause` are on the same clock. `distantFuture` while the request waits for the live
  /// one.
  package var eligibleAt: Timestamp
  package var isDated: Bool
  /// Why the request is scheduled rather than ready; `nil` if it is not scheduled.
  package var waitsBecause: Obstacle?
  package var launches: Int
  package var progress: Progress
  package var ledger: Ledger
  /// The host on which the request runs now or ran last; `nil` before its first launch.
  package var host: HostName?
  package var startedAt: Timestamp?
  package var endedAt: Timestamp?
  /// How the last launch ended; nil before the first launch, while a launch runs, and once the request has ended.
  package var lastOutcome: LaunchOutcome.Kind?
  /// Why the request or, before it has ended, its last launch ended as it did: the text of the failure, the code of the
  /// expiry, or the principal who cancelled the request.
  package var reason: String?
  package var trace: TraceContext
  package var payload: [UInt8]?
  package var frozenItems: Int?
  /// The priority of the poke that the request stands for; `nil` if no poke asked for it.
  package var poke: PokePriority?
  /// Whether the request's definition repeats, so that another request follows this one.
  package var repeats = false
  /// The indexes of the batches that an operator skipped, in order. Of a divided request they are counted within the
  /// shards that `skippedShards` names, and at most `mostSkipped` are read.
  package var skippedBatches: [Int]
  /// Of a divided request, the shard of each of `skippedBatches`; otherwise empty.
  package var skippedShards: [Int] = []
  /// How many of `progress.completedUnits` were skipped and not done.
  package var skippedUnits: Int64
  /// The shards of the request in numbers; `nil` if it was not divided. Progress, launches and state of the record are
  /// those of all shards together.
  package var shards: ShardSummary?
  /// Whether the request was divided.
  package var isSpread = false
  /// When the request ended, by the steady clock; `nil` while it has not ended. Clients are not told.
  package var endedSteady: Timestamp?
  /// The time of the schedule for which the request stands, or of `repeat`; `nil` if a person, a poke or another job
  /// has asked for it.
  package var scheduledAt: Timestamp?
  /// Whether the request stands for a time of a backfill.
  package var isBackfill = false
  /// The only host that has the files of the request's transfers; `nil` if every host has them, or there are none.
  package var filesOn: HostName?
  /// The number of the flow in which the request was submitted; `nil` if it was submitted alone.
  package var flow: RequestID?
  /// The result of a request that has succeeded and was not divided; `nil` if it has given none. Lists leave it out.
  package var result: JobResult?
  /// The requests of its flow that it waits for, or has waited for.
  package var waitsFor: [AwaitedRequest] = []
  /// What keeps the request in a line for a key; `nil` if it is in none.
  var heldBy: KeyWait?
  /// Set while the request runs on a host whose connection is lost, as far as the coordinator knows it.
  package var hostAway: HostAway?

  package init(
    id: RequestID, identifier: JobIdentifier, number: Int, definition: DefinitionID, pattern: IdentifierPattern,
    kind: JobKind, title: String? = nil, subtitle: String? = nil, state: RequestState, priority: Priority,
    submittedAt: Timestamp, principal: String, eligibleAt: Timestamp, isDated: Bool = false,
    waitsBecause: Obstacle? = nil, launches: Int,
    progress: Progress, ledger: Ledger, host: HostName? = nil, startedAt: Timestamp? = nil,
    endedAt: Timestamp? = nil, lastOutcome: LaunchOutcome.Kind? = nil, reason: String? = nil, trace: TraceContext,
    payload: [UInt8]? = nil, frozenItems: Int? = nil, poke: PokePriority? = nil, skippedBatches: [Int] = [],
    skippedUnits: Int64 = 0
  ) {
    self.id = id
    self.identifier = identifier
    self.number = number
    self.definition = definition
    self.pattern = pattern
    self.kind = kind
    self.title = title
    self.subtitle = subtitle
    self.state = state
    self.priority = priority
    self.submittedAt = submittedAt
    self.principal = principal
    self.eligibleAt = eligibleAt
    self.isDated = isDated
    self.waitsBecause = waitsBecause
    self.launches = launches
    self.progress = progress
    self.ledger = ledger
    self.host = host
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.lastOutcome = state.isEnded ? nil : lastOutcome
    self.reason = reason
    self.trace = trace
    self.payload = payload
    self.frozenItems = frozenItems
    self.poke = poke
    self.skippedBatches = skippedBatches
    self.skippedUnits = skippedUnits
  }

  /// The code of how the request ended or, before that, of how its last launch ended; nil if there is neither.
  package var outcome: String? { state.isEnded ? state.rawValue : lastOutcome?.rawValue }

  /// The units that were done, without those of skipped batches.
  package var doneUnits: Int64 { max(0, progress.completedUnits - skippedUnits) }

  /// The record with the times of a pending request converted to the wall clock, for people.
  package func onWallClock(at now: Moment) -> RequestRecord {
    // Only a pending request has times that are still to come. For all other requests the times are history and are not
    // shown.
    guard !isDated, state.isPending else { return self }
    var record = self
    record.isDated = true
    record.eligibleAt = now.date(ofSteady: eligibleAt)
    record.waitsBecause = waitsBecause?.shifted(by: now.date - now.steady)
    return record
  }
}

/// One launch of a request, as it is read and shown.
package struct LaunchRecord: Hashable, Sendable {
  package var launch: LaunchKey
  /// The number of the shard within its request; 0 for a request that was not divided.
  package var shard = 0
  package var host: HostName
  package var startedAt: Timestamp
  package var endedAt: Timestamp?
  /// How the launch ended; nil while it runs.
  package var outcome: LaunchOutcome.Kind?
  /// The text of a failure, or the expiry reason in words. `expiringReason` has the expiry reason as a value, also
  /// while the launch still runs.
  package var reason: String?
  package var isGraceful: Bool
  /// The index of the first batch that this launch may commit.
  package var firstBatch: Int
  /// How many batches this launch has committed.
  package var batches: Int
  package var spanID: SpanID
  package var expiringReason: ExpiryReason?
  package var expiringSince: Timestamp?
  /// Whether `baton simulate launch` started it.
  package var isSimulated: Bool

  package init(
    launch: LaunchKey, host: HostName, startedAt: Timestamp, endedAt: Timestamp? = nil,
    outcome: LaunchOutcome.Kind? = nil, reason: String? = nil, isGraceful: Bool, firstBatch: Int, batches: Int,
    spanID: SpanID,
    expiringReason: ExpiryReason? = nil, expiringSince: Timestamp? = nil, isSimulated: Bool = false
  ) {
    self.launch = launch
    self.host = host
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.outcome = outcome
    self.reason = reason
    self.isGraceful = isGraceful
    self.firstBatch = firstBatch
    self.batches = batches
    self.spanID = spanID
    self.expiringReason = expiringReason
    self.expiringSince = expiringSince
    self.isSimulated = isSimulated
  }
}

extension Verbs {
  package func request(_ id: RequestID) throws -> RequestRecord? {
    try need(.identifierOf(id))
    try need(.payload(id))
    try need(.result(id))
    try needAnyShards(of: id)
    return try complete(try prepare(.requestByID).first(id.rawValue, row: Self.record))
  }

  /// A group needs the shards of a divided request for the sums that a record has.
  private func needAnyShards(of id: RequestID) throws {
    guard held != nil, try prepare(.shardOf).first(id.rawValue, row: { _ in true }) == true else { return }
    try need(.allShards(id))
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
    guard try prepare(.shardOf).first(request.rawValue, row: { _ in true }) == true else {
      return try prepare(.launches).all(request.rawValue, row: Self.launch)
    }
    let last = try prepare(.launchesOfShards).all(request.rawValue, LaunchRecord.limitOfShards, row: Self.launch)
    return last.reversed()
  }

  private static func launch(_ row: Columns) -> LaunchRecord {
    var record = LaunchRecord(
      launch: LaunchKey(request: RequestID(row.int64(14)), number: row.int(0)), host: HostName(row.text(1)),
      startedAt: row.time(2),
      endedAt: row.optionalTime(3), outcome: row.outcome(4), reason: row.optionalText(5),
      isGraceful: row.bool(6), firstBatch: row.int(7), batches: row.int(8), spanID: row.spanID(9),
      expiringReason: row.optionalText(10).flatMap { ExpiryReason(code: $0, detail: row.optionalText(11)) },
      expiringSince: row.optionalTime(12), isSimulated: row.bool(13))
    record.shard = row.int(15)
    return record
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
    try prepare(.firstReady).each(classes.map { [$0.definition.rawValue, $0.priority.rawValue] }) { _, row in
      row.optionalTime(0)
    }.joined().compactMap { $0 }.min()
  }

  /// The record with the parts of its definition that the row does not contain.
  func complete(_ record: RequestRecord?) throws -> RequestRecord? {
    guard var record else { return nil }
    let definition = try knownDefinition(record.definition).definition
    (record.pattern, record.kind, record.title) = (definition.pattern, definition.kind, definition.title)
    record.subtitle = record.subtitle ?? definition.subtitle
    record.repeats = definition.repeats
    if record.flow != nil { try addAwaited(to: &record) }
    if record.isSpread { try addShards(to: &record, countsShards: definition.spread?.shards != nil) }
    try addLimit(to: &record, definition)
    return record
  }

  private func addAwaited(to record: inout RequestRecord) throws {
    record.waitsFor = try awaited(by: record.id)
    let open = record.waitsFor.filter { $0.state == .open }
    if record.state == .scheduled, !open.isEmpty { record.waitsBecause = .waitsForOthers(open.map(\.name)) }
  }

  /// The columns of the row; `complete` adds what the definition says.
  static func record(_ row: Columns) -> RequestRecord {
    let (eligibleAt, isDated) = eligible(row)
    let cause = row.optionalInt64(9).flatMap { Cause(rawValue: Int($0)) }
    // A spacing has an end, and a pause has none.
    let pause = row.time(8) == .distantFuture ? standing(row, from: 42).pause : nil
    var record = RequestRecord(
      id: RequestID(row.int64(0)), identifier: JobIdentifier(trusted: row.text(1)), number: row.int(2),
      definition: DefinitionID(row.int64(3)), pattern: IdentifierPattern(trusted: ""), kind: .processing, title: nil,
      subtitle: row.optionalText(4), state: RequestState(code: row.int(5)), priority: Priority(code: row.int(6)),
      submittedAt: row.time(7), principal: row.text(11), eligibleAt: eligibleAt, isDated: isDated,
      waitsBecause: cause?.obstacle(until: eligibleAt, liveNumber: row.int(10), pause: pause), launches: row.int(12),
      progress: progress(row, from: 13),
      ledger: Ledger(
        failures: row.int(17), losses: row.int(18), strikes: row.int(19), cancelledBy: row.optionalText(20)),
      host: row.optionalText(21).map(HostName.init), startedAt: row.optionalTime(22), endedAt: row.optionalTime(23),
      lastOutcome: row.outcome(24), reason: row.optionalText(25), trace: row.trace(26),
      payload: row.optionalBlob(29), frozenItems: row.optionalInt64(30).map(Int.init),
      poke: row.poke(33), skippedBatches: batches(row.optionalText(34)), skippedUnits: row.int64(35))
    record.isSpread = !row.isNull(36)
    record.endedSteady = row.optionalTime(37)
    if let limited = row.optionalTime(38), limited == eligibleAt {
      record.waitsBecause = .transfersLimited(until: limited)
    }
    record.filesOn = row.optionalText(39).map(HostName.init)
    record.scheduledAt = row.optionalTime(40)
    record.isBackfill = BackfillMark(code: row.int(41)) == .isPart
    record.flow = row.optionalInt64(46).map(RequestID.init)
    if record.state == .scheduled, row.time(8) == .heldByKey, let name = row.optionalText(47) {
      record.heldBy = KeyWait(
        key: LimitKey(name: name), row: record.id,
        requirementClass: RequirementClass(definition: record.definition, priority: record.priority))
      (record.eligibleAt, record.waitsBecause) = (.distantFuture, nil)
    }
    record.result = row.optionalBlob(48).map(JobResult.init(trusted:))
    return record
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
  /// The row of a divided request is its first shard's, whose result is not that of the request.
  private static let ownResult = """
    CASE WHEN r.state = 3 AND r.first_unit IS NULL THEN (SELECT o.bytes FROM result o WHERE o.request = r.id) END
    """
  /// The columns that `Verbs.record` reads. A list leaves out cursors and payloads, which may be large.
  static func recordColumns(withBlobs: Bool) -> String {
    """
    SELECT r.id, i.name, r.number, r.definition, p.subtitle, r.state, r.priority, r.submitted_at, r.eligible_at,
      r.cause,
      CASE WHEN r.cause = 3 THEN (SELECT v.number FROM request v
        WHERE v.identifier = r.identifier AND v.launches > 0 AND v.state <= 2 AND v.head IS NULL) END,
      r.principal, r.launches, coalesce(p.batches, 0), \(withBlobs ? "p.cursor" : "NULL"),
      coalesce(p.completed_units, 0), p.total_units, r.failures, r.losses, r.strikes, r.cancelled_by, h.name,
      r.started_at, r.ended_at, r.outcome, r.reason, r.trace_id, r.span_id, r.is_sampled,
      \(withBlobs ? "(SELECT y.bytes FROM payload y WHERE y.request = r.id)" : "NULL"), r.frozen_items,
      r.earliest_at, r.is_dated, r.poke, p.skipped, coalesce(p.skipped_units, 0),
      r.first_unit, CASE WHEN r.ended_at IS NOT NULL THEN \(endedSteady("r")) END,
      CASE WHEN r.files_on IS NOT NULL AND r.cause = 2
        THEN (SELECT t.last_at FROM transfer_place t WHERE t.request = r.id) END,
      CASE WHEN r.files_on > 0 THEN (SELECT o.name FROM host o WHERE o.id = r.files_on) END,
      r.scheduled_at, r.backfill, i.paused_at, i.paused_by, i.paused_because, i.backfill, r.flow,
      r.waits_on,
      \(withBlobs ? ownResult : "NULL")

    """
  }
  static let recordJoins = """
    JOIN identifier i ON i.id = r.identifier LEFT JOIN progress p ON p.request = r.id
      LEFT JOIN host h ON h.id = r.host

    """
  private static let ofIdentifier = """
    \(recordColumns(withBlobs: true)) FROM request r \(recordJoins)
    WHERE r.head IS NULL AND r.identifier = (SELECT id FROM identifier WHERE name = ?)
    """
  static let requestByID = Query("\(recordColumns(withBlobs: true)) FROM request r \(recordJoins) WHERE r.id = ?")
  static let requestByNumber = Query("\(ofIdentifier) AND r.number = ?")
  static let liveRequest = Query("\(ofIdentifier) AND r.launches > 0 AND r.state <= 2")
  static let waitingRequest = Query("\(ofIdentifier) AND r.launches = 0 AND r.state <= 1")
  static let lastRequest = Query(
    "\(ofIdentifier) AND r.ended_at + 0 IS NOT NULL ORDER BY \(endedSteady("r")) DESC, r.id DESC LIMIT 1")
  static let lastLaunchedRequest = Query(
    "\(ofIdentifier) AND r.launches > 0 ORDER BY r.number DESC LIMIT 1")
  static let lastRequestWithOutput = Query(
    """
    SELECT r.number FROM request r
    WHERE r.head IS NULL AND r.identifier = (SELECT id FROM identifier WHERE name = ?) AND r.number < ?
      AND (EXISTS (SELECT 1 FROM output o WHERE o.request = r.id)
        OR EXISTS (SELECT 1 FROM request p JOIN output o ON o.request = p.id WHERE p.head = r.id))
    ORDER BY r.number DESC LIMIT 1
    """)
  static let launches = Query(
    "\(launchColumns) FROM launch l JOIN request r ON r.id = l.request JOIN host h ON h.id = l.host "
      + "WHERE l.request = ? ORDER BY l.number")
  static let launchesOfShards = Query(
    """
    \(launchColumns)
    FROM (SELECT id, shard FROM request WHERE id = ?1 UNION ALL SELECT id, shard FROM request WHERE head = ?1) AS r
      JOIN launch l ON l.request = r.id JOIN host h ON h.id = l.host
    ORDER BY l.started_at DESC, l.request DESC, l.number DESC LIMIT ?2
    """)
  private static let launchColumns = """
    SELECT l.number, h.name, l.started_at, l.ended_at, l.outcome, l.reason, l.is_graceful, l.first_batch,
      CASE WHEN l.ended_at IS NULL
        THEN coalesce((SELECT batches FROM progress WHERE request = l.request), 0) - l.first_batch
        ELSE l.batches END,
      l.span_id, l.expiring_reason, l.expiring_detail, l.expiring_since, l.is_simulated, l.request, r.shard
    """
  static let firstReady = Query(
    """
    SELECT min(ready_at) FROM (
      SELECT ready_at FROM request WHERE state = 1 AND definition = ? AND priority = ?
      ORDER BY id LIMIT 64) AS oldest
    """,
    // A list of one, as in `ListSource.planned`.
    elsewhere: """
      SELECT min(ready_at) FROM (
        SELECT ready_at FROM request WHERE state = 1 AND definition = ANY (ARRAY[?1]) AND priority = ?2
        ORDER BY definition, id LIMIT 64) AS oldest
      """)
  static let patternCounts = Query(
    """
    SELECT p.name, CAST(sum(s.scheduled) AS bigint), CAST(sum(s.ready) AS bigint), CAST(sum(s.running) AS bigint),
      CAST(sum(s.succeeded) AS bigint), CAST(sum(s.failed) AS bigint), CAST(sum(s.cancelled) AS bigint)
    FROM pattern p JOIN share s ON s.pattern = p.id GROUP BY p.id ORDER BY p.name
    """)
}
