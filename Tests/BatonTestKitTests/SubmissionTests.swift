import BatonHandler
import BatonTestKit
import Testing

@Suite("Submissions of a request under test", .timeLimit(.minutes(10)))
struct SubmissionTests {
  private struct Report: Codable, Hashable { var day: Int }

  private let request = TestRequest(
    "com.example.import", maySubmit: ["com.example.import", "com.example.report.*"], retries: 1)

  @Test("a handler that submits first and is interrupted everywhere submits once")
  func once() async throws {
    let handler: Handler = { task in
      try await task.submit("com.example.import", after: .seconds(60))
      for try await batch in task.batches(of: 0..<3, size: 1) {
        try await task.submit("com.example.report.\(batch.first ?? 0)", payload: Report(day: batch.first ?? 0))
      }
    }
    try await request.launch(handler, interruptedBy: .workerLost(.after(batches: 1)))
    try await request.launch(handler, interruptedBy: .expiry(.powerLost, .during(batch: 2, point: 1)))
    try await request.complete(handler)
    #expect(
      request.submissions.map(\.identifier.rawValue) == [
        "com.example.import", "com.example.report.0", "com.example.report.1", "com.example.report.2",
      ])
    #expect(request.submissions.first?.delay == .seconds(60))
    #expect(request.submissions.map(\.launch) == [1, 1, 2, 2])
    #expect(request.submissions.last?.payload.map { String(decoding: $0, as: UTF8.self) } == #"{"day":2}"#)
  }

  @Test("a repeated submission says so, and a name is for one identifier")
  func names() async throws {
    try await request.complete { task in
      #expect(try await task.submit("com.example.report.a", name: "one").isRepeat == false)
      let again = try await task.submit("com.example.report.a", name: "one")
      #expect(again.isRepeat)
      #expect(again.request == 1)
      let error = await #expect(throws: HandlerError.self) {
        try await task.submit("com.example.report.b", name: "one")
      }
      #expect(error?.refusal == .unavailable)
      #expect(try await task.submit("com.example.report.a", name: "two").request == 2)
    }
  }

  @Test("what the definition does not name is refused, and what is malformed")
  func refusals() async throws {
    try await request.complete { task in
      for (identifier, payload, refusal) in [
        ("com.example.other", nil, SubmissionRefusal.notPermitted), ("com.example.report", nil, .notPermitted),
        ("not an identifier", nil, .notPermitted),
        ("com.example.report.a", [UInt8](repeating: 0, count: 65_537), .unavailable),
      ] {
        let error = await #expect(throws: HandlerError.self) {
          try await task.submit(identifier, payloadBytes: payload)
        }
        #expect(error?.code == .submissionRefused)
        #expect(error?.refusal == refusal)
      }
    }
    #expect(request.submissions.isEmpty)
  }

  @Test("a lost worker submits nothing")
  func lost() async throws {
    let request = request
    let launch = try await request.launch { task in
      request.loseWorker()
      let error = await #expect(throws: HandlerError.self) { try await task.submit("com.example.import") }
      #expect(error?.code == .superseded)
    }
    #expect(launch.outcome == .lost)
    #expect(request.submissions.isEmpty)
  }
}
