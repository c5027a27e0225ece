import BatonHandler
import BatonModel
import BatonTestKit
import ContractRows
import Testing

@Suite("A launch is expired for any reason, at any point", .timeLimit(.minutes(10)))
struct ExpiryTests {
  static let reasons = ExpiryReason.plain + [.cancelled(by: "ann"), .simulated(as: .thermal), .simulated(as: nil)]

  @Test("expiry is cancellation, with a reason and a deadline", .contract(27.1), arguments: reasons)
  func expiry(reason: ExpiryReason) async throws {
    let request = TestRequest("com.example.import", kind: .processing)
    let (clock, start) = (request.clock, request.clock.now)
    clock.advance(by: .seconds(100))
    let launch = try await request.launch(
      pages(3) { page, task in
        guard page == 1 else { return }
        #expect(!Task.isCancelled)
        request.expire(reason)
        #expect(Task.isCancelled)
        #expect(task.expiry?.reason == reason)
        let cannotSave = reason == .superseded || reason == .leaseLost
        #expect(task.expiry?.deadline == start + .seconds(100) + .seconds(cannotSave ? 2 : 30))
        try Task.checkCancellation()
      }, interruptedBy: nil)
    // A batch that takes too long is the one expiry that is a failure.
    let late = TestLaunch.Outcome.failed("batch 1 took longer than 'batchTimeout'")
    #expect(launch.outcome == (reason == .batchTimedOut ? late : .expired(reason)))
    #expect(launch.expiry?.reason == reason)
    #expect(launch.isGraceful)
    #expect(launch.checkpoints.count == 1)
  }

  @Test(
    "the closing window follows the kind, or is the definition's own", .contract(16.1),
    arguments: [(JobKind.refresh, Int?.none, 5), (.processing, nil, 30), (.continued, nil, 30), (.refresh, 60, 60)])
  func closingWindow(kind: JobKind, own: Int?, expected: Int) async throws {
    let request = TestRequest("com.example.import", kind: kind, closingWindow: own.map { .seconds($0) })
    let deadline = request.clock.now + .seconds(expected)
    let launch = try await request.launch(pages(1), interruptedBy: .expiry(.thermal, .atStart))
    #expect(launch.expiry?.deadline == deadline)
  }

  @Test("before the first batch nothing is done")
  func atStart() async throws {
    for point in [Interruption.Point.atStart, .after(batches: 0)] {
      let notes = Notes()
      let request = TestRequest("com.example.import")
      let launch = try await request.launch(pages(3, notes), interruptedBy: .expiry(.hostBusy, point))
      #expect(launch.outcome == .expired(.hostBusy))
      #expect(notes.all == [])
      #expect(launch.checkpoints == [])
    }
  }

  @Test("a later launch is expired before it does anything, too")
  func atStartOfTheSecond() async throws {
    let (request, notes) = (TestRequest("com.example.import"), Notes())
    try await request.launch(pages(3, notes), interruptedBy: .expiry(.hostBusy, .after(batches: 2)))
    try await request.launch(pages(3, notes), interruptedBy: .expiry(.hostBusy, .atStart))
    try await request.launch(pages(3, notes), interruptedBy: .expiry(.hostBusy, .after(batches: 2)))
    #expect(notes.all == [0, 1])
    try await request.complete(pages(3, notes))
    #expect(notes.all == [0, 1, 2])
  }

  @Test("after batch n nothing more begins", arguments: 1...3)
  func after(batches count: Int) async throws {
    let notes = Notes()
    let request = TestRequest("com.example.import")
    let launch = try await request.launch(pages(4, notes), interruptedBy: .expiry(.thermal, .after(batches: count)))
    #expect(launch.outcome == .expired(.thermal))
    #expect(notes.all == Array(0..<count))
    #expect(launch.batchesAfterExpiry == 0)
  }

  @Test("a batch that runs when the launch expires is committed all the same", .contract(16.2))
  func during() async throws {
    let notes = Notes()
    let request = TestRequest("com.example.import")
    let launch = try await request.launch(pages(4, notes), interruptedBy: .expiry(.thermal, .during(batch: 1)))
    #expect(launch.outcome == .expired(.thermal))
    #expect(launch.checkpoints.map(\.batch) == [0, 1])
    #expect(launch.batchesAfterExpiry == 0)
    #expect(notes.all == [0, 1])
  }

  @Test("a batch that heeds its cancellation is repeated whole")
  func cutShort() async throws {
    let notes = Notes()
    let handler = pages(3, notes) { _, _ in
      interruptionPoint()
      interruptionPoint()
      try Task.checkCancellation()
    }
    let request = TestRequest("com.example.import")
    let launch = try await request.launch(handler, interruptedBy: .expiry(.thermal, .during(batch: 1, point: 2)))
    #expect(launch.checkpoints.map(\.batch) == [0])
    #expect(launch.points == [0: 3, 1: 3])
    try await request.complete(handler)
    #expect(notes.all == [0, 1, 1, 2])
  }

  @Test("'batches' hands a batch out, and then the launch may expire")
  func handedOut() async throws {
    let request = TestRequest("com.example.import")
    let launch = try await request.launch(
      { task in
        for try await batch in task.batches(of: [0, 1, 2], size: 1) {
          #expect(Task.isCancelled == (batch == [1]))
          try Task.checkCancellation()
        }
      }, interruptedBy: .expiry(.thermal, .during(batch: 1)))
    #expect(launch.outcome == .expired(.thermal))
    #expect(launch.checkpoints.map(\.batch) == [0])
  }

  @Test("at a time of the manual clock", .contract(43.3))
  func elapsed() async throws {
    let request = TestRequest("com.example.import", batchDuration: .seconds(10))
    request.clock.advance(by: .seconds(500))
    let launch = try await request.launch(pages(9), interruptedBy: .expiry(.batteryLow, .elapsed(.seconds(25))))
    #expect(launch.expiry?.deadline == request.clock.now - .seconds(530) + .seconds(525 + 30))
    // The third batch ran from 20 s to 30 s, so it was running at the expiry and is committed.
    #expect(launch.checkpoints.count == 3)
    #expect(launch.endedAt == .seconds(530))
  }

  @Test("the first reason wins")
  func firstReason() async throws {
    let request = TestRequest("com.example.import")
    let launch = try await request.launch { task in
      #expect(request.expire(.thermal))
      #expect(!request.expire(.batteryLow))
      #expect(task.expiry?.reason == .thermal)
      throw Trouble()
    }
    #expect(launch.outcome == .expired(.thermal))
    #expect(launch.error is Trouble)
    #expect(!request.expire(.batteryLow), "nothing runs")
  }

  @Test("returning is completion even after an expiry")
  func returning() async throws {
    let request = TestRequest("com.example.import")
    let launch = try await request.launch({ _ in }, interruptedBy: .expiry(.thermal, .atStart))
    #expect(launch.outcome == .finished)
    #expect(launch.expiry?.reason == .thermal)
    #expect(request.completion == .succeeded)
  }

  @Test("a cancelled request has ended; expiry uses no retry")
  func cancelled() async throws {
    let request = TestRequest("com.example.import")
    try await request.launch(pages(9), interruptedBy: .expiry(.hostBusy, .after(batches: 1)))
    try await request.launch(pages(9), interruptedBy: .expiry(.hostBusy, .after(batches: 2)))
    #expect(request.completion == nil)
    try await request.launch(pages(9), interruptedBy: .expiry(.cancelled(by: "ann"), .after(batches: 3)))
    #expect(request.completion == .cancelled(by: "ann"))
  }
}
