package import BatonModel
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
    let target = Array(identifier.rawValue.utf8)
    let candidates = byPattern.keys.map { (pattern: $0, distance: editDistance(Array($0.rawValue.utf8), target)) }
    let best = candidates.min { ($0.distance, $0.pattern) < ($1.distance, $1.pattern) }
    guard let best, best.distance <= max(2, target.count / 4) else { return nil }
    return best.pattern.rawValue
  }
}

/// Insertions, deletions and replacements that turn one text into the other (Levenshtein).
private func editDistance(_ first: [UInt8], _ second: [UInt8]) -> Int {
  var row = Array(0...second.count)
  for (i, a) in first.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, b) in second.enumerated() {
      let replaced = diagonal + (a == b ? 0 : 1)
      diagonal = row[j + 1]
      row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
    }
  }
  return row[second.count]
}
