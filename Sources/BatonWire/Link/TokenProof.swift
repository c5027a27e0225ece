import Crypto

/// How the two ends of a connection show each other that they know the token, without sending it.
///
/// Each end draws a nonce for the connection. A code is HMAC-SHA256 with the token as its key over a label, the client's
/// nonce and the coordinator's. The labels differ, so that no end can give the other's code back to it; the nonces are
/// fresh, so that a code of one connection is worth nothing on another.
///
/// This does not protect what follows on the connection: a program that passes bytes on between a client and the real
/// coordinator can change them. Only TLS prevents that.
package struct TokenProof: Hashable, Sendable {
  package static let nonceBytes = 32
  package static let codeBytes = 32

  private let client: [UInt8]
  private let coordinator: [UInt8]

  /// Nil unless both nonces have 32 bytes.
  package init?(client: [UInt8], coordinator: [UInt8]) {
    guard client.count == Self.nonceBytes, coordinator.count == Self.nonceBytes else { return nil }
    (self.client, self.coordinator) = (client, coordinator)
  }

  package static func nonce() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes(Array.init) }

  /// What the coordinator answers.
  package func coordinatorCode(_ token: String) -> [UInt8] { code(token, Self.coordinatorLabel) }

  /// What the client sends with each call.
  package func clientCode(_ token: String) -> [UInt8] { code(token, Self.clientLabel) }

  /// Compares in constant time.
  package func isCoordinatorCode(_ code: [UInt8], _ token: String) -> Bool {
    HMAC<SHA256>.isValidAuthenticationCode(
      code, authenticating: message(Self.coordinatorLabel), using: SymmetricKey(data: Array(token.utf8)))
  }

  private static let coordinatorLabel = "baton.v1 coordinator"
  private static let clientLabel = "baton.v1 client"

  private func code(_ token: String, _ label: String) -> [UInt8] {
    Array(
      HMAC<SHA256>.authenticationCode(for: message(label), using: SymmetricKey(data: Array(token.utf8))))
  }

  private func message(_ label: String) -> [UInt8] { Array(label.utf8) + [0] + client + coordinator }

  // MARK: In a call's metadata

  /// The scheme of `authorization` for a client's code.
  package static let scheme = "Baton-HMAC"

  package func authorization(_ token: String) -> String { "\(Self.scheme) \(Self.hexadecimal(clientCode(token)))" }

  package static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// Compares what a stranger sent with a secret.
package enum Secret {
  /// In a time that does not depend on where they differ: digests are compared, in constant time.
  package static func isEqual(_ first: String, _ second: String) -> Bool {
    SHA256.hash(data: Array(first.utf8)) == SHA256.hash(data: Array(second.utf8))
  }
}
