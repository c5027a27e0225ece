// The format is described at https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details.

extension MetricsSnapshot {
  /// The media type of `prometheusText`.
  package static let prometheusType = "text/plain; version=0.0.4; charset=utf-8"

  /// The snapshot in Prometheus's text format 0.0.4; empty if there are no metrics. Samples have no timestamps:
  /// Prometheus uses the time of its scrape.
  package var prometheusText: String {
    var text = ""
    for family in families { Self.write(family, to: &text) }
    return text
  }

  private static func write(_ family: MetricFamily, to text: inout String) {
    let name = family.name
    let help = escaped(family.description.help, quotes: false)
    if !help.isEmpty { text += "# HELP \(name) \(help)\n" }
    text += "# TYPE \(name) \(type(of: family.description.kind))\n"
    for sample in family.samples {
      switch sample.value {
      case .number(let value): line(name, sample.labels, number(value), to: &text)
      case .histogram(let counts): write(counts, name, sample.labels, to: &text)
      }
    }
  }

  private static func write(
    _ counts: HistogramCounts, _ name: String, _ labels: [MetricLabel], to text: inout String
  ) {
    for (bound, count) in counts.cumulative {
      line("\(name)_bucket", labels + [MetricLabel("le", number(bound))], String(count), to: &text)
    }
    line("\(name)_sum", labels, number(counts.sum), to: &text)
    line("\(name)_count", labels, String(counts.count), to: &text)
  }

  private static func line(_ name: String, _ labels: [MetricLabel], _ value: String, to text: inout String) {
    let list = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
    text += list.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
  }

  private static func type(of kind: MetricDescription.Kind) -> String {
    switch kind {
    case .counter: "counter"
    case .gauge: "gauge"
    case .histogram: "histogram"
    }
  }

  /// A number in Prometheus's notation. Whole numbers below 2^53, which are exact, are written without a fraction.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return Int64(exactly: value).map { $0.magnitude < 1 << 53 ? "\($0)" : "\(value)" } ?? "\(value)"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += #"\\"#
      case "\n": result += #"\n"#
      case "\"" where quotes: result += #"\""#
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
