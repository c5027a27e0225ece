import BatonBase
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

/// The spans and metrics of one process, configured by the `OTEL_*` variables of its environment. Each daemon makes one
/// at its start, calls `bootstrap` once, and runs `services`.
package struct ProcessTelemetry: Sendable {
  package let telemetry: Telemetry
  /// The registry in which all metrics of the process are counted.
  package let registry: MetricsRegistry
  /// Provides the snapshots that `/metrics` shows and that are exported.
  package let reader: MetricsReader
  /// Exports metrics by interval; `nil` if metrics are not exported.
  private let export: MetricsExport?
  private let logger: Logger

  /// Reads the settings, and logs a warning for each variable that cannot be read.
  /// - Parameter service: `baton-coordinator`, `baton-worker`, or `baton` if both run in one process.
  package init(_ service: String, environment: [String: String], logger: Logger) {
    let (settings, metrics) = (TelemetrySettings(environment: environment), MetricSettings(environment: environment))
    telemetry = Telemetry(settings, resource: .ofProcess(service, settings: settings), logger: logger)
    let registry = MetricsRegistry(limits: metrics.limits) {
      Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
    }
    registry.collect(with: ProcessCollector.collector(version: BatonVersion.current))
    if let spans = telemetry.spans { registry.collect(with: Self.drops(of: spans, in: registry)) }
    reader = MetricsReader(reuse: metrics.reuse, now: Clocks.system.instant) { await registry.snapshot() }
    (self.registry, self.logger) = (registry, logger)
    export = telemetry.metrics.map { [telemetry, reader] sender in
      MetricsExport(
        interval: metrics.interval, resource: telemetry.resource, reader: reader, logger: logger,
        now: Clocks.system.instant, sleep: Clocks.system.sleep, send: { await sender.send($0) })
    }
    for warning in telemetry.warnings + metrics.warnings { logger.warning("\(warning)") }
  }

  /// A collector that updates the counters of dropped spans. Each cause has a counter with the value 0 from the
  /// beginning: if a counter appeared only with the first drop, a reader would not see that drop as an increase.
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

  /// Installs the registry and the tracer for the whole process. Call it once, before anything counts or traces.
  package func bootstrap() {
    MetricsSystem.bootstrap(registry)
    if let tracer = telemetry.tracer { InstrumentationSystem.bootstrap(tracer) }
  }

  /// The services to run. Start them before, and so shut them down after, all services that make spans or metrics.
  package var services: [any Service] {
    telemetry.services + (export.map { [MetricsSender(export: $0)] } ?? [])
  }

  /// Asks to send waiting spans and metrics as soon as the backend takes them, and returns without waiting for it.
  package func flush() {
    telemetry.spans?.flush()
    export?.flush()
  }

  /// Runs the services while `body` runs. Afterwards it shuts them down, which sends the remaining spans and metrics,
  /// and returns the result of `body` or throws its error.
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

/// Exports metrics until the graceful shutdown, and then once more, for at most `SpanQueue.closingWindow`.
private struct MetricsSender: Service {
  let export: MetricsExport

  func run() async throws {
    await cancelWhenGracefulShutdown { await export.run() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await export.export() }
      group.addTask { try? await Clocks.system.sleep(SpanQueue.closingWindow) }
      await group.next()
      group.cancelAll()
    }
  }
}
