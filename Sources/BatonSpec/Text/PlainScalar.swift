/// The meaning that YAML readers give to an unquoted scalar. Baton reads `true`, `false` and plain decimal numbers, and
/// refuses scalars on which readers of YAML 1.1 and 1.2 disagree, so that a file has the same meaning for an editor,
/// for a linter and for Baton.
enum PlainScalar: Equatable {
  case text
  case nothing
  case boolean
  /// A decimal number without leading zeros and exponent, and without a sign other than `-`.
  case wholeNumber
  case fraction
  /// A scalar whose meaning depends on the reader. The text says which readers take it for what.
  case trap(String)

  init(_ text: String) {
    self = Self.word(text) ?? Self.number(text) ?? .text
  }

  private static func word(_ text: String) -> Self? {
    switch text {
    case "": .nothing
    case "~", "null", "Null", "NULL": .trap("YAML takes it for null")
    case "true", "false": .boolean
    case "True", "TRUE", "False", "FALSE": .trap("YAML takes it for a boolean")
    case "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "y", "Y", "n", "N":
      .trap("YAML 1.1 takes it for a boolean")
    case "=": .trap("YAML 1.1 gives it a special meaning")
    case ".inf", ".Inf", ".INF", "-.inf", "-.Inf", "-.INF", "+.inf", "+.Inf", "+.INF", ".nan", ".NaN", ".NAN":
      .trap("YAML takes it for a number")
    default: nil
    }
  }

  private static func number(_ text: String) -> Self? {
    let unsigned = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    guard let first = unsigned.utf8.first, isDigit(first) || first == UInt8(ascii: ".") else { return nil }
    if let trap = trap(in: unsigned) { return .trap(trap) }
    guard let kind = decimal(unsigned) else { return nil }
    return text.hasPrefix("+") ? .trap("YAML takes it for a number and drops the '+'") : kind
  }

  private static func trap(in digits: Substring) -> String? {
    let body = digits.dropFirst(2)
    if digits.hasPrefix("0x"), consists(body, of: "0123456789abcdefABCDEF_") { return "YAML takes it for hexadecimal" }
    if digits.hasPrefix("0o"), consists(body, of: "01234567") { return "YAML 1.2 takes it for octal" }
    if digits.hasPrefix("0b"), consists(body, of: "01_") { return "YAML 1.1 takes it for binary" }
    if digits.contains("_"), consists(digits, of: "0123456789_.") { return "YAML 1.1 takes it for a number" }
    if digits.contains(":"), isSexagesimal(digits) { return "YAML 1.1 takes it for a number to base 60" }
    if digits.count > 1, digits.hasPrefix("0"), consists(digits, of: "0123456789") {
      return "YAML 1.1 takes a leading zero for octal, YAML 1.2 drops it"
    }
    return isExponential(digits) ? "YAML takes it for a number with an exponent" : nil
  }

  private static func decimal(_ digits: Substring) -> Self? {
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ $0.utf8.allSatisfy(isDigit) }), digits != "." else { return nil }
    return parts.count == 1 ? .wholeNumber : .fraction
  }

  /// Whether the text is a number to base 60, such as `12:30` or `1:20:30.5`.
  private static func isSexagesimal(_ text: Substring) -> Bool {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    return parts.count > 1 && parts.dropLast().allSatisfy { consists($0, of: "0123456789_") }
      && parts.dropFirst().allSatisfy { (1...2).contains($0.prefix { $0 != "." }.count) }
      && consists(parts[parts.count - 1], of: "0123456789.")
  }

  /// Whether the text is a number with an exponent, such as `1e3` or `1.5E-3`.
  private static func isExponential(_ text: Substring) -> Bool {
    let parts = text.split(omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
    guard parts.count == 2, decimal(parts[0]) != nil, !parts[0].isEmpty else { return false }
    let exponent = parts[1].hasPrefix("-") || parts[1].hasPrefix("+") ? parts[1].dropFirst() : parts[1]
    return consists(exponent, of: "0123456789")
  }

  private static func consists(_ text: Substring, of characters: String) -> Bool {
    !text.isEmpty && text.allSatisfy(characters.contains)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
