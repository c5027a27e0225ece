import BatonIdentity
import BatonModel
import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@Suite("Identities")
struct IdentityTests {
  private static let now = Timestamp(nanoseconds: 1_772_346_600_000_000_000)
  private static let desk = HostName("desk")

  private static func withFolder(_ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  @Test("An authority is drawn once, and its file is its user's alone")
  func authority() throws {
    try Self.withFolder { folder in
      #expect(try FleetAuthority.read(dataFolder: folder) == nil)
      let drawn = try FleetAuthority.own(dataFolder: folder, at: Self.now)
      let read = try #require(try FleetAuthority.read(dataFolder: folder))
      #expect((read.fleet, read.pin) == (drawn.fleet, drawn.pin))
      let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/authority.pem")
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["authority.pem"])
      #expect(try FleetAuthority(at: Self.now).pin != drawn.pin)
    }
  }

  @Test(
    "An authority that others may read, or that is damaged, is refused and not replaced", arguments: [0o640, 0o604])
  func exposedAuthority(mode: Int) throws {
    try Self.withFolder { folder in
      _ = try FleetAuthority.own(dataFolder: folder, at: Self.now)
      let path = folder + "/authority.pem"
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      #expect(
        throws: IdentityError(
          "\(path) has mode \(String(mode, radix: 8)), so other users may read or change it: chmod 600 \(path)")
      ) {
        try FleetAuthority.own(dataFolder: folder, at: Self.now)
      }
      let text = try String(contentsOfFile: path, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      for damaged in ["", "nonsense", String(text.prefix(text.count / 2))] {
        try Data(damaged.utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: IdentityError.self) { try FleetAuthority.own(dataFolder: folder, at: Self.now) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == damaged)
      }
    }
  }

  @Test("A symbolic link is not followed to an identity")
  func link() throws {
    try Self.withFolder { folder in
      try Self.withFolder { other in
        _ = try FleetAuthority.own(dataFolder: other, at: Self.now)
        try FileManager.default.createSymbolicLink(
          atPath: folder + "/authority.pem", withDestinationPath: other + "/authority.pem")
        #expect(throws: IdentityError.self) { try FleetAuthority.read(dataFolder: folder) }
      }
    }
  }

  // MARK: Recognising a coordinator

  @Test("A coordinator with the pin is recognised; what differs in one thing is not")
  func coordinators() throws {
    let (fleet, other) = (try FleetAuthority(at: Self.now), try FleetAuthority(at: Self.now))
    let key = HostKey().key.publicKey
    func root(_ shown: [Certificate], _ now: Timestamp = Self.now) throws -> Certificate {
      try CoordinatorCheck.root(pinned: fleet.pin, among: try shown.map { try $0.der }, at: now)
    }
    let leaf = try fleet.coordinatorCertificate(for: key, at: Self.now)
    #expect(try root([leaf, fleet.root]) == fleet.root)
    let others = try other.coordinatorCertificate(for: key, at: Self.now)
    let host = try fleet.hostCertificate(for: key, host: Self.desk, lasting: .seconds(60), at: Self.now)
    let wrong: [([Certificate], String)] = [
      ([], "no certificate"), ([leaf], "not of the fleet with this pin"), ([others, other.root], "not of the fleet"),
      ([others, fleet.root], "not signed by the fleet"), ([fleet.root], "not that of a coordinator"),
      ([host, fleet.root], "not that of a coordinator"),
    ]
    for (shown, why) in wrong {
      let error = try #require(throws: IdentityError.self) { try root(shown) }
      #expect(error.description.contains(why))
    }
    for later in [Duration.seconds(31 * 86_400), .seconds(-3600)] {
      let error = try #require(throws: IdentityError.self) { try root([leaf, fleet.root], Self.now + later) }
      #expect(error.description.contains("compare both clocks"))
    }
  }

