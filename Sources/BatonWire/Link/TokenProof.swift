import BatonIdentity
import Crypto

/// The proof by which both ends of a connection show each other that they know the token, without sending it.
///
/// Each end draws a nonce for the connection. A code is the HMAC-SHA256, with the token as the key, of a label, the
/// client's nonce and the coordinator's nonce. Each end has a label of its own, so that an end cannot send back the
/// code that it received. The nonces are new for each connection, so a code is of no use on another connection.
///
/// This does not protect what is sent on the connection afterwards: a program that forwards bytes between a client and
/// the real coordinator can change them. Only TLS prevents that.
package struct TokenProof: Hashable, Sendable {
  package static let nonceBytes = 32
  package static let codeBytes = 32

  private let client: [UInt8]
  private let coordinator: [UInt8]

  /// `nil` unless both nonces have 32 bytes.
  package init?(client: [UInt8], coordinator: [UInt8]) {
    guard client.count == Self.nonceBytes, coordinator.count == Self.nonceBytes else { return nil }
    (self.client, self.coordinator) = (client, coordinator)
  }

  /// A new random nonce.
  package static func nonce() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes(Array.init) }

  /// The code by which the coordinator proves that it knows the token.
  package func coordinatorCode(_ token: String) -> [UInt8] { code(token, Self.coordinatorLabel) }

  /// The code by which the client proves that it knows the token; it is sent with each call.
  package func clientCode(_ token: String) -> [UInt8] { code(token, Self.clientLabel) }

  /// Whether `code` is the coordinator's code for this token. The comparison takes constant time.
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

  /// The scheme of the `authorization` metadata that contains a client's code.
  package static let scheme = "Baton-HMAC"

  /// The value of the `authorization` metadata for the client's calls.
  package func authorization(_ token: String) -> String { "\(Self.scheme) \(Self.hexadecimal(clientCode(token)))" }

  /// The bytes as lowercase hexadecimal digits.
  package static func hexadecimal(_ bytes: [UInt8]) -> String { Hexadecimal.text(bytes) }
}

/// Compares a received text with a secret.
package enum Secret {
  /// Whether both texts are equal. The time does not depend on the position of the first difference, because SHA-256
  /// digests are compared in constant time.
  package static func isEqual(_ first: String, _ second: String) -> Bool {
    SHA256.hash(data: Array(first.utf8)) == SHA256.hash(data: Array(second.utf8))
  }
}
