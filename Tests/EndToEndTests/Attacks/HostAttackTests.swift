import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import BatonWorker
import ContractRows
import Crypto
import Foundation
import GRDB
import GRPCCore
import HostFixtures
import SwiftASN1
import SwiftProtobuf
import Testing
import X509

/// Attacks of programs that are, or pretend to be, hosts of the fleet, on a coordinator process.
extension EndToEnd {
  @Suite("Attacks of hosts on the real programs are refused", .serialized, .attackedFleet, .timeLimit(.minutes(10)))
  struct HostAttackTests {
    private func fleet() throws -> AttackedFleet { try #require(AttackedFleet.current) }
    private static let desk = HostName("desk")

    // MARK: Joining

    private func join(
      _ fleet: AttackedFleet, _ token: JoinToken, request: [UInt8]
    ) async throws -> Baton_V1_JoinReply {
      try await CoordinatorClient.withSecureClient(try fleet.operators, .pin(fleet.authority.pin)) { client, _ in
        try await Baton_V1_Enrolment.Client(wrapping: client).join(
          .with { ($0.invitation, $0.secret, $0.request) = (Data(token.id), Data(token.secret), Data(request)) },
          options: CoordinatorClient.callOptions)
      }
    }

    @Test("An invitation is good once, for its name, and nothing in a request or a guess changes it", .refuses(16))
    func invitations() async throws {
      let fleet = try fleet()
      let (token, late) = (try await fleet.invite("once"), try await fleet.invite("late", for: "1s"))
      let other = try FleetAuthority(at: AttackedFleet.now).pin
      let request = try HostKey().request()
      try await fleet.changingNothing("a guess, a wrong pin, a request without its key") {
        let guesses = try (0..<50).map { number in
          try JoinToken(
            id: number % 2 == 0 ? token.id : JoinToken().id, secret: Array(repeating: UInt8(number), count: 32))
        }
        var words: Set<String> = []
        for guess in guesses {
          let error = await #expect(throws: RPCError.self) { _ = try await join(fleet, guess, request: request) }
          words.insert(error?.message ?? "")
        }
        #expect(words.count == 1 && words.first?.contains("no invitation with this token") == true, "\(words)")
        let pin = await #expect(throws: LinkError.self) { _ = try await fleet.join(token, pin: other) }
        #expect(pin?.code == .notPermitted && pin?.description.contains("not of the fleet with this pin") == true)
        var unsigned = request
        unsigned[unsigned.count - 1] ^= 1
        for request in [unsigned, []] {
          let error = await #expect(throws: RPCError.self) { _ = try await join(fleet, token, request: request) }
          #expect(error?.code == .invalidArgument)
        }
      }
      let names = SubjectAlternativeNames([
        .uniformResourceIdentifier(FleetAuthority.hostName(HostName("boss"), in: fleet.authority.fleet))
      ])
      let greedy = try CertificateSigningRequest(
        version: .v1, subject: DistinguishedName { CommonName("boss") },
        privateKey: Certificate.PrivateKey(P256.Signing.PrivateKey()),
        attributes: .init([.init(ExtensionRequest(extensions: .init { names }))]), signatureAlgorithm: .ecdsaWithSHA256)
      let reply = try await join(fleet, token, request: Array(try greedy.serializeAsPEM().derBytes))
      let certificate = try Certificate(der: Array(reply.certificate))
      #expect(reply.host == "once" && certificate.subject.description == "CN=once")
      #expect(!"\(certificate.extensions)".contains("boss"))
      let again = await #expect(throws: RPCError.self) { _ = try await join(fleet, token, request: request) }
      #expect(again?.message.contains("has joined with this invitation already") == true)
      // The coordinator says itself when the invitation has ended.
      while try await fleet.isOpen(late) { await Task.yield() }
      try await fleet.changingNothing("an invitation that has ended") {
        let error = await #expect(throws: RPCError.self) { _ = try await join(fleet, late, request: request) }
        #expect(error?.message.contains("has expired") == true, "\(error as Any)")
      }
    }

    // MARK: Certificates

    @Test("A caller without a certificate, or with one that was never given out, is no host", .refuses(7))
    func certificates() async throws {
      let fleet = try fleet()
      let identity = try await fleet.joined("known")
      let now = AttackedFleet.now
      let (own, stranger) = (fleet.authority, try FleetAuthority(at: now))
      func signed(_ authority: FleetAuthority, at time: Timestamp = now) throws -> ClientTrust {
        .host(
          try fleet.forged {
            try authority.hostCertificate(for: $0, host: Self.desk, lasting: .seconds(3600), at: time)
          })
      }
      var server = identity
      server.certificate = try #require(identity.serverCertificate)
      let coordinators = try fleet.forged { try own.coordinatorCertificate(for: $0, at: now) }
      let last = try fleet.lastAudit()
      try await fleet.changingNothing("certificates") {
        await fleet.expectRefusal(trusting: .pin(own.pin), "no certificate", by: .handshake)
        await fleet.expectRefusal(trusting: .rejoining(identity), "the roots alone", by: .handshake)
        await fleet.expectRefusal(trusting: try signed(stranger), "another fleet's", by: .handshake)
        for shift in [Duration.seconds(-86_400), .seconds(86_400)] {
          await fleet.expectRefusal(trusting: try signed(own, at: now + shift), "another day's", by: .handshake)
        }
        await fleet.expectRefusal(trusting: .host(coordinators), "a coordinator's", by: .handshake)
        await fleet.expectRefusal(trusting: .host(server), "that of a host's own server", by: .handshake)
        await fleet.expectRefusal(trusting: try signed(own), "never given out", by: .call)
      }
      // TLS has refused eight connections in this minute, which are one row. Its row is written a moment later.
      let refusals = ["TLS refused the certificate, or none was shown", "no valid certificate of a host"]
      while try fleet.audit(after: last).count < refusals.count { await Task.yield() }
      let rows = try fleet.audit(after: last)
      #expect(Set(rows.map(\.detail)) == Set(refusals) && rows.count == 2, "\(rows)")
      #expect(rows.allSatisfy { $0.outcome == "denied" && $0.actor.isEmpty }, "\(rows)")
      try await fleet.renew(trusting: .host(identity))
    }

    @Test("A host says nothing under the name of another host, nor about the other's launch", .refuses(10, 11))
    func otherHosts() async throws {
      let fleet = try fleet()
      let (owner, thief) = (try await fleet.joined("owner"), try await fleet.joined("thief"))
      let worker = try HostileWorker(fleet, as: owner)
      defer { worker.close() }
      worker.say(.hello(HostileWorker.hello("owner")))
      try fleet.processes.write(
        "identifier: com.held.job\nkind: continued\ntitle: Held\n", to: "held.yaml")
      let submitted = try await fleet.processes.baton("submit", "-f", "held.yaml")
      #expect(submitted.status == 0, "\(submitted)")
      let launch = try #require(
        await worker.hears { if case .launch(let assignment) = $0 { assignment.launch } else { nil } })
      worker.say(.checkpoint(Checkpoint(launch: launch, batch: 0, completedUnits: 1)))
      #expect(await worker.hears { if case .committed(launch, 0, _) = $0 { true } else { nil } } == true)

      try await fleet.changingNothing("a hello with the name of another host") {
        let squatter = try HostileWorker(fleet, as: thief)
        squatter.say(.hello(HostileWorker.hello("owner")))
        #expect(await squatter.refusal()?.contains("is for another host") == true)
        await squatter.ended()
        let error = await #expect(throws: RPCError.self) {
          try await CoordinatorClient.withSecureClient(try fleet.workers, .host(thief)) { client, _ in
            _ = try await Baton_V1_Workers.Client(wrapping: client).reportDeath(
              .with { ($0.host, $0.incarnation) = ("owner", "owner-1") }, options: CoordinatorClient.callOptions)
          }
        }
        #expect(error?.code == .permissionDenied)
      }

