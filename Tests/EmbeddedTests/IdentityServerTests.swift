import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import ContractRows
import Crypto
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

/// Hosts that join and speak TLS with a coordinator on real sockets of loopback, and what must not get in.
@Suite("A coordinator that serves other machines", .timeLimit(.minutes(10)))
struct IdentityServerTests {
  // MARK: Joining

  @Test("A host joins once, with the name of its invitation, and is served from then on")
  func joins() async throws {
    try await ServedFleet.serving { place in
      let identity = try await place.joined("desk")
      #expect(identity.host == HostName("desk"))
      #expect(identity.coordinator == "\(place.workers)")
      let reply = try await place.renew(as: identity)
      let renewed = try Certificate(der: Array(reply.certificate))
      #expect(renewed.subject.description == "CN=desk")
    }
  }

  @Test("A token is used up by the first key; the same key may ask again", .refuses(16))
  func usedUp() async throws {
    try await ServedFleet.serving { place in
      let (token, key) = (try await place.invite("desk"), HostKey())
      let first = try await place.join(token, key: key)
      let second = try await place.join(token, key: key)
      #expect(second.certificate == first.certificate)
      let error = try await #require(throws: EnrolmentRefusal.self) { _ = try await place.join(token) }
      #expect(error.description.contains("has joined with this invitation already"))
    }
  }

  @Test("A host that joins late gets nothing, and no name in its request counts", .refuses(16))
  func requestsToJoin() async throws {
    let clock = StandingClock()
    try await ServedFleet.serving(clocks: clock.clocks) { place in
      let token = try await place.invite("desk")
      let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
      let names = SubjectAlternativeNames([
        .uniformResourceIdentifier(FleetAuthority.hostName(HostName("boss"), in: place.authority.fleet))
      ])
      let greedy = try CertificateSigningRequest(
        version: .v1, subject: DistinguishedName { CommonName("boss") }, privateKey: key,
        attributes: .init([.init(ExtensionRequest(extensions: .init { names }))]), signatureAlgorithm: .ecdsaWithSHA256)
      func join(_ request: [UInt8], _ token: JoinToken) async throws -> Baton_V1_JoinReply {
        try await CoordinatorClient.withSecureClient(place.operators, .pin(place.authority.pin)) { client, _ in
          try await Baton_V1_Enrolment.Client(wrapping: client).join(
            .with {
              ($0.invitation, $0.secret, $0.request) = (Data(token.id), Data(token.secret), Data(request))
            }, options: CoordinatorClient.callOptions)
        }
      }
      var unsigned = try HostKey().request()
      unsigned[unsigned.count - 1] ^= 1
      for request in [unsigned, []] {
        let error = await #expect(throws: RPCError.self) { _ = try await join(request, token) }
        #expect(error?.code == .invalidArgument)
      }
      let reply = try await join(Array(greedy.serializeAsPEM().derBytes), token)
      let certificate = try Certificate(der: Array(reply.certificate))
      #expect(reply.host == "desk" && certificate.subject.description == "CN=desk")
      #expect(!"\(certificate.extensions)".contains("boss"))
      let late = try await place.invite("late")
      clock.move(by: .seconds(901))
      let error = await #expect(throws: RPCError.self) { _ = try await join(try HostKey().request(), late) }
      #expect(error?.message.contains("has expired") == true, "\(error as Any)")
      #expect(try await place.coordinator.store.certificates().map(\.host.rawValue) == ["desk"])
    }
  }

