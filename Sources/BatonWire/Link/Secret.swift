import Crypto

/// Compares a received text with a secret.
package enum Secret {
  /// Whether both texts are equal. The time does not depend on the position of the first difference, because SHA-256
  /// digests are compared in constant time.
  package static func isEqual(_ first: String, _ second: String) -> Bool {
    SHA256.hash(data: Array(first.utf8)) == SHA256.hash(data: Array(second.utf8))
  }
}
