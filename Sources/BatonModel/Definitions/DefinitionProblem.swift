/// Why a definition is refused: the field, by its name in a job file, and the rule that the field breaks.
package struct DefinitionProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the field, such as `work.batchSize`; empty for a problem of the definition as a whole.
  package var field: String
  /// The words that follow the field's name in a sentence, such as "must be from 1 to 1024, not 0". The text has no
  /// control characters and at most a few hundred bytes, whatever the definition contains.
  package var rule: String

  package init(_ field: String, _ rule: String) {
    self.field = field
    self.rule = rule
  }

  package var description: String { field.isEmpty ? "the definition \(rule)" : "'\(field)' \(rule)" }

  /// The definition is larger than `Definition.Limits.bytes`.
  package static let tooLarge = DefinitionProblem(
    "",
    "is larger than 64 KiB; put a long list of items in a file, one item a line, and write items: {lines: FILE}")
}

extension DefinitionProblem {
  /// The problem of bytes that cannot be decoded as a definition.
  package init(_ error: DecodingError) {
    switch error {
    case .typeMismatch(_, let context), .dataCorrupted(let context), .valueNotFound(_, let context):
      self.init(Self.field(context.codingPath), "cannot be read: \(context.debugDescription.onOneBoundedLine)")
    case .keyNotFound(let key, let context): self.init(Self.field(context.codingPath + [key]), "is missing")
    @unknown default: self.init("", "cannot be read")
    }
  }

  /// The name of the field in a job file. The stored JSON has other names for some fields, and more levels.
  private static func field(_ path: [any CodingKey]) -> String {
    let names = path.map(\.stringValue).filter { $0 != "_0" && $0 != "requirements" }
    return (names == ["pattern"] ? ["identifier"] : names).joined(separator: ".").onOneBoundedLine
  }
}

extension String {
  /// The first 200 scalars of the text, with a space in place of each scalar that `Line.isAllowed` refuses.
  fileprivate var onOneBoundedLine: String {
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars.prefix(200) { text.append(Line.isAllowed(scalar) ? scalar : " ") }
    return String(text)
  }
}

/// The rule for text that is shown on one line.
package enum Line {
  /// True if `text` has no control character, no line break, and no character that changes the direction of the text
  /// around it.
  package static func isAllowed(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(isAllowed) }

  package static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: false
    default: true
    }
  }
}
