import BatonBase
package import BatonModel

extension Timestamp {
  /// `06:30 UTC` within a day of `now`, rounded to the nearest minute; otherwise the whole date. Without the rounding,
  /// a midnight on which two clocks disagree by a moment would read `23:59 UTC` rather than `00:00 UTC`.
  package func clock(on now: Timestamp) -> String {
    let nearest = (self + .seconds(30)).utc
    return (self - now).magnitude < .seconds(86_400) ? nearest.dropFirst(11).prefix(5) + " UTC" : utc
  }

  /// The date with its distance from `now`: `2026-03-01T06:30:00Z (3m 12s ago)`.
  package func dated(from now: Timestamp) -> String { "\(utc) (\(relative(to: now)))" }
}
