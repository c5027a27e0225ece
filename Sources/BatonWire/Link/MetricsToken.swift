import BatonIdentity
import Crypto

/// The token that permits reading `/metrics` of a fleet's coordinator and workers, and nothing else.
///
/// A program that reads `/metrics` sends its token unencrypted to the program that listens on the port, even while the
/// coordinator is down. A program of another user that listens there learns only the metrics token. The fleet's token
/// cannot be derived from it.
package enum MetricsToken {
  /// The metrics token of a fleet: 64 lowercase hexadecimal digits of HMAC-SHA256 over a label, with the fleet's token
  /// as the key. It is always the same for one fleet's token.
  package static func derived(from token: String) -> String {
    let key = SymmetricKey(data: Array(token.utf8))
    return Hexadecimal.text(Array(HMAC<SHA256>.authenticationCode(for: Array(label.utf8), using: key)))
  }

  /// No other message that is authenticated with the token begins with this label.
  private static let label = "baton.v1 metrics"
}
