package import BatonModel

/// When a person used a definition last (contract, row 25).
extension Verbs {
  package func noteUses(_ uses: [IdentifierPattern: Timestamp]) throws {
    try need(uses.keys.map { .patternNamed($0) })
    for (pattern, usedAt) in uses.sorted(by: { $0.key < $1.key }) {
      try prepare(.noteUse).run(usedAt, pattern.rawValue)
    }
  }

  func lastUses() throws -> [IdentifierPattern: Timestamp] {
    let rows = try prepare(.lastUses).all { (IdentifierPattern(trusted: $0.text(0)), $0.time(1)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }
}

extension Query {
  /// An earlier time that arrives late does not replace a later one.
  static let noteUse = Query("UPDATE pattern SET used_at = max(coalesce(used_at, ?1), ?1) WHERE name = ?2")
  static let lastUses = Query("SELECT name, used_at FROM pattern WHERE used_at IS NOT NULL ORDER BY name")
}
