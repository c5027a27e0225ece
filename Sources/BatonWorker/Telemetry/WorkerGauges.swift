package import BatonTelemetry
import Synchronization

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

extension Worker {
  /// The coordinator has answered its hello, and the connection is there.
  package var isConnected: Bool { state.withLock { $0.connection != nil } }

  /// Its gauges, for a registry to collect.
  package var metricFamilies: [MetricFamily] {
    state.withLock { WorkerGauges(isConnected: $0.connection != nil, launches: $0.active.count) }.families
  }
}
