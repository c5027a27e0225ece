package import BatonModel
import BatonSpec
package import BatonStore

/// Finds the stored definition for an identifier. A literal pattern takes precedence over a wildcard (contract, row
/// 2).
package struct DefinitionIndex: Sendable {
  private var byPattern: [IdentifierPattern: StoredDefinition] = [:]
  /// The wildcards by the text before the `*`, including the dot.
  private var wildcards: [Substring: StoredDefinition] = [:]

  package init(_ definitions: [StoredDefinition] = []) {
    for stored in definitions {
      let pattern = stored.definition.pattern
      byPattern[pattern] = stored
      if pattern.isWildcard { wildcards[pattern.rawValue.dropLast()] = stored }
    }
  }

  package subscript(pattern: IdentifierPattern) -> StoredDefinition? { byPattern[pattern] }

  package func definition(for identifier: JobIdentifier) -> StoredDefinition? {
    if let literal = byPattern[IdentifierPattern(identifier)] { return literal }
    let text = identifier.rawValue
    var rest = text.utf8[...]
    while let dot = rest.lastIndex(of: UInt8(ascii: ".")) {
      if let found = wildcards[text[...dot]] { return found }
      rest = rest[..<dot]
    }
    return nil
  }

  /// True if some definition covers `pattern`, or is covered by it.
  package func knows(_ pattern: IdentifierPattern) -> Bool {
    if let literal = pattern.literal { return definition(for: literal) != nil }
    return byPattern.keys.contains { $0.covers(pattern) || pattern.covers($0) }
  }

  /// The declared pattern with the spelling most similar to `text`, if it is similar enough to be meant.
  /// - Parameter limits: only patterns that one of these covers may be named; `nil` for all.
  package func nearest(to text: String, within limits: [IdentifierPattern]? = nil) -> String? {
    let known = byPattern.keys.filter { pattern in limits?.contains { $0.covers(pattern) } ?? true }
    return Values.nearest(to: text, among: known.sorted().map(\.rawValue))
  }
}
