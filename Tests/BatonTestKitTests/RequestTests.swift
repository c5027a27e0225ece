import BatonHandler
import BatonTestKit
import ContractRows
import Testing

@Suite("A request is what a coordinator would take, and ends as it would", .timeLimit(.minutes(10)))
struct RequestTests {
  private func problem(_ request: TestRequest) async -> String {
    do {
      try await request.launch { _ in }
      return "none"
    } catch {
      return "\(error)"
    }
  }

  @Test("what is no identifier, and a pattern of something else, is told at the first launch")
  func identifiers() async {
    #expect(
      await problem(TestRequest("com example"))
        == "'com example' is no identifier: letters, digits, '-' and '_', with dots between")
    #expect(
      await problem(TestRequest("com.example.a", declaredAs: "com.other.*"))
        == "'com.other.*' is not declared for 'com.example.a': write it, or a prefix of it followed by '.*'")
    #expect(await problem(TestRequest("com.example.a", declaredAs: "com.example.*")) == "none")
  }

  @Test("what a coordinator does not take of a definition is told at the first launch")
  func definition() async {
    let problem = await problem(TestRequest("com.example.a", closingWindow: .seconds(601)))
    #expect(problem.contains("'closingWindow' must be from 1s, and at most 10m"))
  }

  @Test("a payload has at most 64 KiB")
  func payload() async {
    let largest = TestPayload(bytes: [UInt8](repeating: 0x20, count: 65_536))
    #expect(await problem(TestRequest("com.example.a", payload: largest)) == "none")
    let larger = TestPayload(bytes: [UInt8](repeating: 0x20, count: 65_537))
    #expect(
      await problem(TestRequest("com.example.a", payload: larger))
        == "the payload has 65537 bytes and the limit is 65536")
    #expect(await problem(TestRequest("com.example.a", payload: .json(Double.infinity))) != "none")
  }

  @Test("a request that has ended is not launched again")
  func ended() async throws {
    let request = TestRequest("com.example.a")
    try await request.complete(pages(1))
    #expect(
      await problem(request)
        == "the request of com.example.a has ended 'succeeded'; make another TestRequest")
  }

  @Test("at most one launch of a request is live")
  func live() async throws {
    let request = TestRequest("com.example.a")
    try await request.launch { _ in
      #expect(
        await problem(request) == "the request of com.example.a runs already; at most one launch of a request is live")
    }
  }

  @Test("the first failure is the last, unless retries were asked for")
  func retries() async throws {
    let failing: Handler = { task in
      try await pages(Int(task.launch))(task)
      if task.launch < 3 { throw Trouble() }
    }
    await #expect {
      try await TestRequest("com.example.a").complete(failing)
    } throws: { error in
      "\(error)" == "the request of com.example.a failed: trouble; 1 launch, the last one 'failed: trouble'"
    }
    let patient = TestRequest("com.example.a", retries: 2)
    try await patient.complete(failing)
    #expect(patient.launches.map(\.outcome) == [.failed("trouble"), .failed("trouble"), .finished])
    #expect(patient.checkpoints.map(\.batch) == [0, 1, 2])
  }

  @Test("complete says so if the request was cancelled")
  func cancelled() async throws {
    await #expect {
      try await TestRequest("com.example.a").complete(
        pages(2), interruptedBy: .expiry(.cancelled(by: "ann"), .after(batches: 1)))
    } throws: { error in
      "\(error)"
        == "the request of com.example.a was cancelled by ann; 1 launch, the last one 'expired: cancelled'"
    }
  }

  @Test("a test that is cancelled does not wait for its handler")
  func testCancelled() async throws {
    let request = TestRequest("com.example.a")
    let running = Task { try await request.launch { _ in try await request.clock.sleep(for: .seconds(1)) } }
    try await request.clock.sleepers()
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await request.launch { _ in }
    }
    await #expect(throws: CancellationError.self) { try await late.value }
  }

  @Test("two requests share a clock")
  func sharedClock() async throws {
    let clock = ManualClock()
    let first = TestRequest("com.example.a", budget: .seconds(10), clock: clock)
    let second = TestRequest("com.example.b", budget: .seconds(20), clock: clock)
    let sleeps: Handler = { _ in try await clock.sleep(for: .seconds(1_000)) }
    async let one = first.launch(sleeps)
    async let two = second.launch(sleeps)
    try await clock.sleepers(2)
    clock.advance(by: .seconds(10))
    #expect(try await one.outcome == .expired(.budgetSpent))
    clock.advance(by: .seconds(10))
    #expect(try await two.outcome == .expired(.budgetSpent))
    #expect(try await two.endedAt == .seconds(20))
  }
}
