package import BatonIdentity
package import NIOSSL
import Synchronization

/// A certificate of another authority, which HTTPS shows in place of the fleet's own: programs and browsers trust it
/// without the fleet's root. It is read from two files, and again when they have changed.
package final class OwnCertificate: Sendable {
  package struct Files: Hashable, Sendable {
    /// The certificate and those of its issuers (PEM).
    package var certificate: String
    /// Its key (PEM), which only this user may read.
    package var key: String

    package init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
  }

  private struct Loaded {
    var bytes: [[UInt8]]
    var context: NIOSSLContext
  }

  private let files: Files
  private let loaded: Mutex<Loaded>

  /// - Throws: `IdentityError` if the files cannot be read, or do not fit together.
  package init(_ files: Files) throws(IdentityError) {
    self.files = files
    loaded = Mutex(try Self.load(files))
  }

  /// What a connection begins with.
  package var context: NIOSSLContext { loaded.withLock { $0.context } }

  /// Reads the files again.
  /// - Returns: whether they have changed.
  /// - Throws: `IdentityError` like `init`. The certificate before stays in use.
  package func renew() throws(IdentityError) -> Bool {
    let read = try Self.load(files)
    return loaded.withLock { loaded in
      guard loaded.bytes != read.bytes else { return false }
      loaded = read
      return true
    }
  }

  private static func load(_ files: Files) throws(IdentityError) -> Loaded {
    guard let key = try PrivateFile.read(files.key) else { throw IdentityError("\(files.key) is not there") }
    let certificate = try PrivateFile.readPublic(files.certificate)
    do {
      let chain = try NIOSSLCertificate.fromPEMBytes(certificate)
      let context = try NIOSSLContext.https(chain, try NIOSSLPrivateKey(bytes: key, format: .pem))
      guard !chain.isEmpty else { throw IdentityError("it has no certificate") }
      return Loaded(bytes: [certificate, key], context: context)
    } catch {
      throw IdentityError(
        "\(files.certificate) and \(files.key) are not a certificate and its key in PEM: \(error)")
    }
  }
}
