internal import BatonModel

/// Dates of HTTP (RFC 9110, section 5.6.7) in their usual form, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns `nil` for any other text.
  static func parse(_ text: String) -> Timestamp? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT", let day = number(words[1], 1...31),
      let month = months.firstIndex(of: String(words[2])), let year = number(words[3], 1970...2200),
      let date = CivilDate(year: year, month: month + 1, day: day)
    else { return nil }
    let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
    guard clock.count == 3, let hour = number(clock[0], 0...23), let minute = number(clock[1], 0...59),
      let second = number(clock[2], 0...60)
    else { return nil }
    let seconds = ((date.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second
    return Timestamp(nanoseconds: Int64(seconds) * 1_000_000_000)
  }

  private static func number(_ text: Substring, _ range: ClosedRange<Int>) -> Int? {
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int(text),
      range.contains(number)
    else { return nil }
    return number
  }
}

extension ResponseHead {
  /// How long the server asks to wait; `nil` if it does not say, or not in a way that can be read. At most a day.
  /// - Parameter date: the host's wall clock, for a server that says a date and not its own time.
  func retryAfter(at date: Timestamp) -> Duration? {
    guard let text = self["retry-after"] else { return nil }
    if let seconds = Int64(text), seconds >= 0 { return .seconds(min(seconds, 86_400)) }
    guard let until = HTTPDate.parse(text) else { return nil }
    let now = self["date"].flatMap(HTTPDate.parse) ?? date
    return min(max(until - now, .zero), .seconds(86_400))
  }

  /// The validator of the file, if the server gave one with which a range is safe.
  var validator: Validator? {
    if let tag = self["etag"] {
      return tag.hasPrefix("\"") && tag.hasSuffix("\"") && (2...1024).contains(tag.utf8.count)
        ? Validator(text: tag, isTag: true) : nil
    }
    // A file that changed in the second in which it was sent may have changed again in the same second.
    guard let text = self["last-modified"], let changed = HTTPDate.parse(text),
      let sent = self["date"].flatMap(HTTPDate.parse), sent - changed >= .seconds(1)
    else { return nil }
    return Validator(text: text, isTag: false)
  }

  /// The bytes that the answer has, and the length of the file: `bytes 5-9/10` or `bytes 5-9/*`.
  var contentRange: (first: Int64, last: Int64, total: Int64?)? {
    guard let text = self["content-range"], text.lowercased().hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.length(ends[0]), let last = Self.length(ends[1]), first <= last else {
      return nil
    }
    if parts[1] == "*" { return (first, last, nil) }
    guard let total = Self.length(parts[1]), last < total else { return nil }
    return (first, last, total)
  }

  /// The length of the file in an answer that no range fits: `bytes */10`.
  var unsatisfiedLength: Int64? {
    guard let text = self["content-range"], text.lowercased().hasPrefix("bytes */") else { return nil }
    return Self.length(text.dropFirst(8))
  }

  var contentLength: Int64? { self["content-length"].flatMap { Self.length(Substring($0)) } }

  /// The largest length that is believed: no file is longer, and sums of many stay far from overflow.
  private static let longest: Int64 = 1 << 53

  private static func length(_ text: Substring) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text).flatMap { $0 <= longest ? $0 : nil }
  }
}
