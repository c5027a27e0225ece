/// How a request is divided among several hosts or slots: the keys `work.spread`, `work.shardSize`, `work.shards` and
/// `work.onShardFailure` of a job file.
///
/// The request is cut into *shards*. Each shard has a checkpoint, launches and retries of its own. At most `lanes`
/// shards are in work at once.
package struct Spread: Hashable, Sendable, Codable {
  /// At most this many shards run, or wait for a host, at the same time.
  package var lanes: Int
  /// How many items a shard has when the list is cut; `nil` cuts the list into about four shards for each lane.
  package var shardSize: Int?
  /// The number of shards of work without items. Each has a cursor of its own. `nil` for work with items.
  package var shards: Int?
  /// What happens to the other shards when one has failed; `nil` means `.finishOthers`.
  package var onShardFailure: ShardFailure?

  package init(lanes: Int, shardSize: Int? = nil, shards: Int? = nil, onShardFailure: ShardFailure? = nil) {
    self.lanes = lanes
    self.shardSize = shardSize
    self.shards = shards
    self.onShardFailure = onShardFailure
  }
}

/// What happens to the other shards of a request when a shard has used up its retries.
package enum ShardFailure: String, Sendable, Codable, CaseIterable {
  /// The other shards finish. Then the request has failed, and a retry runs only the failed shards.
  case finishOthers
  /// The other shards are stopped, and the request has failed.
  case stop
}

extension Spread {
  /// The length of each shard of a list, in units. It is a multiple of the batch size, so that shards meet at batch
  /// boundaries. A wanted length that would leave a lane without work, or make more shards than a request may have, is
  /// corrected.
  package func size(of total: Int64, batchSize: Int) -> Int64 {
    if shards != nil { return 1 }
    let batch = Int64(max(1, batchSize))
    let wanted = shardSize.map(Int64.init) ?? total.dividedUp(by: Int64(4 * lanes))
    let longest = total.dividedUp(by: Int64(lanes))
    let shortest = total.dividedUp(by: Int64(Definition.Limits.shardsOfRequest))
    return max(1, max(shortest, min(wanted, longest))).dividedUp(by: batch) * batch
  }
}

/// The place at which the rest of a running shard is divided.
package enum Split {
  /// - Parameters:
  ///   - units: the range of the running shard.
  ///   - completed: how many units of it the store has. The batch after them may be running.
  /// - Returns: the first unit of the new shard, at a batch boundary that the running launch has not reached; `nil` if
  ///   less than two batches are left, so that nothing can be given away.
  package static func point(in units: Range<Int64>, completed: Int64, batchSize: Int) -> Int64? {
    let batch = Int64(max(1, batchSize))
    let left = (units.upperBound - units.lowerBound - completed).dividedUp(by: batch)
    guard left >= 2 else { return nil }
    return units.lowerBound + completed + (left + 1) / 2 * batch
  }
}

/// One shard of a request, as its launch knows it.
package struct Shard: Hashable, Sendable {
  /// The number of the shard within its request, from 0.
  package var index: Int
  /// The index of the shard's first unit in the request; in work without items, the shard's own number.
  package var first: Int64
  /// The index after its last unit. A split makes it smaller while the shard runs. `nil` in work without items, and
  /// until the items are frozen.
  package var end: Int64?

  package init(index: Int, first: Int64, end: Int64? = nil) {
    self.index = index
    self.first = first
    self.end = end
  }

  /// How many units the shard has; `nil` if it has no range.
  package var length: Int64? { end.map { $0 - first } }
}

extension Int64 {
  /// The quotient, rounded up.
  fileprivate func dividedUp(by divisor: Int64) -> Int64 { self <= 0 ? 0 : (self - 1) / divisor + 1 }
}
