import BatonIdentity
import BatonModel
import ContractRows
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
      #expect(try FleetAuthorities.read(dataFolder: folder) == nil)
      let drawn = try FleetAuthorities.own(dataFolder: folder, at: Self.now)
      let read = try #require(try FleetAuthorities.read(dataFolder: folder))
      #expect(read.present.root == drawn.present.root && read.next == nil)
      let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/authority.pem")
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["authority.pem"])
      #expect(try FleetAuthority(at: Self.now).pin != drawn.present.pin)
    }
  }

  @Test(
    "An authority that others may read, or that is damaged, is refused and not replaced", .refuses(39),
    arguments: [0o640, 0o604])
  func exposedAuthority(mode: Int) throws {
    try Self.withFolder { folder in
      _ = try FleetAuthorities.own(dataFolder: folder, at: Self.now)
      let path = folder + "/authority.pem"
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      #expect(
        throws: IdentityError(
          "\(path) has mode \(String(mode, radix: 8)), so other users may read or change it: chmod 600 \(path)")
      ) {
        try FleetAuthorities.own(dataFolder: folder, at: Self.now)
      }
      let text = try String(contentsOfFile: path, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      for damaged in ["", "nonsense", String(text.prefix(text.count / 2))] {
        try Data(damaged.utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: IdentityError.self) { try FleetAuthorities.own(dataFolder: folder, at: Self.now) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == damaged)
      }
    }
  }

  @Test("A symbolic link is not followed to an identity", .refuses(39))
  func link() throws {
    try Self.withFolder { folder in
      try Self.withFolder { other in
        _ = try FleetAuthorities.own(dataFolder: other, at: Self.now)
        try FileManager.default.createSymbolicLink(
          atPath: folder + "/authority.pem", withDestinationPath: other + "/authority.pem")
        #expect(throws: IdentityError.self) { try FleetAuthorities.read(dataFolder: folder) }
      }
    }
  }

  // MARK: Recognising a coordinator

  @Test("A coordinator with the pin is recognised; what differs in one thing is not", .refuses(1))
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

  @Test("A request that its key has not signed, or of another kind of key, is refused", .refuses(16))
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
      func answer(
        _ certificate: [UInt8], _ authorities: [FleetAuthority], server: [UInt8] = []
      ) throws -> HostIdentity.Answer {
        HostIdentity.Answer(
          certificate: certificate, serverCertificate: server, roots: try authorities.map { try $0.root.der })
      }
      var identity = HostIdentity(
        fleet: fleet.fleet, host: Self.desk, coordinator: "base:7423", key: "", certificate: "", roots: [])
      for wrong in [try der(other, "desk"), try der(key, "base")] {
        #expect(throws: IdentityError.self) {
          try identity.take(key, answer(wrong, [fleet]))
        }
      }
      #expect(throws: IdentityError.self) {
        try identity.take(key, answer(try der(key, "desk"), [try FleetAuthority(at: Self.now)]))
      }
      let server = try fleet.serverCertificate(
        for: other.key.publicKey, host: Self.desk, lasting: .seconds(1000), at: Self.now)
      #expect(throws: IdentityError.self) {
        try identity.take(key, answer(try der(key, "desk"), [fleet], server: try server.der))
      }
      try identity.take(key, answer(try der(key, "desk"), [fleet]))
      try identity.write(dataFolder: folder)
      #expect(try HostIdentity.read(dataFolder: folder) == identity)
      // It was signed now for 1,000 seconds. The five minutes before that are for clocks that differ.
      #expect(try identity.renewal(jitter: 0) == Self.now + .seconds(500))
      #expect(try identity.renewal(jitter: 1) == Self.now + .seconds(600))
    }
  }

  @Test("A root is replaced by one that is announced beside it; a forged bundle of roots is refused", .refuses(40))
  func rotation() throws {
    try Self.withFolder { folder in
      let old = try FleetAuthorities.own(dataFolder: folder, at: Self.now).present
      let key = HostKey()
      func answer(_ signer: FleetAuthority, _ roots: [FleetAuthority]) throws -> HostIdentity.Answer {
        let certificate = try signer.hostCertificate(
          for: key.key.publicKey, host: Self.desk, lasting: .seconds(1000), at: Self.now)
        let server = try signer.serverCertificate(
          for: key.key.publicKey, host: Self.desk, lasting: .seconds(1000), at: Self.now)
        return HostIdentity.Answer(
          certificate: try certificate.der, serverCertificate: try server.der, roots: try roots.map { try $0.root.der })
      }
      var identity = HostIdentity(
        fleet: old.fleet, host: Self.desk, coordinator: "base:7420", key: "", certificate: "", roots: [])
      try identity.take(key, try answer(old, [old]))

      try FleetAuthorities.rotate(dataFolder: folder, at: Self.now)
      #expect(throws: IdentityError("the fleet's root is being replaced already")) {
        try FleetAuthorities.rotate(dataFolder: folder, at: Self.now)
      }
      let both = try #require(try FleetAuthorities.read(dataFolder: folder))
      let next = try #require(both.next)
      #expect(both.present.root == old.root && both.roots == [old.root, next.root] && next.fleet == old.fleet)
      #expect(both.ofHosts.root == next.root && next.root.subject != old.root.subject)

      // An authority with the same id that this host was never told of, alone and beside others.
      let forged = try FleetAuthority(after: old, at: Self.now)
      let stranger = try FleetAuthority(at: Self.now)
      for (signer, roots) in [
        (forged, [forged]), (next, [next]), (forged, [forged, next]), (old, [old, stranger]), (next, [old]),
        (forged, [old, next]), (old, [old, next, forged]), (old, []),
      ] {
        #expect(throws: IdentityError.self) { try identity.take(key, try answer(signer, roots)) }
      }
      try identity.take(key, try answer(next, [old, next]))
      #expect(identity.roots == [try old.root.pem, try next.root.pem])

      let completed = try both.completed(dataFolder: folder)
      #expect(completed.present.root == next.root && completed.next == nil)
      #expect(try FleetAuthorities.read(dataFolder: folder)?.roots == [next.root])
      try identity.take(key, try answer(next, [next]))
      #expect(identity.roots == [try next.root.pem])
    }
  }

  @Test("An operator's login learns a next root from one that it knows, and no other", .refuses(40))
  func loginRoots() throws {
    let old = try FleetAuthority(at: Self.now)
    let next = try FleetAuthority(after: old, at: Self.now)
    var login = try FleetLogin(address: "base:7422", root: old.root, token: CredentialToken())
    for wrong in [[next], [try FleetAuthority(at: Self.now)], [], [old, try FleetAuthority(at: Self.now)]] {
      #expect(throws: IdentityError.self) { try login.learn(roots: try wrong.map { try $0.root.der }) }
    }
    #expect(try !login.learn(roots: [try old.root.der]))
    #expect(try login.learn(roots: [try old.root.der, try next.root.der]))
    #expect(try login.learn(roots: [try next.root.der]))
    #expect(login.roots == [try next.root.pem])
  }

  @Test("Only the key of a certificate signs for another one, and only for the request that it was asked to")
  func rejoining() throws {
    let (key, other) = (HostKey(), HostKey())
    let (request, another) = (try HostKey().request(), try HostKey().request())
    let signature = try key.signature(of: request)
    #expect(HostKey.hasSigned(request, signature, key: key.key.publicKey))
    #expect(!HostKey.hasSigned(another, signature, key: key.key.publicKey))
    #expect(!HostKey.hasSigned(request, signature, key: other.key.publicKey))
    #expect(!HostKey.hasSigned(request, try other.signature(of: request), key: key.key.publicKey))
    #expect(!HostKey.hasSigned(request, [], key: key.key.publicKey))
  }

  @Test("The number of a host that waits depends on its key and on the fleet's pin, and has six digits")
  func number() throws {
    let (one, other) = (try FleetAuthority(at: Self.now).pin, try FleetAuthority(at: Self.now).pin)
    let keys = (0..<50).map { _ in HostKey() }
    let numbers = Set(keys.map { $0.number(pin: one) })
    #expect(numbers.count >= 49 && numbers.allSatisfy { $0.utf8.count == 6 && UInt($0) != nil })
    #expect(keys.contains { $0.number(pin: one) != $0.number(pin: other) })
    #expect(keys[0].number(pin: one) == HostKey.number(of: keys[0].key.publicKey, pin: one))
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
