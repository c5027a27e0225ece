package import BatonModel

extension Timestamp {
  /// Whole seconds since 1970, rounded towards the past.
  package var wholeSeconds: Int64 {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// The date by RFC 3339 in UTC, with milliseconds that are cut off, not rounded: `2026-03-01T06:30:00.250Z`.
  package var rfc3339: String {
    let remainder = nanoseconds % 1_000_000_000
    let milliseconds = (remainder < 0 ? remainder + 1_000_000_000 : remainder) / 1_000_000
    return utc.dropLast() + "." + Self.digits(Int(milliseconds), 3) + "Z"
  }

  /// The date by RFC 3339 in UTC without a fraction, for people: `2026-03-01T06:30:00Z`.
  package var utc: String {
    var seconds = time_t(wholeSeconds)
    var fields = tm()
    gmtime_r(&seconds, &fields)
    let day = [(fields.tm_year + 1900, 4), (fields.tm_mon + 1, 2), (fields.tm_mday, 2)]
    let time = [(fields.tm_hour, 2), (fields.tm_min, 2), (fields.tm_sec, 2)]
    return day.map { Self.digits(Int($0), $1) }.joined(separator: "-") + "T"
      + time.map { Self.digits(Int($0), $1) }.joined(separator: ":") + "Z"
  }

  /// Parses the forms of `rfc3339` and `utc`, with up to nine digits of a fraction. Returns `nil` for any other text.
  package init?(rfc3339 text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes.count <= 30, bytes.last == UInt8(ascii: "Z") else { return nil }
    let marks: [(Int, UInt8)] = [
      (4, UInt8(ascii: "-")), (7, UInt8(ascii: "-")), (10, UInt8(ascii: "T")), (13, UInt8(ascii: ":")),
      (16, UInt8(ascii: ":")),
    ]
    guard marks.allSatisfy({ bytes[$0] == $1 }) else { return nil }
    let places = [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19]
    let numbers = places.compactMap { Self.number(bytes[$0]) }
    guard numbers.count == places.count, let fraction = Self.fraction(bytes[19...].dropLast()) else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (numbers[3], numbers[4], numbers[5])
    let (product, overflow) = Int64(timegm(&fields)).multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return nil }
    self = Timestamp(nanoseconds: product) + .nanoseconds(fraction)
    // `timegm` turns a 30 February into another day. A date that does not exist is refused.
    guard utc.utf8.elementsEqual(bytes[..<19] + [UInt8(ascii: "Z")]) else { return nil }
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int32? {
    digits.allSatisfy { (0x30...0x39).contains($0) } ? Int32(String(decoding: digits, as: UTF8.self)) : nil
  }

  /// The nanoseconds of a fraction such as `.250`. Zero for an empty text.
  private static func fraction(_ text: ArraySlice<UInt8>) -> Int64? {
    guard let point = text.first else { return 0 }
    let digits = text.dropFirst()
    guard point == UInt8(ascii: "."), (1...9).contains(digits.count), let number = number(digits) else { return nil }
    return (digits.count..<9).reduce(Int64(number)) { product, _ in product * 10 }
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}
