package import BatonModel

extension Verbs {
  package func notePace(_ usualBatches: [IdentifierPattern: Duration]) throws {
    try need(usualBatches.keys.map { .patternNamed($0) })
    for (pattern, usual) in usualBatches.sorted(by: { $0.key < $1.key }) {
      try prepare(.notePace).run(max(0, usual.nanoseconds), pattern.rawValue)
    }
  }

  func usualBatches() throws -> [IdentifierPattern: Duration] {
    let rows = try prepare(.usualBatches).all { (IdentifierPattern(trusted: $0.text(0)), $0.duration(1)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }
}

extension Query {
  static let notePace = Query("UPDATE pattern SET usual_batch = ? WHERE name = ?")
  static let usualBatches = Query(
    "SELECT name, usual_batch FROM pattern WHERE usual_batch IS NOT NULL ORDER BY name")
}
