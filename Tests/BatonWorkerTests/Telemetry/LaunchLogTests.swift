import BatonModel
import BatonTelemetry
import ContractRows
import Logging
import Synchronization
import Testing

@testable import BatonCore
@testable import BatonWorker

/// Log lines about a launch can be found by its trace.
@Suite(.timeLimit(.minutes(10))) struct LaunchLogTests {
  let log = LineCollector()
  var logger: Logger {
    Logger(label: "test") { [log] _ in LineHandler(log: log, metadataProvider: .launch) }
  }

  @Test func `a line that a handler writes has the trace, and the span of the run`() async throws {
    let handlers = logger
    let station = try TracingStation { _ in handlers.info("at work") }
    try await station.run()
    // The worker's own lines go to another logger in this test.
    #expect(log.lines.map(\.text) == ["at work"])
    let line = try #require(log.lines.first)
    #expect(line.metadata[Names.LogKey.trace] == "\(Bench.trace.traceID)")
    #expect(line.metadata[Names.LogKey.span] == station.run.map { "\($0.id)" })
  }

  @Test(.contract(36.1)) func `what the worker says of a launch has its trace, its span and who it is`() throws {
    let station = try TracingStation(logger: logger) { _ in }
    station.worker.decide { $0.connected(at: Instant(nanoseconds: 0)) }
    station.hears(.welcome(leaseTerm: Bench.term))
    station.hears(.definition(DefinitionID(1), Bench.job()))
    station.hears(.launch(Bench.assignment(3, launch: 2)))
    station.hears(.expire(key(3, 2), .superseded))
    station.worker.decide { $0.tick(at: Instant(nanoseconds: 2_000_000_000)) }
    #expect(log.lines.map(\.text) == ["a launch began", "a launch is asked to stop", "a handler ignored its expiry"])
    #expect(log.lines.map(\.level) == [.info, .info, .warning])
    let line = try #require(log.lines.last)
    #expect(
      line.metadata == [
        "trace_id": "\(Bench.trace.traceID)", "span_id": "\(TracingStation.launchSpan)",
        "baton.identifier": "com.example.a", "baton.request": "3", "baton.launch.number": "2",
      ])
  }
}

final class LineCollector: Sendable {
  typealias Line = (level: Logger.Level, text: String, metadata: [String: String])
  private let collected = Mutex<[Line]>([])
  var lines: [Line] { collected.withLock { $0 } }
  func add(_ line: Line) { collected.withLock { $0.append(line) } }
}

private struct LineHandler: LogHandler {
  let log: LineCollector
  var metadataProvider: Logger.MetadataProvider?
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = (metadataProvider?.get() ?? [:]).merging(event.metadata ?? [:]) { $1 }
    log.add((event.level, "\(event.message)", all.mapValues { "\($0)" }))
  }
}
