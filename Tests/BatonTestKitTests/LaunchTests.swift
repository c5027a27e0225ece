import BatonHandler
import BatonTestKit
import ContractRows
import Testing

@Suite("A handler is launched as a worker launches it", .timeLimit(.minutes(10)))
struct LaunchTests {
  @Test("a launch begins where the one before has committed", arguments: [true, false])
  func resumes(withBatches: Bool) async throws {
    let notes = Notes()
    let handler = withBatches ? batches(4, notes) : pages(4, notes)
    let request = TestRequest("com.example.import")
    let first = try await request.launch(handler, interruptedBy: .expiry(.draining, .after(batches: 2)))
    let second = try await request.launch(handler)
    #expect(first.outcome == .expired(.draining))
    #expect(first.checkpoints.map(\.batch) == [0, 1])
    #expect(second.outcome == .finished)
    #expect(second.checkpoints.map(\.batch) == [2, 3])
    #expect(notes.all == [0, 1, 2, 3])
    #expect(request.completion == .succeeded)
    #expect(request.repeatedBatches == 0)
  }

  @Test("each checkpoint is kept as the handler gave it")
  func checkpoints() async throws {
    let request = TestRequest("com.example.import", batchDuration: .seconds(3))
    try await request.complete(pages(2))
    #expect(try request.checkpoints.map { try $0.cursor(as: Position.self) } == [Position(page: 1), Position(page: 2)])
    #expect(request.checkpoints.map(\.completedUnits) == [1, 2])
    #expect(request.checkpoints.map(\.totalUnits) == [2, 2])
    #expect(request.checkpoints.map(\.savedAt) == [.seconds(3), .seconds(6)])
    #expect(request.checkpoints.map(\.launch) == [1, 1])
    #expect(request.checkpoints[0].json == #"{"cursor":{"page":1},"version":1}"#)
    #expect(throws: HandlerError.self) { try request.checkpoints[0].cursor(as: Position.self, version: 2) }
  }

  @Test("returning is completion, throwing is failure", .contract(29.1))
  func completion() async throws {
    let returning = TestRequest("com.example.import")
    #expect(try await returning.launch { _ in }.outcome == .finished)
    #expect(returning.completion == .succeeded)
    let throwing = TestRequest("com.example.import")
    let launch = try await throwing.launch { _ in throw Trouble() }
    #expect(launch.outcome == .failed("trouble"))
    #expect(launch.error is Trouble)
    #expect(throwing.completion == .failed("trouble"))
  }

  @Test("the task says which request and which launch this is")
  func task() async throws {
    let request = TestRequest(
      "com.example.import.eu.west", declaredAs: "com.example.import.*", kind: .continued,
      payload: #"{"page": 7}"#, principal: "ann")
    let handler: Handler = { task in
      #expect(task.identifier.rawValue == "com.example.import.eu.west")
      #expect(task.kind == .continued)
      #expect(task.wildcard == "eu.west")
      #expect(task.principal == "ann")
      #expect(try task.payload(as: Position.self) == Position(page: 7))
      #expect(task.expiry == nil)
      if task.launch == 1 { throw CancellationError() }
      #expect(task.launch == 2)
    }
    #expect(try await request.launch(handler, interruptedBy: .expiry(.paused, .during(batch: 0))).number == 1)
    #expect(try await request.launch(handler).number == 2)
    #expect(request.payload == Array(#"{"page": 7}"#.utf8))
  }

  @Test("a payload may be a value", arguments: [3, 4])
  func payload(page: Int) async throws {
    let request = TestRequest("com.example.import", payload: .json(Position(page: page)))
    try await request.complete { task in
      let decoded = try task.payload(as: Position.self)
      #expect(decoded.page == page)
    }
    let none = TestRequest("com.example.import")
    let launch = try await none.launch { task in _ = try task.payload(as: Position.self) }
    #expect((launch.error as? HandlerError)?.code == .noPayload)
  }

  @Test("what watchers would see is seen, in order")
  func updates() async throws {
    let request = TestRequest("com.example.export", kind: .continued, batchDuration: .seconds(1))
    try await request.complete(
      pages(2) { page, task in
        task.update(title: "Exporting", subtitle: "page \(page)")
        task.report(completed: Int64(page), of: 9)
      })
    #expect(request.updates.map(\.title) == ["Exporting", nil, "Exporting", nil])
    #expect(request.updates.map(\.subtitle) == ["page 0", nil, "page 1", nil])
    #expect(request.updates.map(\.completedUnits) == [nil, 0, nil, 1])
    #expect(request.updates.map(\.totalUnits) == [nil, 9, nil, 9])
    #expect(request.updates.map(\.at) == [.zero, .zero, .seconds(1), .seconds(1)])
  }

  @Test("a refresh says what it found, and '.failed' is failure", .contract(42.1), arguments: RefreshResult.allCases)
  func refresh(result: RefreshResult) async throws {
    let request = TestRequest("com.example.news", kind: .refresh)
    let launch = try await request.launchRefresh { _ in result }
    #expect(launch.result == result)
    #expect(request.completion == (result == .failed ? .failed("the refresh returned .failed") : .succeeded))
  }

  @Test("a refresh that throws says nothing")
  func throwingRefresh() async throws {
    let request = TestRequest("com.example.news", kind: .refresh)
    let launch = try await request.launchRefresh { _ in throw Trouble() }
    #expect(launch.result == nil)
    #expect(launch.outcome == .failed("trouble"))
  }

  @Test("a refresh that was expired goes on in its next launch")
  func resumedRefresh() async throws {
    let request = TestRequest("com.example.news", kind: .refresh)
    try await request.completeRefresh(
      { task in
        try await pages(2)(task)
        return .newData
      }, interruptedBy: .expiry(.networkLost, .after(batches: 1)))
    #expect(request.launches.map(\.result) == [nil, .newData])
  }
}
