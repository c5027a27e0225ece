import BatonTestKit
import Testing

@Suite("The importer")
struct ImporterTests {
  @Test("takes as many launches as its budget asks for")
  func slices() async throws {
    let request = TestRequest(
      "com.example.import.eu", declaredAs: "com.example.import.*", payload: #"{"pages": 300}"#,
      clock: ManualClock(sleepsMoveTime: true))
    let source = FakeSource()
    try await request.complete(Importer(source: source, clock: request.clock).run)
    #expect(request.launches.map(\.outcome) == [.expired(.budgetSpent), .expired(.budgetSpent), .finished])
    #expect(request.clock.elapsed == .seconds(1_500))
    #expect(source.pages == Array(0..<300))
  }

  @Test("imports a page again if its worker died before that was saved")
  func lost() async throws {
    let request = TestRequest("com.example.import.eu", payload: .json(Importer.Settings(pages: 3)))
    let source = FakeSource()
    let importer = Importer(source: source, clock: ManualClock(sleepsMoveTime: true))
    let launch = try await request.launch(importer.run, interruptedBy: .workerLost(.during(batch: 1)))
    #expect(launch.outcome == .lost)
    #expect((launch.error as? HandlerError)?.code == .superseded)
    try await request.complete(importer.run)
    #expect(source.pages == [0, 1, 1, 2])
    #expect(try request.checkpoints.last?.cursor(as: Importer.Position.self) == .init(page: 3))
    #expect(request.updates.last?.subtitle == "page 3 of 3")
  }

  @Test("stops in the middle of a page when the network goes")
  func networkLost() async throws {
    let request = TestRequest("com.example.import.eu", payload: #"{"pages": 3}"#)
    let source = FakeSource { page in
      if page == 2 { request.expire(.networkLost) }
      try Task.checkCancellation()
    }
    let launch = try await request.launch(
      Importer(source: source, clock: ManualClock(sleepsMoveTime: true)).run)
    #expect(launch.outcome == .expired(.networkLost))
    #expect(source.pages == [0, 1])
  }

  @Test("has ended by the deadline, whatever its source does")
  func deadline() async throws {
    let request = TestRequest("com.example.import.eu", payload: #"{"pages": 3}"#)
    let source = FakeSource { _ in try await request.clock.sleep(for: .seconds(3_600)) }
    async let launch = request.launch(Importer(source: source, clock: request.clock).run)
    try await request.clock.sleepers()
    request.clock.advance(by: .seconds(600))
    #expect(try await launch.outcome == .expired(.budgetSpent))
    #expect(try await launch.isGraceful)
  }
}
