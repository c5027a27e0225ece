package import BatonModel

/// The shards of a request in numbers.
package struct ShardSummary: Hashable, Sendable {
  /// At most this many shards may be in work at once.
  package var lanes: Int
  /// Shards that have a lane: they run, or wait for a host or for a time.
  package var lanesInUse: Int
  /// How many shards there are. Splits make more of them.
  package var total: Int
  package var running: Int
  package var ready: Int
  /// Shards that wait for a time or for a lane.
  package var scheduled: Int
  package var succeeded: Int
  package var failed: Int
  package var cancelled: Int
  /// The units that no shard has yet, as far as they are known.
  package var unitsLeft: Int64
  /// On how many hosts shards run.
  package var hosts: Int

  package init(
    lanes: Int, lanesInUse: Int = 0, total: Int = 0, running: Int = 0, ready: Int = 0, scheduled: Int = 0,
    succeeded: Int = 0, failed: Int = 0, cancelled: Int = 0, unitsLeft: Int64 = 0, hosts: Int = 0
  ) {
    (self.lanes, self.lanesInUse, self.total, self.running) = (lanes, lanesInUse, total, running)
    (self.ready, self.scheduled, self.succeeded, self.failed) = (ready, scheduled, succeeded, failed)
    (self.cancelled, self.unitsLeft, self.hosts) = (cancelled, unitsLeft, hosts)
  }

  package var ended: Int { succeeded + failed + cancelled }
}

/// One shard of a request, as it is read and shown.
package struct ShardRecord: Hashable, Sendable {
  /// The number of the row whose launches are the shard's.
  package var id: RequestID
  /// The number of the shard within its request, from 0.
  package var index: Int
  package var state: RequestState
  /// Its range of units; the end is `nil` in work without items.
  package var first: Int64
  package var end: Int64?
  package var launches: Int
  package var host: HostName?
  package var batches: Int
  package var completedUnits: Int64
  package var totalUnits: Int64?
  /// Why the shard or its last launch ended as it did.
  package var reason: String?
  /// Whether it waits for a lane.
  package var isParked: Bool
  /// The size of the result of a shard that has succeeded; `nil` if it gave none.
  package var resultBytes: Int?
  /// The result, if it has at most `shownResultBytes`: there may be thousands of shards.
  package var result: JobResult?

  /// The most bytes of the result of a shard that is shown.
  package static let shownResultBytes = 4 << 10

  package init(
    id: RequestID, index: Int, state: RequestState, first: Int64, end: Int64? = nil, launches: Int = 0,
    host: HostName? = nil, batches: Int = 0, completedUnits: Int64 = 0, totalUnits: Int64? = nil,
    reason: String? = nil, isParked: Bool = false
  ) {
    (self.id, self.index, self.state, self.first, self.end) = (id, index, state, first, end)
    (self.launches, self.host, self.batches) = (launches, host, batches)
    (self.completedUnits, self.totalUnits, self.reason, self.isParked) = (completedUnits, totalUnits, reason, isParked)
  }
}

extension LaunchRecord {
  /// The most launches of a request with shards that are read at once, the last ones: it may have had thousands, and a
  /// watcher gets them with each change.
  package static let limitOfShards = 200
}

extension Verbs {
  package func shards(of request: RequestID, after: Int?, limit: Int) throws -> [ShardRecord] {
    try prepare(.shardRecords).all(request.rawValue, after ?? -1, limit) { row in
      let state = RequestState(code: row.int(2))
      var record = ShardRecord(
        id: RequestID(row.int64(0)), index: row.int(1), state: state, first: row.int64(3),
        end: row.optionalInt64(4), launches: row.int(5), host: row.optionalText(6).map(HostName.init),
        batches: row.int(7), completedUnits: row.int64(8), totalUnits: row.optionalInt64(9),
        reason: row.optionalText(10), isParked: state == .scheduled && row.time(11) == .distantFuture)
      record.resultBytes = row.optionalInt64(12).map { Int($0) }
      record.result = row.optionalBlob(13).map(JobResult.init(trusted:))
      return record
    }
  }

  /// Makes the record one of the whole request: its state, progress and launches are those of all shards.
  /// - Parameter countsShards: whether the request has no units but its shards.
  func addShards(to record: inout RequestRecord, countsShards: Bool) throws {
    let id = record.id.rawValue
    guard let row = try prepare(.spreadRow).first(id, row: Self.spreadRow(id)) else { return }
    let sums = try prepare(.shardSums).first(id) { row in
      (
        summary: ShardSummary(
          lanes: 0, total: row.int(0), running: row.int(1), ready: row.int(2), scheduled: row.int(3),
          succeeded: row.int(4), failed: row.int(5), cancelled: row.int(6), hosts: row.int(12)),
        launches: row.int(7),
        progress: Progress(
          batches: row.int(8), completedUnits: row.int64(9), totalUnits: row.optionalInt64(10)),
        skipped: row.int64(11), hasSkipped: row.int(13) > 0, host: row.optionalText(14)
      )
    }
    guard let sums else { return }
    var summary = sums.summary
    (summary.lanes, summary.lanesInUse) = (row.lanes, row.lanesInUse)
    summary.unitsLeft = row.endUnit.map { $0 - row.nextUnit } ?? 0
    (record.shards, record.launches, record.skippedUnits) = (summary, sums.launches, sums.skipped)
    // The host of the row is that of shard 0, which may have ended.
    if summary.hosts == 1, let host = sums.host { record.host = HostName(host) }
    record.progress = sums.progress
    // Before all shards have begun, the sum of their totals is not the total.
    record.progress.totalUnits =
      !countsShards ? row.endUnit : Int64(summary.total) == row.endUnit ? sums.progress.totalUnits : nil
    if sums.hasSkipped { try addSkippedBatches(to: &record) }
    guard !record.state.isEnded else { return }
    record.state = summary.running > 0 ? .running : summary.ready > 0 ? .ready : .scheduled
    // Those of the row are of shard 0 only.
    (record.waitsBecause, record.lastOutcome, record.reason) = (nil, nil, nil)
    record.heldBy = nil
    guard record.state == .scheduled else { return }
    // All open shards back off, or wait for a lane that those have.
    let next = try prepare(.nextShard).first(id, Timestamp.heldByKey) { $0.optionalTime(0) } ?? nil
    record.eligibleAt = next ?? record.eligibleAt
    record.waitsBecause = next.map { .backingOff(until: $0) }
    record.heldBy = next == nil ? try heldShard(of: id) : nil
  }
}

