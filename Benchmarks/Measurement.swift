import Foundation

/// One result, and the limit that was measured in the same run.
struct Measurement: Codable, Sendable {
  /// The name of the result, which begins with the figure's number.
  var figure: String
  var value: Double
  var unit: String
  var limit: Double
  var ratio: Double
  var target: Double
  /// `met` or `missed`: whether the ratio is on the right side of the target.
  var verdict: String
  /// The load of the machine, averaged over the last minute.
  var load: Double

  init(_ figure: String, value: Double, unit: String, limit: Double, target: Double, isAtMost: Bool = false) {
    self.figure = figure
    self.value = value.rounded(to: 4)
    self.unit = unit
    self.limit = limit.rounded(to: 4)
    ratio = (value / limit).rounded(to: 3)
    self.target = target
    verdict = (isAtMost ? value / limit <= target : value / limit >= target) ? "met" : "missed"
    var loads = [0.0]
    getloadavg(&loads, 1)
    load = loads[0].rounded(to: 2)
  }

  /// A value that must not exceed `bound`.
  static func bound(_ figure: String, _ value: Double, _ unit: String, atMost bound: Double) -> Measurement {
    Measurement(figure, value: value, unit: unit, limit: bound, target: 1, isAtMost: true)
  }

  func line() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}

/// A table of all results.
struct Table {
  var text: String

  init(_ results: [Measurement]) {
    let rows =
      [["figure", "value", "limit", "ratio", "target", ""]]
      + results.map {
        [
          $0.figure, "\(Self.short($0.value)) \($0.unit)", Self.short($0.limit), "\($0.ratio)", "\($0.target)",
          $0.verdict,
        ]
      }
    let widths = (0..<6).map { column in rows.map { $0[column].count }.max() ?? 0 }
    text = rows.map { row in
      zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined(separator: "  ")
    }.joined(separator: "\n")
  }

  private static func short(_ value: Double) -> String {
    value >= 100 ? String(Int(value.rounded())) : "\(value.rounded(to: 3))"
  }
}

extension Double {
  func rounded(to digits: Int) -> Double {
    let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
    return (self * scale).rounded() / scale
  }
}

extension [Double] {
  /// The value at or below which this share (0 to 1) of all values lies.
  func percentile(_ share: Double) -> Double {
    let sorted = sorted()
    return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }

  var median: Double { percentile(0.5) }
}
