import BatonAPI
import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonStore
import BatonTelemetry
import BatonWire
import Foundation
import GRPCCore
import SwiftProtobuf
import Testing
import X509

@testable import BatonCoordinator
@testable import BatonWorker

/// A coordinator that listens, and everything that a test needs to attack it.
struct ServedFleet: Sendable {
  let coordinator: Coordinator
  let identities: HostIdentities
  let workers: HostPort
  let operators: HostPort
  let https: HostPort
  let folder: String
  let token: String

  var authority: FleetAuthority { identities.authorities.present }

  func invite(_ host: String, needsApproval: Bool = false) async throws -> JoinToken {
    try await coordinator.invite(HostName(host), for: .seconds(900), by: "ana", needsApproval: needsApproval).token
  }

  func join(_ token: JoinToken, pin: Pin? = nil, key: HostKey = HostKey()) async throws -> HostIdentity {
    try await Enrolment(endpoint: operators, pin: pin ?? authority.pin, token: token).join(with: key)
  }

  func joined(_ host: String) async throws -> HostIdentity { try await join(try await invite(host)) }

  /// An identity that the coordinator has not given out: its certificate was signed by `authority`.
  func forged(
    _ key: HostKey = HostKey(), _ sign: (Certificate.PublicKey) throws -> Certificate
  ) throws -> HostIdentity {
    HostIdentity(
      fleet: authority.fleet, host: HostName("desk"), coordinator: "\(workers)", key: try key.pem,
      certificate: try sign(key.key.publicKey).pem, roots: [try authority.root.pem])
  }

  /// The same identity, whose certificate the coordinator believes it has given out. So only the TLS library, or the
  /// certificate's end, can be a reason to refuse it.
  func noted(_ identity: HostIdentity, as host: String = "desk") throws -> HostIdentity {
    let certificate = try identity.parsedCertificate
    identities.note(
      HostCertificate(
        serial: Array(certificate.serialNumber.bytes), host: HostName(host), key: certificate.publicKey.digest,
        der: try certificate.der, end: certificate.end))
    return identity
  }

  /// Asks for a renewal, which every host may do at any time.
  func renew(as identity: HostIdentity) async throws -> Baton_V1_RenewReply {
    try await renew(trusting: .host(identity))
  }

  func renew(trusting trust: ClientTrust) async throws -> Baton_V1_RenewReply {
    try await CoordinatorClient.withSecureClient(workers, trust) { client, _ in
      let request = Baton_V1_RenewRequest.with { $0.request = Data((try? HostKey().request()) ?? []) }
      return try await Baton_V1_Workers.Client(wrapping: client)
        .renew(request, options: CoordinatorClient.callOptions)
    }
  }

  /// What refuses a host.
  enum Refusing: Sendable { case handshake, call, either }

  /// Expects that the coordinator serves nothing to this identity.
  func expectRefusal(of identity: HostIdentity, _ what: String, by refusing: Refusing = .either) async {
    await expectRefusal(trusting: .host(identity), what, by: refusing)
  }

  func expectRefusal(trusting trust: ClientTrust, _ what: String, by refusing: Refusing) async {
    do {
      _ = try await renew(trusting: trust)
      Issue.record("\(what): served")
    } catch let error as RPCError {
      #expect(error.code == .unauthenticated && refusing != .handshake, "\(what): \(error)")
    } catch let error as LinkError {
      #expect(error.code == .notPermitted && refusing != .call, "\(what): \(error)")
    } catch {
      Issue.record("\(what): \(error)")
    }
  }

  /// Metrics with one line.
  private static let metrics = MetricsReader(
    now: { SystemClocks.instant() },
    collect: {
      MetricsSnapshot(
        [MetricFamily(Names.Metric.readyOldest, 7)], startedAt: Timestamp(nanoseconds: 0),
        takenAt: Timestamp(nanoseconds: 0))
    })