  @Test("A certificate with the root's name, but signed with another key, is not the fleet's")
  func forgedIssuer() throws {
    let fleet = try FleetAuthority(at: Self.now)
    let forger = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let honest = try fleet.coordinatorCertificate(for: forger.publicKey, at: Self.now)
    let forged = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: forger.publicKey, notValidBefore: honest.notValidBefore,
      notValidAfter: honest.notValidAfter, issuer: fleet.root.subject, subject: honest.subject,
      signatureAlgorithm: .ecdsaWithSHA256, extensions: honest.extensions, issuerPrivateKey: forger)
    let error = try #require(throws: IdentityError.self) {
      try CoordinatorCheck.root(
        pinned: fleet.pin, among: [try forged.der, try fleet.root.der], at: Self.now)
    }
    #expect(error.description.contains("not signed by the fleet"))
  }

  // MARK: Hosts

  @Test("A host's certificate has the name that the caller gives, and nothing of the request but the key")
  func names() throws {
    let fleet = try FleetAuthority(at: Self.now)
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let names = SubjectAlternativeNames([.uniformResourceIdentifier("baton://\(fleet.fleet)/host/boss")])
    let greedy = try CertificateSigningRequest(
      version: .v1, subject: DistinguishedName { CommonName("boss") }, privateKey: key,
      attributes: .init([.init(ExtensionRequest(extensions: .init { names }))]), signatureAlgorithm: .ecdsaWithSHA256)
    let certificate = try fleet.hostCertificate(
      for: try HostKey.publicKey(in: Array(greedy.serializeAsPEM().derBytes)), host: Self.desk, lasting: .seconds(60),
      at: Self.now)
    #expect(
      try certificate.extensions.subjectAlternativeNames
        == SubjectAlternativeNames([.uniformResourceIdentifier("baton://\(fleet.fleet)/host/desk")]))
    #expect(certificate.subject.description == "CN=desk")
    #expect(certificate.end == Self.now + .seconds(60))
    #expect(try certificate.extensions.extendedKeyUsage == ExtendedKeyUsage([.clientAuth]))
    #expect(fleet.root.publicKey.isValidSignature(certificate.signature, for: certificate))
  }

  @Test("A request that its key has not signed, or of another kind of key, is refused")
  func requests() throws {
    let request = try HostKey().request()
    #expect(throws: Never.self) { try HostKey.publicKey(in: request) }
    for position in [request.count - 1, request.count / 2] {
      var damaged = request
      damaged[position] ^= 1
      #expect(throws: IdentityError.self) { try HostKey.publicKey(in: damaged) }
    }
    let other = try CertificateSigningRequest(
      version: .v1, subject: DistinguishedName(), privateKey: .init(P384.Signing.PrivateKey()), attributes: .init())
    #expect(throws: IdentityError("the key in a request for a certificate has to be a P-256 key")) {
      try HostKey.publicKey(in: Array(other.serializeAsPEM().derBytes))
    }
    #expect(throws: IdentityError.self) { try HostKey.publicKey(in: []) }
    #expect(throws: IdentityError.self) { try HostKey.publicKey(in: .init(repeating: 0x30, count: 5000)) }
  }

  @Test("What a host keeps is read as it was written, and only an answer for its own key and name is taken")
  func hostIdentity() throws {
    try Self.withFolder { folder in
      let fleet = try FleetAuthority(at: Self.now)
      let (key, other) = (HostKey(), HostKey())
      func der(_ key: HostKey, _ host: String) throws -> [UInt8] {
        try fleet.hostCertificate(
          for: key.key.publicKey, host: HostName(host), lasting: .seconds(1000), at: Self.now
        ).der
      }
      var identity = HostIdentity(
        fleet: fleet.fleet, host: Self.desk, coordinator: "base:7423", key: "", certificate: "", roots: [])
      for wrong in [try der(other, "desk"), try der(key, "base")] {
        #expect(throws: IdentityError.self) {
          try identity.take(key, certificate: wrong, roots: [try fleet.root.der])
        }
      }
      #expect(throws: IdentityError.self) {
        try identity.take(key, certificate: try der(key, "desk"), roots: [try FleetAuthority(at: Self.now).root.der])
      }
      try identity.take(key, certificate: try der(key, "desk"), roots: [try fleet.root.der])
      try identity.write(dataFolder: folder)
      #expect(try HostIdentity.read(dataFolder: folder) == identity)
      // From five minutes before now to 1,000 seconds after: a half is 350 seconds from now.
      #expect(try identity.renewal(jitter: 0) == Self.now + .seconds(350))
      #expect(try identity.renewal(jitter: 1) == Self.now + .seconds(480))
    }
  }

  @Test("A digest belongs to a secret only if each of its bytes does")
  func digests() {
    let token = CredentialToken()
    #expect(token.has(digest: token.digest))
    for place in 0..<32 {
      var other = token.digest
      other[place] ^= 1
      #expect(!token.has(digest: other), "byte \(place)")
    }
    #expect(!token.has(digest: []) && !token.has(digest: Array(token.digest.prefix(31))))
  }

  @Test("Tokens and pins are read as they are written, and nothing else is")
  func texts() throws {
    let token = JoinToken()
    #expect(try JoinToken(parsing: "\(token)") == token)
    let pin = try FleetAuthority(at: Self.now).pin
    #expect(try Pin(parsing: "\(pin)") == pin)
    let text = "\(token)"
    for wrong in [
      "", "bj1", "bj1__", "bj2\(text.dropFirst(3))", "\(text)0", text.uppercased(), String(text.dropLast(2)),
    ] {
      #expect(throws: IdentityError.self) { try JoinToken(parsing: wrong) }
    }
    for wrong in ["", "sha256:", "\(pin)00", "sha1:\("\(pin)".dropFirst(7))", "\(pin)".uppercased()] {
      #expect(throws: IdentityError.self) { try Pin(parsing: wrong) }
    }
  }
}
