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
import SwiftASN1
import SwiftProtobuf
import Synchronization
import Testing
import X509

@testable import BatonCoordinator
@testable import BatonWorker

/// Attacks on the connections between a coordinator and its clients on other machines.
@Suite("Attacks over TLS", .timeLimit(.minutes(10)))
struct TLSAttackTests {
  // MARK: Another program on the coordinator's port

  /// How a client knows its fleet.
  enum Knowledge: CaseIterable { case pin, host, rejoining, login }

  private static func trust(_ knowledge: Knowledge, _ place: ServedFleet) async throws -> ClientTrust {
    switch knowledge {
    case .pin: return .pin(place.authority.pin)
    case .host: return .host(try await place.joined("desk"))
    case .rejoining: return .rejoining(try await place.joined("desk"))
    case .login:
      return .login(try FleetLogin(address: "\(place.operators)", root: place.authority.root, token: CredentialToken()))
    }
  }

  /// What a client sends over TLS to a program with these certificates, and whether it has recognised the program.
  private static func sent(
    by trust: ClientTrust, to chain: [Certificate], key: String
  ) async throws -> (bytes: [UInt8], wasRecognised: Bool) {
    let squatter = try await TLSSquatter(try chain.map { try $0.pem }, key: key)
    let endpoint = HostPort(host: "127.0.0.1", port: squatter.port)
    let wasRecognised = Mutex(false)
    do {
      try await CoordinatorClient.withSecureClient(endpoint, trust) { client, _ in
        wasRecognised.withLock { $0 = true }
        _ = try await Baton_V1_Operators.Client(wrapping: client).whoAmI(
          Baton_V1_Empty(), metadata: ["authorization": "Bearer secret"], options: CoordinatorClient.callOptions)
      }
      Issue.record("a squatter has answered")
    } catch let error as LinkError {
      #expect(error.code == .notPermitted, "\(error)")
    } catch {
      #expect(wasRecognised.withLock { $0 }, "\(error)")
    }
    return (await squatter.visit(), wasRecognised.withLock { $0 })
  }

  @Test(
    "A joined host that takes the coordinator's port is told nothing, however its client knows the fleet",
    .refuses(1, 2), arguments: Knowledge.allCases)
  func squattingHost(knowledge: Knowledge) async throws {
    try await ServedFleet.serving { place in
      let trust = try await Self.trust(knowledge, place)
      let squatter = try await place.joined("squatter")
      let server = try Certificate(pemEncoded: try #require(squatter.serverCertificate))
      let key = HostKey()
      let coordinator = try place.authority.coordinatorCertificate(for: key.key.publicKey, at: SystemClocks.date())
      let control = try await Self.sent(by: trust, to: [coordinator, place.authority.root], key: try key.pem)
      #expect(control.wasRecognised && !control.bytes.isEmpty, "the control: a coordinator's certificate")
      for own in [server, try squatter.parsedCertificate] {
        let told = try await Self.sent(by: trust, to: [own, place.authority.root], key: squatter.key)
        #expect(!told.wasRecognised && told.bytes.isEmpty, "\(own.subject)")
      }
    }
  }

  @Test("The coordinator of another fleet on the same port is told nothing", .refuses(1), arguments: Knowledge.allCases)
  func otherFleet(knowledge: Knowledge) async throws {
    try await ServedFleet.serving { place in
      let trust = try await Self.trust(knowledge, place)
      let (other, key) = (try FleetAuthority(at: SystemClocks.date()), HostKey())
      let coordinator = try other.coordinatorCertificate(for: key.key.publicKey, at: SystemClocks.date())
      for root in [other.root, place.authority.root] {
        let told = try await Self.sent(by: trust, to: [coordinator, root], key: try key.pem)
        #expect(!told.wasRecognised && told.bytes.isEmpty)
      }
    }
  }

  // MARK: Silent connections

  /// HTTP/2's first bytes with an empty SETTINGS frame, and a PING.
  private static let preface: [UInt8] = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
  private static let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

  enum Listener: CaseIterable { case workers, operators, https }

  @Test(
    "A connection over which no call proves its caller is closed in time, also after the handshake and the preface",
    .refuses(5), arguments: Listener.allCases, [[], preface, preface + ping])
  func silent(listener: Listener, bytes: [UInt8]) async throws {
    try await ServedFleet.serving(patience: .milliseconds(500)) { place in
      let name = FleetAuthority.coordinatorName(place.authority.fleet)
      let roots = try place.authority.root.pem
      // A host's certificate proves nothing before the first call.
      let key = HostKey()
      let certificate = try place.authority.hostCertificate(
        for: key.key.publicKey, host: HostName("desk"), lasting: .seconds(3600), at: SystemClocks.date())
      let own = (certificate: try certificate.pem, key: try key.pem)
      let connection =
        switch listener {
        case .workers:
          try await TLSConnection(port: place.workers.port, name: name, trusting: roots, own: own)
        case .operators: try await TLSConnection(port: place.operators.port, name: name, trusting: roots)
        case .https:
          try await TLSConnection(port: place.https.port, name: name, trusting: roots, protocols: ["http/1.1"])
        }
      connection.send(listener == .https ? Array("GET / HT".utf8).prefix(bytes.count).map { $0 } : bytes)
      _ = await connection.untilClosed()
    }
  }

  @Test("A caller that is served nothing but attempts to join is closed in time too", .refuses(5))
  func joinsAlone() async throws {
    try await ServedFleet.serving(patience: .milliseconds(500)) { place in
      let request = Baton_V1_JoinRequest.with {
        $0.invitation = Data(JoinToken().id)
        $0.secret = Data(JoinToken().secret)
      }
      await #expect(throws: (any Error).self) {
        try await CoordinatorClient.withSecureClient(place.operators, .pin(place.authority.pin)) { client, _ in
          // It ends when the coordinator closes the connection.
          while true {
            do {
              _ = try await Baton_V1_Enrolment.Client(wrapping: client).join(
                request, options: CoordinatorClient.callOptions)
            } catch let error as RPCError where [.failedPrecondition, .resourceExhausted].contains(error.code) {
              await Task.yield()
            }
          }
        }
      }
    }
  }

