/// The table of all series of a process, by metric name and labels. It is a value that decides whether there is room
/// for another metric or series.
struct SeriesTable {
  /// One metric with its series.
  private struct Metric {
    var description: MetricDescription
    var series: [[MetricLabel]: any MetricSeries] = [:]
    /// The labels of the series that is shared by all label sets beyond the limit; `nil` until the limit is exceeded.
    var shared: [MetricLabel]?
  }

  private let limits: MetricLimits
  private var metrics: [String: Metric] = [:]
  /// How often a series was refused, by the name of its metric. The name `other` counts metrics that were refused as a
  /// whole because there are too many.
  private(set) var refused: [String: Int] = [:]

  init(limits: MetricLimits) { self.limits = limits }

  /// Returns the series with these labels, which is the same object at each call. Label sets beyond the limit share one
  /// series whose label values are all `other`, so that totals stay correct. Returns `nil` if there is no room for
  /// another metric, or if the metric exists with another kind.
  mutating func series<Series: MetricSeries>(
    _ description: MetricDescription, _ labels: [MetricLabel], make: (MetricDescription) -> Series
  ) -> Series? {
    guard hasRoom(for: description.name) else { return refuse(Names.Label.other) }
    let metric = metrics[description.name] ?? Metric(description: .of(description.name) ?? description)
    guard metric.description.kind == description.kind else { return refuse(description.name) }
    if let known = metric.series[labels] { return known as? Series }
    guard metric.series.count < limits.series else { return overflow(metric, make: make) }
    return add(make(metric.description), labels, to: metric)
  }

  /// All metrics with their samples, in no particular order.
  var families: [MetricFamily] {
    metrics.values.map { metric in
      MetricFamily(metric.description, metric.series.map { MetricFamily.Sample($0.key, $0.value.value) })
    }
  }

  private func hasRoom(for name: String) -> Bool { metrics[name] != nil || metrics.count < limits.families }

  /// Returns the series that all label sets beyond the limit share. It is created at its first use.
  private mutating func overflow<Series: MetricSeries>(
    _ metric: Metric, make: (MetricDescription) -> Series
  ) -> Series? {
    refused[metric.description.name, default: 0] += 1
    if let shared = metric.shared { return metric.series[shared] as? Series }
    let names = Set(metric.series.keys.flatMap { $0.map(\.name) })
    let labels = names.sorted().map { MetricLabel($0, Names.Label.other) }
    metrics[metric.description.name]?.shared = labels
    if let known = metric.series[labels] { return known as? Series }
    return add(make(metric.description), labels, to: metric)
  }

  private mutating func add<Series: MetricSeries>(
    _ series: Series, _ labels: [MetricLabel], to metric: Metric
  ) -> Series {
    let name = metric.description.name
    if metrics[name] == nil { metrics[name] = metric }
    metrics[name]?.series[labels] = series
    return series
  }

  private mutating func refuse<Series>(_ name: String) -> Series? {
    refused[name, default: 0] += 1
    return nil
  }
}
