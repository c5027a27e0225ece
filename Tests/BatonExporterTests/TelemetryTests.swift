import BatonTelemetry
import Logging
import ServiceLifecycle
import Testing
import Tracing

@testable import BatonExporter

@Suite(.timeLimit(.minutes(10))) struct TelemetryTests {
  private static func telemetry(_ environment: [String: String]) -> Telemetry {
    Telemetry(
      TelemetrySettings(environment: environment), resource: ExporterFixture.resource,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test func `without an endpoint nothing is made`() {
    let off = Self.telemetry([:])
    #expect(off.traces == nil && off.metrics == nil && off.tracer == nil && off.spans == nil)
    #expect(off.warnings == [] && off.drops.total == 0)
  }

  @Test func `an endpoint turns both signals on, and only what is asked for is made`() {
    let both = Self.telemetry(["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"])
    #expect(both.traces is OTLPExporter && both.metrics is OTLPExporter && both.tracer != nil)
    let console = Self.telemetry(["OTEL_TRACES_EXPORTER": "otlp,console", "OTEL_METRICS_EXPORTER": "console"])
    #expect(console.traces is OTLPFanout && console.metrics is LineExporter)
    let scraped = Self.telemetry(["OTEL_METRICS_EXPORTER": "prometheus"])
    #expect(scraped.metrics == nil && scraped.traces == nil)
    let file = Self.telemetry(["OTEL_TRACES_EXPORTER": "otlp_file", "OTEL_EXPORTER_OTLP_FILE": "/nowhere/traces"])
    #expect(file.traces is LineExporter && file.warnings == [])
  }

  @Test func `a certificate that cannot be read is a warning`() {
    let telemetry = Self.telemetry([
      "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://127.0.0.1:1", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere/ca.pem",
    ])
    #expect(telemetry.warnings.map(\.message) == ["no certificates in /nowhere/ca.pem; the system's are used"])
    #expect(telemetry.traces != nil)
  }

  @Test func `a shutdown sends what the services above made at their end`() async throws {
    let backend = TestBackend([.status(200)])
    try await backend.serve { url in
      let telemetry = Self.telemetry(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": url])
      let worker = SpanAtTheEnd(tracer: try #require(telemetry.tracer))
      let group = ServiceGroup(
        services: telemetry.services + [worker], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      await withTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try? await group.run() }
        for await _ in worker.started.stream { break }
        await group.triggerGracefulShutdown()
      }
      #expect(telemetry.drops.total == 0)
    }
    var requests = backend.requests.makeAsyncIterator()
    #expect(await requests.next() != nil)
  }

  private struct SpanAtTheEnd: Service {
    let tracer: BatonTracer
    let started = AsyncStream<Void>.makeStream()

    func run() async throws {
      started.continuation.yield()
      try await gracefulShutdown()
      tracer.startSpan("the last one").end()
    }
  }
}
