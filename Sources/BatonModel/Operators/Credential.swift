/// A person's or a program's permission to use the coordinator from another account or another machine. Only the
/// SHA-256 of its secret is kept.
package struct Credential: Hashable, Sendable {
  /// 8 random bytes.
  package var id: [UInt8]
  /// The principal: who submits, cancels and defines with it. Several credentials may have one name, for example while
  /// one is being replaced.
  package var name: String
  /// The SHA-256 of the secret: 32 bytes.
  package var digest: [UInt8]
  /// At least one.
  package var scopes: Set<Scope>
  /// The identifiers that it concerns, in order; empty means all of them.
  package var patterns: [IdentifierPattern]
  /// The last moment at which it is valid, on the wall clock.
  package var end: Timestamp
  package var createdAt: Timestamp
  /// Who created it.
  package var createdBy: String
  /// When it was last used, to the minute; `nil` if it never was.
  package var lastUsedAt: Timestamp?
  package var isRevoked: Bool

  package init(
    id: [UInt8], name: String, digest: [UInt8], scopes: Set<Scope>, patterns: [IdentifierPattern] = [],
    end: Timestamp, createdAt: Timestamp, createdBy: String, lastUsedAt: Timestamp? = nil, isRevoked: Bool = false
  ) {
    (self.id, self.name, self.digest, self.scopes, self.patterns) = (id, name, digest, scopes, patterns.sorted())
    (self.end, self.createdAt, self.createdBy) = (end, createdAt, createdBy)
    (self.lastUsedAt, self.isRevoked) = (lastUsedAt, isRevoked)
  }

  /// How long a credential is valid, unless its creator says otherwise.
  package static let lifetime = Duration.seconds(90 * 86_400)
  /// The longest time for which a credential may be valid: a year. There is none without an end.
  package static let longestLifetime = Duration.seconds(366 * 86_400)
  /// The largest number of patterns of one credential.
  package static let largestPatternCount = 32

  /// Whether `name` can be the name of a credential: 1 to 64 letters, digits, `.`, `_`, `-` and `@`, the first one a
  /// letter or a digit.
  package static func isWellFormed(name: String) -> Bool {
    let isAlphanumeric = { (byte: UInt8) in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
    guard (1...64).contains(name.utf8.count), let first = name.utf8.first, isAlphanumeric(first) else { return false }
    return name.utf8.allSatisfy { isAlphanumeric($0) || [0x2E, 0x5F, 0x2D, 0x40].contains($0) }
  }
}
