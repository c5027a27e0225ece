/// Sizes as job files write them: `8GiB`, `512MiB`, `10GB`.
enum SizeText {
  static let examples = "a size such as 8GiB, 512MiB or 10GB"

  private static let units: [(name: String, bytes: Int64)] = [
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000),
  ]

  /// Reads a size, and returns the number of bytes, which is more than zero.
  static func parse(_ text: String) throws(Mistake) -> Int64 {
    let digits = text.prefix { ("0"..."9").contains($0) }
    let name = text.dropFirst(digits.count)
    guard !digits.isEmpty, let unit = units.first(where: { $0.name == name }) else {
      throw suggestion(String(digits), String(name))
    }
    guard digits.first != "0" else { throw .because("it must be more than zero and have no leading zeros") }
    let (bytes, overflow) = (Int64(digits) ?? .max).multipliedReportingOverflow(by: unit.bytes)
    guard !overflow, digits.count <= 9 else { throw .because("no memory is that large") }
    return bytes
  }

  /// The size in the largest unit of which it is a whole number. A size that no job file can express is rounded down.
  static func text(_ bytes: Int64) -> String {
    let exact = units.reversed().first { bytes.isMultiple(of: $0.bytes) && bytes / $0.bytes <= 999_999_999 }
    let unit = exact ?? units.first { bytes / $0.bytes <= 999_999_999 } ?? units[0]
    return "\(max(1, bytes / unit.bytes))\(unit.name)"
  }

  private static func suggestion(_ digits: String, _ name: String) -> Mistake {
    guard !digits.isEmpty else { return .plain }
    let word = name.filter { $0 != " " }.lowercased()
    if word.isEmpty { return .didYouMean(digits + "GiB") }
    let match = units.first { $0.name.lowercased() == word || $0.name.lowercased().hasPrefix(word) }
    return match.map { .didYouMean(digits + $0.name) } ?? .plain
  }
}
