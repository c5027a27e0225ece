package import BatonModel

/// A definition that is applied now.
package struct StoredDefinition: Hashable, Sendable {
  package var id: DefinitionID
  /// The definition. If there is a `problem`, it is a stand-in with the same pattern and without work.
  package var definition: Definition
  package var appliedAt: Timestamp
  /// Why the stored definition was replaced by a stand-in: it breaks a rule of this version, so it is not run and takes
  /// no submissions. `nil` for a valid definition.
  package var problem: DefinitionProblem?
}

/// The answer to one applied definition.
package struct AppliedDefinition: Hashable, Sendable {
  package enum Change: String, Hashable, Sendable { case created, updated, unchanged }
  package var id: DefinitionID
  package var pattern: IdentifierPattern
  package var change: Change
  /// The first request of a repeating definition; `nil` if this application submitted none.
  package var submitted: SubmissionReceipt?

  package init(id: DefinitionID, pattern: IdentifierPattern, change: Change, submitted: SubmissionReceipt? = nil) {
    self.id = id
    self.pattern = pattern
    self.change = change
    self.submitted = submitted
  }
}

extension Verbs {
  /// The definition with this number, whether it is applied or only kept by requests; `nil` if there never was one.
  func frozen(_ id: DefinitionID) throws -> FrozenDefinition? {
    if let known = cache[id.rawValue] { return known }
    try need(.definition(id))
    let found = try prepare(.definition).first(id.rawValue) { row in
      FrozenDefinition(id: id, pattern: row.int64(0), content: row.text(1), name: row.text(2))
    }
    if let found { cache.insert(found) }
    return found
  }

  /// The definition of a number that a row refers to. Throws `.corrupt` if there is none.
  func knownDefinition(_ id: DefinitionID) throws -> FrozenDefinition {
    guard let found = try frozen(id) else {
      throw StoreError(.corrupt, "A request in the database names a definition that is not there.")
    }
    return found
  }

  package func definition(_ id: DefinitionID) throws -> Definition? { try frozen(id)?.definition }

  package func definitions() throws -> [StoredDefinition] {
    try prepare(.appliedDefinitions).all { row in (DefinitionID(row.int64(0)), row.time(1)) }
      .map { id, at in
        let known = try knownDefinition(id)
        return StoredDefinition(id: id, definition: known.definition, appliedAt: at, problem: known.problem)
      }
  }

  package func apply(
    _ definitions: [Definition], seeds: [TraceContext], by principal: String = "", at now: Moment
  ) throws -> [AppliedDefinition] {
    guard seeds.count == definitions.count else {
      throw StoreError(.refused, "apply got \(definitions.count) definitions and \(seeds.count) seeds")
    }
    try need(.everything)
    try need(.allDefinitions)
    try refuseOverlaps(of: definitions)
    return try zip(definitions, seeds).map { definition, seed in
      var applied = try store(definition, by: principal, at: now)
      applied.submitted = try submitFirst(of: definition, as: applied.id, seed: seed, at: now)
      return applied
    }
  }

  package func remove(_ pattern: IdentifierPattern) throws {
    try need(.everything)
    try need(.allDefinitions)
    guard let id = try prepare(.appliedPattern).first(pattern.rawValue, row: { $0.int64(0) }) else {
      throw StoreError(.notFound, "There is no definition for \(pattern).")
    }
    let unfinished = try self.pattern(id).counts.unfinished
    guard unfinished == 0 else { throw try unfinishedRequests(of: pattern, id, count: unfinished) }
    try prepare(.removeDefinition).run(id)
    try prepare(.raiseDefinitions).run()
    patterns[id]?.definition = nil
  }

  private func unfinishedRequests(of pattern: IdentifierPattern, _ id: Int64, count: Int) throws -> StoreError {
    try need(.exampleOf(id))
    let example = try prepare(.unfinishedOfPattern).first(id) { row in "\(row.text(0)) (request \(row.int(1)))" }
    let named = example.map { (count == 1 ? ", " : ", for example ") + $0 } ?? ""
    return StoreError(
      .refused,
      """
      \(pattern) has \(count) unfinished request\(count == 1 ? "" : "s")\(named). Cancel \
      \(count == 1 ? "it or wait for its end" : "them or wait for their end"), then remove the definition.
      """)
  }

