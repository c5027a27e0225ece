package import BatonModel

extension Verbs {
  package func setEvicted(_ pattern: IdentifierPattern, from host: HostName, _ isEvicted: Bool) throws {
    try requireHost(host)
    try prepare(isEvicted ? .evict : .allow).run(pattern.rawValue, host.rawValue)
    knownEvictions = nil
  }

  func isEvicted(_ identifier: JobIdentifier, from host: Int64) throws -> Bool {
    try evictions(from: host).contains { $0.matches(identifier) }
  }

  /// The patterns that are evicted from a host. All evictions are read once and kept until one is changed, because most
  /// hosts have none.
  func evictions(from host: Int64) throws -> [IdentifierPattern] {
    try need(.hostRow(host))
    if let knownEvictions { return knownEvictions[host] ?? [] }
    let found = try allEvictions()
    knownEvictions = found
    return found[host] ?? []
  }

  /// All evicted patterns, by the row number of the host.
  func allEvictions() throws -> [Int64: [IdentifierPattern]] {
    let rows = try prepare(.evictions).all { (host: $0.int64(0), pattern: IdentifierPattern(trusted: $0.text(1))) }
    return Dictionary(grouping: rows, by: \.host).mapValues { $0.map(\.pattern) }
  }
}

extension Query {
  static let evict = Query(
    """
    INSERT INTO eviction (pattern, host) SELECT ?1, id FROM host WHERE name = ?2 ON CONFLICT (host, pattern) DO NOTHING
    """)
  static let allow = Query(
    "DELETE FROM eviction WHERE pattern = ?1 AND host = (SELECT id FROM host WHERE name = ?2)")
  static let evictions = Query("SELECT host, pattern FROM eviction ORDER BY host, pattern")
  /// The oldest ready requests of a class whose identifier is not evicted from a host, and whose principal its owner
  /// permits.
  static let oldestReadyPermitted = Query(
    candidateColumns + """
       WHERE r.state = 1 AND r.definition = ?1 AND r.priority = ?2 AND NOT EXISTS (
        SELECT 1 FROM eviction e WHERE e.host = ?3 AND (e.pattern = i.name
          OR substr(e.pattern, -2) = '.*' AND length(i.name) >= length(e.pattern)
            AND substr(i.name, 1, length(e.pattern) - 1) = substr(e.pattern, 1, length(e.pattern) - 1)))
        AND \(hasItsFiles("?3"))
        AND (?4 IS NULL OR EXISTS (SELECT 1 FROM json_each(?4) WHERE r.principal GLOB json_each.value))
      ORDER BY r.id LIMIT ?5
      """)
}

extension PrincipalPattern {
  /// The patterns as a list in JSON, for GLOB of SQLite. To GLOB, `?` and `[` are wildcards too, and to a pattern of
  /// principals they are not.
  fileprivate var glob: String {
    rawValue.replacing("[", with: "[[]").replacing("?", with: "[?]")
  }

  static func list(_ patterns: [PrincipalPattern]) -> String {
    let words = patterns.map { pattern in
      pattern.glob.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
    return "[" + words.map { "\"\($0)\"" }.joined(separator: ",") + "]"
  }
}
