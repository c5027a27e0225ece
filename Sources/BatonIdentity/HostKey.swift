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
