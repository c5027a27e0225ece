import Crypto

/// The credential that opens `/metrics` of a fleet's coordinator and workers, and nothing else.
///
/// A program that reads `/metrics` sends its credential in clear to whatever listens on the port, also while the
/// coordinator is down. Another user's program that took the port then learns this token, from which the fleet's token
/// cannot be told.
package enum MetricsToken {
  /// 64 lowercase hexadecimal digits: HMAC-SHA256 over a label, with the fleet's token as its key. The same fleet's token
  /// always gives the same.
  package static func derived(from token: String) -> String {
    let key = SymmetricKey(data: Array(token.utf8))
    return TokenProof.hexadecimal(Array(HMAC<SHA256>.authenticationCode(for: Array(label.utf8), using: key)))
  }

  /// No other message that is signed with the token begins so (`TokenProof`).
  private static let label = "baton.v1 metrics"
}
