import BatonModel

extension JSONValue {
  /// The keys whose value names what an object is about, the first that is there counts. `xargs` gives the names to
  /// another command.
  private static let naming = ["identifier", "host", "name", "number", "fleet", "path"]

  /// What the object is about, or what each object of an array is about: an identifier or the name of a host. Empty if
  /// it has no name.
  package var names: [String] {
    switch self {
    case .array(let values): values.flatMap(\.names)
    case .object(let members):
      Self.naming.lazy.compactMap { key in members.first { $0.key == key }?.value.name }.first.map { [$0] } ?? []
    case .null, .bool, .integer, .string, .verbatim: []
    }
  }

  private var name: String? {
    switch self {
    case .string(let text): text.onOneLine
    case .integer(let number): String(number)
    case .null, .bool, .array, .object, .verbatim: nil
    }
  }

  /// The value as a YAML document of several lines. Text is quoted unless every reader takes it for text.
  package var yaml: String {
    switch self {
    case .null, .bool, .integer, .string, .verbatim: scalar + "\n"
    case .array(let values): values.isEmpty ? "[]\n" : lines.joined(separator: "\n") + "\n"
    case .object(let members): members.isEmpty ? "{}\n" : lines.joined(separator: "\n") + "\n"
    }
  }

  private var isNested: Bool {
    switch self {
    case .array(let values): !values.isEmpty
    case .object(let members): !members.isEmpty
    case .null, .bool, .integer, .string, .verbatim: false
    }
  }

  private var scalar: String {
    switch self {
    case .null: "null"
    case .bool(let isTrue): isTrue ? "true" : "false"
    case .integer(let number): String(number)
    case .string(let text): text.isPlainYAML ? text : compact
    case .verbatim: compact
    case .array: "[]"
    case .object: "{}"
    }
  }

  /// The lines of an array or an object that is not empty.
  private var lines: [String] {
    switch self {
    case .null, .bool, .integer, .string, .verbatim: [scalar]
    case .array(let values):
      values.flatMap { value in
        guard value.isNested else { return ["- " + value.scalar] }
        return value.lines.enumerated().map { ($0.offset == 0 ? "- " : "  ") + $0.element }
      }
    case .object(let members):
      members.flatMap { member in
        let key = JSONValue.string(member.key).scalar + ":"
        guard member.value.isNested else { return [key + " " + member.value.scalar] }
        return [key] + member.value.lines.map { "  " + $0 }
      }
    }
  }
}

extension String {
  /// Whether no reader of YAML 1.1 or 1.2 takes the text for something else: it begins with a letter, has only letters,
  /// digits and `._/-`, and is no word for a truth value or for nothing.
  fileprivate var isPlainYAML: Bool {
    guard let first, first.isASCII, first.isLetter,
      allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "._/-".contains($0)) })
    else { return false }
    return !["true", "false", "yes", "no", "on", "off", "y", "n", "null"].contains(lowercased())
  }
}
