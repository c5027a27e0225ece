import BatonHandler
import BatonTestKit
import ContractRows
import Testing

@Suite("A launch is cut off, superseded or refused", .timeLimit(.minutes(10)))
struct InterruptionTests {
  @Test("what a lost worker did last is not saved, and is done again")
  func lostDuring() async throws {
    let (request, notes) = (TestRequest("com.example.import"), Notes())
    let launch = try await request.launch(pages(3, notes), interruptedBy: .workerLost(.during(batch: 1)))
    #expect(launch.outcome == .lost)
    #expect((launch.error as? HandlerError)?.code == .superseded)
    #expect(launch.expiry == nil, "nobody told it")
    #expect(launch.isGraceful)
    #expect(launch.refusedCheckpoints.map(\.batch) == [1])
    try await request.complete(pages(3, notes))
    #expect(notes.all == [0, 1, 1, 2])
    #expect(request.repeatedBatches == 1)
  }

  @Test("a checkpoint that was saved counts, although its worker never heard of it")
  func lostAfter() async throws {
    let (request, notes) = (TestRequest("com.example.import"), Notes())
    let launch = try await request.launch(pages(3, notes), interruptedBy: .workerLost(.after(batches: 2)))
    #expect(launch.outcome == .lost)
    #expect((launch.error as? HandlerError)?.code == .superseded)
    #expect(launch.checkpoints.count == 2)
    try await request.complete(pages(3, notes))
    #expect(notes.all == [0, 1, 2])
    #expect(request.repeatedBatches == 0)
  }

  @Test("a handler that returns on a lost worker has finished nothing")
  func lostAtTheEnd() async throws {
    let request = TestRequest("com.example.import")
    let launch = try await request.launch(pages(2), interruptedBy: .workerLost(.during(batch: 2)))
    #expect(launch.outcome == .lost)
    #expect(request.completion == nil)
    try await request.complete(pages(2))
  }

  @Test("a fake may lose its worker at the very place that matters")
  func lostByHand() async throws {
    let request = TestRequest("com.example.import")
    let launch = try await request.launch(pages(3) { page, _ in if page == 2 { request.loseWorker() } })
    #expect(launch.outcome == .lost)
    #expect(launch.checkpoints.count == 2)
  }

  @Test(
    "a launch that is superseded, or whose lease is lost, commits nothing more",
    arguments: [ExpiryReason.superseded, .leaseLost])
  func superseded(reason: ExpiryReason) async throws {
    let (request, notes) = (TestRequest("com.example.import"), Notes())
    let interruption = Interruption.expiry(reason, .during(batch: 1))
    let launch = try await request.launch(pages(3, notes), interruptedBy: interruption)
    #expect(interruption == .superseded(.during(batch: 1)) || reason == .leaseLost)
    #expect(launch.outcome == .expired(reason))
    #expect((launch.error as? HandlerError)?.code == .superseded)
    #expect(launch.checkpoints.map(\.batch) == [0])
    #expect(launch.refusedCheckpoints.map(\.batch) == [1])
    try await request.complete(pages(3, notes))
    #expect(notes.all == [0, 1, 1, 2])
  }

  @Test("a store may refuse a checkpoint; the one before stays")
  func refused() async throws {
    let (request, notes) = (TestRequest("com.example.import", retries: 1), Notes())
    let launch = try await request.launch(pages(3, notes), interruptedBy: .checkpointRefused(batch: 1))
    #expect(launch.outcome == .failed("the test refuses this checkpoint"))
    #expect((launch.error as? HandlerError)?.code == .checkpointRefused)
    try await request.complete(pages(3, notes))
    #expect(notes.all == [0, 1, 1, 2])
  }

  @Test("a refusal is once: a handler that tries again is served")
  func refusedOnce() async throws {
    let request = TestRequest("com.example.import")
    let launch = try await request.launch(
      { task in
        do { try await task.checkpoint(Position(page: 1)) } catch { try await task.checkpoint(Position(page: 1)) }
      }, interruptedBy: .checkpointRefused(batch: 0))
    #expect(launch.outcome == .finished)
    #expect(launch.refusedCheckpoints.count == 1)
    #expect(launch.checkpoints.count == 1)
    #expect(request.repeatedBatches == 0)
  }

  @Test("a checkpoint over 1 MiB is refused, as by the store")
  func large() async throws {
    let request = TestRequest("com.example.import")
    let launch = try await request.launch { task in
      try await task.checkpoint([String(repeating: "x", count: 1 << 20)])
    }
    #expect((launch.error as? HandlerError)?.code == .checkpointRefused)
    #expect(launch.checkpoints == [])
  }

  @Test("an interruption that did not happen is told")
  func notReached() async throws {
    let request = TestRequest("com.example.import", batchDuration: .seconds(1))
    await #expect {
      try await request.launch(pages(2), interruptedBy: .expiry(.thermal, .after(batches: 3)))
    } throws: { error in
      "\(error)"
        == "com.example.import: expiry 'thermal' after 3 batches did not happen: launch 1 ended 'finished' before that, "
        + "with 2 batches committed and the clock at 2.0 seconds"
    }
    #expect(request.completion == .succeeded)
    let whole = TestRequest("com.example.import")
    await #expect(throws: TestKitError.self) {
      try await whole.complete(pages(2), interruptedBy: .checkpointRefused(batch: 5))
    }
  }

  @Test("all places between and within three batches, as arguments of a test", .contract(43.3))
  func every() {
    #expect(
      Interruption.every(batches: 1, because: .hostBusy).map(\.description) == [
        "expiry 'hostBusy' after 0 batches", "expiry 'hostBusy' during batch 0", "loss of the worker during batch 0",
        "loss of the worker after 1 batch",
        "expiry 'hostBusy' after 1 batch", "expiry 'hostBusy' during batch 1", "loss of the worker during batch 1",
      ])
    #expect(Interruption.every(batches: 3).count == 15)
  }

  @Test(
    "each of them is reached, and loses and skips nothing", .contract(31.1), arguments: Interruption.every(batches: 3)
  )
  func survives(interruption: Interruption) async throws {
    for handler in [{ pages(3, $0) }, { batches(3, $0) }] {
      let (request, notes) = (TestRequest("com.example.import"), Notes())
      try await request.complete(handler(notes), interruptedBy: interruption)
      #expect(Set(notes.all) == [0, 1, 2])
      #expect(notes.all.count <= 4)
      #expect(request.launches.count <= 2)
    }
  }
}