extension Verbs {
  private func addSkippedBatches(to record: inout RequestRecord) throws {
    let skipped = try prepare(.skippedOfShards).all(record.id.rawValue, RequestRecord.mostSkipped) { row in
      Self.batches(row.optionalText(1)).map { (shard: row.int(0), batch: $0) }
    }.joined().prefix(RequestRecord.mostSkipped)
    (record.skippedShards, record.skippedBatches) = (skipped.map { $0.shard }, skipped.map { $0.batch })
  }
}

extension RequestRecord {
  /// The most batches of a divided request that are named as skipped: a request may have thousands of shards.
  package static let mostSkipped = 1_000
}

extension Query {
  /// When the first of the shards that wait for a time is ready.
  static let nextShard = Query(
    """
    SELECT min(eligible_at) FROM (
      SELECT eligible_at FROM request WHERE id = ?1 AND state = 0 AND eligible_at < ?2
      UNION ALL SELECT eligible_at FROM request WHERE head = ?1 AND state = 0 AND state <= 2 AND eligible_at < ?2)
      AS waiting
    """)
  /// The row of the request is that of its shard 0, too. At its end the request's own reason takes the place of the
  /// shard's, which is still that of the shard's last launch.
  private static let allShards = """
    (SELECT id, shard, coalesce(shard_state, state) AS state, first_unit, end_unit, launches, host,
      CASE WHEN ended_at IS NULL THEN reason
        WHEN shard_state = 5 THEN cancelled_by
        ELSE (SELECT l.reason FROM launch l WHERE l.request = request.id AND l.number = request.launches) END AS reason,
      eligible_at
      FROM request WHERE id = ?1 AND first_unit IS NOT NULL
      UNION ALL
      SELECT id, shard, state, first_unit, end_unit, launches, host, reason, eligible_at FROM request WHERE head = ?1)
      AS r
    """
  static let shardRecords = Query(
    """
    SELECT r.id, r.shard, r.state, r.first_unit, r.end_unit, r.launches, h.name, coalesce(p.batches, 0),
      coalesce(p.completed_units, 0), coalesce(r.end_unit - r.first_unit, p.total_units), r.reason, r.eligible_at,
      length(o.bytes), CASE WHEN length(o.bytes) <= \(ShardRecord.shownResultBytes) THEN o.bytes END
    FROM \(allShards) LEFT JOIN progress p ON p.request = r.id LEFT JOIN host h ON h.id = r.host
      LEFT JOIN result o ON o.request = r.id AND r.state = 3
    WHERE r.shard > ?2 ORDER BY r.shard LIMIT ?3
    """)
  static let shardSums = Query(
    """
    SELECT count(*), CAST(sum(CASE r.state WHEN 2 THEN 1 ELSE 0 END) AS bigint),
      CAST(sum(CASE r.state WHEN 1 THEN 1 ELSE 0 END) AS bigint),
      CAST(sum(CASE r.state WHEN 0 THEN 1 ELSE 0 END) AS bigint),
      CAST(sum(CASE r.state WHEN 3 THEN 1 ELSE 0 END) AS bigint),
      CAST(sum(CASE r.state WHEN 4 THEN 1 ELSE 0 END) AS bigint),
      CAST(sum(CASE r.state WHEN 5 THEN 1 ELSE 0 END) AS bigint),
      CAST(sum(r.launches) AS bigint), CAST(coalesce(sum(p.batches), 0) AS bigint),
      CAST(coalesce(sum(p.completed_units), 0) AS bigint),
      CASE WHEN count(p.total_units) = count(*) THEN CAST(sum(p.total_units) AS bigint) END,
      CAST(coalesce(sum(p.skipped_units), 0) AS bigint),
      count(DISTINCT CASE r.state WHEN 2 THEN r.host END), count(p.skipped),
      max(CASE r.state WHEN 2 THEN h.name END)
    FROM \(allShards) LEFT JOIN progress p ON p.request = r.id LEFT JOIN host h ON h.id = r.host
    """)
  static let skippedOfShards = Query(
    """
    SELECT r.shard, p.skipped FROM \(allShards) JOIN progress p ON p.request = r.id
    WHERE p.skipped IS NOT NULL ORDER BY r.shard LIMIT ?2
    """)
}
