internal import BatonWire
import HTTPTypes
package import Hummingbird

extension Request {
  /// Whether it was sent to a name of this machine's own. A page in a browser can have its own host name point to
  /// 127.0.0.1, but then says that name here.
  package var isForLoopback: Bool {
    let authority = head.authority ?? ""
    let hasPort = authority.contains(":") && !authority.hasSuffix("]")
    let endpoint = try? HostPort(parsing: hasPort ? authority : authority + ":80")
    return endpoint?.isLoopback ?? false
  }

  /// What to say to others.
  package static let notForLoopback = "the Host header does not name loopback: use http://127.0.0.1:PORT"

  /// Whether the request carries `token` (`Authorization: Bearer TOKEN`); never if there is none.
  package func shows(_ token: String?) -> Bool {
    guard let token else { return false }
    return Secret.isEqual(headers[.authorization] ?? "", "Bearer \(token)")
  }

  /// What to say to others.
  package static let noToken =
    "the token is missing or another's: send 'Authorization: Bearer TOKEN' with the token of the coordinator's data folder"
}
