import BatonHandler
import BatonTestKit
import ContractRows
import Testing

@Suite("Budgets and stalls are of the manual clock", .timeLimit(.minutes(10)))
struct TimeTests {
  @Test("while nobody moves the clock no time passes")
  func standsStill() async throws {
    let request = TestRequest("com.example.news", kind: .refresh)
    let launch = try await request.launch(pages(100))
    #expect(launch.startedAt == .zero)
    #expect(launch.endedAt == .zero)
  }

  @Test(
    "a launch has the budget of its kind, or its definition's own", .contract(10.1, 11.2),
    arguments: [
      (JobKind.refresh, Int?.none, Int?.some(30)), (.processing, nil, 600), (.continued, nil, nil),
      (.processing, 45, 45),
    ])
  func budget(kind: JobKind, own: Int?, expected: Int?) async throws {
    let request = TestRequest(
      "com.example.import", kind: kind, budget: own.map { .seconds($0) }, batchDuration: .seconds(1))
    let launch = try await request.launch(pages(700))
    #expect(launch.outcome == (expected == nil ? .finished : .expired(.budgetSpent)))
    #expect(launch.checkpoints.count == expected ?? 700)
  }

  @Test("a request takes as many launches as it needs", .contract(11.3))
  func slices() async throws {
    let (request, notes) = (TestRequest("com.example.import", batchDuration: .seconds(60)), Notes())
    try await request.complete(pages(35, notes))
    #expect(request.launches.map(\.checkpoints.count) == [10, 10, 10, 5])
    #expect(notes.all == Array(0..<35))
  }

  @Test(
    "without progress for twice 'stallAfter' a launch expires",
    arguments: [(JobKind.continued, Int?.none, Int?.some(120)), (.processing, 30, 60), (.processing, nil, nil)])
  func stall(kind: JobKind, own: Int?, expected: Int?) async throws {
    let request = TestRequest(
      "com.example.export", kind: kind, stallAfter: own.map { .seconds($0) },
      clock: ManualClock(sleepsMoveTime: true))
    let launch = try await request.launch(
      pages(2) { page, _ in if page == 1 { try await request.clock.sleep(for: .seconds(500)) } })
    #expect(launch.outcome == (expected == nil ? .finished : .expired(.stalled)))
    #expect(launch.endedAt == .seconds(expected ?? 500))
  }

  @Test("units that were reported are progress; texts, and the same units again, are not")
  func progress() async throws {
    func outcome(_ report: @escaping @Sendable (JobTask, Int64) -> Void) async throws -> TestLaunch.Outcome {
      let request = TestRequest("com.example.export", kind: .continued, clock: ManualClock(sleepsMoveTime: true))
      return try await request.launch { task in
        for unit in 1...5 {
          try await request.clock.sleep(for: .seconds(100))
          report(task, Int64(unit))
        }
      }.outcome
    }
    #expect(try await outcome { $0.report(completed: $1) } == .finished)
    #expect(try await outcome { $0.report(completed: $1 - $1) } == .expired(.stalled))
    #expect(try await outcome { task, _ in task.update(subtitle: "busy") } == .expired(.stalled))
  }

  @Test("a definition whose batches are long is given five of them, twice")
  func patience() async throws {
    let request = TestRequest("com.example.export", kind: .continued, batchDuration: .seconds(100))
    let launch = try await request.launch(
      pages(30) { page, _ in if page == 25 { request.clock.advance(by: .seconds(850)) } })
    #expect(launch.outcome == .finished)
    let early = TestRequest("com.example.export", kind: .continued, batchDuration: .seconds(100))
    #expect(
      try await early.launch(pages(30) { page, _ in if page == 5 { early.clock.advance(by: .seconds(21)) } }).outcome
        == .expired(.stalled))
  }

  @Test("three launches in a row that commit nothing are the end")
  func quarantine() async throws {
    let request = TestRequest("com.example.import", budget: .seconds(5), batchDuration: .seconds(6))
    let stuck: Handler = { _ in
      request.clock.advance(by: .seconds(5))
      try Task.checkCancellation()
    }
    for _ in 1...3 { try await request.launch(stuck) }
    #expect(
      request.completion
        == .failed(
          "quarantined: 3 launches in a row committed no batch; the last one ended budgetSpent; raise 'budget' of the "
            + "definition, or commit smaller batches or a cursor"))
  }
}
