import Crypto

/// What an operator carries to a new host: it permits one join, as the host that the invitation names. It is written
/// `bj1_ID_SECRET`. The store keeps only the SHA-256 of the secret.
package struct JoinToken: Hashable, Sendable, CustomStringConvertible {
  /// Names the invitation: 8 random bytes.
  package let id: [UInt8]
  /// 32 random bytes.
  package let secret: [UInt8]

  package static let idBytes = 8
  package static let secretBytes = 32

  /// Draws a new token.
  package init() {
    id = SymmetricKey(size: .bits128).withUnsafeBytes { bytes in Array(bytes.prefix(Self.idBytes)) }
    secret = SymmetricKey(size: .bits256).withUnsafeBytes(Array.init)
  }

  package init(id: [UInt8], secret: [UInt8]) throws(IdentityError) {
    guard id.count == Self.idBytes, secret.count == Self.secretBytes else { throw Self.malformed }
    (self.id, self.secret) = (id, secret)
  }

  package init(parsing text: String) throws(IdentityError) {
    let parts = text.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == Self.prefix, let id = Hexadecimal.bytes(parts[1]),
      let secret = Hexadecimal.bytes(parts[2])
    else { throw Self.malformed }
    try self.init(id: id, secret: secret)
  }

  /// What the store keeps of the secret: 32 bytes.
  package var digest: [UInt8] { Array(SHA256.hash(data: secret)) }

  package var description: String { "\(Self.prefix)_\(Hexadecimal.text(id))_\(Hexadecimal.text(secret))" }

  private static let prefix = "bj1"
  private static let malformed = IdentityError(
    "a join token is bj1_ and two groups of hexadecimal digits, as `baton host invite` prints it")
}
