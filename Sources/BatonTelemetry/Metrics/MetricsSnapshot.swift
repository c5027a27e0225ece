package import BatonModel

/// All metrics of a process at one time: what `/metrics` shows and OTLP sends.
package struct MetricsSnapshot: Hashable, Sendable {
  /// In the order of their names, each name once, none without a sample.
  package private(set) var families: [MetricFamily] = []
  /// Since when its counters count.
  package var startedAt: Timestamp
  package var takenAt: Timestamp

  /// Families of one name become one. A sample that was there already, or is of another kind, is left out: one series
  /// twice would make a reader refuse everything.
  package init(_ families: [MetricFamily], startedAt: Timestamp, takenAt: Timestamp) {
    (self.startedAt, self.takenAt) = (startedAt, takenAt)
    var byName: [String: MetricFamily] = [:]
    for family in families { byName[family.name, default: MetricFamily(family.description)].merge(family) }
    self.families = byName.values.filter { !$0.samples.isEmpty }.sorted { $0.name < $1.name }
  }
}

/// One metric with its samples.
package struct MetricFamily: Hashable, Sendable {
  package struct Sample: Hashable, Sendable {
    /// In the order of their names.
    package var labels: [MetricLabel]
    package var value: Value

    package init(_ labels: [MetricLabel], _ value: Value) { (self.labels, self.value) = (labels.sorted(), value) }
  }

  package enum Value: Hashable, Sendable {
    case number(Double)
    case histogram(HistogramCounts)
  }

  package let description: MetricDescription
  /// In the order of their labels, each set once.
  package private(set) var samples: [Sample] = []

  package init(_ description: MetricDescription, _ samples: [Sample] = []) {
    self.description = description
    add(samples)
  }

  /// Numbers that were read just now.
  /// - Parameter name: of one of Baton's metrics.
  package init(_ name: String, _ readings: [(labels: [MetricLabel], value: Double)]) {
    guard let description = MetricDescription.of(name) else { preconditionFailure("there is no metric \(name)") }
    self.init(description, readings.map { Sample($0.labels, .number($0.value)) })
  }

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
