import Crypto

/// A secret that a person carries from one machine to another. It is written `PREFIX_ID_SECRET`, with the id and the
/// secret in hexadecimal digits. The store keeps only the SHA-256 of the secret, and finds it by the id.
package struct SecretToken<Use: SecretTokenUse>: Hashable, Sendable, CustomStringConvertible {
  /// 8 random bytes.
  package let id: [UInt8]
  /// 32 random bytes.
  package let secret: [UInt8]

  package static var idBytes: Int { 8 }
  package static var secretBytes: Int { 32 }

  /// Draws a new token.
  package init() {
    id = SymmetricKey(size: .bits128).withUnsafeBytes { bytes in Array(bytes.prefix(Self.idBytes)) }
    secret = SymmetricKey(size: .bits256).withUnsafeBytes(Array.init)
  }

  package init(id: [UInt8], secret: [UInt8]) throws(IdentityError) {
    guard id.count == Self.idBytes, secret.count == Self.secretBytes else { throw Self.malformed }
    (self.id, self.secret) = (id, secret)
  }

  package init(parsing text: some StringProtocol) throws(IdentityError) {
    let parts = text.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == Use.prefix, let id = Hexadecimal.bytes(parts[1]),
      let secret = Hexadecimal.bytes(parts[2])
    else { throw Self.malformed }
    try self.init(id: id, secret: secret)
  }

  /// What the store keeps of the secret: 32 bytes.
  package var digest: [UInt8] { Array(SHA256.hash(data: secret)) }

  /// Whether `digest` is that of this secret. The time does not depend on how many bytes of it are right.
  package func has(digest: [UInt8]) -> Bool { SHA256.hash(data: secret) == digest }

  package var description: String { "\(Use.prefix)_\(Hexadecimal.text(id))_\(Hexadecimal.text(secret))" }

  private static var malformed: IdentityError {
    IdentityError("\(Use.name) is \(Use.prefix)_ and two groups of hexadecimal digits, as `\(Use.source)` prints it")
  }
}

/// What a token is for.
package protocol SecretTokenUse: Hashable, Sendable {
  static var prefix: String { get }
  /// What people call the token, with its article.
  static var name: String { get }
  /// The command that prints such tokens.
  static var source: String { get }
}

/// Permits one new host to join, as the host that the invitation names.
package enum Joining: SecretTokenUse {
  package static let (prefix, name, source) = ("bj1", "a join token", "baton host invite")
}

/// Permits an operator what the credential says.
package enum Operating: SecretTokenUse {
  package static let (prefix, name, source) = ("bt1", "a credential's token", "baton credential create")
}

package typealias JoinToken = SecretToken<Joining>
package typealias CredentialToken = SecretToken<Operating>
