package import BatonIdentity
package import BatonModel
package import GRPCNIOTransportHTTP2Posix
import NIOCertificateReloading
package import NIOSSL
import Synchronization
import X509

/// The certificate by which a coordinator proves to its clients that it belongs to the fleet. It is made at each start
/// and again before it ends, and its key is never written to a disk. New connections get the new certificate.
package final class CoordinatorCertificate: CertificateReloader, Sendable {
  private struct Pair {
    var chain: [Certificate]
    var key: Certificate.PrivateKey
    var parts: (chain: [NIOSSLCertificate], key: NIOSSLPrivateKey)
    /// For HTTPS.
    var context: NIOSSLContext
    var begin: Timestamp
  }

  private let authorities: FleetAuthorities
  private let pair: Mutex<Pair>

  /// - Throws: `IdentityError` if the certificate cannot be made.
  package init(of authorities: FleetAuthorities, at now: Timestamp) throws(IdentityError) {
    self.authorities = authorities
    pair = Mutex(try Self.drawn(authorities.present, at: now))
  }

  private static func drawn(_ authority: FleetAuthority, at now: Timestamp) throws(IdentityError) -> Pair {
    do {
      let key = HostKey().key
      let leaf = try authority.coordinatorCertificate(for: key.publicKey, at: now)
      let chain = [leaf, authority.root]
      let parts = (
        chain: try chain.map { try NIOSSLCertificate(bytes: $0.der, format: .der) },
        key: try NIOSSLPrivateKey(bytes: Array(key.pem.utf8), format: .pem)
      )
      return Pair(
        chain: chain, key: key, parts: parts, context: try NIOSSLContext.https(parts.chain, parts.key), begin: now)
    } catch {
      throw IdentityError("the coordinator's certificate cannot be made: \(error)")
    }
  }

  /// Makes a new certificate if two thirds of the lifetime of the present one have passed, or if the clock stands
  /// before its beginning.
  package func renew(at now: Timestamp) throws(IdentityError) {
    let age = now - pair.withLock { $0.begin }
    guard age < .zero || age >= FleetAuthority.coordinatorLifetime * 2 / 3 else { return }
    let drawn = try Self.drawn(authorities.present, at: now)
    pair.withLock { $0 = drawn }
  }

  /// What a connection of HTTPS begins with.
  package var context: NIOSSLContext { pair.withLock { $0.context } }

  package var sslContextConfigurationOverride: NIOSSLContextConfigurationOverride {
    let parts = pair.withLock { $0.parts }
    var override = NIOSSLContextConfigurationOverride()
    override.certificateChain = parts.chain.map { .certificate($0) }
    override.privateKey = .privateKey(parts.key)
    return override
  }

  /// The security of a listener.
  /// - Parameter asksForCertificates: whether clients have to show a certificate of the fleet. A client without one
  ///   then gets no further than the handshake.
  package func security(
    askingForCertificates asksForCertificates: Bool
  ) throws(IdentityError) -> HTTP2ServerTransport.Posix.TransportSecurity {
    let (chain, key) = pair.withLock { ($0.chain, $0.key) }
    do {
      let sources = try chain.map { TLSConfig.CertificateSource.bytes(try $0.der, format: .der) }
      let roots = try authorities.roots.map { TLSConfig.CertificateSource.bytes(try $0.der, format: .der) }
      return .tls(
        .defaults(
          certificateChain: sources,
          privateKey: .bytes(Array(try key.pem.utf8), format: .pem)
        ) { config in
          config.certificateReloader = self
          config.requireALPN = true
          // Without roots of our own, every certificate that the machine trusts would be accepted.
          config.trustRoots = .certificates(roots)
          if asksForCertificates { config.clientCertificateVerification = .noHostnameVerification }
        })
    } catch {
      throw IdentityError("the coordinator's certificate cannot be used: \(error)")
    }
  }
}

extension NIOSSLContext {
  /// The context of an HTTPS server.
  package static func https(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    return try NIOSSLContext(configuration: configuration)
  }
}
