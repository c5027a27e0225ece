/// Parses `hours` as they are written in worker.yaml: `22:00-07:00`, `Mon-Fri 12:00-13:00`, `Sat,Sun 00:00-24:00`.
extension LendingHours {
  /// Reads hours in the form that `hours` in worker.yaml has.
  /// - Parameter texts: at most 64 entries of the form `[DAYS ]HH:MM-HH:MM`, such as `22:00-07:00`, `Mon-Fri
  ///   12:00-13:00` or `Sat,Sun 00:00-24:00`, in the host's local time. A span may cross midnight.
  /// - Throws: `LendingHoursError` that names the wrong entry and the form of a correct one.
  public init(_ texts: [String]) throws(LendingHoursError) { try self.init(parsing: texts) }

  /// - Parameter texts: the entries. An entry with only days is joined with the next entry, because the value of an
  ///   environment variable is split at every comma.
  /// - Throws: `LendingHoursError` that names the wrong entry and the form of a correct one.
  package init(parsing texts: [String], calendar: LocalCalendar = .system) throws(LendingHoursError) {
    guard texts.count <= Self.mostEntries else { throw LendingHoursError("more than \(Self.mostEntries) entries") }
    var spans: [Span] = []
    var days = ""
    for text in texts {
      guard text.contains(":") || text.isEmpty else {
        days += text + ","
        continue
      }
      spans.append(try Self.span(days + text))
      days = ""
    }
    guard days.isEmpty else { throw LendingHoursError("'\(days.dropLast())' has days but no times; \(Self.form)") }
    self.init(spans, calendar: calendar)
  }

  private static let form =
    "write [DAYS ]HH:MM-HH:MM, such as 22:00-07:00, Mon-Fri 12:00-13:00 or Sat,Sun 00:00-24:00"
  private static let mostEntries = 64

  private static func span(_ text: String) throws(LendingHoursError) -> Span {
    do throws(Mistake) {
      let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      guard let hours = words.last, (1...2).contains(words.count) else { throw Mistake("") }
      var span = try times(hours)
      if words.count == 2 { span.days = try days(words[0]) }
      return span
    } catch {
      throw LendingHoursError("'\(text)' is not a valid entry" + error.text + "; " + form)
    }
  }

  private static func times(_ text: String) throws(Mistake) -> Span {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { throw Mistake("") }
    let (start, end) = (try time(parts[0]), try time(parts[1]))
    guard start < 86_400 else { throw Mistake("a span cannot start at 24:00; write 00:00 of the next day") }
    guard start != end else { throw Mistake("start and end are equal; write 00:00-24:00 for a whole day") }
    guard end > 0 else { throw Mistake("write 24:00 for an end at midnight") }
    return Span(start: start, end: end)
  }

  private static func time(_ text: String) throws(Mistake) -> Int {
    let bytes = Array(text.utf8)
    guard bytes.count == 5, bytes[2] == UInt8(ascii: ":"), let hour = number(bytes[..<2]),
      let minute = number(bytes[3...])
    else { throw Mistake("'\(text)' is not a time HH:MM") }
    guard minute < 60, hour * 60 + minute <= 24 * 60 else {
      throw Mistake("'\(text)' is not a time from 00:00 to 24:00")
    }
    return (hour * 60 + minute) * 60
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    digits.allSatisfy { (0x30...0x39).contains($0) } ? Int(String(decoding: digits, as: UTF8.self)) : nil
  }

  private static func days(_ text: String) throws(Mistake) -> Set<Weekday> {
    var days: Set<Weekday> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
      guard ends.count <= 2 else { throw Mistake("'\(part)' is not a day or a range of days") }
      let (first, last) = (try day(ends[0]), try day(ends[ends.count - 1]))
      let count = (last.rawValue - first.rawValue + 7) % 7
      for offset in 0...count { days.insert(first.advanced(by: offset)) }
    }
    return days
  }

  private static func day(_ name: String) throws(Mistake) -> Weekday {
    if let day = Weekday.allCases.first(where: { $0.name == name }) { return day }
    throw Mistake("'\(name)' is not a day; use " + Weekday.allCases.map(\.name).joined(separator: ", "))
  }

  /// What is wrong with one entry. Empty if there is nothing to say beyond the form of a correct entry.
  private struct Mistake: Error {
    let text: String
    init(_ text: String) { self.text = text.isEmpty ? "" : ": " + text }
  }
}

/// Explains why `hours` cannot be parsed, and shows the form of a correct entry.
public struct LendingHoursError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and what a correct entry looks like.
  public var description: String
  init(_ description: String) { self.description = description }
}