  // MARK: Revocation and time

  private static let job = JobIdentifier("com.a")!

  /// Applies and submits a job that runs in a handler.
  private static func submit(_ place: ServedFleet) async throws {
    var definition = Definition(pattern: IdentifierPattern(job.rawValue)!, kind: .continued)
    definition.title = "Job"
    _ = try await place.coordinator.apply([definition])
    _ = try await place.coordinator.submit([SubmissionOrder(id: "one", identifier: job)], by: "ana")
  }

  private static func worker(_ host: String) -> FakeWorker {
    FakeWorker(host) { $0.capabilities.handlers = [IdentifierPattern("com.*")!] }
  }

  @Test(
    "A launch of a host that is revoked is lost without blame: nothing more of it commits, and it goes on elsewhere",
    .refuses(13))
  func revokedLaunch() async throws {
    try await ServedFleet.serving { place in
      try await Self.submit(place)
      let (worker, other) = (Self.worker("desk"), Self.worker("base"))
      let stream = try await worker.serve(at: place, as: place.joined("desk"))
      let launch = try #require(await worker.assignment()?.launch)
      worker.say(.checkpoint(Checkpoint(launch: launch, batch: 0, completedUnits: 1)))
      #expect(await worker.hears { $0 == .committed(launch, batch: 0) } != nil, "the control")
      #expect(try await place.coordinator.revoke(HostName("desk")) == 1)
      worker.say(
        .checkpoint(Checkpoint(launch: launch, batch: 1, completedUnits: 2, reachesEnd: true)),
        .ended(Ending(launch: launch, outcome: .finished)))
      // The coordinator ends the stream.
      _ = await stream.result
      let second = try await other.serve(at: place, as: place.joined("base"))
      let next = try #require(await other.assignment()?.launch)
      #expect(next.number == launch.number + 1)
      let details = try await place.coordinator.details(Self.job, number: nil)
      #expect(details.launches.map(\.outcome) == [.lost, nil])
      #expect(details.record.progress.batches == 1 && details.record.progress.completedUnits == 1)
      let ledger = details.record.ledger
      #expect(ledger.failures == 0 && ledger.losses == 0 && ledger.strikes == 0, "\(ledger)")
      other.close()
      _ = await second.result
    }
  }

