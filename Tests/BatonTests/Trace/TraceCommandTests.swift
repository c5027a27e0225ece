import BatonCoordinator
import BatonModel
import BatonTelemetry
import Foundation
import Testing

@testable import BatonCommands
@testable import BatonJSON

/// `baton trace`, from its arguments to its output.
@Suite struct TraceCommandTests {
  private static let world = World([.succeeded]) { $0.trace = TraceSample.slow }

  private static func json(_ run: CommandRun) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
  }

  @Test(arguments: [
    ("trace", ["trace", "com.example.report"]), ("trace-json", ["trace", "com.example.report", "-o", "json"]),
    ("trace-otlp", ["trace", "com.example.report", "-o", "otlp"]),
  ])
  func `output is golden`(name: String, arguments: [String]) async throws {
    try Golden.expect(await Self.world.baton(arguments).transcript, is: name)
  }

  @Test func `it asks for the request that was named`() async {
    let world = World([.succeeded]) { $0.trace = TraceSample.slow }
    _ = await world.baton("trace", "com.example.report", "--request", "3")
    #expect(world.coordinator.calls == ["trace com.example.report 3"])
  }

  @Test func `every key is there, and null where nothing is known`() async throws {
    let world = World([.succeeded]) { $0.trace = TraceSample.running }
    let object = try Self.json(await world.baton("trace", "com.example.report", "-o", "jsonl"))
    #expect(
      Set(object.keys) == [
        "identifier", "request", "state", "traceId", "link", "submittedAt", "endedAt", "asOf", "summary", "spans",
      ])
    #expect(object["endedAt"] is NSNull && object["link"] is NSNull)
    let summary = try #require(object["summary"] as? [String: Any])
    #expect(
      Set(summary.keys) == [
        "text", "totalMilliseconds", "scheduledMilliseconds", "waitingMilliseconds", "runningMilliseconds",
        "endedMilliseconds", "causes", "obstacles", "unexplainedMilliseconds", "historyLost", "launches", "hosts",
        "batches", "skippedBatches", "endings",
      ])
    let spans = try #require(object["spans"] as? [[String: Any]])
    let keys: Set = [
      "spanId", "parentSpanId", "name", "kind", "startedAt", "endedAt", "milliseconds", "status", "message",
      "attributes", "events", "links",
    ]
    #expect(spans.count == 4 && spans.allSatisfy { Set($0.keys) == keys })
    #expect(spans.filter { $0["endedAt"] is NSNull }.count == 2)
  }

  @Test func `OTLP has what has ended, and says what it leaves out`() async throws {
    let world = World([.succeeded]) { $0.trace = TraceSample.running }
    let run = await world.baton("trace", "com.example.report", "-o", "otlp")
    #expect(run.error == "2 open spans are left out\n")
    #expect(run.output == TraceSample.running.exportable.json + "\n")
    #expect(TraceSample.running.exportable.spans.map(\.role) == [.submit, .wait])
    #expect(TraceSample.slow.exportable.spans == TraceSample.slow.spans)
  }

  @Test(
    arguments: [
      (["--trace-url", "http://a/{traceId}/b"], [:], "http://a/4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b/b"),
      ([], ["BATON_TRACE_URL": "https://b/{traceId}"], "https://b/4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b"),
      (
        ["--trace-url", "http://a/{traceId}"], ["BATON_TRACE_URL": "https://b/{traceId}"],
        "http://a/4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b"
      ),
      ([], ["BATON_TRACE_URL": ""], nil),
    ] as [([String], [String: String], String?)])
  func `the address of the trace is the flag's, else the environment's`(
    flags: [String], variables: [String: String], address: String?
  ) async throws {
    var world = Self.world
    world.variables = variables
    let object = try Self.json(await world.baton(["trace", "com.example.report", "-o", "json"] + flags))
    #expect(object["link"] as? String == address)
  }

  @Test(arguments: [
    "", "http://a", "{traceId}", "ftp://a/{traceId}", "http://a b/{traceId}", "http://\u{1B}/{traceId}",
  ])
  func `what is no address with a place for the id is a usage error`(template: String) async {
    let flag = await Self.world.baton("trace", "a", "--trace-url", template)
    #expect(flag.status == 64)
    #expect(flag.error.contains("{traceId}"))
    var world = Self.world
    world.variables["BATON_TRACE_URL"] = template
    guard !template.isEmpty else { return }
    let variable = await world.baton("trace", "a")
    #expect(variable.status == 64)
    #expect(variable.error.contains("BATON_TRACE_URL") && !variable.error.contains("\u{1B}"))
  }

  @Test func `no such request is 3`() async {
    let error = OperatorError.notFound("there is no job 'com.example.nws', did you mean 'com.example.news'?")
    let run = await World { $0.errors = [error] }.baton("trace", "com.example.nws")
    #expect(run.status == 3)
    #expect(run.error == "error: \(error)\n")
    #expect(run.output.isEmpty)
  }

  @Test func `a terminal has colour and its own width`() async {
    var world = Self.world
    world.terminal = .init(columns: 120, rows: 30)
    let run = await world.baton("trace", "com.example.report")
    let plain = run.output.replacing(/\u{1B}\[[0-9]+m/, with: "")
    #expect(plain != run.output)
    #expect(plain.split(separator: "\n").map { String($0).columns }.max().map { (100...120).contains($0) } == true)
  }
}
