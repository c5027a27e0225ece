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
import Synchronization
import Testing

@testable import BatonCoordinator

/// Operators of other machines and accounts: what a credential permits, and what it does not.
@Suite("Operators with credentials", .timeLimit(.minutes(10)))
struct OperatorServerTests {
  // MARK: The matrix

  private typealias Identity = MethodMatrix.Identity

  @Test("Each method permits exactly the identities of the matrix", .refuses(18, 23))
  func permits() async throws {
    #expect(
      Set(MethodMatrix.methods) == Set(MethodMatrix.table.keys), "each method of the proto file has a row in the matrix"
    )
    #expect(MethodMatrix.methods.count == MethodMatrix.table.count)
    #expect(MethodMatrix.methods.count > 30)
    var rates = CallRates()
    (rates.failures, rates.joins, rates.changes) = (100_000, 100_000, 100_000)
    rates.rejoins = 100_000
    try await ServedFleet.serving(rates: rates) { place in
      let now = SystemClocks.date()
      let known = try await place.credential("known", [.admin])
      for identity in Identity.allCases {
        let authorization: String? =
          switch identity {
          case .nobody: nil
          case .wrongToken: "Bearer \(try CredentialToken(id: known.id, secret: CredentialToken().secret))"
          case .ownersToken: "Bearer \(place.token)"
          case .ended: "Bearer \(place.credential("late", [.admin], until: now + .seconds(-1)))"
          case .revoked: try await Self.revoked(at: place)
          case .read, .logs, .submit, .operate, .define, .admin, .metrics:
            "Bearer \(try await place.credential("one", [Scope(rawValue: identity.rawValue)!]))"
          }
        for method in MethodMatrix.methods {
          let code = try await MethodMatrix.code(
            of: method, authorization, at: place.operators, .pin(place.authority.pin))
          let isPermitted = MethodMatrix.table[method]?.contains(identity) ?? false
          let isRefused = [.unauthenticated, .permissionDenied, .unimplemented].contains(code)
          #expect(isRefused != isPermitted, "\(method) as \(identity): \(String(describing: code))")
        }
      }
    }
  }

  private static func revoked(at place: ServedFleet) async throws -> String {
    let token = try await place.credential("gone", [.admin])
    _ = try await place.coordinator.revokeCredential("gone")
    return "Bearer \(token)"
  }

  @Test("Through the Unix socket each method needs the token of the data folder", .refuses(18))
  func ownSocket() async throws {
    try await ServedFleet.serving { place in
      let credential = try await place.credential("ana", [.admin])
      for shown in [nil, "", "Bearer \(place.token)0", "Bearer \(credential)"] {
        for method in MethodMatrix.methods {
          let code = try await MethodMatrix.code(of: method) { body in
            try await CoordinatorClient.withClient(
              place.workers, tokenFile: nil, folders: RuntimeFolders(paths: [place.folder])
            ) { client, _ in try await body(client, shown) }
          }
          #expect(
            code == (method.hasPrefix("Enrolment/") ? .unimplemented : .unauthenticated), "\(method): \(code as Any)")
        }
      }
    }
  }

  @Test("A host's certificate serves the workers' methods, and nothing of operators", .refuses(18))
  func hosts() async throws {
    try await ServedFleet.serving { place in
      let identity = try await place.joined("desk")
      for method in MethodMatrix.methods where !method.hasPrefix("Workers/") {
        let code = try await MethodMatrix.code(of: method, nil, at: place.workers, .host(identity))
        #expect(code == .unimplemented, "\(method): \(code as Any)")
      }
      #expect(
        try await MethodMatrix.code(of: "Workers/Renew", nil, at: place.workers, .host(identity)) == .invalidArgument)
    }
  }

  @Test("A method that the table of access does not have is refused", .refuses(18))
  func unknownMethod() async throws {
    for method in MethodMatrix.methods { #expect(Baton_V1_Access.of("baton.v1.\(method)") != nil, "\(method)") }
    try await ServedFleet.serving { place in
      let admin = "Bearer \(try await place.credential("ana", [.admin]))"
      let door = Door(DescriptorBudget(limit: 1024).grpc, what: "test", logger: Fleet.quiet)
      let proofs: [(Gate.Proof, String)] = [
        (.owner(token: place.token, name: "ana"), "Bearer \(place.token)"),
        (.credentials(place.identities.credentials), admin),
      ]
      for (proof, shown) in proofs {
        let interceptor = OperatorInterceptor(gate: Gate(proof: proof, coordinator: place.coordinator, door: door))
        #expect(try await Self.passes(interceptor, "Pause", shown), "the control")
        let error = await #expect(throws: RPCError.self) { try await Self.passes(interceptor, "Fly", shown) }
        #expect(error?.code == .permissionDenied)
      }
    }
  }

  /// Whether an interceptor hands a call of this method on.
  @discardableResult
  private static func passes(_ interceptor: OperatorInterceptor, _ method: String, _ shown: String) async throws -> Bool
  {
    let wasPassed = Mutex(false)
    try await withServerContextRPCCancellationHandle { cancellation in
      let context = ServerContext(
        descriptor: MethodDescriptor(fullyQualifiedService: "baton.v1.Operators", method: method),
        remotePeer: "ipv4:192.0.2.1:1", localPeer: "ipv4:192.0.2.2:1", cancellation: cancellation)
      _ = try await interceptor.intercept(
        request: StreamingServerRequest(
          metadata: ["authorization": .string(shown)],
          messages: RPCAsyncSequence(wrapping: AsyncThrowingStream<Int, any Error> { $0.finish() })),
        context: context
      ) { _, _ in
        wasPassed.withLock { $0 = true }
        return StreamingServerResponse(of: Int.self) { _ in [:] }
      }
    }
    return wasPassed.withLock { $0 }
  }

  // MARK: Patterns

  @Test("What the patterns do not cover does not exist, whether it does or not", .refuses(19))
  func patterns() async throws {
    try await ServedFleet.serving { place in
      for pattern in ["com.mine.one", "com.other.one", "com.mine.group.*"] { try await place.job(pattern) }
      let token = try await place.credential("alice", [.operate, .define], patterns: ["com.mine.*"])
      try await place.asOperator(token) { api in
        let listed = try await api.requests(RequestFilter(), after: nil, limit: 100).map(\.identifier.rawValue)
        #expect(listed == ["com.mine.one"])
        let definitions = try await api.definitions(named: [])
        #expect(definitions.map(\.definition) == ["com.mine.group.*", "com.mine.one"].map(ServedFleet.definition))
        #expect(definitions.last?.waiting == 1)
        #expect(try await api.definitions(named: [IdentifierPattern("com.other.one")!]).isEmpty)
        let own = try await api.definition(of: JobIdentifier("com.mine.one")!, number: nil)
        #expect(own == RequestDefinition(definition: ServedFleet.definition("com.mine.one"), isApplied: true))
        _ = try await api.details(JobIdentifier("com.mine.one")!, number: nil)
        for number in [nil, 1] {
          let there = await Self.refusals(api, JobIdentifier("com.other.one")!, number)
          let absent = await Self.refusals(api, JobIdentifier("com.other.two")!, number)
          #expect(there == absent.map { $0.replacingOccurrences(of: "com.other.two", with: "com.other.one") })
          #expect(there.allSatisfy { $0.hasPrefix("notFound: there is no ") }, "\(there)")
        }
        // A spelling that is close to the name of a job of others is not completed.
        let close = await Self.refusals(api, JobIdentifier("com.mine.ona")!, nil)
        #expect(!close.joined().contains("com.other"))
        let results = try await api.submit(
          ["com.other.one", "com.other.two", "com.mine.one"].map {
            SubmissionOrder(id: "\($0) of alice", identifier: JobIdentifier($0)!)
          }, by: "alice")
        guard case .refused(let code, let message) = results[0], case .refused(code, let other) = results[1],
          case .accepted = results[2]
        else {
          Issue.record("\(results)")
          return
        }
        #expect(code == "notPermitted")
        #expect(message.replacingOccurrences(of: "one", with: "two") == other)
        await #expect(throws: OperatorError.self) { _ = try await api.apply([ServedFleet.definition("com.*")]) }
        for definition in Self.definitionsThatSubmitOthers {
          await #expect(throws: OperatorError.self) { _ = try await api.apply([definition]) }
        }
        await #expect(throws: OperatorError.self) { try await api.setPaused(true) }
        await #expect(throws: OperatorError.self) { try await api.remove(IdentifierPattern("com.other.one")!) }
        let cancelled = try await api.cancel(.all, by: "alice").count
        #expect(cancelled == 1)
      }
      let left = try await place.coordinator.requests(RequestFilter(), after: nil, limit: 10)
      #expect(left.filter { !$0.state.isEnded }.map(\.identifier.rawValue) == ["com.other.one"])
      #expect(try await !place.coordinator.store.fleet().isPaused)
    }
  }

  /// Definitions of a permitted job whose requests would submit one that is not permitted.
  private static var definitionsThatSubmitOthers: [Definition] {
    let own = ServedFleet.definition("com.mine.one")
    var (first, second, third) = (own, own, own)
    first.maySubmit = [IdentifierPattern("com.other.one")!]
    second.onSuccess = FollowUp("com.other.one")
    third.onFailure = FollowUp("com.other.one")
    return [first, second, third]
  }

  /// The errors of each call about a request.
  private static func refusals(
    _ api: ServedFleet.Client, _ identifier: JobIdentifier, _ number: Int?
  ) async -> [String] {
    let calls: [@Sendable () async throws -> Void] = [
      { _ = try await api.details(identifier, number: number) },
      { try await api.watch(identifier, number: number) { _ in } },
      { try await api.logs(identifier, number: number, launch: nil, follows: false) { _, _ in } },
      { _ = try await api.explain(identifier, number: number) },
      { _ = try await api.definition(of: identifier, number: number) },
      { _ = try await api.trace(identifier, number: number) },
      { _ = try await api.cancel(.identifier(identifier, number: number), by: "") },
      { _ = try await api.retry(identifier, number: number, skipping: .nothing, withNewDefinition: false) },
      { _ = try await api.redefine(identifier, number: number) },
      { _ = try await api.setSpread(identifier, number: number, lanes: 2) },
      { _ = try await api.setPriority(identifier, number: number, .utility) },
      { _ = try await api.shards(identifier, number: number, after: nil, limit: 9) },
      { _ = try await api.simulateLaunch(identifier, number: number, on: nil) },
      { _ = try await api.simulateExpiry(identifier, number: number, as: nil) },
    ]
    var refusals: [String] = []
    for call in calls {
      do {
        try await call()
        refusals.append("done")
      } catch OperatorError.notFound(let text) { refusals.append("notFound: \(text)") } catch {
        refusals.append("\(error)")
      }
    }
    return refusals
  }

  // MARK: Own requests

  @Test("With the scope submit, only one's own requests are cancelled, and only their output and payload are read")
  func own() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.a", by: "bob")
      let identifier = JobIdentifier("com.a")!
      let alice = try await place.credential("alice", [.submit])
      let reader = try await place.credential("carol", [.read, .logs])
      try await place.asOperator(alice) { api in
        let hidden = try await api.details(identifier, number: nil).record.payload
        #expect(hidden == nil)
        for call: @Sendable () async throws -> Void in [
          { _ = try await api.cancel(.identifier(identifier, number: nil), by: "bob") },
          { _ = try await api.cancel(.identifier(identifier, number: 1), by: "bob") },
          { _ = try await api.retry(identifier, number: 1, skipping: .nothing, withNewDefinition: false) },
          { try await api.logs(identifier, number: nil, launch: nil, follows: false) { _, _ in } },
        ] {
          let error = await #expect(throws: OperatorError.self) { try await call() }
          guard case .notPermitted? = error else {
            Issue.record("\(error as Any)")
            continue
          }
        }
        let none = try await api.cancel(.all, by: "bob")
        #expect(none.isEmpty)
      }
      try await place.asOperator(reader) { api in
        let readable = try await api.details(identifier, number: nil).record.payload
        #expect(readable == [1, 2, 3])
      }
      try await place.job("com.b", by: "alice")
      try await place.asOperator(alice) { api in
        let mine = JobIdentifier("com.b")!
        let ownPayload = try await api.details(mine, number: nil).record.payload
        #expect(ownPayload == [1, 2, 3])
        let ended = try await api.cancel(.identifier(mine, number: nil), by: "").count
        #expect(ended == 1)
      }
    }
  }

  @Test(
    "The principal is the credential's name, whatever the caller says, and a poke of priority 10 needs operate",
    .refuses(21, 23))
  func principal() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.a.*")
      let token = try await place.credential("alice", [.submit])
      try await place.asOperator(token) { api in
        let order = SubmissionOrder(id: "one", identifier: JobIdentifier("com.a.x")!)
        _ = try await api.submit([order], by: "root")
        let principal = try await api.details(order.identifier, number: nil).record.principal
        #expect(principal == "alice")
        let poke = SubmissionOrder(id: "two", identifier: JobIdentifier("com.a.y")!, poke: .immediate)
        await #expect(throws: OperatorError.self) { _ = try await api.submit([poke], by: "alice") }
        await #expect(throws: OperatorError.self) { _ = try await api.apply([ServedFleet.definition("com.b")]) }
      }
      let rows = try await place.coordinator.audit(AuditFilter(actor: "alice"), after: 0, limit: 10)
      #expect(rows.map(\.entry.method) == ["Submit", "Submit", "Apply"])
      #expect(rows.map(\.entry.outcome) == [.done, .denied, .denied])
      #expect(rows[0].entry.detail == "onBehalfOf=root")
    }
  }

  @Test(
    "A submission that is refused for all its orders has failed; one that is refused for some is done"
  )
  func refusedSubmissions() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.a.*")
      let token = try await place.credential("alice", [.submit])
      try await place.asOperator(token) { api in
        let known = SubmissionOrder(id: "one", identifier: JobIdentifier("com.a.x")!)
        let unknown = SubmissionOrder(id: "two", identifier: JobIdentifier("com.none")!)
        _ = try await api.submit([unknown], by: "alice")
        _ = try await api.submit([known, unknown], by: "alice")
      }
      let rows = try await place.coordinator.audit(AuditFilter(actor: "alice"), after: 0, limit: 10)
      #expect(rows.map(\.entry.outcome) == [.failed, .done])
      #expect(rows.first?.entry.detail == Refusal.Kind.notPermitted.rawValue)
    }
  }

  // MARK: Ends

  @Test("A stream ends when its credential is revoked or has ended", .refuses(20), arguments: [true, false])
  func streams(isRevoked: Bool) async throws {
    let clock = StandingClock()
    try await ServedFleet.serving(clocks: clock.clocks) { place in
      try await place.job("com.a")
      let token = place.credential("alice", [.read], until: clock.date + .seconds(3600))
      let error: CoordinatorUnreachable = try await #require(throws: CoordinatorUnreachable.self) {
        try await place.asOperator(token) { api in
          try await api.watch(JobIdentifier("com.a")!, number: nil) { _ in
            guard isRevoked else { return clock.move(by: .seconds(3601)) }
            _ = try await place.coordinator.revokeCredential("alice")
          }
        }
      }
      #expect(error.isNotPermitted && error.message.contains("has ended or was revoked"))
      await #expect(throws: CoordinatorUnreachable.self) {
        try await place.asOperator(token) { api in _ = try await api.whoAmI() }
      }
    }
  }

  @Test("A revoked credential stays revoked when an older copy of the store is put back", .refuses(14))
  func olderStore() async throws {
    try await ServedFleet.serving { place in
      let token = try await place.credential("alice", [.read])
      let before = try await place.coordinator.credentials()
      #expect(try await place.coordinator.revokeCredential("alice") == RevokedCredentials(count: 1))
      #expect(try await place.coordinator.revokeCredential("alice") == RevokedCredentials(count: 0, before: 1))
      let restarted = try OperatorCredentials(dataFolder: place.folder)
      restarted.load(before)
      #expect(restarted.credential(token, at: SystemClocks.date()) == nil)
      #expect(before.map(\.isRevoked) == [false])
    }
  }

  // MARK: Rates and the audit log

  @Test("After ten wrong credentials nothing from the address is looked up for a while", .refuses(38))
  func bruteForce() async throws {
    try await ServedFleet.serving(clocks: StandingClock().clocks) { place in
      let right = try await place.credential("alice", [.read])
      for number in 1...11 {
        let error = await #expect(throws: (any Error).self) {
          try await place.asOperator(CredentialToken()) { api in _ = try await api.whoAmI() }
        }
        #expect((error is OperatorError) == (number > 10), "attempt \(number): \(error as Any)")
      }
      await #expect(throws: OperatorError.self) {
        try await place.asOperator(right) { api in _ = try await api.whoAmI() }
      }
      let rows = try await place.coordinator.audit(AuditFilter(), after: 0, limit: 100)
      let denied = rows.map(\.entry).filter { $0.outcome == .denied }.map(\.detail)
      #expect(
        denied == ["no valid credential", "too many wrong credentials"],
        "ten refusals in ten seconds are one row, and so are two without a look")
    }
  }

  @Test("A credential that submits or changes more than its rate is slowed down, and others are not")
  func rates() async throws {
    var rates = CallRates()
    (rates.submissions, rates.changes) = (1, 2)
    try await ServedFleet.serving(rates: rates, clocks: StandingClock().clocks) { place in
      try await place.job("com.a.*")
      let fast = try await place.credential("fast", [.submit])
      let other = try await place.credential("other", [.submit])
      let orders = (0..<5).map { SubmissionOrder(id: "o\($0)", identifier: JobIdentifier("com.a.x\($0)")!) }
      try await place.asOperator(fast) { api in
        let taken = try await api.submit(orders, by: "").count
        #expect(taken == 5)
        await #expect(throws: OperatorError.self) { _ = try await api.submit(orders, by: "") }
      }
      let count = try await place.asOperator(other) { api in try await api.submit(orders, by: "").count }
      #expect(count == 5)
      // Looking is no change.
      let (restless, calm) = (
        try await place.credential("restless", [.operate]), try await place.credential("calm", [.operate])
      )
      try await place.asOperator(restless) { api in
        for _ in 0..<4 { try await api.setPaused(false) }
        let error = await #expect(throws: OperatorError.self) { try await api.setPaused(true) }
        #expect("\(error as Any)".contains("more changes than rates.changes"), "\(error as Any)")
        _ = try await api.whoAmI()
      }
      try await place.asOperator(calm) { api in try await api.setPaused(false) }
      let denied = try await place.coordinator.audit(AuditFilter(), after: 0, limit: 100).map(\.entry)
        .filter { $0.outcome == .denied }.map { "\($0.actor) \($0.detail)" }
      #expect(denied == ["fast more than rates.submissions", "restless more than rates.changes"])
    }
  }

  /// Each method that may change something, as a call of an admin. Whether it succeeds does not matter.
  private static let changes: [String: @Sendable (ServedFleet.Client) async throws -> Void] = {
    let (job, host) = (JobIdentifier("com.a")!, HostName("desk"))
    return [
      "Apply": { _ = try await $0.apply([ServedFleet.definition("com.a")]) },
      "Remove": { try await $0.remove(IdentifierPattern("com.b")!) },
      "Submit": { _ = try await $0.submit([SubmissionOrder(id: "one", identifier: job)], by: "") },
      "SubmitFlow": { _ = try await $0.submitFlow([SubmissionOrder(id: "two", identifier: job)], by: "") },
      "Cancel": { _ = try await $0.cancel(.identifier(job, number: nil), by: "") },
      "Retry": { _ = try await $0.retry(job, number: nil, skipping: .nothing, withNewDefinition: false) },
      "Redefine": { _ = try await $0.redefine(job, number: nil) },
      "SetSpread": { _ = try await $0.setSpread(job, number: nil, lanes: 2) },
      "SetLimit": { _ = try await $0.setLimit(LimitKey(.concurrency, "a"), .concurrency(2)) },
      "SetPriority": { _ = try await $0.setPriority(job, number: nil, .utility) },
      "PauseSchedule": { _ = try await $0.setSchedules(IdentifierPattern(job), .pause(reason: "x"), by: "") },
      "ResumeSchedule": { _ = try await $0.setSchedules(IdentifierPattern(job), .resume, by: "") },
      "Backfill": {
        _ = try await $0.backfill(
          BackfillOrder(identifier: job, from: Timestamp(nanoseconds: 0), until: Timestamp(nanoseconds: 1)), by: "",
          isRehearsal: false)
      },
      "StopBackfill": { _ = try await $0.stopBackfill(of: job) },
      "Drain": { try await $0.setDraining(host, true) }, "Undrain": { try await $0.setDraining(host, false) },
      "Pause": { try await $0.setPaused(true) }, "Resume": { try await $0.setPaused(false) },
      "Evict": { _ = try await $0.setEvicted(IdentifierPattern("com.a")!, from: [], true) },
      "Unevict": { _ = try await $0.setEvicted(IdentifierPattern("com.a")!, from: [], false) },
      "SimulateLaunch": { _ = try await $0.simulateLaunch(job, number: nil, on: nil) },
      "SimulateExpiry": { _ = try await $0.simulateExpiry(job, number: nil, as: nil) },
      "SimulateConditions": {
        try await $0.simulateConditions(ConditionOverrides(), on: host, lasting: .seconds(1))
      },
      "SimulateTransfer": { try await $0.simulateTransfer(TransferKey(request: RequestID(1), index: 0), .failure) },
      "TestReceiver": { _ = try await $0.testReceiver(ReceiverName("ops")!) },
      "CancelTransfer": { try await $0.cancelTransfer(TransferKey(request: RequestID(1), index: 0)) },
      "Backup": { _ = try await $0.backUpStore(to: "/nowhere/of/the/test.sqlite") { _ in } },
      // Only the coordinator's own user moves the store: the row says that the call was denied.
      "MoveStore": { _ = try await $0.moveStore(to: .folder("/nowhere"), isRehearsal: true) { _ in } },
      "ForgetHost": { try await $0.forget(host) }, "ForgetGoneHost": { try await $0.forgetHost(host) },
      "Prune": {
        _ = try await $0.prune(PruneSelection(pattern: IdentifierPattern("com.a")!), isRehearsal: false)
      },
      "InviteHost": { _ = try await $0.invite(host, for: .seconds(60), by: "", needsApproval: false) },
      "ApproveHost": { try await $0.approve(host, number: "000000") },
      "RotateRoot": { _ = try await $0.rotateRoot() }, "RevokeHost": { _ = try await $0.revoke(host) },
      "CreateCredential": { _ = try await $0.createCredential(CredentialOrder(name: "bob", scopes: [.read])) },
      "RevokeCredential": { _ = try await $0.revokeCredential("bob") },
    ]
  }()

  /// Methods that need a scope which permits changes, and change nothing.
  private static let looking: Set = ["WaitingHosts", "Credentials", "Audit", "VerifyAudit"]

  @Test("Every method that may change something writes a row, and calls that only look write none", .refuses(29))
  func everyChange() async throws {
    let methods = MethodMatrix.methods.filter { Baton_V1_Access.of("baton.v1.\($0)")?.isChange == true }
      .map { String($0.split(separator: "/")[1]) }
    #expect(methods.count > 20)
    #expect(
      Set(methods)
        == Set(Self.changes.keys).subtracting(["Undrain", "Resume", "Unevict", "PauseSchedule", "ResumeSchedule"])
        .union(Self.looking).union(["SetSchedules"]))
    var rates = CallRates()
    rates.changes = 1000
    try await ServedFleet.serving(rates: rates) { place in
      let token = try await place.credential("alice", [.admin])
      try await place.asOperator(token) { api in
        var rows = try await place.audit()
        for (method, change) in Self.changes.sorted(by: { $0.key < $1.key }) {
          try? await change(api)
          let more = try await place.audit()
          #expect(more.count == rows.count + 1 && more.last?.hasPrefix("alice \(method) ") == true, "\(method)")
          rows = more
        }
        _ = try await api.waitingHosts()
        _ = try await api.credentials()
        _ = try await api.audit(AuditFilter(), after: 0, limit: 1)
        #expect(try await api.verifyAudit().problem == nil)
        #expect(try await place.audit() == rows)
      }
    }
  }

  @Test(
    "Refused calls of one caller and method in ten seconds are one row, and a second one says how many", .refuses(29))
  func deniedCalls() {
    func entry(_ actor: String, _ method: String, port: Int = 1) -> AuditEntry {
      AuditEntry(
        at: Timestamp(nanoseconds: 1), actor: actor, credential: nil, peer: "ipv4:192.0.2.1:\(port)", method: method,
        object: "")
    }
    func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
    var calls = DeniedCalls()
    #expect(calls.note(entry("ana", "Pause"), at: at(0)) != nil)
    for port in 2...4 { #expect(calls.note(entry("ana", "Pause", port: port), at: at(1)) == nil) }
    #expect(calls.note(entry("ana", "Apply"), at: at(2)) != nil, "another method")
    #expect(calls.note(entry("bob", "Pause"), at: at(2)) != nil, "another caller")
    #expect(calls.due(at: at(9)).isEmpty)
    let due = calls.due(at: at(10))
    #expect(due.map(\.method) == ["Pause"] && due.first?.detail == "3 refused calls in 10 s")
    #expect(due.first?.outcome == .denied)
    #expect(calls.due(at: at(30)).isEmpty, "a call that came alone has had its row")
    #expect(calls.note(entry("ana", "Pause"), at: at(30)) != nil)
    // Beyond a thousand callers and methods the others share one row.
    for number in 1...1000 { _ = calls.note(entry("c\(number)", "Pause"), at: at(31)) }
    #expect(calls.note(entry("late", "Pause"), at: at(31)) == nil)
    #expect(calls.due(at: at(60)).count == 1)
  }

  @Test("A flood of refused calls is one row in a minute for each kind and address, whatever it calls", .refuses(29))
  func flood() {
    func entry(_ address: String, _ method: String) -> AuditEntry {
      AuditEntry(
        at: Timestamp(nanoseconds: 1), actor: "", credential: nil, peer: "ipv4:\(address):\(method.count)",
        method: method,
        object: "")
    }
    func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
    var calls = DeniedCalls()
    #expect(calls.note(entry("192.0.2.1", "Pause"), of: .failures, at: at(0)) != nil)
    for method in ["Pause", "Apply", "List"] {
      #expect(calls.note(entry("192.0.2.1", method), of: .failures, at: at(1)) == nil)
    }
    #expect(calls.note(entry("192.0.2.2", "Pause"), of: .failures, at: at(1)) != nil, "another address")
    #expect(calls.note(entry("192.0.2.1", "Renew"), of: .certificate, at: at(1)) != nil, "another kind")
    #expect(calls.due(at: at(59)).isEmpty)
    #expect(calls.due(at: at(62)).map(\.detail) == ["3 refused calls in 60 s, too many wrong credentials"])
    #expect(calls.note(entry("192.0.2.1", "Pause"), of: .failures, at: at(63)) != nil)
  }

  @Test("A message names the command that people use, for every method of operators")
  func commands() {
    for method in MethodMatrix.methods where method.hasPrefix("Operators/") {
      let words = CommandOfMethod.words(String(method.dropFirst("Operators/".count)))
      #expect(words.hasPrefix("baton "), "\(words)")
    }
    #expect(CommandOfMethod.words("/metrics") == "/metrics")
  }

  @Test("Each call that changes something has its row, also one that fails", .refuses(29))
  func auditLog() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.a")
      let token = try await place.credential("alice", [.admin])
      try await place.asOperator(token) { api in
        try await api.setPaused(true)
        let order = SubmissionOrder(id: "while the fleet is paused", identifier: JobIdentifier("com.a")!)
        let answers = try await api.submit([order], by: "alice")
        #expect(answers.contains { if case .refused("unavailable", _) = $0 { true } else { false } }, "\(answers)")
        try await api.setPaused(false)
        _ = try await api.cancel(.identifier(JobIdentifier("com.a")!, number: nil), by: "alice")
        await #expect(throws: OperatorError.self) { try await api.setDraining(HostName("nowhere"), true) }
        _ = try await api.invite(HostName("desk"), for: .seconds(60), by: "alice", needsApproval: false)
        _ = try await api.revoke(HostName("desk"))
        _ = try await api.createCredential(CredentialOrder(name: "bob", scopes: [.read]))
        _ = try await api.revokeCredential("bob")
        #expect(try await api.cancel(.all, by: "alice").isEmpty)
        let unknown = await #expect(throws: OperatorError.self) { _ = try await api.revoke(HostName("desc")) }
        #expect(unknown.map { "\($0)" }?.contains("desc") == true)
        _ = try await api.hostReports()
        #expect(try await api.verifyAudit().problem == nil)
      }
      #expect(
        try await place.audit() == [
          "alice Pause  done", "alice Submit com.a failed", "alice Resume  done", "alice Cancel com.a done",
          "alice Drain nowhere failed",
          "alice InviteHost desk done", "alice RevokeHost desk done", "alice CreateCredential bob done",
          "alice RevokeCredential bob done", "alice Cancel * failed", "alice RevokeHost desc failed",
        ])
      let details = try await place.coordinator.audit(AuditFilter(), after: 0, limit: 100).map(\.entry)
      #expect(details.first { $0.method == "CreateCredential" }?.detail == "scopes=read patterns=* for=90d")
      #expect(details.first { $0.object == "*" }?.detail == "nothing to cancel")
      #expect(details.first { $0.method == "Submit" }?.detail == "unavailable")
    }
  }
}
