package import BatonModel
import BatonSpec
package import BatonStore

/// Which stored definition an identifier belongs to: a literal beats a wildcard (contract, row 2).
package struct DefinitionIndex: Sendable {
  private var byPattern: [IdentifierPattern: StoredDefinition] = [:]
  /// By what stands before the `*`, the dot included.
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

  /// True if some definition covers `pattern`, or lies below it.
  package func knows(_ pattern: IdentifierPattern) -> Bool {
    if let literal = pattern.literal { return definition(for: literal) != nil }
    return byPattern.keys.contains { $0.covers(pattern) || pattern.covers($0) }
  }

  package func nearest(to pattern: IdentifierPattern) -> String? {
    Values.nearest(to: pattern.rawValue, among: byPattern.keys.sorted().map(\.rawValue))
  }

  /// The declared pattern that is spelt most like `identifier`, if one is near enough to be meant.
  package func nearest(to identifier: JobIdentifier) -> String? {
    Values.nearest(to: identifier.rawValue, among: byPattern.keys.sorted().map(\.rawValue))
  }
}
