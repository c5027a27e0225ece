import Crypto
import SwiftASN1
package import X509

/// The pin of a fleet: the SHA-256 of the public key of its root (SubjectPublicKeyInfo, as in RFC 7469, section 2.4).
/// A client that has the pin recognises the fleet's coordinators without any other certificate, and no other program
/// can have a certificate that fits.
package struct Pin: Hashable, Sendable, CustomStringConvertible {
  /// 32 bytes.
  package let digest: [UInt8]

  package init(of root: Certificate) { digest = root.publicKey.digest }

  /// Parses `sha256:` and 64 hexadecimal digits.
  package init(parsing text: String) throws(IdentityError) {
    guard text.hasPrefix(Self.prefix), let bytes = Hexadecimal.bytes(text.dropFirst(Self.prefix.count)),
      bytes.count == 32
    else {
      throw IdentityError("a pin is sha256: and 64 hexadecimal digits, as `baton fleet` prints it")
    }
    digest = bytes
  }

  package var description: String { Self.prefix + Hexadecimal.text(digest) }

  private static let prefix = "sha256:"
}

extension Certificate.PublicKey {
  /// The SHA-256 of the key, with its algorithm (SubjectPublicKeyInfo): 32 bytes.
  package var digest: [UInt8] { Array(SHA256.hash(data: subjectPublicKeyInfoBytes)) }
}

extension Certificate {
  /// The SHA-256 of the whole certificate: 32 bytes.
  package var digest: [UInt8] { get throws { Array(SHA256.hash(data: try der)) } }

  /// The bytes of the certificate (DER).
  package var der: [UInt8] {
    get throws {
      var serializer = DER.Serializer()
      try serializer.serialize(self)
      return serializer.serializedBytes
    }
  }

  package init(der: [UInt8]) throws(IdentityError) {
    do { try self.init(derEncoded: der) } catch { throw IdentityError("it is not a certificate: \(error)") }
  }
}

/// Bytes as lowercase hexadecimal digits.
package enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// `nil` unless the text has an even number of digits, all lowercase.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    let nibbles = text.utf8.map { digits.firstIndex(of: $0) }
    guard nibbles.count.isMultiple(of: 2), !nibbles.contains(nil) else { return nil }
    let values = nibbles.compactMap { $0 }
    return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}
