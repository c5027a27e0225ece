/// What bounds the memory that metrics take.
package struct MetricLimits: Hashable, Sendable {
  /// Metrics that libraries may bring, by name.
  package var families: Int
  /// Label sets of one metric.
  package var series: Int

  /// At least one of each.
  package init(families: Int = 500, series: Int = 10_000) {
    (self.families, self.series) = (max(1, families), max(1, series))
  }
}
