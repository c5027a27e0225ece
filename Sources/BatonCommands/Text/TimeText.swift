import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Timestamp {
  private static let second: Int64 = 1_000_000_000

  /// RFC 3339 in UTC with milliseconds, rounded down: `2026-03-01T06:30:00.250Z`. For JSON.
  var rfc3339: String {
    let milliseconds = String(floorSeconds.rest / 1_000_000)
    return wholeSeconds.dropLast() + "." + String(repeating: "0", count: 3 - milliseconds.count) + milliseconds + "Z"
  }

  /// RFC 3339 in UTC without a fraction: `2026-03-01T06:30:00Z`. For people.
  var wholeSeconds: String {
    // Whole seconds are exact in a `Date`; fractions would not be.
    Date(timeIntervalSince1970: Double(floorSeconds.seconds)).formatted(Date.ISO8601FormatStyle())
  }

  private var floorSeconds: (seconds: Int64, rest: Int64) {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: Self.second)
    return remainder < 0 ? (quotient - 1, remainder + Self.second) : (quotient, remainder)
  }

  /// The distance from `now` in words: `3m 12s ago`, `in 2h 5m`, or `now`.
  func relative(to now: Timestamp) -> String {
    let distance = self - now
    if distance.magnitude < .seconds(1) { return "now" }
    return distance > .zero ? "in \(distance.inWords)" : "\(distance.magnitude.inWords) ago"
  }

  /// `06:30 UTC` within a day of `now`, rounded to the nearest minute; otherwise the whole date. Without the rounding,
  /// a midnight on which two clocks disagree by a moment would read `23:59 UTC` rather than `00:00 UTC`.
  func clock(on now: Timestamp) -> String {
    let nearest = (self + .seconds(30)).wholeSeconds
    return (self - now).magnitude < .seconds(86_400) ? nearest.dropFirst(11).prefix(5) + " UTC" : wholeSeconds
  }

  /// The date with its distance from `now`: `2026-03-01T06:30:00Z (3m 12s ago)`.
  func dated(from now: Timestamp) -> String { "\(wholeSeconds) (\(relative(to: now)))" }
}

extension Duration {
  var magnitude: Duration { self < .zero ? .zero - self : self }
}
