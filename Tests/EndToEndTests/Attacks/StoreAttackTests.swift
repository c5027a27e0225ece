import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import BatonWorker
import ContractRows
import Foundation
import GRDB
import GRPCCore
import HostileDefinitions
import SwiftProtobuf
import Testing
import X509

/// Attacks that need time to pass, or another store below the coordinator process.
extension EndToEnd {
  @Suite("Attacks with an older or edited store are refused by the real programs", .timeLimit(.minutes(10)))
  struct StoreAttackTests {
    private func insert(_ certificate: Certificate, _ host: String, into database: Database) throws {
      try database.execute(
        sql: "INSERT INTO certificate (serial, host, key, der, ends_at) VALUES (?, ?, ?, ?, ?)",
        arguments: [
          Data(certificate.serialNumber.bytes), host, Data(certificate.publicKey.digest), Data(try certificate.der),
          certificate.end.nanoseconds,
        ])
    }

    @Test(
      "With an older store, what was revoked stays revoked, and an invitation that was used stays used", .refuses(14))
    func olderStore() async throws {
      let fleet = try await AttackedFleet()
      defer { fleet.processes.stop() }
      let (kept, gone) = (try await fleet.joined("kept"), try await fleet.joined("gone"))
      let (alice, bob) = (try await fleet.credential("alice", "read"), try await fleet.credential("bob", "read"))
      let invitation = try await fleet.invite("base")
      let (data, older) = (fleet.processes.folder + "/coordinator", fleet.processes.folder + "/older.sqlite")
      #expect(try await fleet.processes.baton("store", "backup", older).status == 0)
      _ = try await fleet.join(invitation)
      #expect(try await fleet.processes.baton("host", "revoke", "gone").status == 0)
      #expect(try await fleet.processes.baton("credential", "revoke", "alice").status == 0)
      try await fleet.restart {
        for suffix in ["", "-wal", "-shm"] {
          try? FileManager.default.removeItem(atPath: "\(data)/baton.sqlite\(suffix)")
        }
        try FileManager.default.copyItem(atPath: older, toPath: "\(data)/baton.sqlite")
        chmod("\(data)/baton.sqlite", 0o600)
      }
      func whoAmI(_ token: CredentialToken) async throws -> RPCError.Code? {
        try await fleet.error(token) { _ = try await $0.whoAmI(.init(), metadata: $1, options: $2) }?.code
      }
      #expect(try await whoAmI(bob) == nil, "the control")
      try await fleet.renew(trusting: .host(kept))
      try await fleet.changingNothing("what was revoked or used") {
        let code = try await whoAmI(alice)
        #expect(code == .unauthenticated)
        await fleet.expectRefusal(trusting: .host(gone), "a revoked certificate", by: .call)
        let error = await #expect(throws: EnrolmentRefusal.self) { _ = try await fleet.join(invitation) }
        #expect(error?.description.contains("no invitation with this token") == true)
      }
    }

    @Test(
      "Certificates that TLS must not take are refused, though the store has them; streams end with their proof",
      .refuses(7, 15, 20))
    func ends() async throws {
      let fleet = try await AttackedFleet()
      defer { fleet.processes.stop() }
      let (own, now, desk) = (fleet.authority, AttackedFleet.now, HostName("desk"))
      let stranger = try FleetAuthority(at: now)
      let token = try await fleet.credential("short", "read")
      let spent = try await fleet.credential("spent", "admin")
      try fleet.processes.write(
        "identifier: com.watched\nkind: processing\nwork: {command: ['true']}\n", to: "watched.yaml")
      #expect(try await fleet.processes.baton("submit", "-f", "watched.yaml").status == 0)
      func signed(
        _ authority: FleetAuthority, at time: Timestamp, lasting: Duration = .seconds(3600)
      ) throws -> HostIdentity {
        try fleet.forged { try authority.hostCertificate(for: $0, host: desk, lasting: lasting, at: time) }
      }
      let valid = try signed(own, at: now)
      let refused = [
        ("another fleet's", try signed(stranger, at: now)),
        ("one of yesterday", try signed(own, at: now + .seconds(-86_400))),
        ("one of tomorrow", try signed(own, at: now + .seconds(86_400))),
        ("a coordinator's", try fleet.forged { try own.coordinatorCertificate(for: $0, at: now) }),
        (
          "a host's server's",
          try fleet.forged { try own.serverCertificate(for: $0, host: desk, lasting: .seconds(3600), at: now) }
        ),
      ]
      var short = valid
      try await fleet.restart {
        // Both end soon after the start.
        let end = AttackedFleet.now + .seconds(4)
        short = try signed(own, at: end + .seconds(-60), lasting: .seconds(60))
        try fleet.editing { database in
          for identity in refused.map(\.1) + [valid, short] {
            try insert(try identity.parsedCertificate, "desk", into: database)
          }
          try database.execute(
            sql: "UPDATE credential SET ends_at = ? WHERE name = 'short'", arguments: [end.nanoseconds])
          try database.execute(sql: "UPDATE credential SET ends_at = 1 WHERE name = 'spent'")
        }
      }
      let worker = try HostileWorker(fleet, as: short)
      worker.say(.hello(HostileWorker.hello("desk")))
      #expect(await worker.refusal() == nil, "the control: the certificate has not ended yet")
      async let watched = fleet.error(token) { client, metadata, options in
        try await client.watch(.with { $0.identifier = "com.watched" }, metadata: metadata, options: options) {
          for try await _ in $0.messages {}
        }
      }
      // The control: it is served, and its renewal is recorded.
      try await fleet.renew(trusting: .host(valid))
      try await fleet.changingNothing("certificates in the store") {
        for (what, identity) in refused { await fleet.expectRefusal(trusting: .host(identity), what, by: .handshake) }
      }
      await worker.ended()
      let ended = try await watched
      #expect(ended?.code == .unauthenticated && ended?.message.contains("has ended") == true, "\(ended as Any)")
      #expect(try AttackedFleet.now > short.parsedCertificate.end + .seconds(-1))
      try await fleet.changingNothing("after the end") {
        await fleet.expectRefusal(trusting: .host(short), "a certificate that has ended", by: .handshake)
        for token in [token, spent] {
          let after = try await fleet.error(token) { _ = try await $0.whoAmI(.init(), metadata: $1, options: $2) }
          #expect(after?.code == .unauthenticated)
        }
      }
    }