  /// Throws `.refused` if two wildcards overlap: it would not be clear which of them an identifier belongs to
  /// (contract, row 2).
  private func refuseOverlaps(of definitions: [Definition]) throws {
    let wildcards = try prepare(.appliedWildcards).all { IdentifierPattern(trusted: $0.text(0)) }
    let all = wildcards + definitions.map(\.pattern)
    for pattern in definitions.map(\.pattern) where pattern.isWildcard {
      if let other = all.first(where: { $0.overlaps(pattern) }) {
        throw StoreError(
          .refused, "\(pattern) overlaps \(other): an identifier below both would belong to two definitions.")
      }
    }
  }

  private func store(_ definition: Definition, by principal: String, at now: Moment) throws -> AppliedDefinition {
    let (id, isNew) = try number(ofPattern: definition.pattern.rawValue)
    let before = try pattern(id).definition
    let content = try number(of: definition, pattern: id)
    if before != content.rawValue {
      try prepare(.applyDefinition).run(content.rawValue, now.date, definition.retention?.nanoseconds, id)
      try keepVersion(content, of: id, isNew: isNew, by: principal, at: now)
      try prepare(.raiseDefinitions).run()
      patterns[id]?.definition = content.rawValue
    }
    let change: AppliedDefinition.Change =
      before == nil ? .created : before == content.rawValue ? .unchanged : .updated
    return AppliedDefinition(id: content, pattern: definition.pattern, change: change, submitted: nil)
  }

  /// The number of the definition's row. One is inserted if there is none with the same content.
  private func number(of definition: Definition, pattern: Int64) throws -> DefinitionID {
    let content = try definition.canonicalJSON()
    if let known = try prepare(.definitionByContent).first(content, row: { DefinitionID($0.int64(0)) }) { return known }
    let id = try draw(.definition)
    try prepare(.insertDefinition).run(id, pattern, content)
    return DefinitionID(id)
  }

  /// The number of the pattern's row. One is inserted if there is none.
  private func number(ofPattern name: String) throws -> (id: Int64, isNew: Bool) {
    if let known = try prepare(.patternByName).first(name, row: { $0.int64(0) }) { return (known, false) }
    let id = try draw(.pattern)
    try prepare(.insertPattern).run(id, name)
    return (id, true)
  }
}

extension Query {
  static let definition = Query(
    "SELECT d.pattern, d.content, p.name FROM definition d JOIN pattern p ON p.id = d.pattern WHERE d.id = ?")
  static let appliedDefinitions = Query(
    "SELECT definition, applied_at FROM pattern WHERE definition IS NOT NULL ORDER BY name")
  static let appliedPattern = Query("SELECT id FROM pattern WHERE name = ? AND definition IS NOT NULL")
  static let appliedWildcards = Query("SELECT name FROM pattern WHERE definition IS NOT NULL AND name LIKE '%.*'")
  static let patternByName = Query("SELECT id FROM pattern WHERE name = ?")
  static let insertPattern = Query("INSERT INTO pattern (id, name) VALUES (?, ?)")
  static let applyDefinition = Query("UPDATE pattern SET definition = ?, applied_at = ?, retention = ? WHERE id = ?")
  static let raiseDefinitions = Query("UPDATE store SET definitions_version = definitions_version + 1 WHERE id = 1")
  static let removeDefinition = Query(
    "UPDATE pattern SET definition = NULL, applied_at = NULL, retention = NULL WHERE id = ?")
  static let insertDefinition = Query(
    "INSERT INTO definition (id, pattern, content) VALUES (?, ?, ?)")
  static let definitionByContent = Query("SELECT id FROM definition WHERE content = ?")
  static let unfinishedOfPattern = Query(
    """
    SELECT i.name, r.number FROM request r JOIN identifier i ON i.id = r.identifier
    WHERE r.state IN (0, 1, 2) AND r.definition IN (SELECT id FROM definition WHERE pattern = ?) LIMIT 1
    """)
}
