import BatonModel

/// Writes JSON into one text, field by field, in the order in which they come: equal values are equal texts.
struct JSONWriter {
  private(set) var text = ""
  private var needsComma = false

  mutating func object(_ body: (inout Self) -> Void) {
    text += "{"
    needsComma = false
    body(&self)
    text += "}"
    needsComma = true
  }

  /// A field whose value is an object.
  mutating func field(_ name: String, _ body: (inout Self) -> Void) {
    begin(name)
    object(body)
  }

  /// Left out when it is empty, as protobuf leaves it out.
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

  /// 64 bits are more than a JavaScript number holds: a string.
  mutating func field(_ name: String, unlessZero64 value: UInt64) {
    if value != 0 { member(name, "\"\(value)\"") }
  }

  /// A field whose value is JSON already.
  mutating func member(_ name: String, _ json: String) {
    begin(name)
    text += json
    needsComma = true
  }

  private mutating func begin(_ name: String) {
    text += needsComma ? ",\"\(name)\":" : "\"\(name)\":"
  }

  /// JSON has no names for what is not a number; protobuf's JSON has these.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "\"NaN\"" }
    if value.isInfinite { return value < 0 ? "\"-Infinity\"" : "\"Infinity\"" }
    return "\(value)"
  }

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
