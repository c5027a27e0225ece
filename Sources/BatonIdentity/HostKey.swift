import Crypto
import SwiftASN1
package import X509

/// A key that a host has drawn, and that never leaves the host. The coordinator gets only the public key, and the proof
/// that the host has the private one.
package struct HostKey: Sendable {
  package let key: Certificate.PrivateKey

  /// Draws a new key (P-256).
  package init() { key = Certificate.PrivateKey(P256.Signing.PrivateKey()) }

  package init(pem: String) throws(IdentityError) {
    do { key = try Certificate.PrivateKey(pemEncoded: pem) } catch {
      throw IdentityError("it is not a private key: \(error)")
    }
  }

  package var pem: String { get throws { try key.pem } }

  /// The request for a certificate (RFC 2986, DER): it has the public key, is signed with the private one, and names
  /// nothing.
  package func request() throws -> [UInt8] {
    let request = try CertificateSigningRequest(
      version: .v1, subject: DistinguishedName(), privateKey: key, attributes: .init(),
      signatureAlgorithm: .ecdsaWithSHA256)
    var serializer = DER.Serializer()
    try serializer.serialize(request)
    return serializer.serializedBytes
  }

  /// Six digits of a host's key and the fleet's pin. A person compares them on the host and beside the coordinator, and
  /// so sees that the key which the coordinator got is the host's own.
  package static func number(of key: Certificate.PublicKey, pin: Pin) -> String {
    var hash = SHA256()
    hash.update(data: Array("baton.v1 join".utf8))
    hash.update(data: Array(pin.description.utf8))
    hash.update(data: key.digest)
    let value = hash.finalize().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let digits = String(value % 1_000_000)
    return String(repeating: "0", count: 6 - digits.utf8.count) + digits
  }

  /// The six digits of this key.
  package func number(pin: Pin) -> String { Self.number(of: key.publicKey, pin: pin) }

  /// The label of what a host signs that asks for another certificate after its own has ended.
  private static let rejoinLabel = Array("baton.v1 rejoin".utf8)

  /// The signature of this key over a request for another certificate.
  package func signature(of request: [UInt8]) throws -> [UInt8] {
    let key = try P256.Signing.PrivateKey(pemRepresentation: try key.pem)
    return Array(try key.signature(for: Self.rejoinLabel + request).derRepresentation)
  }

  /// Whether the key of a certificate has signed the request.
  package static func hasSigned(
    _ request: [UInt8], _ signature: [UInt8], key: Certificate.PublicKey
  ) -> Bool {
    guard let key = P256.Signing.PublicKey(key),
      let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature)
    else { return false }
    return key.isValidSignature(signature, for: rejoinLabel + request)
  }

  /// The longest request that is read, in bytes. A request of a P-256 key has about 200.
  package static let longestRequest = 4096

  /// The public key in a request, of which nothing else is read.
  /// - Throws: `IdentityError` unless the request was signed with the private key, and the key is a P-256 key.
  package static func publicKey(in request: [UInt8]) throws(IdentityError) -> Certificate.PublicKey {
    guard request.count <= longestRequest else {
      throw IdentityError("a request for a certificate has at most \(longestRequest) bytes")
    }
    let parsed: CertificateSigningRequest
    do { parsed = try CertificateSigningRequest(derEncoded: request) } catch {
      throw IdentityError("it is not a request for a certificate")
    }
    guard P256.Signing.PublicKey(parsed.publicKey) != nil else {
      throw IdentityError("the key in a request for a certificate has to be a P-256 key")
    }
    guard parsed.publicKey.isValidSignature(parsed.signature, for: parsed) else {
      throw IdentityError("the request for a certificate was not signed with the key that it has")
    }
    return parsed.publicKey
  }
}

extension Certificate {
  /// The certificate as PEM text.
  package var pem: String { get throws { try serializeAsPEM().pemString } }
}

extension Certificate.PrivateKey {
  /// The key as PEM text.
  package var pem: String { get throws { try serializeAsPEM().pemString } }
}