  /// - Parameters:
  ///   - place: the data folder, which stays; a new one, which is removed, if it is nil.
  ///   - store: the folder of the store; a store in memory if it is nil.
  ///   - clocks: the coordinator's clocks. The TLS library and the listeners read those of the machine.
  static func serving(
    lifetime: Duration = FleetAuthority.hostLifetime, rates: CallRates = CallRates(),
    patience: Duration = .seconds(600), in place: String? = nil, store: String? = nil, clocks: Clocks = .system,
    _ body: @escaping @Sendable (ServedFleet) async throws -> Void
  ) async throws {
    let folder = place ?? NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { if place == nil { try? FileManager.default.removeItem(atPath: folder) } }
    var settings = CoordinatorSettings()
    let identities = try HostIdentities(
      authorities: try FleetAuthorities.own(dataFolder: folder, at: SystemClocks.date()), dataFolder: folder,
      lifetime: lifetime)
    (settings.identities, settings.rates) = (identities, rates)
    let opened =
      if let store { try SQLiteStore.open(folder: store) } else { try SQLiteStore.inMemory() }
    let coordinator = Coordinator(store: opened, settings: settings, clocks: clocks, logger: Fleet.quiet)
    let addresses = Mailbox<CoordinatorServer.Addresses>(capacity: 1)
    let any = HostPort(host: "127.0.0.1", port: 0)
    let token = String(repeating: "0123456789abcdef", count: 4)
    let server = try CoordinatorServer(
      coordinator: coordinator, identities: identities,
      addresses: CoordinatorServer.Addresses(workers: any, operators: any, https: any), token: token,
      metrics: Self.metrics, api: HTTPAPI.serve,
      folders: RuntimeFolders(paths: [folder]),
      descriptors: DescriptorBudget(limit: 1024, patience: patience), logger: Fleet.quiet
    ) { addresses.send($0) }
    try await coordinator.restore()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await server.run() }
      group.addTask {
        let remote = try #require(await addresses.receive()?.first)
        try await body(
          ServedFleet(
            coordinator: coordinator, identities: identities, workers: remote.workers,
            operators: try #require(remote.operators), https: try #require(remote.https), folder: folder, token: token))
      }
      // The server ends only if it fails.
      try await group.next()
      group.cancelAll()
    }
    try await opened.close()
  }
}

/// The calls of operators from other machines.
extension ServedFleet {
  typealias Client = OperatorClient<CoordinatorClient.Transport>

  /// Makes a credential.
  func credential(
    _ name: String, _ scopes: Set<Scope>, patterns: [String] = [], lifetime: Duration = Credential.lifetime
  ) async throws -> CredentialToken {
    try await coordinator.createCredential(
      CredentialOrder(
        name: name, scopes: scopes, patterns: patterns.map { IdentifierPattern($0)! }, lifetime: lifetime)
    ).token
  }

  /// Makes a credential that ends at a time of its own.
  func credential(_ name: String, _ scopes: Set<Scope>, until end: Timestamp) -> CredentialToken {
    let token = CredentialToken()
    identities.credentials.note(
      Credential(
        id: token.id, name: name, digest: token.digest, scopes: scopes, end: end,
        createdAt: end + .seconds(-3600), createdBy: "somebody"))
    return token
  }

  func asOperator<Result: Sendable>(
    _ token: CredentialToken, _ body: @escaping @Sendable (Client) async throws -> Result
  ) async throws -> Result {
    let login = try FleetLogin(address: "\(operators)", root: authority.root, token: token)
    return try await CoordinatorClient.withSecureClient(operators, .login(login)) { client, _ in
      try await body(Client(client: client, token: token, endpoint: operators))
    }
  }

  static func definition(_ pattern: String) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(pattern)!, kind: .processing)
    definition.work = Work(command: ["true"])
    return definition
  }

  /// Applies a definition with this pattern, and submits its request if the pattern is an identifier.
  func job(_ pattern: String, by principal: String = "somebody") async throws {
    _ = try await coordinator.apply([Self.definition(pattern)])
    guard let identifier = JobIdentifier(pattern) else { return }
    _ = try await coordinator.submit(
      [SubmissionOrder(id: "\(pattern) of the test", identifier: identifier, payload: [1, 2, 3])], by: principal)
  }

  /// The rows of the audit log: actor, method, object and outcome.
  func audit() async throws -> [String] {
    try await coordinator.audit(AuditFilter(), after: 0, limit: 1000).map { row in
      [row.entry.actor, row.entry.method, row.entry.object, row.entry.outcome.rawValue].joined(separator: " ")
    }
  }
}
