package import BatonModel

extension Verbs {
  package func issue(_ credential: Credential) throws {
    try need(.credentials)
    try prepare(.dropCredentials).run(credential.createdAt)
    try prepare(.insertCredential).run(
      credential.id, credential.name, credential.digest, credential.scopes.text,
      credential.patterns.map(\.rawValue).joined(separator: ","), credential.end, credential.createdAt,
      credential.createdBy)
  }

  package func revoke(credentials ids: [[UInt8]]) throws {
    try need(.credentials)
    for id in ids { try prepare(.revokeCredential).run(id) }
  }

  package func noteUse(ofCredential id: [UInt8], at now: Timestamp) throws {
    try need(.credentials)
    try prepare(.useCredential).run(now, id)
  }

  package func credentials() throws -> [Credential] {
    try prepare(.credentials).all { row in
      Credential(
        id: row.blob(0), name: row.text(1), digest: row.blob(2),
        // A name that this version does not know permits nothing.
        scopes: Set(row.text(3).split(separator: ",").compactMap { Scope(rawValue: String($0)) }),
        patterns: row.text(4).split(separator: ",").map { IdentifierPattern(trusted: String($0)) }, end: row.time(5),
        createdAt: row.time(6), createdBy: row.text(7), lastUsedAt: row.optionalTime(8), isRevoked: row.bool(9))
    }
  }
}

extension Query {
  static let insertCredential = Query(
    """
    INSERT INTO credential (id, name, digest, scopes, patterns, ends_at, created_at, created_by)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """)
  /// Credentials that have ended permit nothing, revoked or not.
  static let dropCredentials = Query("DELETE FROM credential WHERE ends_at < ?")
  static let revokeCredential = Query("UPDATE credential SET is_revoked = 1 WHERE id = ?")
  static let useCredential = Query("UPDATE credential SET used_at = ? WHERE id = ?")
  static let credentials = Query(
    """
    SELECT id, name, digest, scopes, patterns, ends_at, created_at, created_by, used_at, is_revoked FROM credential
      ORDER BY created_at, id
    """)
}
