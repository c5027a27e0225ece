/// Parses `key=value,key=value` lists with percent-encoding, in which headers and resource attributes are written.
/// Source: W3C Baggage without properties
/// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables).
enum KeyValueList {
  /// The pairs in the order of the text. An entry without a key or `=`, or with wrong percent-encoding, becomes `nil`.
  /// Empty entries are left out.
  static func pairs(_ text: String) -> [(key: String, value: String)?] {
    text.split(separator: ",").map(\.trimmed).filter { !$0.isEmpty }.map { entry in
      guard let equals = entry.firstIndex(of: "="),
        let key = decoded(entry[..<equals].trimmed)?.nonEmpty,
        let value = decoded(entry[entry.index(after: equals)...].trimmed)
      else { return nil }
      return (key, value)
    }
  }

  /// Decodes percent-encoding. Returns `nil` if a `%` is not followed by two hexadecimal digits, or if the decoded
  /// bytes are not UTF-8.
  static func decoded(_ text: String) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()) else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8?) -> UInt8? {
    byte.flatMap { Character(Unicode.Scalar($0)).hexDigitValue }.map(UInt8.init)
  }

  /// Whether every character of `text` is allowed in the name of a header (RFC 9110, section 5.6.2).
  static func isToken(_ text: String) -> Bool {
    text.utf8.allSatisfy { byte in
      let character = Character(Unicode.Scalar(byte))
      return byte < 0x80 && (character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character))
    }
  }

  /// Whether `text` can be the value of a header: it has no line break and no other control character except the tab. A
  /// line break would begin another header.
  static func isFieldValue(_ text: String) -> Bool { text.utf8.allSatisfy { $0 == 9 || $0 >= 32 && $0 != 127 } }
}
