package import BatonModel

/// All metrics of a process at one time, as `/metrics` shows them and OTLP sends them.
package struct MetricsSnapshot: Hashable, Sendable {
  /// The metrics, sorted by name. Each name occurs once, and each metric has at least one sample.
  package private(set) var families: [MetricFamily] = []
  /// When the counters began to count: the start of the process.
  package var startedAt: Timestamp
  package var takenAt: Timestamp

  /// Creates a snapshot. Families with the same name are merged. A sample is left out if its labels occur already or if
  /// its family is of another kind: a reader would refuse the whole snapshot because of a series that occurs twice.
  package init(_ families: [MetricFamily], startedAt: Timestamp, takenAt: Timestamp) {
    (self.startedAt, self.takenAt) = (startedAt, takenAt)
    var byName: [String: MetricFamily] = [:]
    for family in families { byName[family.name, default: MetricFamily(family.description)].merge(family) }
    self.families = byName.values.filter { !$0.samples.isEmpty }.sorted { $0.name < $1.name }
  }
}

/// One metric with the samples of all its series. Prometheus calls this a metric family.
package struct MetricFamily: Hashable, Sendable {
  /// The value of one series.
  package struct Sample: Hashable, Sendable {
    /// The labels of the series, sorted by name.
    package var labels: [MetricLabel]
    package var value: Value

    package init(_ labels: [MetricLabel], _ value: Value) { (self.labels, self.value) = (labels.sorted(), value) }
  }

  package enum Value: Hashable, Sendable {
    case number(Double)
    case histogram(HistogramCounts)
  }

  package let description: MetricDescription
  /// The samples, sorted by their labels. Each set of labels occurs once.
  package private(set) var samples: [Sample] = []

  package init(_ description: MetricDescription, _ samples: [Sample] = []) {
    self.description = description
    add(samples)
  }

  /// Creates a family of numbers that have just been read.
  /// - Parameter name: the name of one of Baton's metrics. Another name is a programming error and traps.
  package init(_ name: String, _ readings: [(labels: [MetricLabel], value: Double)]) {
    guard let description = MetricDescription.of(name) else { preconditionFailure("there is no metric \(name)") }
    self.init(description, readings.map { Sample($0.labels, .number($0.value)) })
  }

  /// Creates a family of one number without labels, for one of Baton's metrics.
  package init(_ name: String, _ value: Double) { self.init(name, [([], value)]) }

  package var name: String { description.name }

  mutating func merge(_ other: MetricFamily) {
    if other.description.kind == description.kind { add(other.samples) }
  }

  private mutating func add(_ more: [Sample]) {
    var known = Set(samples.map(\.labels))
    samples += more.filter { known.insert($0.labels).inserted }
    samples.sort { $0.labels.lexicographicallyPrecedes($1.labels) }
  }
}
