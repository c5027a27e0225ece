import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import ContractRows
import Foundation
import GRPCCore
import HostFixtures
import SwiftProtobuf
import Synchronization
import Testing
import X509

@testable import BatonCoordinator
@testable import BatonWorker

/// How hosts are approved, return after their certificate has ended, and learn a new root.
@Suite("Enrolment", .timeLimit(.minutes(10)))
struct EnrolmentServerTests {
  private static let desk = HostName("desk")

  @Test("A host joins at the first coordinator that answers, and none is named as often as all are silent")
  func severalAddresses() async throws {
    try await ServedFleet.serving { place in
      let nowhere = [HostPort(host: "127.0.0.1", port: 1), HostPort(host: "127.0.0.1", port: 2)]
      let (pin, key) = (place.authority.pin, HostKey())
      let token = try await place.invite("desk")
      let identity = try await Enrolment(endpoints: nowhere + [place.operators], pin: pin, token: token).join(with: key)
      #expect(identity.host == Self.desk && identity.enrolment == "\(place.operators)")
      let error = await #expect(throws: LinkError.self) {
        try await Enrolment(endpoints: nowhere, pin: pin, token: token).join(with: key)
      }
      #expect(error?.code == .unreachable && error?.description.contains("none of the 2") == true)
      let alone = await #expect(throws: LinkError.self) {
        try await Enrolment(endpoint: nowhere[0], pin: pin, token: token).join(with: key)
      }
      let advice = alone?.description ?? ""
      #expect(advice.contains("check the address") && advice.contains("baton coordinator --operators"), "\(advice)")
      #expect(!advice.contains("--coordinator"), "an option that 'join' does not have")
    }
  }

  @Test("A coordinator that no host can reach to join makes no invitation, and says what to do")
  func inviteWithoutListener() async throws {
    try await Self.withFleetFolder { folder, _ in
      var settings = CoordinatorSettings()
      let identities = try HostIdentities(
        authorities: try FleetAuthorities.own(dataFolder: folder, at: SystemClocks.date()), dataFolder: folder)
      settings.identities = identities
      let coordinator = Coordinator(store: try SQLiteStore.inMemory(), settings: settings, logger: Fleet.quiet)
      let error = await #expect(throws: OperatorError.self) {
        _ = try await coordinator.invite(Self.desk, for: .seconds(900), by: "ana", needsApproval: false)
      }
      #expect("\(error as Any)".contains("restart it with --operators"), "\(error as Any)")
      #expect(try await coordinator.store.invitations(of: Self.desk).isEmpty)
      identities.listens(operators: HostPort(host: "127.0.0.1", port: 7422))
      _ = try await coordinator.invite(Self.desk, for: .seconds(900), by: "ana", needsApproval: false)
      #expect(try await coordinator.store.invitations(of: Self.desk).count == 1)
    }
  }

  // MARK: Approval

  @Test("A host that has to be approved gets nothing before the number that it shows was approved", .refuses(16))
  func approval() async throws {
    try await ServedFleet.serving { place in
      let token = try await place.invite("desk", needsApproval: true)
      let key = HostKey()
      let shown = Mailbox<String>(capacity: 1)
      var enrolment = Enrolment(endpoint: place.operators, pin: place.authority.pin, token: token)
      enrolment.onWaiting = { shown.send($0) }
      enrolment.pause = .milliseconds(10)
      let joining = Task { [enrolment] in try await enrolment.join(with: key) }
      let number = try #require(await shown.receive()?.first)
      #expect(number == key.number(pin: place.authority.pin))
      #expect(try await place.coordinator.waitingHosts().map(\.number) == [number])
      #expect(try await place.coordinator.store.certificates().isEmpty)

      for wrong in ["000000", "", String(number.dropLast()), number + " "] where wrong != number {
        await #expect(throws: OperatorError.self) { try await place.coordinator.approve(Self.desk, number: wrong) }
      }
      await #expect(throws: OperatorError.self) {
        try await place.coordinator.approve(HostName("other"), number: number)
      }
      try await place.coordinator.approve(Self.desk, number: number)
      let identity = try await joining.value
      #expect(identity.host == Self.desk)
      _ = try await place.renew(as: identity)
      // Another holder of the token does not get what was approved for the first.
      let thief = HostKey()
      let stolen = try? await Self.join(place, token, thief)
      #expect(stolen?.certificate.isEmpty ?? true)
      #expect(try await place.coordinator.store.certificates().map(\.key).contains(thief.key.publicKey.digest) == false)
    }
  }

  @Test("If two hosts ask with the same invitation, the operator is told, and neither joins", .refuses(16))
  func copiedToken() async throws {
    try await ServedFleet.serving { place in
      let token = try await place.invite("desk", needsApproval: true)
      let (honest, thief) = (HostKey(), HostKey())
      for key in [honest, thief] { #expect(try await Self.join(place, token, key).isWaiting) }
      #expect(try await place.coordinator.waitingHosts().map(\.asking) == [2, 2])
      for key in [honest, thief] {
        let number = key.number(pin: place.authority.pin)
        let error = await #expect(throws: OperatorError.self) {
          try await place.coordinator.approve(Self.desk, number: number)
        }
        let words = "\(error as Any)"
        #expect(words.contains("2 hosts ask with this invitation of desk, from ipv4:127.0.0.1:"), "\(words)")
        #expect(try await Self.join(place, token, key).isWaiting)
      }
      #expect(try await place.coordinator.store.certificates().isEmpty)
      // The way out: the invitation is taken back, and the host gets another one.
      _ = try await place.coordinator.revoke(Self.desk)
      for key in [honest, thief] {
        await #expect(throws: RPCError.self) { _ = try await Self.join(place, token, key) }
      }
      let next = try await place.invite("desk", needsApproval: true)
      #expect(try await Self.join(place, next, honest).isWaiting)
      try await place.coordinator.approve(Self.desk, number: honest.number(pin: place.authority.pin))
      #expect(try await Self.join(place, next, honest).certificate.isEmpty == false)
    }
  }

  private static func join(_ place: ServedFleet, _ token: JoinToken, _ key: HostKey) async throws -> Baton_V1_JoinReply
  {
    try await CoordinatorClient.withSecureClient(place.operators, .pin(place.authority.pin)) { client, _ in
      try await Baton_V1_Enrolment.Client(wrapping: client).join(
        .with {
          $0.invitation = Data(token.id)
          $0.secret = Data(token.secret)
          $0.request = Data((try? key.request()) ?? [])
        }, options: CoordinatorClient.callOptions)
    }
  }

  // MARK: After the end of a certificate

  private static func rejoin(
    _ place: ServedFleet, _ identity: HostIdentity, signedBy key: HostKey? = nil, der: [UInt8]? = nil,
    for other: [UInt8]? = nil
  ) async throws -> Baton_V1_RenewReply {
    let request = try HostKey().request()
    let signature = try (key ?? (try HostKey(pem: identity.key))).signature(of: other ?? request)
    let certificate = try der ?? identity.parsedCertificate.der
    return try await CoordinatorClient.withSecureClient(place.operators, .rejoining(identity)) { client, _ in
      try await Baton_V1_Enrolment.Client(wrapping: client).rejoin(
        .with {
          $0.certificate = Data(certificate)
          $0.request = Data(request)
          $0.signature = Data(signature)
        }, options: CoordinatorClient.callOptions)
    }
  }

  private static func refused(_ body: () async throws -> Baton_V1_RenewReply, _ what: String) async {
    do {
      _ = try await body()
      Issue.record("\(what): served")
    } catch let error as RPCError {
      #expect(error.code == .permissionDenied || error.code == .invalidArgument, "\(what): \(error)")
    } catch {
      Issue.record("\(what): \(error)")
    }
  }

  /// A host that has joined, and whose certificate ended `ago`.
  private static func ended(_ place: ServedFleet, ago: Duration) async throws -> HostIdentity {
    let live = try await place.joined("desk")
    let key = HostKey()
    let end = SystemClocks.date() + (.zero - ago)
    let parsed = try place.authority.hostCertificate(
      for: key.key.publicKey, host: desk, lasting: .seconds(60), at: end + .seconds(-60))
    let certificate = HostCertificate(
      serial: Array(parsed.serialNumber.bytes), host: desk, key: key.key.publicKey.digest, der: try parsed.der,
      end: parsed.end)
    try await place.coordinator.store.renew(
      certificate, after: try Array(live.parsedCertificate.serialNumber.bytes), at: place.coordinator.now().moment)
    place.identities.note(certificate)
    return HostIdentity(
      fleet: place.authority.fleet, host: desk, coordinator: "\(place.workers)", key: try key.pem,
      certificate: try parsed.pem, roots: [try place.authority.root.pem], enrolment: "\(place.operators)")
  }

  @Test(
    "A host whose certificate has ended gets another one with the old key; a thief and a revoked host do not",
    .refuses(17))
  func rejoining() async throws {
    var rates = CallRates()
    rates.rejoins = 1000
    try await ServedFleet.serving(rates: rates) { place in
      let identity = try await Self.ended(place, ago: .seconds(3600))
      await place.expectRefusal(of: identity, "an ended certificate")
      let reply = try await Self.rejoin(place, identity)
      var renewed = identity
      await Self.refused({ try await Self.rejoin(place, identity, signedBy: HostKey()) }, "another key")
      await Self.refused({ try await Self.rejoin(place, identity, for: [1, 2, 3]) }, "another request's signature")
      await Self.refused({ try await Self.rejoin(place, identity, der: [0x30]) }, "no certificate")
      let old = try await Self.ended(place, ago: .seconds(31 * 86_400))
      await Self.refused({ try await Self.rejoin(place, old) }, "31 days ago")
      let unknown = try place.forged {
        try place.authority.hostCertificate(for: $0, host: Self.desk, lasting: .seconds(60), at: SystemClocks.date())
      }
      await Self.refused({ try await Self.rejoin(place, unknown) }, "a certificate that was never given out")
      _ = try await place.coordinator.revoke(Self.desk)
      await Self.refused({ try await Self.rejoin(place, identity) }, "a revoked host")
      // What it got before was revoked with the rest.
      #expect(throws: IdentityError.self) {
        try renewed.take(
          HostKey(),
          HostIdentity.Answer(
            certificate: Array(reply.certificate), serverCertificate: Array(reply.serverCertificate),
            roots: reply.roots.map { Array($0) }))
      }
    }
  }

  @Test("A host that is refused for good uses up none of the joins of its address")
  func refusedRejoins() async throws {
    var rates = CallRates()
    (rates.joins, rates.rejoins) = (2, 3)
    try await ServedFleet.serving(rates: rates) { place in
      let identity = try await Self.ended(place, ago: .seconds(3600))
      _ = try await place.coordinator.revoke(Self.desk)
      for _ in 1...3 { await Self.refused({ try await Self.rejoin(place, identity) }, "a revoked host") }
      let error = await #expect(throws: RPCError.self) { _ = try await Self.rejoin(place, identity) }
      #expect(error?.code == .resourceExhausted)
      #expect(error?.message.contains("too many attempts to get another certificate") == true, "\(error as Any)")
      _ = try await place.joined("base")
    }
  }

  @Test("A host whose certificate an older copy of the store does not know learns that, and a revoked one that it was")
  func reasons() async throws {
    try await ServedFleet.serving { place in
      let key = HostKey()
      func signed(_ end: Duration) throws -> HostIdentity {
        let now = SystemClocks.date() + end + .seconds(-60)
        return try place.forged(key) {
          try place.authority.hostCertificate(for: $0, host: Self.desk, lasting: .seconds(60), at: now)
        }
      }
      for said in [
        try await Self.words { _ = try await place.renew(as: try signed(.seconds(50))) },
        try await Self.words { _ = try await Self.rejoin(place, try signed(.seconds(-50))) },
      ] {
        #expect(said.contains("store does not know this host's certificate"), "\(said)")
        #expect(said.contains("may be an older copy") && said.contains("baton host invite NAME"))
      }
      // A caller that has not the key learns nothing about the certificate.
      let stranger = try await Self.words {
        _ = try await Self.rejoin(place, try signed(.seconds(-50)), signedBy: HostKey())
      }
      #expect(stranger.contains("another fleet's") && !stranger.contains("older copy"), "\(stranger)")
      let old = try await Self.words { _ = try await Self.rejoin(place, try signed(.seconds(-31 * 86_400))) }
      #expect(old.contains("more than 30 days ago"), "\(old)")
      let identity = try await place.joined("desk")
      _ = try await place.coordinator.revoke(Self.desk)
      let revoked = try await Self.words { _ = try await place.renew(as: identity) }
      #expect(revoked.contains("this host was revoked"), "\(revoked)")
    }
  }

  /// What a call is refused with.
  private static func words(_ body: () async throws -> Void) async throws -> String {
    do { try await body() } catch let error as RPCError { return error.message }
    Issue.record("served")
    return ""
  }

  @Test("Each certificate that joining or rejoining gives out has its row, and refused callers have one", .refuses(29))
  func auditLog() async throws {
    try await ServedFleet.serving { place in
      let token = try await place.invite("desk")
      let key = HostKey()
      _ = try await Self.join(place, token, key)
      // The invitation was used with another key, and this token was never made.
      for wrong in [token, JoinToken()] { _ = try? await Self.join(place, wrong, HostKey()) }
      let identity = try await Self.ended(place, ago: .seconds(3600))
      _ = try await Self.rejoin(place, identity)
      await Self.refused({ try await Self.rejoin(place, identity, signedBy: HostKey()) }, "another key")
      _ = try await place.renew(as: try await place.joined("base"))
      #expect(
        try await place.audit() == [
          "desk Join desk done", "desk Join desk failed", " Join  denied", "desk Join desk done",
          "desk Rejoin desk done", " Rejoin  denied", "base Join base done", "base Renew base done",
        ])
      let rows = try await place.coordinator.audit(AuditFilter(), after: 0, limit: 10).map(\.entry)
      let serials = try await place.coordinator.store.certificates().map(\.serial)
      #expect(rows.filter { $0.outcome == .done }.allSatisfy { $0.credential.map(serials.contains) ?? false })
      #expect(rows.first?.detail == "invitedBy=ana")
    }
  }

  @Test("A worker whose certificate has ended gets another one by itself before it connects")
  func renewsWhenEnded() async throws {
    try await ServedFleet.serving { place in
      let identity = try await Self.ended(place, ago: .seconds(3600))
      let folder = place.folder + "/desk"
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try identity.write(dataFolder: folder)
      let renewal = Renewal(dataFolder: folder, clocks: .system, logger: Fleet.quiet, jitter: 0)
      try await renewal.renewIfEnded()
      let renewed = try #require(try HostIdentity.read(dataFolder: folder))
      #expect(renewed.key != identity.key && renewed.serverCertificate != nil)
      _ = try await place.renew(as: renewed)
      try await renewal.renewIfEnded()
      #expect(try HostIdentity.read(dataFolder: folder) == renewed, "a valid certificate is left alone")
    }
  }

  // MARK: A new root

  @Test("A root is replaced over two starts: hosts go on, and the old root counts for nothing at the end", .refuses(40))
  func rotation() async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = folder + "/store"
    let identity = Mutex<HostIdentity?>(nil)
    let old = Mutex<FleetAuthority?>(nil)
    try await ServedFleet.serving(in: folder, store: store) { place in
      let desk = try await place.joined("desk")
      identity.withLock { $0 = desk }
      old.withLock { $0 = place.authority }
      let fleet = try await place.coordinator.rotateRoot()
      #expect(fleet.roots == [try place.authority.root.der], "nothing changes before the next start")
      #expect(fleet.awaitsRestart && fleet.awaitedHosts.isEmpty)
      await #expect(throws: OperatorError.self) { _ = try await place.coordinator.rotateRoot() }
      _ = try await place.renew(as: desk)
    }
    let before = try #require(identity.withLock { $0 })
    let first = try #require(old.withLock { $0 })
    try await ServedFleet.serving(in: folder, store: store) { place in
      #expect(place.authority.root == first.root)
      let fleet = try await place.coordinator.fleet()
      #expect(fleet.roots.count == 2 && fleet.hostsOfOldRoot == 1 && fleet.pin == first.pin)
      #expect(fleet.awaitedHosts == [Self.desk] && !fleet.awaitsRestart)
      var renewed = try #require(identity.withLock { $0 })
      let key = HostKey()
      let reply = try await CoordinatorClient.withSecureClient(place.workers, .host(renewed)) { client, _ in
        try await Baton_V1_Workers.Client(wrapping: client).renew(
          .with { $0.request = Data((try? key.request()) ?? []) }, options: CoordinatorClient.callOptions)
      }
      try renewed.take(
        key,
        HostIdentity.Answer(
          certificate: Array(reply.certificate), serverCertificate: Array(reply.serverCertificate),
          roots: reply.roots.map { Array($0) }))
      #expect(renewed.roots.count == 2)
      // With the certificate of the next root, from this start on; and a host that joins now has it from the beginning.
      _ = try await place.renew(as: renewed)
      _ = try await place.renew(as: try await place.joined("base"))
      let later = try await place.coordinator.fleet()
      #expect(later.hostsOfOldRoot == 0 && later.awaitedHosts.isEmpty && later.awaitsRestart)
      identity.withLock { [renewed] in $0 = renewed }
    }
    try await ServedFleet.serving(in: folder, store: store) { place in
      #expect(place.authority.root != first.root && place.authority.fleet == first.fleet)
      let fleet = try await place.coordinator.fleet()
      #expect(fleet.roots == [try place.authority.root.der] && fleet.pin != first.pin && !fleet.awaitsRestart)
      #expect(place.identities.hostsOfLostRoots(at: SystemClocks.date()).isEmpty)
      _ = try await place.renew(as: try #require(identity.withLock { $0 }))
      await place.expectRefusal(of: before, "the certificate of the old root")
      // The old authority's file signs nothing that counts.
      let forged = try place.forged {
        try first.hostCertificate(for: $0, host: Self.desk, lasting: .seconds(60), at: SystemClocks.date())
      }
      await place.expectRefusal(of: forged, "signed by the old authority")
    }
  }

  @Test("After the loss of the authority the coordinator names the hosts that cannot come back")
  func lostAuthority() async throws {
    try await Self.withFleetFolder { folder, store in
      try await ServedFleet.serving(in: folder, store: store) { place in
        for host in ["desk", "base", "gone"] { _ = try await place.joined(host) }
        _ = try await place.coordinator.revoke(HostName("gone"))
        #expect(place.identities.hostsOfLostRoots(at: SystemClocks.date()).isEmpty)
      }
      try FileManager.default.removeItem(atPath: FleetAuthorities.path(dataFolder: folder))
      try await ServedFleet.serving(in: folder, store: store) { place in
        #expect(place.identities.hostsOfLostRoots(at: SystemClocks.date()) == [HostName("base"), Self.desk])
        let said = LogLines()
        let identities = place.identities
        Coordinator(store: place.coordinator.store, settings: CoordinatorSettings(), logger: said.logger)
          .noteLostRoots(identities)
        let lines = said.all
        #expect(lines.count == 1 && lines[0].hasPrefix("error: hosts have joined"), "\(lines)")
        #expect(lines.first?.contains("hosts=base, desk") == true, "\(lines)")
        _ = try await place.joined("desk")
        #expect(place.identities.hostsOfLostRoots(at: SystemClocks.date()) == [HostName("base")])
      }
    }
  }

  @Test(
    "A rotation without hosts: the first start serves with both roots, the second drops the old one")
  func rotationWithoutHosts() async throws {
    try await Self.withFleetFolder { folder, store in
      try await ServedFleet.serving(in: folder, store: store) { _ = try await $0.coordinator.rotateRoot() }
      for roots in [2, 1] {
        try await ServedFleet.serving(in: folder, store: store) { place in
          let fleet = try await place.coordinator.fleet()
          #expect(fleet.roots.count == roots)
        }
      }
    }
  }

  @Test("A rotation soon after another one waits for each host: a certificate of the root before does not count")
  func secondRotation() async throws {
    try await Self.withFleetFolder { folder, store in
      try await ServedFleet.serving(in: folder, store: store) { place in
        _ = try await place.joined("desk")
        _ = try await place.coordinator.rotateRoot()
      }
      // The first rotation is over. The host has valid certificates of both roots.
      try await ServedFleet.serving(in: folder, store: store) { _ = try await $0.joined("desk") }
      try await ServedFleet.serving(in: folder, store: store) { place in
        #expect(try await place.coordinator.fleet().roots.count == 1)
        _ = try await place.coordinator.rotateRoot()
      }
      for _ in 1...2 {
        try await ServedFleet.serving(in: folder, store: store) { place in
          let fleet = try await place.coordinator.fleet()
          #expect(fleet.roots.count == 2 && fleet.hostsOfOldRoot == 1)
        }
      }
    }
  }

  private static func withFleetFolder(_ body: (_ folder: String, _ store: String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder, folder + "/store")
  }
}
