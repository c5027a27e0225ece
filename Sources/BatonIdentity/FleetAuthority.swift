package import BatonModel
import Crypto
import SwiftASN1
package import X509

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The certificate authority of a fleet: it signs the certificates of coordinators and of hosts, and nothing else.
///
/// The authority is drawn at the coordinator's first start (`FleetAuthorities`). Its root certificate is self-signed,
/// with a P-256 key, and is valid for ten years. All certificates that it signs have random serial numbers of 20 bytes.
package struct FleetAuthority: Sendable {
  /// The fleet's id: 16 lowercase hexadecimal digits. It is part of every name in the fleet's certificates, so that a
  /// certificate of another fleet never has the right name.
  package let fleet: String
  package let root: Certificate
  let key: Certificate.PrivateKey

  /// How long a root is valid.
  package static let rootLifetime = Duration.seconds(10 * 365 * 86_400)
  /// How long the certificate of a coordinator is valid. The coordinator makes a new one at each start, and after two
  /// thirds of this time.
  package static let coordinatorLifetime = Duration.seconds(30 * 86_400)
  /// How long the certificate of a host is valid, unless the setting `certificates.host` says otherwise.
  package static let hostLifetime = Duration.seconds(7 * 86_400)
  /// How far a certificate's validity begins in the past, in seconds, for hosts whose clocks are behind.
  static let tolerance: TimeInterval = 300

  /// Draws a new authority with a new id.
  package init(at now: Timestamp) throws {
    let id = SymmetricKey(size: .bits128).withUnsafeBytes { bytes in bytes.prefix(8).map { $0 } }
    try self.init(Hexadecimal.text(id), root: 1, at: now)
  }

  /// Draws the authority that takes the place of another one, with the same id.
  package init(after other: FleetAuthority, at now: Timestamp) throws {
    try self.init(other.fleet, root: try Self.name(of: other.root).number + 1, at: now)
  }

  /// - Parameter number: the number of the root in its fleet. Each has a name of its own, because TLS libraries look
  ///   for the issuer of a certificate by name.
  private init(_ fleet: String, root number: Int, at now: Timestamp) throws {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    (self.fleet, self.key) = (fleet, key)
    let text = Self.rootName + fleet + (number == 1 ? "" : " \(number)")
    let name = try DistinguishedName { CommonName(text) }
    root = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: key.publicKey,
      notValidBefore: Date(now) - Self.tolerance, notValidAfter: Date(now + Self.rootLifetime),
      issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try .init {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(keyCertSign: true, cRLSign: true))
      }, issuerPrivateKey: key)
  }

  /// An authority that was stored as PEM.
  /// - Throws: `IdentityError` if the texts are not a root of Baton and its key.
  package init(rootPEM: String, keyPEM: String) throws(IdentityError) {
    do {
      root = try Certificate(pemEncoded: rootPEM)
      key = try Certificate.PrivateKey(pemEncoded: keyPEM)
    } catch {
      throw IdentityError("it is not a certificate with its key: \(error)")
    }
    guard root.publicKey == key.publicKey else { throw IdentityError("the key is not the one of the certificate") }
    fleet = try Self.fleet(of: root)
  }

  private static let rootName = "Baton fleet "

  /// The id of the fleet whose root this is.
  package static func fleet(of root: Certificate) throws(IdentityError) -> String { try name(of: root).fleet }

  private static func name(of root: Certificate) throws(IdentityError) -> (fleet: String, number: Int) {
    let name = root.subject.lazy.flatMap { $0 }.first { $0.type == .RDNAttributeType.commonName }
    let text = name.map { String(describing: $0.value) } ?? ""
    let words = text.dropFirst(rootName.count).split(separator: " ", omittingEmptySubsequences: false)
    guard text.hasPrefix(rootName), let fleet = words.first, fleet.utf8.count == 16, Hexadecimal.bytes(fleet) != nil,
      words.count <= 2, let number = words.count == 2 ? Int(words[1]) : 1
    else { throw IdentityError("it is not the root certificate of a fleet") }
    return (String(fleet), number)
  }

  /// The pin by which clients recognise the fleet.
  package var pin: Pin { Pin(of: root) }

  // MARK: Names

  /// The name in the certificates of the fleet's coordinators. Clients check it, and not the address: coordinators may
  /// be reached by any address.
  package static func coordinatorName(_ fleet: String) -> String { "\(fleet).coordinator.baton" }

  /// The name in the certificate of a host.
  package static func hostName(_ host: HostName, in fleet: String) -> String { "baton://\(fleet)/host/\(host)" }

  /// A name that the certificates of all hosts' servers have, for clients that can expect only one name of all.
  package static func anyServerName(_ fleet: String) -> String { "\(fleet).host.baton" }

  /// The name in the certificate of a host's server. Clients check it, and not the address.
  package static func serverName(_ host: HostName, in fleet: String) -> String { "\(host).\(fleet).host.baton" }

  // MARK: Signing

  /// Signs a certificate for a coordinator.
  package func coordinatorCertificate(for key: Certificate.PublicKey, at now: Timestamp) throws -> Certificate {
    try certificate(
      for: key, named: "coordinator", [.dnsName(Self.coordinatorName(fleet))], .serverAuth,
      until: now + Self.coordinatorLifetime, at: now)
  }

  /// Signs a certificate for a host. The name is the caller's: nothing that the host has sent is in the certificate but
  /// its public key.
  package func hostCertificate(
    for key: Certificate.PublicKey, host: HostName, lasting lifetime: Duration, at now: Timestamp
  ) throws -> Certificate {
    try certificate(
      for: key, named: host.rawValue, [.uniformResourceIdentifier(Self.hostName(host, in: fleet))], .clientAuth,
      until: now + lifetime, at: now)
  }

  /// Signs a certificate for the server of a host, which shows the host's metrics.
  package func serverCertificate(
    for key: Certificate.PublicKey, host: HostName, lasting lifetime: Duration, at now: Timestamp
  ) throws -> Certificate {
    try certificate(
      for: key, named: host.rawValue,
      [.dnsName(Self.serverName(host, in: fleet)), .dnsName(Self.anyServerName(fleet))],
      .serverAuth,
      until: now + lifetime, at: now)
  }

  /// Whether this authority has signed the certificate.
  package func hasSigned(_ certificate: Certificate) -> Bool {
    root.publicKey.isValidSignature(certificate.signature, for: certificate)
  }

  private func certificate(
    for key: Certificate.PublicKey, named name: String, _ names: [GeneralName], _ usage: ExtendedKeyUsage.Usage,
    until end: Timestamp, at now: Timestamp
  ) throws -> Certificate {
    try Certificate(
      version: .v3, serialNumber: .init(), publicKey: key, notValidBefore: Date(now) - Self.tolerance,
      notValidAfter: min(Date(end), root.notValidAfter), issuer: root.subject,
      subject: try DistinguishedName { CommonName(name) }, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try .init {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([usage])
        SubjectAlternativeNames(names)
      }, issuerPrivateKey: self.key)
  }

  // MARK: Storing

  /// A certificate in DER as PEM text.
  package static func pem(of der: [UInt8]) throws -> String { try Certificate(der: der).pem }

  package func rootPEM() throws -> String { try root.serializeAsPEM().pemString }
  package func keyPEM() throws -> String { try key.serializeAsPEM().pemString }
}

/// Why a certificate, key or code of identity cannot be used. The description says what is wrong with it, and has to be
/// put after the name of its file or source.
package struct IdentityError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

extension Certificate {
  /// The last moment at which the certificate is valid.
  package var end: Timestamp { Timestamp(notValidAfter) }
  /// The first moment at which the certificate is valid.
  package var beginning: Timestamp { Timestamp(notValidBefore) }
}

extension Date {
  init(_ time: Timestamp) { self.init(timeIntervalSince1970: Double(time.nanoseconds) / 1e9) }
}

extension Timestamp {
  /// The time of a certificate, in whole seconds.
  init(_ date: Date) { self.init(nanoseconds: Int64(date.timeIntervalSince1970) * 1_000_000_000) }
}
