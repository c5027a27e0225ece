import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import BatonWorker
import Foundation
import GRDB
import GRPCCore
import SwiftProtobuf
import Testing
import X509

/// A coordinator process, with everything that an attack on it needs: the fleet's authority, hosts, credentials, and a
/// view of the store. The rates are so high that the attacks of one test do not refuse those of the next one.
final class AttackedFleet: Sendable {
  @TaskLocal static var current: AttackedFleet?

  let processes: ProcessFleet
  let authority: FleetAuthority
  let roots: String
  let https: HostPort
  var name: String { FleetAuthority.coordinatorName(authority.fleet) }
  var workers: HostPort { get throws { try HostPort(parsing: processes.address) } }
  var operators: HostPort { get throws { try HostPort(parsing: processes.operators) } }
  /// The token of the data folder, which is for the Unix socket alone.
  let ownersToken: String

  /// High rates, and an HTTPS port.
  static let variables = [
    "BATON_HTTPS": "127.0.0.1:0", "BATON_RATES_FAILURES": "100000", "BATON_RATES_JOINS": "100000",
    "BATON_RATES_CHANGES": "100000",
  ]

  init() async throws {
    processes = try ProcessFleet()
    try await processes.startCoordinator(lease: "15s", http: "127.0.0.1:0", servesOthers: true, adding: Self.variables)
    let fleet = try await processes.baton("fleet", "show", "-o", "json").output
    https = try HostPort(parsing: String(try #require(fleet.firstMatch(of: /"https"\s*:\s*"([^"]+)"/)?.1)))
    let data = processes.folder + "/coordinator"
    authority = try FleetAuthorities.own(
      dataFolder: data, at: Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
    ).present
    roots = try authority.root.pem
    ownersToken = try String(contentsOfFile: data + "/token", encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  static var now: Timestamp { Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9)) }

  // MARK: Hosts

  func invite(_ host: String, for lifetime: String = "15m") async throws -> JoinToken {
    let invited = try await processes.baton(
      "host", "invite", host, "--address", processes.operators, "--for", lifetime, "-o", "json")
    let token = try #require(invited.output.firstMatch(of: /bj1_[0-9a-f_]+/), "\(invited)")
    return try JoinToken(parsing: String(token.0))
  }

  func join(_ token: JoinToken, pin: Pin? = nil, key: HostKey = HostKey()) async throws -> HostIdentity {
    try await Enrolment(endpoint: try operators, pin: pin ?? authority.pin, token: token).join(with: key)
  }

  func joined(_ host: String) async throws -> HostIdentity { try await join(try await invite(host)) }

  /// An identity whose certificate the coordinator has not given out.
  func forged(
    _ host: String = "desk", _ sign: (Certificate.PublicKey) throws -> Certificate
  ) throws -> HostIdentity {
    let key = HostKey()
    return HostIdentity(
      fleet: authority.fleet, host: HostName(host), coordinator: processes.address, key: try key.pem,
      certificate: try sign(key.key.publicKey).pem, roots: [roots], enrolment: processes.operators)
  }

  func renew(trusting trust: ClientTrust) async throws {
    _ = try await CoordinatorClient.withSecureClient(try workers, trust) { client, _ in
      let request = Baton_V1_RenewRequest.with { $0.request = Data((try? HostKey().request()) ?? []) }
      return try await Baton_V1_Workers.Client(wrapping: client)
        .renew(request, options: CoordinatorClient.callOptions)
    }
  }

  /// What refuses a host.
  enum Refusing: Sendable { case handshake, call }

  /// Expects that the coordinator serves nothing to this caller.
  func expectRefusal(trusting trust: ClientTrust, _ what: String, by refusing: Refusing) async {
    do {
      try await renew(trusting: trust)
      Issue.record("\(what): served")
    } catch let error as RPCError {
      #expect(error.code == .unauthenticated && refusing == .call, "\(what): \(error)")
    } catch let error as LinkError {
      #expect(error.code == .notPermitted && refusing == .handshake, "\(what): \(error)")
    } catch {
      Issue.record("\(what): \(error)")
    }
  }

  // MARK: Operators

  func credential(_ name: String, _ scopes: String, patterns: [String] = []) async throws -> CredentialToken {
    let arguments = ["credential", "create", name, "--scope", scopes] + patterns.flatMap { ["--pattern", $0] }
    let created = try await processes.command(arguments)
    let token = try #require(created.output.firstMatch(of: /bt1_[0-9a-f]+_[0-9a-f]+/), "\(created)")
    return try CredentialToken(parsing: String(token.0))
  }

  typealias Operators = Baton_V1_Operators.Client<CoordinatorClient.Transport>

  /// Makes calls with a credential, over TLS.
  func asOperator<Result: Sendable>(
    _ token: CredentialToken, _ body: @escaping @Sendable (Operators, Metadata, CallOptions) async throws -> Result
  ) async throws -> Result {
    let login = try FleetLogin(address: processes.operators, root: authority.root, token: token)
    // A stream that is served although it must not be would never end.
    var options = CoordinatorClient.callOptions
    options.timeout = .seconds(30)
    return try await CoordinatorClient.withSecureClient(try operators, .login(login)) { [options] client, _ in
      try await body(Operators(wrapping: client), ["authorization": .string("Bearer \(token)")], options)
    }
  }

  /// The error of a call with a credential; `nil` if it succeeds.
  func error(
    _ token: CredentialToken, _ body: @escaping @Sendable (Operators, Metadata, CallOptions) async throws -> Void
  ) async throws -> RPCError? {
    do {
      try await asOperator(token, body)
      return nil
    } catch let error as RPCError {
      return error
    }
  }

  static func definition(_ pattern: String, _ command: [String] = ["true"]) throws -> Data {
    var definition = Definition(pattern: IdentifierPattern(pattern)!, kind: .processing)
    definition.work = Work(command: command)
    return Data(try definition.json())
  }

  // MARK: The store

  private var database: String { processes.folder + "/coordinator/baton.sqlite" }

  func reading<Result>(_ body: (Database) throws -> Result) throws -> Result {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    let queue = try DatabaseQueue(path: database, configuration: configuration)
    defer { try? queue.close() }
    return try queue.read(body)
  }

  /// Changes the store of a coordinator that is stopped, as a person with the file could.
  func editing(_ body: (Database) throws -> Void) throws {
    let queue = try DatabaseQueue(path: database)
    defer { try? queue.close() }
    try queue.write(body)
  }

  /// What an attack may not change, without what changes by itself: reports of hosts, and the last use of a credential.
  private static let kept = [
    "SELECT * FROM request", "SELECT * FROM launch", "SELECT * FROM progress", "SELECT * FROM submission",
    "SELECT * FROM definition", "SELECT * FROM pattern", "SELECT * FROM certificate", "SELECT * FROM invitation",
    "SELECT id, name, scopes, patterns, ends_at, is_revoked FROM credential", "SELECT count(*) FROM output",
    "SELECT name, incarnation, is_draining, secret FROM host", "SELECT incarnation, is_paused FROM store",
  ]

  private func state() throws -> [String: [String]] {
    try reading { database in
      var state: [String: [String]] = [:]
      for query in Self.kept { state[query] = try Row.fetchAll(database, sql: query).map { "\($0)" }.sorted() }
      return state
    }
  }

  /// A row of the audit log.
  struct AuditRow: Sendable {
    var method: String
    var actor: String
    var outcome: String
    var detail: String
  }

  func audit(after sequence: Int64 = 0) throws -> [AuditRow] {
    try reading { database in
      try Row.fetchAll(
        database, sql: "SELECT method, actor, outcome, detail FROM audit WHERE sequence > ? ORDER BY sequence",
        arguments: [sequence]
      ).map { AuditRow(method: $0["method"], actor: $0["actor"], outcome: $0["outcome"], detail: $0["detail"]) }
    }
  }

  func lastAudit() throws -> Int64 {
    try reading { try Int64.fetchOne($0, sql: "SELECT max(sequence) FROM audit") ?? 0 }
  }

  /// Makes attacks, and expects afterwards that they have changed nothing that the store keeps, and that no row of the
  /// audit log says that something was done.
  func changingNothing(_ attack: String, _ body: () async throws -> Void) async throws {
    let (before, last) = (try state(), try lastAudit())
    try await body()
    let after = try state()
    for (query, rows) in before { #expect(after[query] == rows, "\(attack): \(query)") }
    let done = try audit(after: last).filter { $0.outcome == "done" }
    #expect(done.isEmpty, "\(attack): \(done)")
    #expect(processes.coordinator?.process.isRunning == true, "\(attack): the coordinator has ended")
  }

  /// Stops the coordinator, changes its data, and starts it again at the same addresses.
  func restart(_ change: () async throws -> Void) async throws {
    processes.coordinator?.stop()
    try await change()
    try await processes.startCoordinator(lease: "15s", servesOthers: true, adding: Self.variables)
  }
}

/// Gives one fleet to all tests of a suite.
struct AttackedFleetTrait: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let fleet = try await AttackedFleet()
    defer { fleet.processes.stop() }
    try await AttackedFleet.$current.withValue(fleet) { try await function() }
  }
}

extension Trait where Self == AttackedFleetTrait {
  /// The tests of the suite share a coordinator process, `AttackedFleet.current`.
  static var attackedFleet: Self { AttackedFleetTrait() }
}

/// The worker's end of a stream to a real coordinator: it sends exactly the messages that an attack wants.
final class HostileWorker: Sendable {
  let connection = Connection()
  private let stream: Task<Void, any Error>

