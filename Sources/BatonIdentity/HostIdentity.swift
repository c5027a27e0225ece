package import BatonModel
import SwiftASN1
package import X509

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a host keeps of its join: its name, its key and certificate, the fleet's roots, and where the coordinators
/// listen. It is a file of mode 0600 in the worker's data folder.
package struct HostIdentity: Hashable, Sendable {
  /// The fleet's id.
  package var fleet: String
  /// The name that the invitation gave to this host.
  package var host: HostName
  /// The addresses on which the fleet's coordinators listen for hosts, `HOST:PORT`, separated by commas.
  package var coordinator: String
  /// The private key (PEM).
  package var key: String
  /// The host's certificate (PEM).
  package var certificate: String
  /// The fleet's root certificates (PEM): two while a root is being replaced.
  package var roots: [String]
  /// The certificate of the host's own server for the same key (PEM); `nil` if an older coordinator gave none.
  package var serverCertificate: String?
  /// Where the coordinator listens for hosts that join, `HOST:PORT`: there a host asks whose certificate has ended.
  /// `nil` if an older worker has joined.
  package var enrolment: String?

  package init(
    fleet: String, host: HostName, coordinator: String, key: String, certificate: String, roots: [String],
    serverCertificate: String? = nil, enrolment: String? = nil
  ) {
    (self.fleet, self.host, self.coordinator) = (fleet, host, coordinator)
    (self.key, self.certificate, self.roots) = (key, certificate, roots)
    (self.serverCertificate, self.enrolment) = (serverCertificate, enrolment)
  }

  /// The path of the file of a worker with this data folder.
  package static func path(dataFolder: String) -> String { dataFolder + "/identity.json" }

  /// Reads the identity of a worker. Returns `nil` if it has not joined a fleet.
  /// - Throws: `IdentityError` if the file cannot be read or is none, or if another user may read it.
  package static func read(dataFolder: String) throws(IdentityError) -> HostIdentity? {
    let path = path(dataFolder: dataFolder)
    guard let bytes = try PrivateFile.read(path) else { return nil }
    do {
      let file = try JSONDecoder().decode(File.self, from: Data(bytes))
      let identity = HostIdentity(
        fleet: file.fleet, host: HostName(file.host), coordinator: file.coordinator, key: file.key,
        certificate: file.certificate, roots: file.roots, serverCertificate: file.serverCertificate,
        enrolment: file.enrolment)
      _ = try (identity.parsedCertificate, HostKey(pem: identity.key))
      return identity
    } catch {
      throw IdentityError(
        "\(path) is not the identity of a host (\(error)): join the fleet again, with a new invitation")
    }
  }

  /// Writes the identity durably.
  package func write(dataFolder: String) throws(IdentityError) {
    let file = File(
      fleet: fleet, host: host.rawValue, coordinator: coordinator, key: key, certificate: certificate, roots: roots,
      serverCertificate: serverCertificate, enrolment: enrolment)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes: [UInt8]
    do { bytes = Array(try encoder.encode(file)) + [0x0A] } catch {
      throw IdentityError("the identity cannot be written as JSON: \(error)")
    }
    try PrivateFile.write(bytes, to: Self.path(dataFolder: dataFolder))
  }

  /// The certificate.
  package var parsedCertificate: Certificate {
    get throws(IdentityError) {
      do { return try Certificate(pemEncoded: certificate) } catch {
        throw IdentityError("it has no certificate: \(error)")
      }
    }
  }

  /// The part of the certificate's lifetime after which it is renewed, at the earliest: a half. Hosts that joined
  /// together would renew together, so each adds a random part of a tenth.
  package static let renewalShare = 0.5

  /// When the certificate has to be renewed.
  /// - Parameter jitter: a random number from 0 to 1.
  package func renewal(jitter: Double) throws(IdentityError) -> Timestamp {
    let certificate = try parsedCertificate
    // It is valid from a while before it was signed, so that clocks may differ.
    let signed = certificate.beginning + .seconds(Int64(FleetAuthority.tolerance))
    return signed + (certificate.end - signed) * (Self.renewalShare + jitter / 10)
  }

  private struct File: Codable {
    var fleet: String
    var host: String
    var coordinator: String
    var key: String
    var certificate: String
    var roots: [String]
    var serverCertificate: String?
    var enrolment: String?
  }
}

extension HostIdentity {
  /// The certificates that a coordinator answers to a host, in DER.
  package struct Answer: Sendable {
    /// The host's new certificate.
    package var certificate: [UInt8]
    /// The certificate of the host's own server; empty from an older coordinator.
    package var serverCertificate: [UInt8]
    /// The roots of the fleet.
    package var roots: [[UInt8]]

    package init(certificate: [UInt8], serverCertificate: [UInt8], roots: [[UInt8]]) {
      (self.certificate, self.serverCertificate, self.roots) = (certificate, serverCertificate, roots)
    }
  }

  /// Takes over what a coordinator has answered.
  /// - Throws: `IdentityError` if the certificates are not for this key and this host, or if the roots are not one or
  ///   two roots of this fleet, of which one has signed the certificate. One of the roots must be known: nothing that a
  ///   coordinator says can make the host trust another fleet.
  package mutating func take(_ key: HostKey, _ answer: Answer) throws(IdentityError) {
    let parsed = try Certificate(der: answer.certificate)
    let roots = try answer.roots.map { der throws(IdentityError) in try Certificate(der: der) }
    guard
      parsed.isFor(key, .uniformResourceIdentifier(FleetAuthority.hostName(host, in: fleet))),
      (1...2).contains(roots.count), roots.allSatisfy({ (try? FleetAuthority.fleet(of: $0)) == fleet }),
      roots.contains(where: { $0.publicKey.isValidSignature(parsed.signature, for: parsed) })
    else { throw IdentityError("the coordinator's answer is not a certificate for this host and its key") }
    let server = answer.serverCertificate.isEmpty ? nil : try Certificate(der: answer.serverCertificate)
    if let server, !server.isFor(key, .dnsName(FleetAuthority.serverName(host, in: fleet))) {
      throw IdentityError("the coordinator's answer has a server's certificate that is not for this host and its key")
    }
    do {
      let known = try self.roots.map { try Certificate(pemEncoded: $0) }
      guard known.isEmpty || roots.contains(where: known.contains) else {
        throw IdentityError("the coordinator's answer has none of the roots that this host knows")
      }
      self.key = try key.pem
      certificate = try parsed.pem
      serverCertificate = try server?.pem
      self.roots = try roots.map { try $0.pem }
    } catch let error as IdentityError {
      throw error
    } catch {
      throw IdentityError("the certificate cannot be written as PEM: \(error)")
    }
  }
}

extension Certificate {
  /// Whether the certificate is for the key and has the name.
  fileprivate func isFor(_ key: HostKey, _ name: GeneralName) -> Bool {
    publicKey == key.key.publicKey && (try? extensions.subjectAlternativeNames)?.contains(name) ?? false
  }
}

extension HostIdentity {
  /// The name of the only host that has joined a fleet with a folder below this one; `nil` if there is none, or if
  /// there are several.
  package static func onlyName(below folder: String) -> String? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let joined = names.filter { (try? PrivateFile.read(path(dataFolder: "\(folder)/\($0)"))) ?? nil != nil }
    return joined.count == 1 ? joined.first : nil
  }
}
