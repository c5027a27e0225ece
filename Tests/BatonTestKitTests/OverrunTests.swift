import BatonHandler
import BatonTestKit
import ContractRows
import Synchronization
import Testing

@Suite("A handler that ignores its expiry is ended at the deadline", .timeLimit(.minutes(10)))
struct OverrunTests {
  @Test("it is recorded as ungraceful, and the request goes on from what it had saved")
  func overrun() async throws {
    let notes = Notes()
    let request = TestRequest("com.example.import", kind: .refresh, batchDuration: .seconds(2))
    let launch = try await request.launch(heedless(9, notes), interruptedBy: .expiry(.hostBusy, .after(batches: 1)))
    #expect(launch.outcome == .lost)
    #expect(launch.ignoredExpiry)
    #expect(!launch.isGraceful)
    // The launch expires at 2 s and its deadline is at 7 s. The batch that asks to be committed at 8 s is too late.
    #expect(launch.checkpoints.map(\.savedAt) == [.seconds(2), .seconds(4), .seconds(6)])
    #expect(launch.refusedCheckpoints.map(\.batch) == [3])
    #expect(launch.batchesAfterExpiry == 2)
    #expect(launch.endedAt == .seconds(8))
    try await request.launch(pages(9, notes))
    #expect(notes.all == [0, 1, 2, 3, 3, 4, 5, 6, 7, 8])
  }

  @Test("until the deadline it may save; one that returns in time has finished")
  func inTime() async throws {
    let request = TestRequest("com.example.import", kind: .refresh, batchDuration: .seconds(2))
    let launch = try await request.launch(heedless(3), interruptedBy: .expiry(.hostBusy, .after(batches: 1)))
    #expect(launch.outcome == .finished)
    #expect(launch.isGraceful)
    #expect(launch.batchesAfterExpiry == 2)
  }

  @Test("one that hangs is not waited for, and the next launch starts")
  func hangs() async throws {
    let request = TestRequest("com.example.import", budget: .seconds(60))
    let hung = Mutex<CheckedContinuation<Void, Never>?>(nil)
    async let launch = request.launch { task in
      try await task.checkpoint(Position(page: 1))
      // The continuation does not react to cancellation. The sleeper lets the test know when the handler has come here.
      async let sleeper: Void? = try? request.clock.sleep(for: .seconds(1_000))
      await withCheckedContinuation { continuation in hung.withLock { $0 = continuation } }
      await sleeper
    }
    try await request.clock.sleepers()
    request.clock.advance(by: .seconds(60))
    request.clock.advance(by: .seconds(30))
    #expect(try await launch.outcome == .lost)
    #expect(try await launch.ignoredExpiry)
    #expect(try await launch.expiry?.reason == .budgetSpent)
    #expect(try await request.launch(pages(2)).checkpoints.map(\.batch) == [1])
    while hung.withLock({ $0 == nil }) { await Task.yield() }
    hung.withLock { $0 }?.resume()
  }

  @Test("work of a fake that takes longer than the window is an overrun too")
  func longWork() async throws {
    let request = TestRequest("com.example.import", kind: .refresh)
    let launch = try await request.launch(pages(2) { _, _ in request.clock.advance(by: .seconds(36)) })
    #expect(launch.ignoredExpiry)
    #expect(launch.expiry?.reason == .budgetSpent)
    #expect(launch.checkpoints == [])
  }

  @Test("one that swallows every error is stopped, and told what to do")
  func swallows() async throws {
    let request = TestRequest("com.example.import")
    await #expect {
      try await request.launch(
        { task in while true { try? await task.checkpoint(Position(page: 1)) } },
        interruptedBy: .workerLost(.after(batches: 1)))
    } throws: { "\($0)".contains("1000 times more after it was told that it cannot") }
  }

  @Test("one that swallows the end of its sleep is stopped, and told what to do")
  func sleepless() async throws {
    let request = TestRequest("com.example.import", clock: ManualClock(sleepsMoveTime: true))
    await #expect {
      try await request.launch(
        { _ in while true { try? await request.clock.sleep(for: .seconds(1)) } },
        interruptedBy: .expiry(.thermal, .elapsed(.seconds(3))))
    } throws: { "\($0)".contains("after it was asked to stop: a handler has to end when a sleep throws") }
  }

  @Test("one that commits for ever is stopped")
  func endless() async throws {
    let request = TestRequest("com.example.import")
    await #expect {
      try await request.launch { task in while true { try await task.checkpoint(Position(page: 1)) } }
    } throws: { ($0 as? TestKitError)?.code == .endless }
  }

  @Test("a request that never gets further is given up")
  func forgetful() async throws {
    let request = TestRequest("com.example.import", budget: .seconds(5), batchDuration: .seconds(1))
    await #expect {
      try await request.complete { task in
        for page in 0..<10 {
          try Task.checkCancellation()
          try await task.checkpoint(Position(page: page))
        }
      }
    } throws: { "\($0)".contains("was launched 1000 times and has not ended") }
  }
}
