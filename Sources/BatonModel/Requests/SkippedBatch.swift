/// Which batch a retry passes over: the request records it as skipped, and goes on after it.
package enum SkippedBatch: Hashable, Sendable {
  /// No batch: the request goes on with the batch that failed.
  case nothing
  /// The batch at which the request stands. Of a request with shards, exactly one may have failed, and the batch at
  /// which that shard stands is meant.
  case nextBatch
  /// The batch at which the shard with this number stands. The shard must have failed.
  case nextBatchOfShard(Int)

  /// Whether a batch is skipped.
  package var skips: Bool { self != .nothing }
}
