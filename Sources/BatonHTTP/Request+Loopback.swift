internal import BatonWire
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
}
