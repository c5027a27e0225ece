import BatonModel

/// Writes JSON into one text, field by field, in the order of the calls. Equal values therefore give equal texts.
struct JSONWriter {
  private(set) var text = ""
  private var needsComma = false

  /// Writes an object with the fields that `body` writes.
  mutating func object(_ body: (inout Self) -> Void) {
    text += "{"
    needsComma = false
    body(&self)
    text += "}"
    needsComma = true
  }

  /// Writes a field whose value is an object.
  mutating func field(_ name: String, _ body: (inout Self) -> Void) {
    begin(name)
    object(body)
  }

  /// Writes a field whose value is an array of objects. An empty array is left out, as in protobuf.
  mutating func array<Element>(_ name: String, _ values: [Element], _ body: (Element, inout Self) -> Void) {
    guard !values.isEmpty else { return }
    begin(name)
    text += "["
    needsComma = false
    for value in values {
      if needsComma { text += "," }
      object { body(value, &$0) }
    }
    text += "]"
    needsComma = true
  }

  mutating func field(_ name: String, unlessEmpty value: String) {
    if !value.isEmpty { member(name, Self.quoted(value)) }
  }

  mutating func field(_ name: String, unlessZero value: UInt64) {
    if value != 0 { member(name, String(value)) }
  }

  /// Writes a 64-bit integer as a string, because a JavaScript number cannot hold all 64 bits.
  mutating func field(_ name: String, unlessZero64 value: UInt64) {
    if value != 0 { member(name, "\"\(value)\"") }
  }

  /// Writes a field whose value is JSON already.
  mutating func member(_ name: String, _ json: String) {
    begin(name)
    text += json
    needsComma = true
  }

  private mutating func begin(_ name: String) {
    text += needsComma ? ",\"\(name)\":" : "\"\(name)\":"
  }

  /// A number as JSON. JSON has no notation for NaN and the infinities; these are the strings that the JSON encoding of
  /// protobuf uses.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "\"NaN\"" }
    if value.isInfinite { return value < 0 ? "\"-Infinity\"" : "\"Infinity\"" }
    return "\(value)"
  }

  /// `text` as a JSON string. Control characters and other characters that cannot be printed are escaped.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case _ where !scalar.isPrintable: result += scalar.jsonEscape
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
