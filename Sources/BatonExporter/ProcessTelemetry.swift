internal import BatonModel
package import BatonTelemetry
package import Logging
internal import Metrics
package import ServiceLifecycle
internal import Synchronization
internal import Tracing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Spans and metrics of one process, as the `OTEL_*` variables of its environment want them.
package struct ProcessTelemetry: Sendable {
  package let telemetry: Telemetry
  /// What everything in the process counts with.
  package let registry: MetricsRegistry
  /// What `/metrics` shows, and what is sent.
  package let reader: MetricsReader
  /// nil where metrics are not sent.
  private let export: MetricsExport?
  private let logger: Logger

  /// Logs what cannot be read of the settings.
  /// - Parameter service: `baton-coordinator`, `baton-worker`, or `baton` for both in one process.
  package init(_ service: String, environment: [String: String], logger: Logger) {
    let (settings, metrics) = (TelemetrySettings(environment: environment), MetricSettings(environment: environment))
    telemetry = Telemetry(settings, resource: .ofProcess(service, settings: settings), logger: logger)
    let registry = MetricsRegistry(limits: metrics.limits) {
      Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
    }
    registry.collect(with: ProcessCollector.collector(version: BatonVersion.current))
    if let spans = telemetry.spans { registry.collect(with: Self.drops(of: spans, in: registry)) }
    reader = MetricsReader(reuse: metrics.reuse, now: TelemetryClock.system.now) { await registry.snapshot() }
    (self.registry, self.logger) = (registry, logger)
    export = telemetry.metrics.map { [telemetry, reader] sender in
      MetricsExport(
        interval: metrics.interval, resource: telemetry.resource, reader: reader, logger: logger,
        now: TelemetryClock.system.now, sleep: TelemetryClock.system.sleep, send: { await sender.send($0) })
    }
    for warning in telemetry.warnings + metrics.warnings { logger.warning("\(warning)") }
  }

  /// Brings the counter of dropped spans up to date. Each cause is there with 0 from the beginning: of a counter that
  /// appears with its first drop, no reader sees the drop.
  private static func drops(of spans: SpanQueue, in registry: MetricsRegistry) -> MetricsRegistry.Collector {
    let counters = BatchQueue.Drop.allCases.map { cause in
      let dimensions = [(Names.Label.reason, cause.rawValue)]
      return (cause, Counter(label: Names.Metric.spansDropped, dimensions: dimensions, factory: registry))
    }
    let counted = Mutex<[BatchQueue.Drop: Int]>([:])
    return {
      let dropped = spans.droppedByCause
      let before = counted.withLock { counted in
        defer { counted = dropped }
        return counted
      }
      for (cause, counter) in counters { counter.increment(by: dropped[cause, default: 0] - before[cause, default: 0]) }
      return []
    }
  }

  /// Makes them the process's own; once, before anything counts or traces.
  package func bootstrap() {
    MetricsSystem.bootstrap(registry)
    if let tracer = telemetry.tracer { InstrumentationSystem.bootstrap(tracer) }
  }

  /// To run before, and so to be shut down after, everything that makes spans or metrics.
  package var services: [any Service] {
    telemetry.services + (export.map { [MetricsSender(export: $0)] } ?? [])
  }

  /// Sends the spans and metrics that wait as soon as the backend takes them; does not wait for it.
  package func flush() {
    telemetry.spans?.flush()
    export?.flush()
  }

  /// Runs the services around `body`, and lets them send what is left.
  package func running<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
    try await withThrowingTaskGroup(of: Void.self) { group in
      let services = ServiceGroup(services: services, logger: logger)
      group.addTask { try await services.run() }
      let result: Swift.Result<Result, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      await services.triggerGracefulShutdown()
      try await group.waitForAll()
      return try result.get()
    }
  }
}

/// Sends metrics until the end, and what they are then.
private struct MetricsSender: Service {
  let export: MetricsExport

  func run() async throws {
    await cancelWhenGracefulShutdown { await export.run() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await export.export() }
      group.addTask { try? await TelemetryClock.system.sleep(SpanQueue.closingWindow) }
      await group.next()
      group.cancelAll()
    }
  }
}
