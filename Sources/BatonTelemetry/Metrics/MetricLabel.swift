/// One label of a series: a name and a value.
package struct MetricLabel: Hashable, Sendable, Comparable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

  package static func < (left: Self, right: Self) -> Bool {
    (left.name, left.value) < (right.name, right.value)
  }
}

extension [MetricLabel] {
  /// Converts the dimensions of swift-metrics to labels, sorted by name. If a name occurs twice, the last value is
  /// kept.
  package init(dimensions: [(String, String)]) {
    var values: [String: String] = [:]
    for (name, value) in dimensions { values[MetricName.label(name)] = value }
    self = values.map { MetricLabel($0.key, $0.value) }.sorted()
  }
}

/// Converts the metric and label names of libraries to names that are valid in Prometheus
/// (https://prometheus.io/docs/concepts/data_model).
package enum MetricName {
  /// The metric name for `text`: each invalid character becomes `_`, so `http.requests` becomes `http_requests`. A name
  /// that begins with a digit gets a `_` in front.
  package static func metric(_ text: String) -> String { valid(text, alsoColon: true) }

  /// The metric name for `text`, with `ending` appended unless the name ends with it already.
  package static func metric(_ text: String, ending: String) -> String {
    let name = metric(text)
    return name.hasSuffix(ending) ? name : name + ending
  }

  /// The label name for `text`. `job` and `instance` belong to Prometheus, `le` belongs to histogram buckets, and names
  /// with two leading underscores are reserved: these names get the prefix `exported_`, which Prometheus itself uses
  /// for conflicting labels.
  package static func label(_ text: String) -> String {
    let name = valid(text, alsoColon: false)
    return reserved.contains(name) || name.hasPrefix("__") ? "exported_\(name)" : name
  }

  private static let reserved: Set = ["job", "instance", "le"]

  private static func valid(_ text: String, alsoColon: Bool) -> String {
    let name = text.unicodeScalars.map { isValid($0) || alsoColon && $0 == ":" ? Character($0) : "_" }
    guard let first = name.first else { return "_" }
    return String(first.isNumber ? ["_"] + name : name)
  }

  private static func isValid(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    default: false
    }
  }
}
