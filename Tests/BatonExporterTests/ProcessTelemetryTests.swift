import BatonTelemetry
import Logging
import Testing
import Tracing

@testable import BatonExporter

@Suite("The spans and metrics of a process")
struct ProcessTelemetryTests {
  private func telemetry(_ environment: [String: String]) -> ProcessTelemetry {
    ProcessTelemetry(
      "baton-worker", environment: environment, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test("`/metrics` says which build it is, and counts dropped spans by cause from 0 on")
  func drops() async throws {
    let telemetry = telemetry([
      "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_BSP_MAX_QUEUE_SIZE": "1",
      "OTEL_BSP_EXPORT_TIMEOUT": "1",
    ])
    let before = await telemetry.registry.snapshot().prometheusText
    #expect(before.contains("baton_build_info{"))
    for cause in BatchQueue.Drop.allCases {
      #expect(before.contains("baton_spans_dropped_total{reason=\"\(cause.rawValue)\"} 0\n"))
    }
    // The spans are not sent yet, so the queue keeps one of three and drops two.
    let tracer = try #require(telemetry.telemetry.tracer)
    for _ in 0..<3 { tracer.startSpan("a").end() }
    for _ in 0..<2 {
      let text = await telemetry.registry.snapshot().prometheusText
      #expect(text.contains("baton_spans_dropped_total{reason=\"full\"} 2\n"))
    }
    try await telemetry.running {}
  }

  @Test("without an endpoint nothing is traced, and metrics are there to be scraped")
  func off() async {
    let telemetry = telemetry([:])
    #expect(telemetry.telemetry.tracer == nil && telemetry.telemetry.traces == nil)
    #expect(await telemetry.reader.snapshot().prometheusText.contains("process_start_time_seconds"))
  }
}
