import BatonModel

/// Dates of RFC 3339 with seconds and an offset: `2026-03-01T06:30:00Z`, `2026-03-01T06:30:00.5+01:00`.
enum DateText {
  static let examples = "an RFC 3339 date such as 2026-03-01T06:30:00Z"

  /// Whether the text can only be meant as a date, so that a message need not explain durations.
  static func looksLikeDate(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.count >= 5 && bytes.prefix(4).allSatisfy(isDigit) && bytes[4] == UInt8(ascii: "-")
  }

  /// Reads a date from 1970 to 2260: these are the whole years whose nanoseconds since 1970 fit into 64 bits.
  static func parse(_ text: String) throws(Mistake) -> Timestamp {
    var scanner = Scanner(bytes: Array(text.utf8)[...])
    let seconds = try scanner.date() * 86_400 + scanner.time()
    let fraction = try scanner.fraction()
    let offset = try scanner.offset()
    guard scanner.bytes.isEmpty else { throw .plain }
    let total = seconds - offset
    guard Definition.Limits.datesInSeconds.contains(total) else { throw .because("its year must be from 1970 to 2260") }
    return Timestamp(nanoseconds: total * 1_000_000_000 + fraction)
  }

  /// The date in UTC, with as many digits of a fraction as it needs.
  static func text(_ date: Timestamp) -> String {
    let (days, rest) = (date.nanoseconds / 86_400_000_000_000, date.nanoseconds % 86_400_000_000_000)
    let (seconds, fraction) = (rest / 1_000_000_000, rest % 1_000_000_000)
    let time = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { padded($0, 2) }.joined(separator: ":")
    var digits = fraction == 0 ? "" : "." + padded(fraction, 9)
    while digits.hasSuffix("0") { digits.removeLast() }
    return "\(CivilDate(daysSince1970: Int(days)))T\(time)\(digits)Z"
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  fileprivate static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

/// Reads the parts of a date one after the other, and removes each from the front of `bytes`.
private struct Scanner {
  var bytes: ArraySlice<UInt8>

  /// Reads the date, and returns it in days since 1970.
  mutating func date() throws(Mistake) -> Int64 {
    let year = try digits(4)
    try take("-")
    let month = try digits(2)
    try take("-")
    let day = try digits(2)
    guard (1...12).contains(month) else { throw .because("there is no month \(month)") }
    guard let date = CivilDate(year: Int(year), month: Int(month), day: Int(day)) else {
      throw .because("there is no such day")
    }
    return Int64(date.daysSince1970)
  }

  /// Reads the time of day, and returns it in seconds since midnight.
  mutating func time() throws(Mistake) -> Int64 {
    guard bytes.first == UInt8(ascii: "T") || bytes.first == UInt8(ascii: "t") else {
      throw .because("a time follows the date after a 'T', as in 2026-03-01T06:30:00Z")
    }
    bytes.removeFirst()
    let hour = try digits(2)
    try take(":")
    let minute = try digits(2)
    guard bytes.first == UInt8(ascii: ":") else { throw .because("the seconds are missing") }
    try take(":")
    let second = try digits(2)
    guard hour < 24, minute < 60, second < 60 else { throw .because("there is no such time of day") }
    return hour * 3_600 + minute * 60 + second
  }

  /// Reads the fraction of a second, and returns it in nanoseconds, rounded down; 0 if there is no fraction.
  mutating func fraction() throws(Mistake) -> Int64 {
    guard bytes.first == UInt8(ascii: ".") else { return 0 }
    bytes.removeFirst()
    let digits = bytes.prefix(while: DateText.isDigit)
    guard !digits.isEmpty else { throw .plain }
    bytes = bytes.dropFirst(digits.count)
    let padded = digits.prefix(9) + repeatElement(UInt8(ascii: "0"), count: max(0, 9 - digits.count))
    return padded.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  /// Reads the offset from UTC, and returns it in seconds; it is positive east of Greenwich.
  mutating func offset() throws(Mistake) -> Int64 {
    guard let sign = bytes.popFirst() else { throw .because("add Z for UTC, or an offset such as +01:00") }
    if sign == UInt8(ascii: "Z") || sign == UInt8(ascii: "z") { return 0 }
    guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { throw .plain }
    let hours = try digits(2)
    try take(":")
    let minutes = try digits(2)
    guard hours < 24, minutes < 60 else { throw .because("there is no such offset") }
    return (sign == UInt8(ascii: "-") ? -1 : 1) * (hours * 3_600 + minutes * 60)
  }

  private mutating func digits(_ count: Int) throws(Mistake) -> Int64 {
    let digits = bytes.prefix(count)
    guard digits.count == count, digits.allSatisfy(DateText.isDigit) else { throw .plain }
    bytes = bytes.dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  private mutating func take(_ character: Unicode.Scalar) throws(Mistake) {
    guard bytes.popFirst() == UInt8(ascii: character) else { throw .plain }
  }
}
