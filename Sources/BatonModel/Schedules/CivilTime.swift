/// A date and time as a clock on the wall shows it, without a time zone.
///
/// The same local time is a different instant in each zone. At a clock change it can be no instant, or two.
package struct CivilTime: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The seconds from 1970-01-01 00:00:00 to this time, on a clock that is never changed.
  package var secondsSince1970: Int64

  package init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

  /// The local time on `date`.
  /// - Parameters:
  ///   - hour: from 0 to 23.
  ///   - minute: from 0 to 59.
  package init(_ date: CivilDate, hour: Int = 0, minute: Int = 0) {
    self.init(secondsSince1970: Int64(date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60))
  }

  /// The number of days from 1970-01-01 to the date.
  package var daysSince1970: Int { Int(secondsSince1970.dividedDown(by: 86_400)) }

  /// The date.
  package var date: CivilDate { CivilDate(daysSince1970: daysSince1970) }

  /// The seconds since midnight, from 0 to 86,399.
  package var secondOfDay: Int { Int(secondsSince1970) - daysSince1970 * 86_400 }

  /// Whether `left` is earlier on the same clock.
  package static func < (left: Self, right: Self) -> Bool { left.secondsSince1970 < right.secondsSince1970 }

  /// The local time in the form `2026-03-01 06:30:00`.
  package var description: String {
    let parts = [secondOfDay / 3_600, secondOfDay / 60 % 60, secondOfDay % 60]
    return "\(date) " + parts.map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
  }
}

extension Int64 {
  /// The quotient, rounded towards the past.
  func dividedDown(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
