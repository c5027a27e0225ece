internal import BatonModel
internal import Yams

extension DefinitionValue {
  /// The value as YAML, with a line break at its end. Characters that could act on a terminal are escaped, and then all
  /// others that are not ASCII too.
  package var yaml: String {
    get throws {
      try Yams.serialize(
        node: node(isInner: false), width: -1, allowUnicode: isPrintable, sequenceStyle: .any, mappingStyle: .any)
    }
  }

  private var isPrintable: Bool {
    switch self {
    case .text(let text): text.unicodeScalars.allSatisfy(\.isPrintable)
    case .number, .flag: true
    case .list(let values): values.allSatisfy(\.isPrintable)
    case .mapping(let entries):
      entries.allSatisfy { $0.key.unicodeScalars.allSatisfy(\.isPrintable) && $0.value.isPrintable }
    }
  }

  /// Mappings and lists inside of a list or of a short mapping stand on one line.
  private func node(isInner: Bool) throws -> Yams.Node {
    switch self {
    case .text(let text): return .scalar(Yams.Node.Scalar(text, Tag(.str), Self.style(of: text)))
    case .number(let number): return .scalar(Yams.Node.Scalar("\(number)", Tag(.int), .plain))
    case .flag(let flag): return .scalar(Yams.Node.Scalar("\(flag)", Tag(.bool), .plain))
    case .list(let values):
      return .sequence(Yams.Node.Sequence(try values.map { try $0.node(isInner: true) }, Tag(.seq), .flow))
    case .mapping(let entries):
      let pairs = try entries.map { entry in
        (
          Yams.Node.scalar(Yams.Node.Scalar(entry.key, Tag(.str), Self.style(of: entry.key))),
          try entry.value.node(isInner: isInner)
        )
      }
      return .mapping(Yams.Node.Mapping(pairs, Tag(.map), isInner ? .flow : .block))
    }
  }

  /// Text that a reader of YAML could take for something else is quoted. Only double quotes can hold every character.
  private static func style(of text: String) -> Yams.Node.Scalar.Style {
    if !text.unicodeScalars.allSatisfy(\.isPrintable) { return .doubleQuoted }
    return PlainScalar(text) == .text ? .any : .singleQuoted
  }
}

extension DefinitionValue {
  /// The value on one line, as people compare it: `[a, b]`, `{every: 24h}`.
  package var onOneLine: String {
    switch self {
    case .text(let text): PlainScalar(text) == .text && !text.contains(where: Self.isSpecial) ? text : Self.quoted(text)
    case .number(let number): "\(number)"
    case .flag(let flag): "\(flag)"
    case .list(let values): "[" + values.map(\.onOneLine).joined(separator: ", ") + "]"
    case .mapping(let entries):
      "{" + entries.map { "\($0.key): \($0.value.onOneLine)" }.joined(separator: ", ") + "}"
    }
  }

  private static func isSpecial(_ character: Character) -> Bool {
    ",[]{}:#\"'".contains(character) || !character.unicodeScalars.allSatisfy(\.isPrintable)
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n") + "\""
  }

  /// The values by their full keys, such as `work.command`, in the order in which they are written. A list is one
  /// value.
  package var keys: [(key: String, value: DefinitionValue)] {
    guard case .mapping(let entries) = self else { return [] }
    return entries.flatMap { entry -> [(key: String, value: DefinitionValue)] in
      let inner = entry.value.keys
      return inner.isEmpty ? [(entry.key, entry.value)] : inner.map { ("\(entry.key).\($0.key)", $0.value) }
    }
  }
}

/// What an operator would change by applying a definition in place of another one: a key that differs.
package struct DefinitionChange: Hashable, Sendable {
  /// The full key, such as `work.command`.
  package var key: String
  /// `nil` if the key is new.
  package var before: DefinitionValue?
  /// `nil` if the key is gone.
  package var after: DefinitionValue?

  /// The differences between two definitions: first those of keys that the new one has, in its order, then the keys
  /// that are gone.
  package static func between(_ before: DefinitionValue, _ after: DefinitionValue) -> [DefinitionChange] {
    let (old, new) = (before.keys, after.keys)
    let known = Dictionary(old.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    let kept = Set(new.map(\.key))
    let changed = new.compactMap { key, value in
      known[key] == value ? nil : DefinitionChange(key: key, before: known[key], after: value)
    }
    return changed + old.filter { !kept.contains($0.key) }.map { DefinitionChange(key: $0.key, before: $0.value) }
  }
}
