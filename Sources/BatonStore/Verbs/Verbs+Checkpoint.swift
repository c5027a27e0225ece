package import BatonModel

/// The answer to a checkpoint.
package enum CheckpointAnswer: Hashable, Sendable {
  /// The batch is durable, through this checkpoint or through an earlier one.
  /// - Parameter end: the end of the launch's shard now; `nil` if it has no range of units.
  case committed(batch: Int, end: Int64? = nil)
  /// The launch is not the live launch of its request.
  case superseded
  /// The batch is not the next one, or the cursor is larger than its limit. The message says which.
  case refused(String)
}

extension Verbs {
  package func checkpoint(
    _ checkpoints: [Checkpoint], from process: WorkerProcess, at now: Moment
  ) throws -> [CheckpointAnswer] {
    let host = try holder(process)
    return try each(checkpoints) { try checkpoint($0, on: host) }
  }

  /// Checks the launch number and the order of batches in the transaction that writes (promises P2 and P3).
  /// - Parameter host: the host of the process that commits; `nil` if that process holds no lease.
  func checkpoint(_ checkpoint: Checkpoint, on host: Int64?) throws -> CheckpointAnswer {
    let request = checkpoint.launch.request.rawValue
    try need(.progress(checkpoint.launch.request))
    let standing = try prepare(.standing).first(request) { row in
      (
        isRunning: row.int(0) == RequestState.running.code, launch: row.int(1), batches: row.int(2),
        mustReset: row.bool(3), host: row.optionalInt64(4), first: row.int64(5), end: row.optionalInt64(6),
        isShard: !row.isNull(5), hasTransfers: !row.isNull(7)
      )
    }
    guard let standing, standing.isRunning, standing.launch == checkpoint.launch.number, let host,
      standing.host == host
    else { return .superseded }
    if checkpoint.batch < standing.batches { return try repeated(checkpoint, end: standing.end) }
    let length = standing.end.map { $0 - standing.first }
    if let message = objection(to: checkpoint, next: standing.batches, length: length) { return .refused(message) }
    // The end of a transfer wakes a request, and cannot say which shard. Definitions may not have both either.
    if standing.isShard, !checkpoint.transfers.isEmpty {
      return .refused("batch \(checkpoint.batch) is refused: a request with shards has no transfers")
    }
    if standing.hasTransfers || !checkpoint.transfers.isEmpty,
      let message = try takeTransfers(checkpoint, on: host)
    {
      return .refused("batch \(checkpoint.batch) is refused: \(message)")
    }
    if standing.mustReset { try prepare(.resetLosses).run(request) }
    return try save(checkpoint, length: length, end: standing.end)
  }

  /// Writes the progress of the request.
  /// - Parameters:
  ///   - length: the number of units of the shard. A split may have made it smaller since the worker heard of it.
  ///   - end: the end of the shard.
  private func save(_ checkpoint: Checkpoint, length: Int64?, end: Int64?) throws -> CheckpointAnswer {
    if let result = checkpoint.result { try keep(result, of: checkpoint.launch.request.rawValue) }
    let batches = checkpoint.batch + (checkpoint.isEndOnly ? 0 : 1)
    try prepare(.setProgress).run(
      checkpoint.launch.request.rawValue, batches, checkpoint.completedUnits, length ?? checkpoint.totalUnits,
      length.map { checkpoint.completedUnits >= $0 } ?? checkpoint.reachesEnd, checkpoint.subtitle, checkpoint.cursor)
    return .committed(batch: checkpoint.batch, end: end)
  }

  /// The answer to a batch below the next one. If this launch committed the batch, the answer got lost and is given
  /// again. Otherwise the launch made a mistake, and the batch is refused.
  private func repeated(_ checkpoint: Checkpoint, end: Int64?) throws -> CheckpointAnswer {
    let launch = checkpoint.launch
    try need(.request(launch.request))
    let first = try prepare(.firstBatch).first(launch.request.rawValue, launch.number) { $0.int(0) } ?? 0
    guard checkpoint.batch < first else { return .committed(batch: checkpoint.batch, end: end) }
    return .refused(
      "batch \(checkpoint.batch) was done by an earlier launch; launch \(launch.number) began at \(first)")
  }

  /// Why the checkpoint is refused; `nil` if it can be committed.
  private func objection(to checkpoint: Checkpoint, next: Int, length: Int64?) -> String? {
    if let length, checkpoint.completedUnits > length {
      return
        "batch \(checkpoint.batch) is refused: it ends at unit \(checkpoint.completedUnits) of a shard that has "
        + "\(length), so another shard has these units"
    }
    if checkpoint.batch > next {
      // A worker begins a batch only after it was told that the batch before is stored.
      return
        "batch \(checkpoint.batch) is refused: the next batch is \(next), and no batch may be skipped. If the batches "
        + "before \(checkpoint.batch) were committed, the store went backwards: was it replaced by an older backup?"
    }
    let size = checkpoint.cursor?.count ?? 0
    guard size > limits.checkpointBytes else { return nil }
    return "the checkpoint has \(size) bytes; limits.checkpointBytes allows \(limits.checkpointBytes)"
  }
}

extension Query {
  static let standing = Query(
    """
    SELECT r.state, r.launches, p.batches, r.losses > 0 OR r.strikes > 0, r.host, r.first_unit, r.end_unit,
      r.files_on
    FROM request r LEFT JOIN progress p ON p.request = r.id WHERE r.id = ?
    """)
  static let firstBatch = Query("SELECT first_batch FROM launch WHERE request = ? AND number = ?")
  static let setProgress = Query(
    """
    INSERT INTO progress (request, batches, completed_units, total_units, reaches_end, subtitle, cursor)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (request) DO UPDATE SET batches = excluded.batches, completed_units = excluded.completed_units,
      total_units = coalesce(excluded.total_units, total_units), reaches_end = excluded.reaches_end,
      subtitle = coalesce(excluded.subtitle, subtitle), cursor = excluded.cursor
    """)
  static let resetLosses = Query("UPDATE request SET losses = 0, strikes = 0 WHERE id = ?")
}