  @Test(
    "The stream that a host has opened ends with its certificate, and no further call is served, over whatever session",
    .refuses(15))
  func endedStream() async throws {
    let clock = StandingClock()
    try await ServedFleet.serving(lifetime: .seconds(3600), clocks: clock.clocks) { place in
      let identity = try await place.joined("desk")
      let worker = Self.worker("desk")
      let stream = try await worker.serve(at: place, as: identity)
      #expect(await worker.welcome()?.isWelcome == true)
      try await CoordinatorClient.withSecureClient(place.workers, .host(identity)) { client, _ in
        let workers = Baton_V1_Workers.Client(wrapping: client)
        let request = Baton_V1_RenewRequest.with { $0.request = Data((try? HostKey().request()) ?? []) }
        _ = try await workers.renew(request, options: CoordinatorClient.callOptions)
        clock.move(by: .seconds(3700))
        let error = await #expect(throws: RPCError.self, "over a connection that was opened before") {
          _ = try await workers.renew(request, options: CoordinatorClient.callOptions)
        }
        #expect(error?.code == .unauthenticated)
      }
      // The coordinator ends the stream.
      _ = await stream.result
      await place.expectRefusal(of: identity, "a certificate that has ended", by: .call)
    }
  }

  @Test(
    "A TLS session that is resumed after the certificate has ended proves nothing", .refuses(8),
    arguments: [true, false])
  func resumption(hasEnded: Bool) async throws {
    let clock = StandingClock()
    try await ServedFleet.serving(lifetime: .seconds(3600), clocks: clock.clocks) { place in
      try await place.joined("desk").write(dataFolder: place.folder)
      let (request, fifo) = (place.folder + "/request", place.folder + "/fifo")
      try Data(try HostKey().request()).write(to: URL(fileURLWithPath: request))
      #expect(mkfifo(fifo, 0o600) == 0)
      let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
        path: "../EndToEndTests/Attacks/attacks.py")
      let (attack, output) = (Process(), Pipe())
      attack.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      attack.arguments =
        ["python3", script.path, "resume", "\(place.workers.port)", HostIdentity.path(dataFolder: place.folder)]
        + [request, fifo]
      attack.standardOutput = output
      try attack.run()
      // It opens when the attack has its first answer.
      let gate = await onThread { open(fifo, O_WRONLY) }
      if hasEnded { clock.move(by: .seconds(3700)) }
      close(gate)
      let said = await onThread { output.fileHandleForReading.readDataToEndOfFile() }
      #expect(String(decoding: said, as: UTF8.self) == "served\nresumed \(hasEnded ? "refused" : "served")\n")
    }
  }

  private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      Thread { continuation.resume(returning: body()) }.start()
    }
  }

  @Test(
    "After a start with an older store, what was revoked stays revoked, and an invitation that was used stays used",
    .refuses(14))
  func olderStore() async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    let (store, older, files) = (folder + "/store", folder + "/older", FileManager.default)
    try files.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? files.removeItem(atPath: folder) }
    let kept = Mutex<(identity: HostIdentity, invitation: JoinToken, credential: CredentialToken)?>(nil)
    try await ServedFleet.serving(in: folder, store: store) { place in
      let first = (
        identity: try await place.joined("desk"), invitation: try await place.invite("base"),
        credential: try await place.credential("alice", [.read])
      )
      kept.withLock { $0 = first }
    }
    try files.copyItem(atPath: store, toPath: older)
    let (identity, invitation, credential) = try #require(kept.withLock { $0 })
    try await ServedFleet.serving(in: folder, store: store) { place in
      _ = try await place.join(invitation)
      #expect(try await place.coordinator.revoke(HostName("desk")) == 1)
      #expect(try await place.coordinator.revokeCredential("alice") == RevokedCredentials(count: 1))
    }
    for remembers in [true, false] {
      try files.removeItem(atPath: store)
      try files.copyItem(atPath: older, toPath: store)
      if !remembers {
        for name in ["revoked", "revoked-credentials", "spent-invitations"] {
          try files.removeItem(atPath: folder + "/" + name)
        }
      }
      try await ServedFleet.serving(in: folder, store: store) { place in
        let known = try? await place.asOperator(credential) { api in try await api.whoAmI().name }
        #expect((known == nil) == remembers, "the credential")
        guard remembers else {
          _ = try await place.renew(as: identity)
          _ = try await place.join(invitation)
          return
        }
        await place.expectRefusal(of: identity, "a revoked certificate", by: .call)
        let error = try await #require(throws: EnrolmentRefusal.self) { _ = try await place.join(invitation) }
        #expect(error.description.contains("no invitation with this token"))
      }
    }
  }
}

extension FakeWorker {
  /// Says hello over TLS, and carries the messages of the connection until either side ends the stream. The task ends
  /// with the stream.
  fileprivate func serve(at place: ServedFleet, as identity: HostIdentity) async throws -> Task<Void, any Error> {
    say(.hello(hello))
    return Task { [connection] in
      defer { connection.close() }
      try await CoordinatorClient.withSecureClient(place.workers, .host(identity)) { client, _ in
        try await Baton_V1_Workers.Client(wrapping: client).connect(options: CoordinatorClient.callOptions) { writer in
          while let messages = await connection.up.receive() {
            for frame in Framing.frames(messages) { try await writer.write(frame) }
          }
        } onResponse: { response in
          defer { connection.close() }
          for try await frame in response.messages {
            connection.down.send(contentsOf: try Framing.messages(frame))
          }
        }
      }
    }
  }
}
