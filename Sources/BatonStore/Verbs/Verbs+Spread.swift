internal import BatonModel

/// The row of `spread`: how a request is divided into shards.
struct SpreadRow {
  let head: Int64
  /// At most this many shards run, or wait for a host or for a time, at once.
  var lanes: Int
  /// How many shards were made. It is the number of the next one.
  var shards: Int
  /// How many of them have not ended.
  var open: Int
  /// How many of those wait for a lane.
  var parked: Int
  /// How many of the open shards run. The request counts as pending while none does, and otherwise each of them counts
  /// as running, which is what `maxRunning` limits.
  var running = 0
  /// How many launches all shards have had.
  var launches: Int
  var failed: Int
  var cancelled: Int
  /// The first unit that no shard has, and the end of all units, if that is known.
  var nextUnit: Int64
  var endUnit: Int64?
  /// The length of the next shard.
  var size: Int64
  /// Whether no shard is made any more: the request was cancelled, or stops because a shard has failed.
  var isStopping: Bool
  var failedShards: String?
  var failure: String?
  /// Whether a person has cancelled the request.
  var isCancelled = false

  /// A request of which only its own shard exists.
  init(head: Int64, lanes: Int) {
    self.init(
      head: head, lanes: lanes, shards: 1, open: 1, parked: 0, launches: 0, failed: 0, cancelled: 0, nextUnit: 0,
      endUnit: nil, size: 1, isStopping: false)
  }

  init(
    head: Int64, lanes: Int, shards: Int, open: Int, parked: Int, launches: Int, failed: Int, cancelled: Int,
    nextUnit: Int64, endUnit: Int64?, size: Int64, isStopping: Bool, failedShards: String? = nil, failure: String? = nil
  ) {
    (self.head, self.lanes, self.shards, self.open, self.parked) = (head, lanes, shards, open, parked)
    (self.failed, self.cancelled, self.nextUnit, self.endUnit) = (failed, cancelled, nextUnit, endUnit)
    self.launches = launches
    (self.size, self.isStopping, self.failedShards, self.failure) = (size, isStopping, failedShards, failure)
  }

  var lanesInUse: Int { open - parked }
  var hasFreeLane: Bool { lanesInUse < lanes && !isStopping }
  /// Whether units are left that no shard has.
  var hasUnitsLeft: Bool { endUnit.map { nextUnit < $0 } ?? false }

  mutating func noteFailure(of shard: Int, _ reason: String?) {
    failed += 1
    failure = failure ?? reason
    let known = failedShards.map { $0 + "," } ?? ""
    if failed <= Self.namedFailures { failedShards = known + String(shard) }
  }

  /// The most failed shards that the reason of the request names.
  private static let namedFailures = 20
}

/// Shards of requests: how they are made, divided and brought to their end. The identifier of the request is locked in
/// each of these transactions, so only one at a time changes the shards of a request.
extension Verbs {
  /// How the request is divided; `nil` if it is not.
  func spread(of head: RequestID) throws -> SpreadRow? {
    try need(.spread(head))
    return try prepare(.spreadRow).first(head.rawValue, row: Self.spreadRow(head.rawValue))
  }

  static func spreadRow(_ head: Int64) -> (Columns) -> SpreadRow {
    { row in
      var spread = SpreadRow(
        head: head, lanes: row.int(0), shards: row.int(1), open: row.int(2), parked: row.int(3),
        launches: row.int(12), failed: row.int(4), cancelled: row.int(5), nextUnit: row.int64(6),
        endUnit: row.optionalInt64(7), size: row.int64(8), isStopping: row.bool(9),
        failedShards: row.optionalText(10), failure: row.optionalText(11))
      (spread.isCancelled, spread.running) = (row.bool(13), row.int(14))
      return spread
    }
  }

  /// As `spread(of:)`, for a request that is known to be divided.
  func knownSpread(of head: RequestID) throws -> SpreadRow {
    guard let row = try spread(of: head) else {
      throw StoreError(.corrupt, "The request \(head) was divided, and the database does not say how.")
    }
    return row
  }

