import BatonModel

/// A JSON value. An object keeps its keys in the order in which they were given: the order is documented and does
/// not change.
package indirect enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case string(String)
  case array([JSONValue])
  case object([Member])
  /// A value of JSON as its author has written it: valid JSON in UTF-8.
  case verbatim(String)

  package struct Member: Hashable, Sendable {
    package var key: String
    package var value: JSONValue

    package init(key: String, value: JSONValue) { (self.key, self.value) = (key, value) }
  }

  /// `nil` becomes `null`. A key is never left out, so that scripts can rely on it.
  package init(_ text: String?) { self = text.map { .string($0) } ?? .null }
  package init(_ number: Int64?) { self = number.map { .integer($0) } ?? .null }
  package init(_ number: Int?) { self.init(number.map(Int64.init)) }
  package init(_ isTrue: Bool?) { self = isTrue.map { .bool($0) } ?? .null }

  /// The JSON text on one line, without spaces.
  package var compact: String {
    var text = ""
    write(to: &text, indentation: nil)
    return text
  }

  /// The JSON text on several lines, with two spaces of indentation for each level.
  package var indented: String {
    var text = ""
    write(to: &text, indentation: 0)
    return text
  }

  private func write(to text: inout String, indentation: Int?) {
    switch self {
    case .null: text += "null"
    case .bool(let isTrue): text += isTrue ? "true" : "false"
    case .integer(let number): text += String(number)
    case .string(let string): text += string.jsonQuoted
    case .verbatim(let json): text += json.printableJSON
    case .array(let values):
      Self.write(values, "[", "]", to: &text, indentation) { value, text, indentation in
        value.write(to: &text, indentation: indentation)
      }
    case .object(let members):
      Self.write(members, "{", "}", to: &text, indentation) { member, text, indentation in
        text += member.key.jsonQuoted + (indentation == nil ? ":" : ": ")
        member.value.write(to: &text, indentation: indentation)
      }
    }
  }

  private static func write<Element>(
    _ elements: [Element], _ opening: String, _ closing: String, to text: inout String, _ indentation: Int?,
    _ body: (Element, inout String, Int?) -> Void
  ) {
    guard !elements.isEmpty else {
      text += opening + closing
      return
    }
    let inner = indentation.map { $0 + 2 }
    text += opening
    for (index, element) in elements.enumerated() {
      text += (index > 0 ? "," : "") + lineBreak(inner)
      body(element, &text, inner)
    }
    text += lineBreak(indentation) + closing
  }

  private static func lineBreak(_ indentation: Int?) -> String {
    indentation.map { "\n" + String(repeating: " ", count: $0) } ?? ""
  }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member(key: $0.0, value: $0.1) })
  }
  package init(stringLiteral value: String) { self = .string(value) }
  package init(nilLiteral: ()) { self = .null }

  /// This object with the members of another object after its own.
  package func adding(_ members: JSONValue) -> JSONValue {
    guard case .object(let own) = self, case .object(let more) = members else {
      preconditionFailure("members can be added to an object only")
    }
    return .object(own + more)
  }
}

extension String {
  /// JSON that cannot send commands to a terminal. Outside of its strings valid JSON has no characters that are not
  /// printable but white space, and in its strings an escape means the same.
  fileprivate var printableJSON: String {
    var printable = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n", "\r", "\t": printable += " "
      case _ where !scalar.isPrintable: printable += scalar.jsonEscape
      default: printable.unicodeScalars.append(scalar)
      }
    }
    return printable
  }

  /// The text as a JSON string (RFC 8259). Characters that are not printable are escaped too, so that JSON on a
  /// terminal cannot send commands to it.
  fileprivate var jsonQuoted: String {
    var quoted = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case _ where !scalar.isPrintable: quoted += scalar.jsonEscape
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
