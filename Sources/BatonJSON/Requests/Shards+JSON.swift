import BatonModel
package import BatonStore

extension JSONValue {
  /// The shards of a request in numbers; null for a request that was not divided.
  package init(_ shards: ShardSummary?) {
    guard let shards else {
      self = .null
      return
    }
    self = [
      "lanes": JSONValue(shards.lanes), "lanesInUse": JSONValue(shards.lanesInUse),
      "total": JSONValue(shards.total), "running": JSONValue(shards.running), "ready": JSONValue(shards.ready),
      "scheduled": JSONValue(shards.scheduled), "succeeded": JSONValue(shards.succeeded),
      "failed": JSONValue(shards.failed), "cancelled": JSONValue(shards.cancelled),
      "unitsLeft": JSONValue(shards.unitsLeft), "hosts": JSONValue(shards.hosts),
    ]
  }

  package init(_ shard: ShardRecord) {
    self = [
      "shard": JSONValue(shard.index), "state": JSONValue(shard.state.rawValue),
      "waitsForLane": .bool(shard.isParked), "firstUnit": JSONValue(shard.first), "endUnit": JSONValue(shard.end),
      "completedUnits": JSONValue(shard.completedUnits), "totalUnits": JSONValue(shard.totalUnits),
      "batches": JSONValue(shard.batches), "launches": JSONValue(shard.launches),
      "host": JSONValue(shard.host?.rawValue), "reason": JSONValue(shard.reason),
      "resultBytes": JSONValue(shard.resultBytes), "result": JSONValue(shard.result),
    ]
  }
}