  func write(_ row: SpreadRow) throws {
    try prepare(.setSpread).run(
      row.head, row.lanes, row.shards, row.open, row.parked, row.failed, row.cancelled, row.nextUnit, row.endUnit,
      row.size, row.isStopping, row.failedShards, row.failure, row.launches, row.isCancelled,
      row.running)
  }

  // MARK: Making shards

  /// Divides a request at its first launch, and gives a free lane of a divided one something to do.
  /// - Parameter candidate: the request or the shard that starts. It gets its shard here.
  /// - Returns: whether other shards are ready now.
  func spreadOut(_ candidate: inout Candidate, _ definition: Definition, at now: Moment) throws -> Bool {
    let head = candidate.head ?? candidate.request
    if candidate.shard == nil {
      return try definition.spread.map { try divide(&candidate, $0, definition, at: now) } ?? false
    }
    var row = try knownSpread(of: head)
    row.launches += 1
    row.running += 1
    try count(pattern: pattern(ofRequest: head.rawValue), from: row.running == 1 ? .scheduled : nil, to: .running)
    let made = row.hasFreeLane ? try fill(&row, definition, at: now) : false
    try write(row)
    if made, candidate.shard?.end != nil { candidate.shard = try shard(candidate.request) }
    return made
  }

  private func divide(
    _ candidate: inout Candidate, _ spread: Spread, _ definition: Definition, at now: Moment
  ) throws -> Bool {
    let head = candidate.request
    // An operator may have changed the number before the first launch.
    let known = try self.spread(of: head)
    var row = SpreadRow(head: head.rawValue, lanes: known?.lanes ?? spread.lanes)
    (row.launches, row.running) = (candidate.launches + 1, 1)
    try prepare(.setRange).run(0, Int64?.none, head.rawValue)
    candidate.shard = Shard(index: 0, first: 0)
    guard let total = spread.shards ?? definition.work?.items?.computedCount ?? candidate.frozenItems else {
      try write(row)
      return false
    }
    if candidate.progress.batches == 0 {
      candidate.shard?.end = try cut(&row, total: Int64(total), definition)
    } else {
      // Launches under a definition without `spread` have done the first batches. What is left is split.
      (row.nextUnit, row.endUnit) = (Int64(total), Int64(total))
      try prepare(.setRange).run(0, row.endUnit, row.head)
    }
    let made = try fill(&row, definition, at: now)
    try write(row)
    candidate.shard = try shard(head)
    return made
  }

  /// Cuts the units of a request into shards, now that their number is known. The request's own shard is the first.
  /// - Returns: the end of that shard; `nil` if shards have no ranges.
  private func cut(_ row: inout SpreadRow, total: Int64, _ definition: Definition) throws -> Int64? {
    guard let spread = definition.spread else { return nil }
    row.size = Spread(lanes: row.lanes, shardSize: spread.shardSize, shards: spread.shards)
      .size(of: total, batchSize: definition.work?.batchSize ?? 1)
    (row.nextUnit, row.endUnit) = (min(row.size, total), total)
    guard spread.shards == nil else { return nil }
    try prepare(.setRange).run(0, row.nextUnit, row.head)
    return row.nextUnit
  }

  /// The items of a request were frozen by its first shard. They are cut in the same transaction.
  /// - Returns: the end of the first shard, and whether others are ready now; `nil` if the request is not divided.
  func cutFrozenItems(of head: RequestID, total: Int, at now: Moment) throws -> (end: Int64?, madeShards: Bool)? {
    guard let request = try launched(head), request.isSpread else { return nil }
    let definition = try knownDefinition(request.requirementClass.definition).definition
    var row = try knownSpread(of: head)
    let end = try cut(&row, total: Int64(total), definition)
    let made = try fill(&row, definition, at: now)
    try write(row)
    return (end, made)
  }

