package import BatonModel

/// One text that was applied for a pattern.
package struct DefinitionVersion: Hashable, Sendable {
  /// 1, 2 … for each pattern.
  package var number: Int
  package var id: DefinitionID
  package var definition: Definition
  package var appliedAt: Timestamp
  /// Who applied it; empty if that is not known.
  package var appliedBy: String

  /// The most versions that are kept of a definition.
  package static let most = 20

  package init(number: Int, id: DefinitionID, definition: Definition, appliedAt: Timestamp, appliedBy: String) {
    (self.number, self.id, self.definition) = (number, id, definition)
    (self.appliedAt, self.appliedBy) = (appliedAt, appliedBy)
  }
}

/// Which version of a definition a request runs.
package struct VersionNumber: Hashable, Sendable {
  package var number: Int
  /// The newest version that is kept.
  package var newest: Int

  package init(number: Int, newest: Int) { (self.number, self.newest) = (number, newest) }
}

extension Verbs {
  /// The versions that are kept of a pattern, the newest first; empty if there was never a definition of it.
  package func versions(of pattern: IdentifierPattern) throws -> [DefinitionVersion] {
    let rows = try prepare(.versions).all(pattern.rawValue) { row in
      (number: row.int(0), id: DefinitionID(row.int64(1)), at: row.time(2), by: row.text(3))
    }
    return try rows.map { row in
      DefinitionVersion(
        number: row.number, id: row.id, definition: try knownDefinition(row.id).definition, appliedAt: row.at,
        appliedBy: row.by)
    }
  }

  /// The last version that has this definition; `nil` if none of those that are kept has it.
  package func version(of definition: DefinitionID) throws -> VersionNumber? {
    try prepare(.versionOf).first(definition.rawValue) { row in
      row.isNull(0) ? nil : VersionNumber(number: row.int(0), newest: row.int(1))
    } ?? nil
  }

  /// Keeps what was just applied as the newest version of its pattern, and drops the oldest one beyond those that are
  /// kept.
  /// - Parameter isNew: whether this transaction has inserted the pattern, which then has no version.
  func keepVersion(
    _ definition: DefinitionID, of pattern: Int64, isNew: Bool, by principal: String, at now: Moment
  ) throws {
    if !isNew { try need(.versions(pattern)) }
    let last = try prepare(.newestVersion).first(pattern) { $0.int(0) } ?? 0
    try prepare(.insertVersion).run(pattern, last + 1, definition.rawValue, now.date, principal)
    try prepare(.dropVersions).run(pattern, last + 1 - DefinitionVersion.most)
  }
}

extension Query {
  static let versions = Query(
    """
    SELECT v.number, v.definition, v.applied_at, v.applied_by
    FROM pattern p JOIN definition_version v ON v.pattern = p.id WHERE p.name = ? ORDER BY v.number DESC
    """)
  static let versionOf = Query(
    """
    SELECT max(CASE WHEN v.definition = d.id THEN v.number END), max(v.number)
    FROM definition d JOIN definition_version v ON v.pattern = d.pattern WHERE d.id = ?
    """)
  static let newestVersion = Query("SELECT coalesce(max(number), 0) FROM definition_version WHERE pattern = ?")
  static let insertVersion = Query(
    "INSERT INTO definition_version (pattern, number, definition, applied_at, applied_by) VALUES (?, ?, ?, ?, ?)")
  static let dropVersions = Query("DELETE FROM definition_version WHERE pattern = ? AND number <= ?")
}
