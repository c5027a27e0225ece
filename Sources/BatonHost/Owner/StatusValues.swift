import BatonBase
package import BatonModel

/// A date in the worker's JSON: RFC 3339 in UTC with milliseconds.
package struct StatusDate: Hashable, Sendable, Codable {
  package var date: Timestamp

  package init(_ date: Timestamp) { self.date = date }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let date = Timestamp(rfc3339: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a date of RFC 3339 in UTC")
    }
    self.date = date
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(date.rfc3339)
  }
}

/// A duration in the worker's JSON: a number of seconds with at most three decimals.
package struct StatusSeconds: Hashable, Sendable, Codable {
  package var duration: Duration

  package init(_ duration: Duration) { self.duration = duration }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let seconds = try container.decode(Double.self)
    guard abs(seconds) < 1e12 else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a number of seconds")
    }
    duration = .milliseconds(Int64((seconds * 1000).rounded()))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Double(duration.nanoseconds / 1_000_000) / 1000)
  }
}

extension Duration {
  /// Whole seconds, rounded up, so that a person who is told "1 s" does not wait longer. Zero for a negative duration.
  var wholeSecondsUp: Int64 { max(0, (nanoseconds + 999_999_999) / 1_000_000_000) }
}

extension Int64 {
  /// A number of bytes with one decimal: `640 B`, `1.5 MiB`.
  var inBytes: String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var (value, unit) = (Double(Swift.max(0, self)), 0)
    while value >= 1024, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
    let tenths = Int64((value * 10).rounded(.down))
    return unit == 0 ? "\(self) B" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }
}
