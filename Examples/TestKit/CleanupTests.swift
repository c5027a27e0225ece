import BatonTestKit
import Testing

@Test("the cleanup comes out the same, wherever it is interrupted")
func survives() async throws {
  try await TestRequest("com.example.db-cleanup").checkEveryInterruption { request in
    let database = FakeDatabase()
    try await request.complete(cleanup(database))
    return database.rows
  }
}

@Test("the cleanup goes on where it was stopped")
func resumes() async throws {
  let database = FakeDatabase()
  let request = TestRequest("com.example.db-cleanup")
  let launch = try await request.launch(cleanup(database), interruptedBy: .expiry(.hostBusy, .after(batches: 1)))
  #expect(launch.outcome == .expired(.hostBusy))
  #expect(database.rows.count == 70)
  try await request.complete(cleanup(database))
  #expect(database.rows.isEmpty)
}

@Test("the cleanup repeats no more than the interrupted batch", arguments: Interruption.every(batches: 3))
func repeatsOneBatch(_ interruption: Interruption) async throws {
  let request = TestRequest("com.example.db-cleanup")
  try await request.complete(cleanup(FakeDatabase()), interruptedBy: interruption)
  #expect(request.repeatedBatches <= 1)
}

@Test("the shards clean up all rows together, each of them its own, wherever they are interrupted")
func divides() async throws {
  let database = FakeDatabase()
  for index in 0..<4 {
    let shard = TestRequest("com.example.db-cleanup", shard: JobShard(index: index, count: 4))
    try await shard.complete(cleanup(database), interruptedBy: .workerLost(.during(batch: 0, point: 20)))
    #expect(database.rows.count == 120 - 30 * (index + 1))
  }
}
