import BatonHandler
import BatonTestKit
import Synchronization
import Testing

@Suite("A request under test can be one shard of a request", .timeLimit(.minutes(10)))
struct ShardTests {
  @Test("the handler finds its shard, and its share of any number of units")
  func shard() async throws {
    let found = Mutex<[JobShard?]>([])
    let note: Handler = { task in found.withLock { $0.append(task.shard) } }
    try await TestRequest("com.example.a", shard: JobShard(index: 2, count: 3)).complete(note)
    try await TestRequest("com.example.a").complete(note)
    let shards = found.withLock { $0 }
    #expect(shards == [JobShard(index: 2, count: 3), nil])
    #expect(shards[0]?.range(of: 10) == 7..<10)
  }

  @Test("the shards together get each element once", arguments: 1...5)
  func coverage(_ count: Int) async throws {
    let notes = Notes()
    for index in 0..<count {
      try await TestRequest("com.example.a", shard: JobShard(index: index, count: count)).complete(batches(7, notes))
    }
    #expect(notes.all == Array(0..<7))
  }

  @Test("progress and batches are those of the shard, and a launch goes on at the shard's checkpoint")
  func progress() async throws {
    let notes = Notes()
    let request = TestRequest("com.example.a", shard: JobShard(index: 1, count: 2))
    try await request.launch(batches(6, notes), interruptedBy: .workerLost(.during(batch: 1)))
    try await request.complete(batches(6, notes))
    #expect(notes.all == [3, 4, 4, 5])
    #expect(request.checkpoints.map(\.batch) == [0, 1, 2])
    #expect(request.checkpoints.map(\.completedUnits) == [1, 2, 3])
    #expect(request.checkpoints.map(\.totalUnits) == [3, 3, 3])
    #expect(request.repeatedBatches == 1)
  }

  @Test("every interruption of a shard is tried")
  func everyInterruption() async throws {
    let request = TestRequest("com.example.a", shard: JobShard(index: 0, count: 2))
    try await request.checkEveryInterruption { request in
      let notes = Notes()
      try await request.complete(batches(6, notes))
      return Set(notes.all)
    }
    await #expect(throws: TestKitError.self) {
      try await request.checkEveryInterruption { request in try await request.complete(forgetful) }
    }
  }

  /// Begins each launch at the shard's first unit.
  private let forgetful: Handler = { task in
    for unit in task.shard?.range(of: 6) ?? 0..<6 {
      try Task.checkCancellation()
      try await task.checkpoint(Position(page: unit))
    }
  }

  @Test("what a coordinator does not take of shards is told at the first launch")
  func refused() async {
    for (request, problem) in [
      (TestRequest("com.example.a", kind: .refresh, shard: JobShard(index: 0, count: 2)), "work.spread"),
      (TestRequest("com.example.a", shard: JobShard(index: 0, count: 10_001)), "work.shards"),
    ] {
      await #expect {
        try await request.launch { _ in }
      } throws: { error in
        (error as? TestKitError)?.code == .invalidRequest && "\(error)".contains(problem)
      }
    }
  }
}