  /// Gives free lanes something to do: shards that wait for a lane, then units that no shard has, and otherwise half of
  /// the largest rest of a running shard.
  /// - Returns: whether a shard is ready now that was not.
  func fill(_ row: inout SpreadRow, _ definition: Definition, at now: Moment) throws -> Bool {
    var made = false
    while row.hasFreeLane, row.parked > 0 {
      try unpark(&row, at: now)
      made = true
    }
    while row.hasFreeLane, let end = row.endUnit, row.nextUnit < end {
      let next = min(row.nextUnit + row.size, end)
      try insertShard(&row, from: row.nextUnit, to: definition.spread?.shards == nil ? next : nil, at: now)
      row.nextUnit = next
      made = true
    }
    if row.hasFreeLane, !made, try split(&row, definition, at: now) { made = true }
    return made
  }

  /// Gives half of what the shard with the largest rest has left to a new shard. Nothing is divided while a shard
  /// waits for a host, because that one goes first.
  private func split(_ row: inout SpreadRow, _ definition: Definition, at now: Moment) throws -> Bool {
    guard let batchSize = definition.work?.batchSize, definition.work?.items != nil, row.endUnit != nil,
      row.shards < Definition.Limits.shardsOfRequest
    else { return false }
    try need(.shards(RequestID(row.head)))
    let shards = try openShards(of: row.head)
    if shards.contains(where: { $0.state == .ready }) { return false }
    let rests = shards.compactMap { shard -> (id: Int64, point: Int64, end: Int64, rest: Int64)? in
      guard shard.state == .running, let end = shard.end,
        let point = Split.point(in: shard.first..<end, completed: shard.completed, batchSize: batchSize)
      else { return nil }
      return (shard.id, point, end, end - shard.first - shard.completed)
    }
    guard let largest = rests.max(by: { ($0.rest, $1.id) < ($1.rest, $0.id) }) else { return false }
    try prepare(.setEnd).run(largest.point, largest.id)
    try insertShard(&row, from: largest.point, to: largest.end, at: now)
    return true
  }

  private func insertShard(_ row: inout SpreadRow, from first: Int64, to end: Int64?, at now: Moment) throws {
    let id = try draw(.request)
    try prepare(.insertShard).run(id, row.shards, first, end, now.steady, now.date, row.head)
    row.shards += 1
    row.open += 1
  }

  private func unpark(_ row: inout SpreadRow, at now: Moment) throws {
    try need(.shards(RequestID(row.head)))
    guard let id = try prepare(.parkedShard).first(row.head, Timestamp.distantFuture, row: { $0.int64(0) }) else {
      throw StoreError(.corrupt, "A shard that waits for a lane is not there.")
    }
    try prepare(.setReadiness).run(RequestState.ready.code, Int?.none, now.steady, id, now.date)
    row.parked -= 1
  }

  /// The pattern of the definition of a request.
  func pattern(ofRequest id: Int64) throws -> Int64 {
    let definition = try prepare(.definitionOf).first(id) { DefinitionID($0.int64(0)) }
    guard let definition else { throw StoreError(.corrupt, "A request that has shards is not there.") }
    return try knownDefinition(definition).pattern
  }

  /// The shards of a request that have not ended, in their order.
  func openShards(of head: Int64) throws -> [OpenShard] {
    try need(.shards(RequestID(head)))
    return try prepare(.openShards).all(head) { row in
      OpenShard(
        id: row.int64(0), shard: row.int(1), state: RequestState(code: row.int(2)), first: row.int64(3),
        end: row.optionalInt64(4), completed: row.int64(5), isParked: row.time(6) == .distantFuture && row.int(2) == 0,
        launches: row.int(7), host: row.optionalText(8), readyAt: row.optionalTime(9), isOver: !row.isNull(10))
    }.filter { !$0.isOver }
  }

  /// The range of a shard as it is now.
  private func shard(_ id: RequestID) throws -> Shard? {
    try prepare(.shardOf).first(id.rawValue) { row in
      Shard(index: row.int(0), first: row.int64(1), end: row.optionalInt64(2))
    }
  }
}

