import BatonBase
import BatonModel
import Logging
import Synchronization
import Tracing

@testable import BatonTelemetry

/// Keeps the spans in the order in which they ended.
final class SpanCollector: SpanSink {
  private let collected = Mutex<[SpanRecord]>([])

  var spans: [SpanRecord] { collected.withLock { $0 } }
  func add(_ span: SpanRecord) { collected.withLock { $0.append(span) } }
  func flush() {}

  subscript(_ name: String) -> SpanRecord? { spans.first { $0.name == name } }
  var names: [String] { spans.map(\.name) }
}

/// A tracer whose ids are 1, 2, 3…
struct TracerFixture {
  let sink = SpanCollector()
  let tracer: BatonTracer

  init(sampler: Sampler = Sampler(), limits: SpanLimits = SpanLimits()) {
    let numbers = Numbers()
    tracer = BatonTracer(sampler: sampler, limits: limits, sink: sink) { numbers.next() }
  }

  static func at(_ seconds: UInt64) -> DefaultTracerClock.Timestamp {
    DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: seconds * 1_000_000_000)
  }
}

final class Numbers: Sendable {
  private let value: Mutex<UInt64>

  init(from first: UInt64 = 1) { value = Mutex(first) }

  func next() -> UInt64 {
    value.withLock { value in
      defer { value += 1 }
      return value
    }
  }
}

struct Broken: Error, CustomStringConvertible {
  var description = "it is broken"
}

/// A steady clock that a test moves. It announces each sleep in `sleeps`.
final class ManualClock: Sendable {
  private struct State {
    var now = Instant(nanoseconds: 0)
    var last = 0
    var sleepers: [Int: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
  }

  private let state = Mutex(State())
  private let announcement: AsyncStream<Duration>.Continuation
  let sleeps: AsyncStream<Duration>

  init() { (sleeps, announcement) = AsyncStream.makeStream() }

  var clock: Clocks {
    Clocks(instant: { self.state.withLock(\.now) }, sleep: { try await self.sleep($0) })
  }

  func advance(_ duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now + duration
      let due = state.sleepers.filter { $0.value.until <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }

  private func sleep(_ duration: Duration) async throws {
    let id = state.withLock { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock { $0.sleepers[id] = ($0.now + duration, continuation) }
        if Task.isCancelled { wake(id) } else { announcement.yield(duration) }
      }
    } onCancel: {
      wake(id)
    }
  }

  private func wake(_ id: Int) {
    state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
  }
}

/// A sender that gives the answers of a test, and announces each request before it answers.
final class ScriptedSender: OTLPSending {
  private let answer: @Sendable (TraceRequest) async -> ExportVerdict
  private let announcement: AsyncStream<[String]>.Continuation
  private let running = Mutex((now: 0, most: 0))
  /// The names of the spans of each request.
  let requests: AsyncStream<[String]>

  init(_ answer: @escaping @Sendable (TraceRequest) async -> ExportVerdict = { _ in .delivered }) {
    self.answer = answer
    (requests, announcement) = AsyncStream.makeStream()
  }

  /// The largest number of requests that were under way at the same time.
  var most: Int { running.withLock(\.most) }

  func send(_ request: some OTLPRequest) async -> ExportVerdict {
    guard let request = request as? TraceRequest else { return .rejected(reason: "not a trace") }
    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
    defer { running.withLock { $0.now -= 1 } }
    announcement.yield(request.spans.map(\.name))
    return await answer(request)
  }

  /// Returns when its task is cancelled.
  static func hang() async {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    for await _ in stream {}
    continuation.finish()
  }
}

/// A log handler that keeps all lines.
struct LogCollector: LogHandler {
  final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  let lines: Lines
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
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