  @Test("A guessed token is refused, a thousand times, and in the same words as an unknown one", .refuses(16))
  func guesses() async throws {
    var rates = CallRates()
    rates.joins = 100_000
    try await ServedFleet.serving(rates: rates) { place in
      let token = try await place.invite("desk")
      let key = HostKey()
      let request = try key.request()
      var words: Set<String> = []
      var guesses = 0
      while guesses < 1000 {
        let first = guesses
        let refusals = try await CoordinatorClient.withSecureClient(
          place.operators, .pin(place.authority.pin)
        ) { client, _ in
          var refusals: [String] = []
          for number in first..<first + 20 {
            let secret = (0..<32).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }
            let guess = Baton_V1_JoinRequest.with {
              $0.invitation = Data(number % 2 == 0 ? token.id : Array(secret.prefix(8)))
              $0.secret = Data(secret)
              $0.request = Data(request)
            }
            do {
              _ = try await Baton_V1_Enrolment.Client(wrapping: client).join(guess)
              Issue.record("guess \(number) was accepted")
              return refusals + ["accepted"]
            } catch let error as RPCError where error.code != .unavailable {
              refusals.append(error.message)
            } catch {
              // A connection over which nothing was proven is closed after a while. The next guess takes another one.
              break
            }
          }
          return refusals
        }
        try #require(!refusals.isEmpty, "a new connection carries one guess at least")
        guesses += refusals.count
        words.formUnion(refusals)
      }
      #expect(words.count == 1 && words.first?.contains("no invitation with this token") == true, "\(words)")
      _ = try await place.join(token, key: key)
    }
  }

  @Test("With the pin of another fleet, nothing is sent", .refuses(1))
  func wrongPin() async throws {
    try await ServedFleet.serving { place in
      let token = try await place.invite("desk")
      let other = try FleetAuthority(at: SystemClocks.date()).pin
      let error = try await #require(throws: LinkError.self) { _ = try await place.join(token, pin: other) }
      #expect(error.code == .notPermitted)
      #expect(error.description.contains("not of the fleet with this pin"))
      // The token was not sent, and is still good.
      _ = try await place.join(token)
    }
  }

  // MARK: Certificates

  @Test("Only a certificate that was given out is served, whichever authority signed another one", .refuses(7))
  func certificates() async throws {
    try await ServedFleet.serving { place in
      let now = SystemClocks.date()
      let (desk, stranger) = (HostName("desk"), try FleetAuthority(at: now))
      func signed(_ authority: FleetAuthority, at time: Timestamp) throws -> HostIdentity {
        try place.forged { try authority.hostCertificate(for: $0, host: desk, lasting: .seconds(3600), at: time) }
      }
      let own = try signed(place.authority, at: now)
      await place.expectRefusal(of: own, "signed, and never given out", by: .call)
      let noted = try place.noted(own)
      let error = await #expect(throws: RPCError.self) { _ = try await place.renew(as: noted) }
      #expect(error?.code == .failedPrecondition, "the control: it is served, and its renewal is not in the store")
      // The coordinator believes that it has given out each of these, as it does of the one before.
      await place.expectRefusal(of: try place.noted(signed(stranger, at: now)), "another fleet's", by: .handshake)
      for shift in [Duration.seconds(-86_400), .seconds(86_400)] {
        let other = try place.noted(signed(place.authority, at: now + shift))
        await place.expectRefusal(of: other, "of another day", by: .handshake)
      }
      let coordinators = try place.forged { try place.authority.coordinatorCertificate(for: $0, at: now) }
      await place.expectRefusal(of: try place.noted(coordinators), "a coordinator's", by: .handshake)
      var servers = try await place.joined("desk")
      servers.certificate = try #require(servers.serverCertificate)
      await place.expectRefusal(of: try place.noted(servers), "that of the host's own server", by: .handshake)
    }
  }

  @Test("Without a certificate, and without TLS, no listener answers", .refuses(6), arguments: [false, true])
  func plain(isForWorkers: Bool) async throws {
    try await ServedFleet.serving(patience: .milliseconds(200)) { place in
      let address = isForWorkers ? place.workers : place.operators
      for bytes in [
        [], Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8), Array("GET / HTTP/1.1\r\n\r\n".utf8), [0x16, 3, 1],
      ] {
        let connection = try RawConnection(port: address.port)
        connection.send(bytes)
        let said = await connection.untilClosed()
        // At most an alert of TLS (RFC 8446, section 6).
        #expect(said.isEmpty || said[0] == 21, "\(bytes): \(said)")
      }
    }
  }

  @Test("A client without a certificate of its own does not reach the workers' service", .refuses(7))
  func noCertificate() async throws {
    try await ServedFleet.serving { place in
      await place.expectRefusal(trusting: .pin(place.authority.pin), "without a certificate", by: .handshake)
      let identity = try await place.joined("desk")
      await place.expectRefusal(trusting: .rejoining(identity), "with the roots alone", by: .handshake)
      _ = try await place.renew(trusting: .host(identity))
    }
  }

  @Test("A host's certificate does not replace a credential, and neither does the token of the data folder")
  func operators() async throws {
    try await ServedFleet.serving { place in
      let identity = try await place.joined("desk")
      for metadata: Metadata in [[:], ["authorization": .string("Bearer \(place.token)")]] {
        try await CoordinatorClient.withSecureClient(place.operators, .host(identity)) { client, _ in
          let error = await #expect(throws: CoordinatorUnreachable.self) {
            _ = try await OperatorClient(client: client, metadata: metadata, endpoint: place.operators).hostReports()
          }
          #expect(error?.message.contains("this needs a valid credential") == true)
        }
      }
    }
  }

  @Test("After five attempts to join, an address waits", .refuses(16))
  func joinRate() async throws {
    try await ServedFleet.serving(clocks: StandingClock().clocks) { place in
      let key = HostKey()
      for _ in 1...5 {
        let error = await #expect(throws: EnrolmentRefusal.self) { _ = try await place.join(JoinToken(), key: key) }
        #expect(error?.description.contains("no invitation with this token") == true)
      }
      let token = try await place.invite("desk")
      let error = await #expect(throws: (any Error).self) { _ = try await place.join(token, key: key) }
      #expect("\(error.map { "\($0)" } ?? "")".contains("too many attempts to join"))
    }
  }

  // MARK: What a host may say

  @Test("The certificate of one host does not say hello, nor report a death, as another one", .refuses(10))
  func otherNames() async throws {
    try await ServedFleet.serving { place in
      let identity = try await place.joined("desk")
      try await CoordinatorClient.withSecureClient(place.workers, .host(identity)) { client, _ in
        let workers = Baton_V1_Workers.Client(wrapping: client)
        let hello = Hello(
          host: HostName("base"), incarnation: Incarnation("x"), version: "1", capabilities: Capabilities(slots: 1),
          conditions: .assumed)
        let answers = try await workers.connect { writer in
          for frame in Framing.frames([.hello(hello)]) { try await writer.write(frame) }
          try await Task.sleep(for: .seconds(3600))
        } onResponse: { response in
          var answers: [CoordinatorMessage] = []
          for try await frame in response.messages { answers += try Framing.messages(frame) }
          return answers
        }
        guard case .refused(let why, isFinal: true)? = answers.last else {
          Issue.record("answered with \(answers)")
          return
        }
        #expect(why.contains("is for another host"))
        let error = await #expect(throws: RPCError.self) {
          _ = try await workers.reportDeath(
            .with {
              $0.host = "base"
              $0.incarnation = "x"
            })
        }
        #expect(error?.code == .permissionDenied)
      }
      let hosts = try await place.coordinator.hostReports()
      #expect(hosts.isEmpty)
    }
  }

  // MARK: Revocation

  @Test(
    "A revoked host's worker is cut off, is not served again, and may join again with a new invitation",
    .refuses(13, 17))
  func revoked() async throws {
    try await ServedFleet.serving { place in
      let identity = try await place.joined("desk")
      let folder = place.folder + "/worker"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try identity.write(dataFolder: folder)
      let configuration = WorkerConfiguration(
        coordinator: identity.coordinator, name: "desk", dataFolder: folder, slots: 1)
      let connector = try GRPCConnector(configuration, logger: Fleet.quiet)
      let worker = Worker(
        configuration, incarnation: Incarnation("1"), logger: Fleet.quiet, connector: connector)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await worker.run() }
        await place.coordinator.waitForAttachment()
        #expect(place.identities.calls == 1)
        let count = try await place.coordinator.revoke(HostName("desk"))
        #expect(count == 1)
        while place.identities.calls > 0 { await Task.yield() }
        await place.expectRefusal(of: identity, "a revoked certificate")
        let again = try await place.coordinator.revoke(HostName("desk"))
        #expect(again == 0)
        group.cancelAll()
      }
      let states = try await place.coordinator.hostReports().map(\.state)
      #expect(states == [.gone])
      _ = try await place.renew(as: try await place.joined("desk"))
    }
  }

  @Test("A worker that is refused for good asks seldom, says why once, and goes on at once after a join")
  func refusedForGood() async throws {
    try await ServedFleet.serving { place in
      let identity = try await place.joined("desk")
      let folder = place.folder + "/worker"
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try identity.write(dataFolder: folder)
      _ = try await place.coordinator.revoke(HostName("desk"))
      let clock = DateClock(SystemClocks.date())
      let configuration = WorkerConfiguration(
        coordinator: identity.coordinator, name: "desk", dataFolder: folder, slots: 1)
      var generator = SystemRandomNumberGenerator()
      let connector = try GRPCConnector(
        configuration, using: &generator, logger: Fleet.quiet, clocks: clock.moving)
      var said: Set<String> = []
      var waits: [Duration] = []
      for _ in 1...5 {
        let before = clock.now
        let error = await #expect(throws: ConnectionError.self) {
          try await connector.withConnection { while await $0.down.receive() != nil {} }
        }
        said.insert(error?.message ?? "")
        waits.append(clock.now - before)
      }
      #expect(waits == [0, 10, 20, 40, 80].map { .seconds($0) })
      #expect(said.count == 1 && said.first?.contains("this host was revoked") == true, "\(said)")
      #expect(said.first?.contains("CancellationError") == false)
      // The host joins again while the worker waits: the worker looks every two seconds.
      let next = try await place.joined("desk")
      clock.onSleep { try? next.write(dataFolder: folder) }
      let before = clock.now
      try await connector.withConnection { $0.close() }
      #expect(clock.now - before == .seconds(2))
    }
  }

  @Test("A revoked certificate stays revoked if the store knows nothing of it", .refuses(14))
  func olderStore() async throws {
    try await ServedFleet.serving { place in
      let identity = try await place.joined("desk")
      let before = try await place.coordinator.store.certificates()
      _ = try await place.coordinator.revoke(HostName("desk"))
      // The next coordinator has an older copy of the store, and the same folder.
      let next = try HostIdentities(authorities: place.identities.authorities, dataFolder: place.folder)
      try next.load(before, at: SystemClocks.date())
      #expect(next.caller(try identity.parsedCertificate, at: SystemClocks.date()) == nil)
      try FileManager.default.removeItem(atPath: place.folder + "/revoked")
      let other = try HostIdentities(authorities: place.identities.authorities, dataFolder: place.folder)
      try other.load(before, at: SystemClocks.date())
      #expect(other.caller(try identity.parsedCertificate, at: SystemClocks.date()) != nil, "the control")
    }
  }

  // MARK: Time

  @Test("A certificate proves nothing after its end, and the call that began before it ends", .refuses(15))
  func end() async throws {
    let now = Timestamp(nanoseconds: 1_772_346_600_000_000_000)
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let identities = try HostIdentities(
      authorities: FleetAuthorities(try FleetAuthority(at: now)), dataFolder: folder, lifetime: .seconds(60))
    let certificate = try identities.certificate(for: HostName("desk"), key: HostKey().key.publicKey, at: now)
    let parsed = try Certificate(der: certificate.der)
    #expect(identities.caller(parsed, at: now) == nil, "not yet stored")
    identities.note(certificate)
    let caller = try #require(identities.caller(parsed, at: now + .seconds(60)))
    #expect(identities.caller(parsed, at: now + .seconds(61)) == nil)
    let clock = DateClock(now)
    await identities.untilEnd(of: caller, clock.clocks)
    #expect(clock.now > now + .seconds(60))
    #expect(identities.calls == 0)
  }
}

/// A wall clock that moves by what is slept.
private final class DateClock: Sendable {
  private let date: Mutex<Timestamp>
  private let action = Mutex<(@Sendable () -> Void)?>(nil)
  /// Calls `body` at the next sleep.
  func onSleep(_ body: @escaping @Sendable () -> Void) { action.withLock { $0 = body } }
  /// Clocks of which the steady one moves too. Sleeps of an hour, which renewals make, end with their task.
  var moving: Clocks {
    Clocks(
      instant: { [self] in Instant(nanoseconds: now.nanoseconds) },
      sleep: { [self] pause in
        if pause > .seconds(600) { return try await Task.sleep(for: pause) }
        date.withLock { $0 = $0 + pause }
        action.withLock { $0.take() }?()
      }, date: { [self] in now })
  }
  init(_ date: Timestamp) { self.date = Mutex(date) }
  var now: Timestamp { date.withLock { $0 } }
  var clocks: Clocks {
    Clocks(
      instant: { SystemClocks.instant() }, sleep: { [self] pause in date.withLock { $0 = $0 + pause } },
      date: { [self] in now })
  }
}
