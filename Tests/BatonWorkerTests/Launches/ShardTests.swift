import BatonModel
import Testing

@testable import BatonCore
@testable import BatonWorker

/// The shards that a coordinator assigns to handlers.
@Suite struct ShardTests {
  @Test(arguments: [(0, nil), (3, nil), (4, 4), (Int.max, 4)] as [(Int, Int?)])
  func `a shard that the definition does not have fails its launch, and the worker goes on`(
    index: Int, count: Int?
  ) async throws {
    let station = try TracingStation { _ in }
    var assignment = Bench.assignment(1)
    assignment.shard = Shard(index: index, first: 0)
    let ending = try await station.run(
      assignment, Bench.job { $0.spread = count.map { Spread(lanes: 1, shards: $0) } })
    guard index > 0 else {
      #expect(ending.outcome == .finished)
      return
    }
    let message =
      "the coordinator has assigned shard \(index) of 'com.example.a', whose definition has \(count ?? 1) (counted from 0)"
    #expect(ending.outcome == .failed(message))
  }
}
