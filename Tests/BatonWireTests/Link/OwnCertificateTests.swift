import BatonIdentity
import BatonModel
import BatonWire
import Foundation
import Testing
import X509

@Suite struct OwnCertificateTests {
  private static let now = Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))

  /// Writes a certificate of some authority and its key.
  private static func write(_ authority: FleetAuthority, in folder: String, mode: Int = 0o600) throws {
    let key = HostKey()
    let certificate = try authority.coordinatorCertificate(for: key.key.publicKey, at: now)
    try TemporaryFolder.write(
      try certificate.pem + "\n" + authority.root.pem, to: folder + "/certificate.pem", mode: 0o644)
    try TemporaryFolder.write(try key.pem, to: folder + "/key.pem", mode: mode)
  }

  @Test func `the files are read again when they have changed, and a half of a change changes nothing`() throws {
    try TemporaryFolder.with { folder in
      let authority = try FleetAuthority(at: Self.now)
      try Self.write(authority, in: folder)
      let own = try OwnCertificate(
        OwnCertificate.Files(certificate: folder + "/certificate.pem", key: folder + "/key.pem"))
      let first = own.context
      #expect(try !own.renew() && own.context === first)
      let certificate = try String(contentsOfFile: folder + "/certificate.pem", encoding: .utf8)
      try Self.write(authority, in: folder)
      let key = try String(contentsOfFile: folder + "/key.pem", encoding: .utf8)
      try TemporaryFolder.write(certificate, to: folder + "/certificate.pem", mode: 0o644)
      #expect(throws: IdentityError.self) { try own.renew() }
      #expect(own.context === first)
      #expect(!key.isEmpty)
      try Self.write(authority, in: folder)
      #expect(try own.renew() && own.context !== first)
    }
  }

  @Test func `a key that others may read, and what is no certificate, are refused`() throws {
    try TemporaryFolder.with { folder in
      let files = OwnCertificate.Files(certificate: folder + "/certificate.pem", key: folder + "/key.pem")
      #expect(throws: IdentityError("\(folder)/key.pem is not there")) { try OwnCertificate(files) }
      try Self.write(try FleetAuthority(at: Self.now), in: folder, mode: 0o640)
      let error = #expect(throws: IdentityError.self) { try OwnCertificate(files) }
      #expect(error?.description.contains("chmod 600") == true)
      for text in ["", "nonsense"] {
        try Self.write(try FleetAuthority(at: Self.now), in: folder)
        try TemporaryFolder.write(text, to: folder + "/certificate.pem", mode: 0o644)
        #expect(throws: IdentityError.self) { try OwnCertificate(files) }
      }
    }
  }
}
