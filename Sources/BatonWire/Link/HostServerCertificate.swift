import BatonIdentity
package import NIOSSL
import Synchronization

/// The certificate by which the server of a host that has joined proves its name. It is renewed with the host's own.
package final class HostServerCertificate: Sendable {
  private let dataFolder: String
  private let known = Mutex<(certificate: String, context: NIOSSLContext)?>(nil)

  package init(dataFolder: String) { self.dataFolder = dataFolder }

  /// The context of the next connection.
  /// - Throws: `IdentityError` if the host has no such certificate.
  package func context() throws -> NIOSSLContext {
    guard let identity = try HostIdentity.read(dataFolder: dataFolder) else {
      throw IdentityError(
        "https needs a host that has joined a fleet, because the fleet's authority signs its certificate: leave the "
          + "setting out, or join (baton host invite NAME)")
    }
    guard let certificate = identity.serverCertificate else {
      throw IdentityError(
        "https needs a certificate that this host does not have yet: it gets one when it renews its own from a newer "
          + "coordinator, or joins again")
    }
    if let known = known.withLock({ $0 }), known.certificate == certificate { return known.context }
    let context = try NIOSSLContext.https(
      try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)),
      try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))
    known.withLock { $0 = (certificate, context) }
    return context
  }
}