/// A shard that has not ended.
struct OpenShard {
  var id: Int64
  var shard: Int
  var state: RequestState
  var first: Int64
  var end: Int64?
  var completed: Int64
  /// Whether it waits for a lane.
  var isParked: Bool
  var launches: Int
  /// The name of the host of its last launch.
  var host: String?
  var readyAt: Timestamp?
  /// Whether it is the request's own shard, which has ended while the request goes on.
  fileprivate var isOver: Bool

  fileprivate init(
    id: Int64, shard: Int, state: RequestState, first: Int64, end: Int64?, completed: Int64, isParked: Bool,
    launches: Int, host: String?, readyAt: Timestamp?, isOver: Bool
  ) {
    (self.id, self.shard, self.state, self.first, self.end) = (id, shard, state, first, end)
    (self.completed, self.isParked, self.launches, self.host) = (completed, isParked, launches, host)
    (self.readyAt, self.isOver) = (readyAt, isOver)
  }

  var launch: LaunchKey { LaunchKey(request: RequestID(id), number: launches) }
}

extension Query {
  static let spreadRow = Query(
    """
    SELECT lanes, shards, open, parked, failed, cancelled, next_unit, end_unit, size, is_stopping, failed_shards,
      failure, launches, is_cancelled, running
    FROM spread WHERE request = ?
    """)
  static let setSpread = Query(
    """
    INSERT INTO spread (request, lanes, shards, open, parked, failed, cancelled, next_unit, end_unit, size,
      is_stopping, failed_shards, failure, launches, is_cancelled, running)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (request) DO UPDATE SET lanes = excluded.lanes, shards = excluded.shards, open = excluded.open,
      parked = excluded.parked, failed = excluded.failed, cancelled = excluded.cancelled,
      next_unit = excluded.next_unit, end_unit = excluded.end_unit, size = excluded.size,
      is_stopping = excluded.is_stopping, failed_shards = excluded.failed_shards, failure = excluded.failure,
      launches = excluded.launches, is_cancelled = excluded.is_cancelled,
      running = excluded.running
    """)
  static let setRange = Query("UPDATE request SET first_unit = ?, end_unit = ? WHERE id = ?")
  static let setEnd = Query("UPDATE request SET end_unit = ? WHERE id = ?")
  static let shardOf = Query("SELECT shard, first_unit, end_unit FROM request WHERE id = ? AND first_unit IS NOT NULL")
  static let definitionOf = Query("SELECT definition FROM request WHERE id = ?")
  /// A shard has the parameters and the trace of its request, and is ready at once.
  static let insertShard = Query(
    """
    INSERT INTO request (id, identifier, number, definition, priority, state, eligible_at, earliest_at, submitted_at,
      principal, trace_id, span_id, is_sampled, ready_at, head, shard, first_unit, end_unit, scheduled_at, flow)
    SELECT ?1, identifier, number, definition, priority, 1, ?5, ?5, submitted_at, principal, trace_id, span_id,
      is_sampled, ?6, id, ?2, ?3, ?4, scheduled_at, flow
    FROM request WHERE id = ?7
    """)
  static let parkedShard = Query(
    """
    SELECT id FROM (
      SELECT id, shard FROM request WHERE head = ?1 AND state = 0 AND state <= 2 AND eligible_at = ?2
      UNION ALL SELECT id, shard FROM request WHERE id = ?1 AND state = 0 AND eligible_at = ?2 AND shard_state IS NULL
    ) AS parked ORDER BY shard LIMIT 1
    """)
  static let openShards = Query(
    """
    SELECT r.id, r.shard, r.state, r.first_unit, r.end_unit, coalesce(p.completed_units, 0), r.eligible_at, r.launches,
      h.name, r.ready_at, r.shard_state
    FROM (SELECT * FROM request WHERE id = ?1 AND state <= 2 UNION ALL
      SELECT * FROM request WHERE head = ?1 AND state <= 2) AS r
      LEFT JOIN progress p ON p.request = r.id LEFT JOIN host h ON h.id = r.host
    ORDER BY r.shard
    """)
}
