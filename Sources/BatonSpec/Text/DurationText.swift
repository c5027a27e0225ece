import BatonModel

/// Durations as job files write them: `500ms`, `30s`, `10m`, `24h`, `7d`, and `1h30m`, the largest unit first.
enum DurationText {
  static let examples = "a duration such as 500ms, 30s, 10m, 24h, 7d or 1h30m"

  private static let units: [(name: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
  ]

  /// Reads a duration from zero to 10 years.
  static func parse(_ text: String) throws(Mistake) -> Duration {
    guard let parts = parts(of: text), isDescending(parts.map(\.unit)) else { throw suggestion(for: text) }
    var total: Int64 = 0
    for part in parts {
      guard let unit = units.first(where: { $0.name == part.unit }) else { throw suggestion(for: text) }
      // A number of 18 digits fits into 64 bits. The JSON Schema permits 18 digits, too.
      let number = part.number.count <= 18 ? Int64(part.number) ?? .max : .max
      let (product, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
      let (sum, overflow2) = total.addingReportingOverflow(product)
      guard !overflow, !overflow2, sum <= Definition.Limits.longestDurationInSeconds * 1_000 else {
        throw .because("the longest duration is 10 years, 3650d")
      }
      total = sum
    }
    return .milliseconds(total)
  }

  /// The duration as a person writes it, in whole milliseconds: `1h30m`, and `24h` rather than `1d`.
  static func text(_ duration: Duration) -> String {
    var rest = duration.nanoseconds / 1_000_000
    var text = ""
    for unit in units where rest >= unit.milliseconds {
      if unit.name == "d", rest < 2 * unit.milliseconds { continue }
      text += "\(rest / unit.milliseconds)\(unit.name)"
      rest %= unit.milliseconds
    }
    return text.isEmpty ? "0s" : text
  }

  /// Splits `1h30m` into numbers with units; `nil` if the text has another form.
  private static func parts(of text: String) -> [(number: Substring, unit: String)]? {
    var rest = text[...]
    var parts: [(number: Substring, unit: String)] = []
    while !rest.isEmpty {
      let number = rest.prefix(while: isDigit)
      let unit = rest.dropFirst(number.count).prefix { !isDigit($0) }
      guard !number.isEmpty, !unit.isEmpty else { return nil }
      parts.append((number, String(unit)))
      rest = rest.dropFirst(number.count + unit.count)
    }
    return parts.isEmpty ? nil : parts
  }

  private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

  private static func isDescending(_ names: [String]) -> Bool {
    let ranks = names.map { name in units.firstIndex { $0.name == name } ?? -1 }
    return zip(ranks, ranks.dropFirst()).allSatisfy { $0 < $1 } && !ranks.contains(-1)
  }

  private static func suggestion(for text: String) -> Mistake {
    if !text.isEmpty, text.allSatisfy(isDigit) { return .didYouMean(text + "s") }
    if text.hasPrefix("-") { return .because("it cannot be negative") }
    if text.contains(".") { return .because("it has no fractions; write 1h30m for one hour and a half") }
    guard let parts = parts(of: text.lowercased().filter { $0 != " " }) else { return .plain }
    let shortened = parts.map { part in shortUnit(part.unit).map { part.number + $0 } }
    guard shortened.allSatisfy({ $0 != nil }) else { return .plain }
    let guess = shortened.compactMap(\.self).joined()
    if guess == text { return .because("the largest unit comes first, and each at most once") }
    return .didYouMean(guess)
  }

  private static func shortUnit(_ word: String) -> String? {
    switch word {
    case "ms", "msec", "millis", "milliseconds", "millisecond": "ms"
    case "s", "sec", "secs", "second", "seconds": "s"
    case "m", "min", "mins", "minute", "minutes": "m"
    case "h", "hr", "hrs", "hour", "hours": "h"
    case "d", "day", "days": "d"
    default: nil
    }
  }
}
