package import BatonModel
import BatonSpec
package import BatonStore

/// Which stored definition an identifier belongs to: a literal beats a wildcard (contract, row 2).
package struct DefinitionIndex: Sendable {
  private var byPattern: [IdentifierPattern: StoredDefinition] = [:]

  package init(_ definitions: [StoredDefinition] = []) {
    for stored in definitions { byPattern[stored.definition.pattern] = stored }
  }

  package subscript(pattern: IdentifierPattern) -> StoredDefinition? { byPattern[pattern] }

  package func definition(for identifier: JobIdentifier) -> StoredDefinition? {
    if let literal = byPattern[IdentifierPattern(identifier)] { return literal }
    var prefix = identifier.rawValue[...]
    while let dot = prefix.lastIndex(of: ".") {
      prefix = prefix[..<dot]
      if let found = byPattern[IdentifierPattern(trusted: prefix + ".*")] { return found }
    }
    return nil
  }

  /// The declared pattern that is spelt most like `identifier`, if one is near enough to be meant.
  package func nearest(to identifier: JobIdentifier) -> String? {
    Values.nearest(to: identifier.rawValue, among: byPattern.keys.sorted().map(\.rawValue))
  }
}