  init(_ fleet: AttackedFleet, as identity: HostIdentity) throws {
    let workers = try fleet.workers
    stream = Task { [connection] in
      defer { connection.close() }
      try await CoordinatorClient.withSecureClient(workers, .host(identity)) { client, _ in
        try await Baton_V1_Workers.Client(wrapping: client).connect(options: CoordinatorClient.callOptions) { writer in
          while let messages = await connection.up.receive() {
            for frame in Framing.frames(messages) { try await writer.write(frame) }
          }
        } onResponse: { response in
          defer { connection.close() }
          for try await frame in response.messages { connection.down.send(contentsOf: try Framing.messages(frame)) }
        }
      }
    }
  }

  static func hello(_ host: String, _ incarnation: String = "1", receipt: Receipt? = nil) -> Hello {
    var hello = Hello(
      host: HostName(host), incarnation: Incarnation("\(host)-\(incarnation)"), version: "1",
      capabilities: Capabilities(slots: 4), conditions: .assumed)
    hello.capabilities.handlers = [IdentifierPattern("com.held.*")!]
    hello.secret = Array(repeating: 7, count: 32)
    hello.receipts = receipt.map { [$0] } ?? []
    return hello
  }

  func say(_ messages: WorkerMessage...) { connection.up.send(contentsOf: messages) }

  /// The first message for which `body` gives something; `nil` if the stream ends before it.
  func hears<Result>(_ body: (CoordinatorMessage) -> Result?) async -> Result? {
    while let messages = await connection.down.receive() {
      for message in messages { if let result = body(message) { return result } }
    }
    return nil
  }

  /// The reason for which the coordinator refuses the hello; `nil` if it takes it.
  func refusal() async -> String? {
    await hears { message -> String?? in
      switch message {
      case .welcome: .some(nil)
      case .refused(let why, _): .some(why)
      default: nil
      }
    } ?? nil
  }

  /// Waits until the coordinator has ended the stream.
  func ended() async { _ = await stream.result }

  func close() { connection.close() }
}
