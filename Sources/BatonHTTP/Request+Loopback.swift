internal import BatonWire
import HTTPTypes
package import Hummingbird

extension Request {
  /// Whether the request's `Host` names loopback. A page in a browser can make its own host name point to 127.0.0.1,
  /// but the request then carries that name.
  package var isForLoopback: Bool {
    let authority = head.authority ?? ""
    let hasPort = authority.contains(":") && !authority.hasSuffix("]")
    let endpoint = try? HostPort(parsing: hasPort ? authority : authority + ":80")
    return endpoint?.isLoopback ?? false
  }

  /// The answer to a request whose `Host` does not name loopback.
  package static let notForLoopback = "the Host header does not name loopback: use http://127.0.0.1:PORT"

  /// Whether the request carries `token` (`Authorization: Bearer TOKEN`). False if `token` is `nil`.
  package func shows(_ token: String?) -> Bool {
    guard let token else { return false }
    return Secret.isEqual(headers[.authorization] ?? "", "Bearer \(token)")
  }

  /// The answer to a request without the right token.
  package static let noToken =
    "the token is missing or wrong: send 'Authorization: Bearer TOKEN' with the token of the coordinator's data "
    + "folder"
}
