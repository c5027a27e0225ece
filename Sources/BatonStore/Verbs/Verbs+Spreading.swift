package import BatonModel

/// The answer to a changed number of lanes.
package struct SpreadAnswer: Hashable, Sendable {
  package var record: RequestRecord
  package var requirementClass: RequirementClass
  /// Whether shards are ready now that were not.
  package var madeShards: Bool
  /// Launches that have to stop, because fewer shards may be in work now.
  package var stops: [ShardStop]
}

/// What operators order about requests with shards.
extension Verbs {
  package func setSpread(_ id: RequestID, lanes: Int, at now: Moment) throws -> SpreadAnswer {
    guard let request = try launched(id), request.head == nil else {
      throw StoreError(.notFound, "There is no request \(id).")
    }
    let definition = try knownDefinition(request.requirementClass.definition)
    try demandSpreadable(request, definition.definition, lanes)
    var row = try spread(of: id) ?? SpreadRow(head: id.rawValue, lanes: lanes)
    row.lanes = lanes
    var answer = SpreadAnswer(
      record: try known(id), requirementClass: request.requirementClass, madeShards: false, stops: [])
    if request.isSpread {
      answer.stops = try takeLanes(&row, at: now)
      answer.madeShards = try fill(&row, definition.definition, at: now)
    }
    try write(row)
    try note(.spreadChanged, detail: String(lanes), of: id.rawValue, at: now)
    answer.record = try known(id)
    return answer
  }

  private func known(_ id: RequestID) throws -> RequestRecord {
    guard let record = try request(id) else { throw StoreError(.corrupt, "The request \(id) is not there any more.") }
    return record
  }

  private func demandSpreadable(_ request: LaunchedRequest, _ definition: Definition, _ lanes: Int) throws {
    guard Definition.Limits.spread.contains(lanes) else {
      let bounds = Definition.Limits.spread
      throw StoreError(.refused, "spread must be from \(bounds.lowerBound) to \(bounds.upperBound), not \(lanes).")
    }
    guard !request.state.isEnded else {
      throw StoreError(.refused, "\(request.name) \(request.state.predicate), so no shard of it starts any more.")
    }
    guard definition.spread != nil else {
      throw StoreError(
        .refused,
        """
        The definition of \(request.name) does not say 'work.spread', so its work is not divided. Write 'spread: 1' or \
        more into its file, apply it, and submit again.
        """)
    }
  }

  /// Takes lanes away from the last shards, while more are in use than there are. A shard that runs gives its lane back
  /// when its launch has ended (`settleShard`). A shard that backs off keeps its lane: a shard that waits for a lane
  /// has no time of its own, and it would start again before its backoff ends (promise P7).
  private func takeLanes(_ row: inout SpreadRow, at now: Moment) throws -> [ShardStop] {
    guard row.lanesInUse > row.lanes else { return [] }
    var stops: [ShardStop] = []
    let inUse = try openShards(of: row.head).filter { !$0.isParked && $0.state != .scheduled }
    // Those that do not run lose nothing.
    let ordered = inUse.filter { $0.state == .running } + inUse.filter { $0.state != .running }
    for shard in ordered.reversed() where row.lanesInUse - stops.count > row.lanes {
      if shard.state == .running {
        _ = try noteExpiry(shard.launch, .laneLost, at: now)
        stops.append(ShardStop(launch: shard.launch, reason: .laneLost))
      } else {
        try park(shard, &row, at: now)
      }
    }
    return stops
  }

  private func park(_ shard: OpenShard, _ row: inout SpreadRow, at now: Moment) throws {
    try prepare(.parkShard).run(Cause.backingOff.rawValue, Timestamp.distantFuture, shard.id)
    row.parked += 1
    if shard.state == .ready { try passTurn(of: RequestID(shard.id), at: now) }
  }

  /// Lets shards wait for a lane that would start beyond the number of lanes. There are such shards only if an operator
  /// has lowered the number while they backed off.
  /// - Parameter found: ready requests and shards, in the order in which they would start.
  /// - Returns: whether there were any.
  func parkBeyondLanes(_ found: [Candidate], _ due: inout NextDue, at now: Moment) throws -> Bool {
    try need(found.filter { $0.shard != nil }.map { .spread($0.head ?? $0.request) })
    var rows: [RequestID: SpreadRow] = [:]
    var isChanged = false
    for candidate in found where candidate.shard != nil {
      let head = candidate.head ?? candidate.request
      var row = try rows[head] ?? knownSpread(of: head)
      if row.running < row.lanes {
        row.running += 1  // As if it had started. Only `parked` is stored.
      } else {
        try prepare(.parkShard).run(Cause.backingOff.rawValue, Timestamp.distantFuture, candidate.request.rawValue)
        var stored = try knownSpread(of: head)
        stored.parked += 1
        try write(stored)
        let definition = try knownDefinition(candidate.definition).definition
        due.join(try passTurn(of: candidate.identifier, definition, at: now))
        isChanged = true
      }
      rows[head] = row
    }
    return isChanged
  }

  // MARK: Cancelling

