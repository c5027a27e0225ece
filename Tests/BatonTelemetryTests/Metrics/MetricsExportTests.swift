import BatonBase
import BatonModel
import Logging
import Synchronization
import Testing

@testable import BatonTelemetry

/// The loop that sends metrics, on a clock that only the test moves.
@Suite struct MetricsExportTests {
  /// A backend that gives the answers of a test. When no answer is left, it ends the loop.
  private final class World: Sendable {
    struct State {
      var answers: [ExportVerdict]
      var requests: [[UInt8]] = []
      var sleeps: [Duration] = []
      var lines: [String] = []
    }

    let state: Mutex<State>
    let clock = StandingClock()
    let takes: Duration

    init(_ answers: [ExportVerdict], taking: Duration = .zero) {
      state = Mutex(State(answers: answers))
      takes = taking
    }

    func send(_ request: [UInt8]) -> ExportVerdict {
      clock.advance(takes)
      return state.withLock { state in
        state.requests.append(request)
        return state.answers.removeFirst()
      }
    }

    func sleep(_ duration: Duration) throws {
      let isOver = state.withLock { state in
        state.sleeps.append(duration)
        return state.answers.isEmpty
      }
      if isOver { throw CancellationError() }
      clock.advance(duration)
    }

    var export: MetricsExport {
      MetricsExport(
        interval: .seconds(60), resource: Resource([]),
        reader: MetricsReader(now: { self.clock.now }) {
          let seconds = Double(self.clock.now.nanoseconds) / 1e9
          return MetricsFixture.snapshot([MetricsFixture.gauge(seconds)])
        },
        logger: Logger(label: "test") { _ in Lines { line in self.state.withLock { $0.lines.append(line) } } },
        now: { self.clock.now }, sleep: { try self.sleep($0) }, send: { self.send($0.protobuf) })
    }

    var lines: [String] { state.withLock { $0.lines } }
  }

  @Test("Every 60 s the snapshot of that time is sent, the first one after 60 s")
  func interval() async {
    let world = World([.delivered, .delivered])
    await world.export.run()
    #expect(world.state.withLock { $0.sleeps } == [.seconds(60), .seconds(60), .seconds(60)])
    let expected = [60.0, 120].map {
      MetricsRequest(resource: Resource([]), snapshot: MetricsFixture.snapshot([MetricsFixture.gauge($0)])).protobuf
    }
    #expect(world.state.withLock { $0.requests } == expected)
    #expect(world.lines == [])
  }

  @Test("The time that an export takes is part of the interval; one that takes longer is followed at once")
  func slow() async {
    let world = World([.delivered, .delivered], taking: .seconds(45))
    await world.export.run()
    #expect(world.state.withLock { $0.sleeps } == [.seconds(60), .seconds(15), .seconds(15)])
    let slower = World([.delivered, .delivered], taking: .seconds(75))
    await slower.export.run()
    #expect(slower.state.withLock { $0.sleeps } == [.seconds(60), .zero, .zero])
  }

  @Test("What was not taken is not sent again, and said once until something is taken")
  func failures() async {
    let world = World([
      .unreachable, .retry(after: .seconds(1)), .rejected(reason: "HTTP 400: no"), .delivered, .delivered,
      .partial(rejected: 2, message: "too old"), .partial(rejected: 0, message: ""), .rejected(reason: "HTTP 401"),
    ])
    await world.export.run()
    #expect(world.state.withLock { $0.requests.count } == 8)
    #expect(Set(world.state.withLock { $0.sleeps }) == [.seconds(60)])
    #expect(
      world.lines == [
        "debug: metrics are not exported: the backend cannot be reached, or asked to try again later",
        "debug: metrics are exported again",
        "debug: metrics are not exported: the backend refused 2 points: too old", "debug: metrics are exported again",
        "debug: metrics are not exported: HTTP 401",
      ])
  }

  @Test("A process that ends can send a last time, without waiting")
  func last() async {
    let world = World([.delivered])
    await world.export.export()
    #expect(world.state.withLock { ($0.requests.count, $0.sleeps.count) } == (1, 0))
  }

  @Test("A flush sends the snapshot of that time, and does not wait for the interval to end")
  func flush() async {
    let requests = Mutex(0)
    let sent = Signal()
    let export = MetricsExport(
      interval: .seconds(60), resource: Resource([]),
      reader: MetricsReader(now: { Instant(nanoseconds: 0) }) { MetricsFixture.snapshot([]) },
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { Instant(nanoseconds: 0) },
      // Sleeps until its task is cancelled: the interval never ends.
      sleep: { _ in
        await Signal().wait()
        try Task.checkCancellation()
      },
      send: { _ in
        requests.withLock { $0 += 1 }
        sent.raise()
        return .delivered
      })
    let loop = Task { await export.run() }
    export.flush()
    await sent.wait()
    loop.cancel()
    await loop.value
    #expect(requests.withLock { $0 } == 1)
  }

  @Test("A cancelled task sends nothing more")
  func cancelled() async {
    let world = World([.delivered])
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await world.export.run()
    }
    await task.value
    #expect(world.state.withLock { $0.requests } == [])
  }
}

/// A log handler that passes each line on.
private struct Lines: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace
  let note: @Sendable (String) -> Void

  init(_ note: @escaping @Sendable (String) -> Void) { self.note = note }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { note("\(event.level): \(event.message)") }
}
