import BatonModel

/// Ranges of whole numbers as Swift writes them: `1...10000`, and `0..<10`, which does not include its end.
enum RangeText {
  static let examples = "a range such as 1...10000 or 0..<10000"

  static func parse(_ text: String) throws(Mistake) -> ClosedRange<Int64> {
    guard let (lower, separator, upper) = split(text) else { throw suggestion(for: text) }
    guard let first = number(lower), let end = number(upper) else { throw .plain }
    guard separator == "..." ? first <= end : first < end else {
      throw .because(separator == "..." ? "its lower end is above its upper end" : "it is empty")
    }
    let last = separator == "..." ? end : end - 1
    let (distance, overflow) = last.subtractingReportingOverflow(first)
    guard !overflow, distance < Int64(Definition.Limits.rangeItems) else {
      throw .because("it has more than 1,000,000,000 items")
    }
    return first...last
  }

  private static func split(_ text: String) -> (lower: Substring, separator: String, upper: Substring)? {
    for separator in ["...", "..<"] {
      guard let dots = text.firstIndex(of: ".") else { return nil }
      let rest = text[dots...]
      if rest.hasPrefix(separator) { return (text[..<dots], separator, rest.dropFirst(3)) }
    }
    return nil
  }

  /// A decimal number without leading zeros and without a sign other than `-`: the form in which items are written.
  private static func number(_ text: Substring) -> Int64? {
    guard let value = Int64(text), String(value) == text else { return nil }
    return value
  }

  private static func suggestion(for text: String) -> Mistake {
    for separator in ["....", "..", " to ", "-", ","] {
      let parts = text.split(separator: separator)
      guard parts.count == 2 else { continue }
      let ends = parts.map { $0.filter { $0 != " " } }
      if let lower = Int64(ends[0]), let upper = Int64(ends[1]) { return .didYouMean("\(lower)...\(upper)") }
    }
    return Int64(text).map { .didYouMean("1...\($0)") } ?? .plain
  }
}
