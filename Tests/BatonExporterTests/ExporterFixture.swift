import BatonModel
import BatonTelemetry
import Logging
import Synchronization

enum ExporterFixture {
  static let trace = TraceID(hex: "5b8efff798038103d269b633813fc60c")!
  static let resource = Resource([
    Attribute("service.name", "baton-worker"), Attribute("process.pid", 4711),
  ])

  static func request(_ spans: Int = 1) -> TraceRequest {
    let spans = (1...spans).map { number in
      SpanRecord(
        trace: trace, id: SpanID(UInt64(number)), name: "run index", kind: .internal,
        start: Timestamp(nanoseconds: 1_764_000_000_000_000_000), end: Timestamp(nanoseconds: 1_764_000_001_000_000_000)
      )
    }
    return TraceRequest(resource: resource, spans: spans)
  }

  /// Three spans with different kinds and statuses. Together they have single attribute values of every type, arrays of
  /// texts and numbers, a parent, an event and a link.
  static let rich: TraceRequest = {
    let start = Timestamp(nanoseconds: 1_764_000_000_123_456_789)
    let launch = SpanRecord(
      trace: trace, id: SpanID(0xa1), parent: SpanID(0xa0), traceState: "vendor=1", name: "launch index",
      kind: .consumer, start: start, end: start + .seconds(2),
      attributes: [
        Attribute("text", "Zürich \"🏃\""), Attribute("yes", true), Attribute("minus", -7), Attribute("half", 0.5),
        Attribute("texts", .strings(["a", "b"])), Attribute("numbers", .ints([0, 300])),
      ],
      events: [
        SpanEvent(
          time: start + .seconds(1), name: "baton.obstacle.came",
          attributes: [Attribute("baton.obstacle", "needsNetwork")])
      ],
      links: [
        SpanLink(
          trace: trace, span: SpanID(0x99), traceState: "a=b", attributes: [Attribute("baton.launch.number", 1)],
          flags: [.sampled, .parentIsKnown])
      ], status: .error("disk full"), flags: [.sampled, .parentIsKnown, .parentIsRemote])
    let run = SpanRecord(
      trace: trace, id: SpanID(0xa2), parent: SpanID(0xa1), name: "run index", kind: .internal, start: start,
      end: start + .seconds(1), status: .ok)
    let submit = SpanRecord(
      trace: trace, id: SpanID(0xa0), name: "submit index", kind: .producer, start: start, end: start)
    return TraceRequest(resource: resource, spans: [submit, launch, run], version: "1.2.3")
  }()
}

/// A log handler that collects the lines.
struct LogCollector: LogHandler {
  final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  let lines: Lines
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.add("\(event.level): \(event.message)") }

  static func logger() -> (Logger, Lines) {
    let lines = Lines()
    return (Logger(label: "test") { _ in LogCollector(lines: lines) }, lines)
  }
}
