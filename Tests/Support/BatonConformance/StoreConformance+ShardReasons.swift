import BatonModel
import BatonStore

/// Why the shards of a divided request ended as they did. Shard 0 has the row of the request.
extension StoreConformance {
  static let shardReasons: [Case] = [
    Case("why a shard failed is told of that shard only, also after the end and after a retry") { s in
      let (definition, launch) = try await s.spreading(2, lanes: 2) {
        $0.retry.limit = 0
        $0.spread?.shardSize = 1
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.finishAll(definition, from: launch)
      try await s.end(other, .failed("bad item"))
      let store = s.store
      func reasons() async throws -> [String?] {
        try await store.shards(of: launch.request, after: nil, limit: 9).map(\.reason)
      }
      try expect(try await s.record(launch.request).reason, "shard 1 of 2 failed: bad item", "of the request")
      try expect(try await reasons(), [nil, "bad item"], "of the shards, after the end")
      let retried = try await s.store.retry(launch.request, skipping: .nothing, at: s.now)
      try expect([retried.reason, retried.outcome], [nil, nil], "of the request that goes on")
      try expect(try await reasons(), [nil, "bad item"], "of the shards, after a retry")
      let again = try await s.start(definition)
      try expect(try await reasons(), [nil, nil], "of the shards while the second one runs")
      try await s.end(again, .failed("worse"))
      try expect(try await reasons(), [nil, "worse"], "of the shards, after the second end")
    },
    Case("the failure of the first shard is its own reason too") { s in
      let (definition, launch) = try await s.spreading(2, lanes: 2) {
        $0.retry.limit = 0
        $0.spread?.shardSize = 1
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.end(launch, .failed("no disk"))
      try await s.finishAll(definition, from: other)
      let shards = try await s.store.shards(of: launch.request, after: nil, limit: 9)
      try expect(shards.map(\.reason), ["no disk", nil], "of the shards")
    },
  ]
}