      let stranger = try HostileWorker(fleet, as: thief)
      defer { stranger.close() }
      var hello = HostileWorker.hello("thief")
      (hello.capabilities.slots, hello.running) = (0, [RunningLaunch(launch: launch)])
      stranger.say(.hello(hello))
      let withdrawn: Bool? = await stranger.hears { if case .withdraw(launch, _) = $0 { true } else { nil } }
      #expect(withdrawn == true, "a hello that claims the launch")
      let forged: [WorkerMessage] = [
        .checkpoint(
          Checkpoint(launch: launch, batch: 1, cursor: [9], completedUnits: 9, subtitle: "forged", reachesEnd: true)),
        .ended(Ending(launch: launch, outcome: .finished)), .ended(Ending(launch: launch, outcome: .failed("forged"))),
        .ended(Ending(launch: launch, outcome: .lost)),
        .items(ItemPage(launch: launch, start: 0, items: ["forged"], isLast: true)),
        .output(OutputChunk(launch: launch, bytes: [9])),
        .update(LaunchUpdate(launch: launch, title: "forged", subtitle: "forged", completedUnits: 9, totalUnits: 9)),
        .expiring(launch, .thermal), .overran(launch, .thermal),
      ]
      try await fleet.changingNothing("messages about the launch of another host") {
        for message in forged {
          stranger.say(message)
          // The coordinator answers in order. This launch does not exist.
          let mark = LaunchKey(request: launch.request, number: 99)
          stranger.say(.itemsWanted(mark, start: 0, count: 1))
          let answered: Bool? = await stranger.hears { answer in
            if case .withdraw(mark, _) = answer { true } else { nil }
          }
          #expect(answered == true, "\(message)")
        }
        stranger.say(.itemsWanted(launch, start: 0, count: 9))
        let items: [String]? = await stranger.hears { answer in
          switch answer {
          case .withdraw(launch, _): []
          case .items(let page) where page.launch == launch: page.items
          default: nil
          }
        }
        #expect(items == [], "items of another host were given")
      }
      worker.say(.ended(Ending(launch: launch, outcome: .finished)))
      #expect(await worker.hears { if case .endingCommitted(launch) = $0 { true } else { nil } } == true)
    }

