/// One label of a series.
package struct MetricLabel: Hashable, Sendable, Comparable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

  package static func < (left: Self, right: Self) -> Bool {
    (left.name, left.value) < (right.name, right.value)
  }
}

extension [MetricLabel] {
  /// The dimensions of swift-metrics as labels: in the order of their names, each name once, the last one counting.
  package init(dimensions: [(String, String)]) {
    var values: [String: String] = [:]
    for (name, value) in dimensions { values[MetricName.label(name)] = value }
    self = values.map { MetricLabel($0.key, $0.value) }.sorted()
  }
}

/// Names as Prometheus takes them (https://prometheus.io/docs/concepts/data_model), whatever a library calls its own.
package enum MetricName {
  /// `http.requests` is `http_requests`; one that begins with a digit gets a `_` before it.
  package static func metric(_ text: String) -> String { valid(text, alsoColon: true) }

  /// The same with `ending` at the end, which the name may have already.
  package static func metric(_ text: String, ending: String) -> String {
    let name = metric(text)
    return name.hasSuffix(ending) ? name : name + ending
  }

  /// `job` and `instance` are Prometheus's own, `le` is a bucket's, and two underscores are reserved: these are renamed
  /// as Prometheus renames what it is in the way of.
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
