package import BatonModel

/// Parses the HTTP header `Retry-After`: a number of seconds, or a date in one of HTTP's three formats (RFC 9110,
/// sections 10.2.3 and 5.6.7).
package enum RetryAfter {
  /// The time to wait; `nil` if the header cannot be read. A date in the past gives zero.
  package static func wait(_ header: String, at now: Timestamp) -> Duration? {
    let header = header.trimmed
    if !header.isEmpty, header.utf8.allSatisfy({ (48...57).contains($0) }) {
      return .seconds(Int64(header) ?? Int64(Int32.max))
    }
    return date(header, now: now).map { max(.zero, $0 - now) }
  }

  /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
  private static func date(_ text: String, now: Timestamp) -> Timestamp? {
    let words = text.split { " ,-".contains($0) }.map(String.init)
    switch words.count {
    case 6 where words[5] == "GMT" && words[3].count == 4: return date(words[1], words[2], words[3], words[4])
    case 6 where words[5] == "GMT" && words[3].count == 2:
      return century(of: words[3], now: now).flatMap { date(words[1], words[2], $0, words[4]) }
    case 5: return date(words[2], words[1], words[4], words[3])
    default: return nil
    }
  }

  /// Completes a year of two digits to the nearest year, past or future, that ends with these digits.
  private static func century(of year: String, now: Timestamp) -> String? {
    guard let short = number(year, 0...99) else { return nil }
    let current = 1970 + now.nanoseconds / 31_556_952_000_000_000
    let year = current - current % 100 + short
    return String(year > current + 50 ? year - 100 : year < current - 50 ? year + 100 : year)
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func date(_ day: String, _ month: String, _ year: String, _ time: String) -> Timestamp? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard clock.count == 3, let month = months.firstIndex(of: month), let year = number(year, 1700...2261),
      let day = number(day, 1...31), let hour = number(clock[0], 0...23), let minute = number(clock[1], 0...59),
      let second = number(clock[2], 0...60),
      let date = CivilDate(year: Int(year), month: month + 1, day: Int(day))
    else { return nil }
    let days = Int64(date.daysSince1970)
    return Timestamp(nanoseconds: (days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000_000_000)
  }

  private static func number(_ text: String, _ range: ClosedRange<Int64>) -> Int64? {
    guard text.utf8.allSatisfy({ (48...57).contains($0) }), let value = Int64(text) else { return nil }
    return range.contains(value) ? value : nil
  }
}

extension StringProtocol {
  /// The text without spaces and tabs at its beginning and end.
  var trimmed: String {
    var rest = self[...]
    while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
    while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
    return String(rest)
  }
}