    @Test(
      "What a host sends beyond a limit is refused by the coordinator process with the limit's name, or cut",
      .refuses(25))
    func limits() async throws {
      let fleet = try fleet()
      let identity = try await fleet.joined("large")
      try await fleet.changingNothing("a hello with one more than each limit") {
        for limit in HelloLimits.all {
          let worker = try HostileWorker(fleet, as: identity)
          worker.say(.hello(HelloLimits.change(HostileWorker.hello("large"), limit.most + 1, of: limit)))
          let why = await worker.refusal()
          // A name that is too long is not that of the certificate either, which is looked at first.
          let expected = limit == WireLimits.hostName ? "is for another host" : "\(limit.most)"
          #expect(why?.contains(expected) == true, "\(limit.name): \(why as Any)")
          worker.close()
          await worker.ended()
        }
      }
      let worker = try HostileWorker(fleet, as: identity)
      defer { worker.close() }
      worker.say(.hello(HostileWorker.hello("large")))
      try fleet.processes.write("identifier: com.held.large\nkind: continued\ntitle: Large\n", to: "large.yaml")
      #expect(try await fleet.processes.baton("submit", "-f", "large.yaml").status == 0)
      let launch = try #require(
        await worker.hears { if case .launch(let assignment) = $0 { assignment.launch } else { nil } })
      let text = String(repeating: "x", count: WireLimits.failure.most + 1)
      func longest() async throws -> Set<Int> {
        let shown = try await fleet.processes.baton("show", "com.held.large", "-o", "json").output
        return Set(shown.matches(of: /x{100,}/).map(\.0.count))
      }
      worker.say(.checkpoint(Checkpoint(launch: launch, batch: 0, completedUnits: 1, subtitle: text)))
      #expect(await worker.hears { if case .committed(launch, 0, _) = $0 { true } else { nil } } == true)
      #expect(try await longest() == [WireLimits.text.most])
      worker.say(.ended(Ending(launch: launch, outcome: .failed(text))))
      #expect(await worker.hears { if case .endingCommitted(launch) = $0 { true } else { nil } } == true)
      #expect(try await longest().contains(WireLimits.failure.most))
    }

    @Test("A receipt that a host forges does not pause the fleet", .refuses(12))
    func receipts() async throws {
      let fleet = try fleet()
      let identity = try await fleet.joined("prophet")
      let first = try HostileWorker(fleet, as: identity)
      first.say(.hello(HostileWorker.hello("prophet")))
      let genuine: Receipt = try #require(
        await first.hears { if case .receipt(let receipt) = $0 { receipt } else { nil } })
      first.say(.draining)
      first.close()
      await first.ended()
      var later = genuine
      later.sequence = .max
      var unsigned = later
      unsigned.seal = []
      var otherTenure = genuine
      otherTenure.tenure ^= 1
      for (number, forged) in [later, unsigned, otherTenure].enumerated() {
        let worker = try HostileWorker(fleet, as: identity)
        worker.say(.hello(HostileWorker.hello("prophet", "\(number + 2)", receipt: forged)))
        #expect(await worker.refusal() == nil)
        worker.say(.draining)
        worker.close()
        await worker.ended()
        let isPaused = try fleet.reading { try Bool.fetchOne($0, sql: "SELECT is_paused FROM store") }
        #expect(isPaused == false, "\(forged)")
      }
    }

    @Test(
      "The stream of a revoked host ends within a second, and its certificate renews and rejoins nothing",
      .refuses(13, 17))
    func revocation() async throws {
      let fleet = try fleet()
      let identity = try await fleet.joined("gone")
      let worker = try HostileWorker(fleet, as: identity)
      worker.say(.hello(HostileWorker.hello("gone")))
      #expect(await worker.refusal() == nil)
      #expect(try await fleet.processes.baton("host", "revoke", "gone").status == 0)
      let revoked = ContinuousClock.now
      await worker.ended()
      #expect(ContinuousClock.now - revoked < .seconds(1))
      try await fleet.changingNothing("a revoked host") {
        await fleet.expectRefusal(trusting: .host(identity), "a revoked certificate", by: .call)
        let request = try HostKey().request()
        let error = await #expect(throws: RPCError.self) {
          try await CoordinatorClient.withSecureClient(try fleet.operators, .rejoining(identity)) { client, _ in
            _ = try await Baton_V1_Enrolment.Client(wrapping: client).rejoin(
              .with {
                $0.certificate = Data((try? identity.parsedCertificate.der) ?? [])
                $0.request = Data(request)
                $0.signature = Data((try? HostKey(pem: identity.key).signature(of: request)) ?? [])
              }, options: CoordinatorClient.callOptions)
          }
        }
        #expect(error?.code == .permissionDenied)
      }
    }
  }
}

extension AttackedFleet {
  /// Whether the store says that this invitation has not ended.
  fileprivate func isOpen(_ token: JoinToken) async throws -> Bool {
    let end = try reading {
      try Int64.fetchOne($0, sql: "SELECT ends_at FROM invitation WHERE id = ?", arguments: [Data(token.id)])
    }
    return AttackedFleet.now.nanoseconds <= end ?? 0
  }
}
