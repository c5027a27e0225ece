/// A date of the proleptic Gregorian calendar, without a time and without a time zone.
///
/// The conversions are the algorithms `days_from_civil`, `civil_from_days` and `weekday_from_days` of
/// https://howardhinnant.github.io/date_algorithms.html.
package struct CivilDate: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The year. Year 0 is the year before year 1.
  package let year: Int
  /// The month, from 1 to 12.
  package let month: Int
  /// The day of the month, from 1 to the length of the month.
  package let day: Int

  /// A date, or `nil` if the calendar does not have it: 2026-02-30 is `nil`.
  /// - Parameter year: from -999,999 to 999,999; any other year gives `nil`.
  package init?(year: Int, month: Int, day: Int) {
    guard (-999_999...999_999).contains(year), (1...12).contains(month),
      (1...Self.length(ofMonth: month, year: year)).contains(day)
    else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// The date that is this number of days after 1970-01-01. A negative number gives an earlier date.
  package init(daysSince1970 days: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// The number of days from 1970-01-01 to this date. It is negative for an earlier date.
  package var daysSince1970: Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The day of the week, from 0 (Sunday) to 6 (Saturday).
  package var weekday: Int { Self.weekday(daysSince1970: daysSince1970) }

  /// The day of the week of the date that is this number of days after 1970-01-01, from 0 (Sunday) to 6 (Saturday).
  package static func weekday(daysSince1970 days: Int) -> Int { days >= -4 ? (days + 4) % 7 : (days + 5) % 7 + 6 }

  /// The number of days of a month.
  /// - Parameter month: from 1 to 12.
  package static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// True if the year has a 29 February.
  package static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  /// Whether `left` is earlier.
  package static func < (left: Self, right: Self) -> Bool {
    (left.year, left.month, left.day) < (right.year, right.month, right.day)
  }
}

extension CivilDate {
  /// Parses a date of exactly the form `YYYY-MM-DD`, such as `2026-03-01`. Returns `nil` for any other text, and for a
  /// date that the calendar does not have.
  package init?(_ text: String) {
    // Without this limit, a long text would be copied before it is refused.
    guard text.utf8.count == 10 else { return nil }
    let bytes = Array(text.utf8)
    guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), let year = Self.number(bytes[..<4]),
      let month = Self.number(bytes[5..<7]), let day = Self.number(bytes[8...])
    else { return nil }
    self.init(year: year, month: month, day: day)
  }

  /// The date in the form `YYYY-MM-DD`. A year before 0 has a minus sign, and a year after 9999 has more digits.
  package var description: String {
    (year < 0 ? "-" : "") + Self.digits(abs(year), 4) + "-" + Self.digits(month, 2) + "-" + Self.digits(day, 2)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    digits.allSatisfy { (0x30...0x39).contains($0) } ? Int(String(decoding: digits, as: UTF8.self)) : nil
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}
