/// The limits that bound the memory of a process's metrics.
package struct MetricLimits: Hashable, Sendable {
  /// The largest number of metric names that swift-metrics may create, Baton's own included.
  package var families: Int
  /// The largest number of series (sets of labels) of one metric.
  package var series: Int

  /// Creates limits; each of them is at least 1.
  package init(families: Int = 500, series: Int = 10_000) {
    (self.families, self.series) = (max(1, families), max(1, series))
  }
}