    @Test("Requests of hostile definitions that a store has fail with the reason, and are not retried", .refuses(26))
    func storedDefinitions() async throws {
      let fleet = try await AttackedFleet()
      defer { fleet.processes.stop() }
      let names = HostileDefinition.all.indices.map { "com.hostile.h\($0)" }
      let text = names.map { "identifier: \($0)\nkind: processing\nwork: {command: ['true']}\n" }
      try fleet.processes.write(text.joined(separator: "---\n"), to: "all.yaml")
      let applied = try await fleet.processes.baton("apply", "all.yaml")
      #expect(applied.status == 0, "\(applied)")
      let token = try await fleet.credential("submitter", "submit")
      let admin = try await fleet.credential("ana", "admin")
      let accepted = try await fleet.asOperator(token) { client, metadata, options in
        let items = names.map { name in Baton_V1_SubmitRequest.Item.with { ($0.id, $0.identifier) = (name, name) } }
        return try await client.submit(.with { $0.items = items }, metadata: metadata, options: options)
          .answers.filter(\.hasAccepted).count
      }
      #expect(accepted == names.count)
      try await fleet.restart {
        try fleet.editing { database in
          for (index, hostile) in HostileDefinition.all.enumerated() {
            try database.execute(
              sql: "UPDATE definition SET content = ? WHERE pattern = (SELECT id FROM pattern WHERE name = ?)",
              arguments: [hostile.json, names[index]])
          }
        }
      }
      let states = try fleet.reading { try Int.fetchAll($0, sql: "SELECT state FROM request") }
      #expect(states.count == names.count && Set(states) == [4], "each has failed: \(states)")
      try await fleet.changingNothing("retries") {
        try await fleet.asOperator(admin) { client, metadata, options in
          for name in names {
            for skips in [false, true] {
              let error = await #expect(throws: RPCError.self, "\(name)") {
                _ = try await client.retry(
                  .with { ($0.identifier, $0.skipBatch) = (name, skips) }, metadata: metadata, options: options)
              }
              #expect(error?.code == .failedPrecondition, "\(name): \(error as Any)")
            }
          }
        }
      }
      // A neighbour is served.
      try await fleet.processes.startWorker("near")
      try fleet.processes.write(
        "identifier: com.near\nkind: processing\nwork: {command: ['true']}\n", to: "near.yaml")
      #expect(try await fleet.processes.baton("submit", "-f", "near.yaml", "--wait").status == 0)
    }

    @Test("Over a replaced root hosts go on, and the old root and a forged one count for nothing", .refuses(40))
    func rotation() async throws {
      let fleet = try await AttackedFleet()
      defer { fleet.processes.stop() }
      let old = try await fleet.joined("desk")
      // An answer of a coordinator with a root that the host has no reason to trust.
      let (stranger, key) = (try FleetAuthority(at: AttackedFleet.now), HostKey())
      let certificate = try stranger.hostCertificate(
        for: key.key.publicKey, host: HostName("desk"), lasting: .seconds(3600), at: AttackedFleet.now)
      var forged = old
      #expect(throws: IdentityError.self) {
        try forged.take(
          key,
          HostIdentity.Answer(
            certificate: try certificate.der, serverCertificate: [], roots: [try stranger.root.der]))
      }
      #expect(forged == old)
      #expect(try await fleet.processes.baton("fleet", "rotate").status == 0)
      try await fleet.restart {}
      #expect(try await fleet.processes.baton("fleet", "show", "-o", "json").output.contains("\"roots\": 2"))
      // The host knows only the old root, and learns the next one when it renews.
      let renewed = try await fleet.renewed(old)
      #expect(renewed.roots.count == 2)
      try await fleet.restart {}
      #expect(try await fleet.processes.baton("fleet", "show", "-o", "json").output.contains("\"roots\": 1"))
      try await fleet.renew(trusting: .host(renewed))
      await fleet.expectRefusal(trusting: .host(old), "a host that knows only the old root", by: .handshake)
      let signedByOld = try fleet.forged {
        try fleet.authority.hostCertificate(
          for: $0, host: HostName("desk"), lasting: .seconds(3600), at: AttackedFleet.now)
      }
      var thief = signedByOld
      thief.roots = renewed.roots
      await fleet.expectRefusal(trusting: .host(thief), "a certificate of the old root", by: .handshake)
    }
  }
}

extension AttackedFleet {
  /// The identity of a host after a renewal.
  fileprivate func renewed(_ identity: HostIdentity) async throws -> HostIdentity {
    let key = HostKey()
    let request = try key.request()
    let reply = try await CoordinatorClient.withSecureClient(try workers, .host(identity)) { client, _ in
      try await Baton_V1_Workers.Client(wrapping: client).renew(
        .with { $0.request = Data(request) }, options: CoordinatorClient.callOptions)
    }
    var renewed = identity
    try renewed.take(
      key,
      HostIdentity.Answer(
        certificate: Array(reply.certificate), serverCertificate: Array(reply.serverCertificate),
        roots: reply.roots.map { Array($0) }))
    return renewed
  }
}
