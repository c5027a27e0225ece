package import BatonTelemetry
package import Metrics

/// What a worker counts: one method for each fact, to be called once where it happens. No call waits for anything.
///
/// Launches and batches are counted by the coordinator, when they are committed; a worker that counted them too would
/// count them twice, where both are one process.
package final class WorkerMetrics: Sendable {
  private let factory: any MetricsFactory

  /// - Parameter factory: the process's registry.
  package init(factory: any MetricsFactory = MetricsSystem.factory) {
    self.factory = factory
    // There from the beginning: of a counter that appears with its first drop, no reader sees the drop.
    for cause in BatchQueue.Drop.allCases { spansDropped(0, cause) }
  }

  /// Spans will never be sent.
  package func spansDropped(_ count: Int, _ cause: BatchQueue.Drop) {
    Counter(
      label: Names.Metric.spansDropped, dimensions: [(Names.Label.reason, cause.rawValue)], factory: factory
    ).increment(by: count)
  }
}

/// The state of a worker at one time, as its gauges show it. The worker fills one in at each scrape.
package struct WorkerGauges: Hashable, Sendable {
  package var isConnected: Bool
  /// Launches that run.
  package var launches: Int

  package init(isConnected: Bool, launches: Int) { (self.isConnected, self.launches) = (isConnected, launches) }

  /// What a collector of the registry gives.
  package var families: [MetricFamily] {
    [
      MetricFamily(Names.Metric.workerConnected, isConnected ? 1 : 0),
      MetricFamily(Names.Metric.workerLaunches, Double(launches)),
    ]
  }
}