  /// Cancels all shards of a request. It ends with the last one.
  func cancelShards(of request: Unfinished, by principal: String, at now: Moment) throws -> [Cancellation] {
    let head = RequestID(request.id)
    try need(.shards(head))
    var row = try knownSpread(of: head)
    let hosts = Dictionary(
      uniqueKeysWithValues: try openShards(of: request.id).map { (RequestID($0.id), HostName($0.host ?? "")) })
    try prepare(.noteCancellation).run(principal, request.id)
    let stops = try stopShards(&row, by: principal, at: now)
    row.isCancelled = true
    try write(row)
    if row.open == 0 {
      let flow = try complete(row, at: now).2
      return [.ended(head, request.identifier, number: request.number)] + flow.cancelled
    }
    return stops.map { stop in
      .stopping(
        stop.launch, request.identifier, number: request.number, host: hosts[stop.launch.request] ?? HostName(""))
    }
  }

  // MARK: Retrying

  /// Makes the failed shards of a failed request ready again, each at its checkpoint. Those that succeeded stay so.
  func reopenShards(
    of request: LaunchedRequest, _ definition: FrozenDefinition, skipping: SkippedBatch, at now: Moment
  ) throws {
    try need(.allShards(request.id))
    try prepare(.keepSpreadCompletion).run(request.id.rawValue)
    var row = try knownSpread(of: request.id)
    (row.failed, row.cancelled, row.isStopping, row.failedShards, row.failure) = (0, 0, false, nil, nil)
    row.isCancelled = false
    let broken = try prepare(.brokenShards).all(request.id.rawValue) { row in
      BrokenShard(
        id: RequestID(row.int64(0)), length: row.optionalInt64(1), isFailed: row.int(2) == RequestState.failed.code,
        shard: row.int(3))
    }
    let skipped = try shard(whoseBatchIs: skipping, in: broken.filter(\.isFailed), of: request)
    try prepare(.reopenSpread).run(Timestamp.distantFuture, request.id.rawValue)
    for shard in broken {
      let isReady = row.lanesInUse < row.lanes
      row.open += 1
      if !isReady { row.parked += 1 }
      try prepare(.reopenShard).run(
        isReady ? 1 : 0, isReady ? nil : Cause.backingOff.rawValue, isReady ? now.steady : .distantFuture,
        isReady ? now.date : nil, shard.id.rawValue)
      if shard.id == skipped, let failed = try launched(shard.id) {
        try skipBatch(of: failed, under: definition, length: shard.length, at: now)
      }
    }
    _ = try fill(&row, definition.definition, at: now)
    try write(row)
    try note(.retried, detail: nil, of: request.id.rawValue, at: now)
    try count(pattern: definition.pattern, from: .failed, to: .scheduled)
  }

  /// The failed shard of which a batch is skipped; `nil` if none is.
  private func shard(
    whoseBatchIs skipping: SkippedBatch, in failed: [BrokenShard], of request: LaunchedRequest
  ) throws -> RequestID? {
    let numbers = failed.prefix(20).map { "\($0.shard)" }.joined(separator: ", ") + (failed.count > 20 ? " …" : "")
    switch skipping {
    case .nothing: return nil
    case .nextBatch:
      guard failed.count <= 1 else {
        throw StoreError(
          .refused,
          """
          \(failed.count) shards of \(request.name) failed (\(numbers)), each at a batch of its own. Say with --shard \
          which of them passes over its batch, or retry without --skip-batch.
          """)
      }
      return failed.first?.id
    case .nextBatchOfShard(let number):
      guard let shard = failed.first(where: { $0.shard == number }) else {
        throw StoreError(
          .refused, "Shard \(number) of \(request.name) has not failed; what failed: \(numbers).")
      }
      return shard.id
    }
  }
}

/// A shard that failed or was stopped.
private struct BrokenShard {
  var id: RequestID
  /// The number of its units; `nil` if it has no range.
  var length: Int64?
  var isFailed: Bool
  var shard: Int
}

extension Query {
  /// The number of all launches tells the ends of a request with shards apart.
  static let keepSpreadCompletion = Query(
    """
    INSERT INTO completion (request, launches, state, reason, ended_at, shards)
    SELECT r.id, s.launches, r.state, r.reason, r.ended_at, s.shards
    FROM request r JOIN spread s ON s.request = r.id WHERE r.id = ?
    ON CONFLICT (request, launches) DO NOTHING
    """)
  static let parkShard = Query(
    "UPDATE request SET state = 0, cause = ?, eligible_at = ?, ready_at = NULL WHERE id = ?")
  /// The shards that failed or were stopped.
  static let brokenShards = Query(
    """
    SELECT id, end_unit - first_unit, state, shard FROM request WHERE head = ?1 AND state >= 4
    UNION ALL SELECT id, end_unit - first_unit, shard_state, shard FROM request WHERE id = ?1 AND shard_state >= 4
    ORDER BY 4
    """)
  /// Until its own shard is reopened, the request waits for the others. Why the request failed is no reason of that
  /// shard, whose row this is.
  static let reopenSpread = Query(
    """
    UPDATE request SET state = 0, cause = 2, eligible_at = ?1, ended_at = NULL, ended_steady = NULL, held_by = NULL,
      cancelled_by = NULL, outcome = NULL, reason = NULL
    WHERE id = ?2
    """)
  static let reopenShard = Query(
    """
    UPDATE request SET state = ?1, cause = ?2, eligible_at = ?3, ready_at = ?4, ended_at = NULL, ended_steady = NULL,
      shard_state = NULL, failures = 0, barren_failures = 0, losses = 0, strikes = 0, cancelled_by = NULL,
      held_by = NULL
    WHERE id = ?5
    """)
}
