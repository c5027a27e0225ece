package import BatonTelemetry
import Synchronization

/// The state of a worker at one moment, for its gauges. The worker makes a value at each scrape.
package struct WorkerGauges: Hashable, Sendable {
  package var isConnected: Bool
  /// The number of running launches.
  package var launches: Int

  /// The metrics for a collector of the registry.
  package var families: [MetricFamily] {
    [
      MetricFamily(Names.Metric.workerConnected, isConnected ? 1 : 0),
      MetricFamily(Names.Metric.workerLaunches, Double(launches)),
    ]
  }
}

extension Worker {
  /// Whether the worker has a connection to the coordinator.
  package var isConnected: Bool { state.withLock { $0.connection != nil } }

  /// The worker's gauges, for a registry to collect.
  package var metricFamilies: [MetricFamily] {
    state.withLock { WorkerGauges(isConnected: $0.connection != nil, launches: $0.active.count) }.families
  }
}
