import BatonBase
import BatonModel
import BatonStore
import ContractRows
import Testing

@testable import BatonCoordinator

/// Calls about jobs that the patterns of a credential do not cover.
@Suite struct ForeignNamesTests {
  private static let (foreign, pattern) = (JobIdentifier("com.other.a")!, IdentifierPattern("com.other.*")!)

  private static let calls: [String: @Sendable (PermittedAPI) async throws -> Void] = [
    "details": { _ = try await $0.details(foreign, number: nil, choosing: .current) },
    "details of a number": { _ = try await $0.details(foreign, number: 1, choosing: .ran) },
    "watch": { try await $0.watch(foreign, number: nil) { _ in } },
    "logs": { try await $0.logs(foreign, number: nil, launch: nil, follows: true) { _, _ in } },
    "cancel": { _ = try await $0.cancel(.identifier(foreign, number: nil), by: "") },
    "retry": { _ = try await $0.retry(foreign, number: nil, skipping: .nothing, withNewDefinition: false) },
    "redefine": { _ = try await $0.redefine(foreign, number: nil) },
    "setSpread": { _ = try await $0.setSpread(foreign, number: nil, lanes: 2) },
    "pauseSchedule": { _ = try await $0.setSchedules(pattern, .pause(reason: "x"), by: "") },
    "backfill": {
      _ = try await $0.backfill(
        BackfillOrder(identifier: foreign, from: Timestamp(nanoseconds: 0), until: Timestamp(nanoseconds: 1)), by: "",
        isRehearsal: true)
    },
    "stopBackfill": { _ = try await $0.stopBackfill(of: foreign) },
    "setLimit": { _ = try await $0.setLimit(LimitKey(.concurrency, "customer/acme"), .concurrency(2)) },
    "setPriority": { _ = try await $0.setPriority(foreign, number: nil, .utility) },
    "shards": { _ = try await $0.shards(foreign, number: nil, after: nil, limit: 9) },
    "explain": { _ = try await $0.explain(foreign, number: nil) },
    "trace": { _ = try await $0.trace(foreign, number: nil) },
    "simulateLaunch": { _ = try await $0.simulateLaunch(foreign, number: nil, on: nil) },
    "simulateExpiry": { _ = try await $0.simulateExpiry(foreign, number: nil, as: nil) },
    "apply": { _ = try await $0.apply([Definition(pattern: pattern, kind: .processing)]) },
    "remove": { try await $0.remove(pattern) },
    "evict": { _ = try await $0.setEvicted(pattern, from: [], true) },
    "drain": { try await $0.setDraining(HostName("desk"), true) },
    "pause": { try await $0.setPaused(true) },
    "cancelTransfer": { try await $0.cancelTransfer(TransferKey(request: RequestID(1), index: 0)) },
    "testReceiver": { _ = try await $0.testReceiver(ReceiverName("ops")!) },
    "simulateTransfer": { try await $0.simulateTransfer(TransferKey(request: RequestID(1), index: 0), .failure) },
    "simulateConditions": {
      try await $0.simulateConditions(ConditionOverrides(), on: HostName("desk"), lasting: .seconds(1))
    },
  ]

  /// The calls that reach the coordinator for a credential with this pattern.
  private static func reached(
    _ pattern: String, scopes: Set<Scope>, _ call: (PermittedAPI) async throws -> Void
  ) async -> (calls: [String], error: (any Error)?) {
    let coordinator = FakeCoordinator()
    let credential = Credential(
      id: [1], name: "alice", digest: [2], scopes: scopes, patterns: [IdentifierPattern(pattern)!],
      end: Timestamp(nanoseconds: .max), createdAt: Timestamp(nanoseconds: 0), createdBy: "ana")
    let api = PermittedAPI(
      api: coordinator, caller: Caller(name: "alice", credential: credential), audit: nil, meter: nil)
    do {
      try await call(api)
      return (coordinator.calls, nil)
    } catch {
      return (coordinator.calls, error)
    }
  }

  @Test(
    "What the patterns do not cover is refused before anything is looked up, so that no time tells whether it exists",
    .refuses(19), arguments: [[.operate, .define], [.submit, .read]] as [Set<Scope>])
  func foreignNames(scopes: Set<Scope>) async {
    for (name, call) in Self.calls {
      let (calls, error) = await Self.reached("com.mine.*", scopes: scopes, call)
      #expect(calls.isEmpty && error is OperatorError, "\(name): \(calls) \(error as Any)")
    }
    let own = [
      "drain", "pause", "simulateConditions", "cancelTransfer", "simulateTransfer", "testReceiver", "setLimit",
    ]
    for (name, call) in Self.calls where !own.contains(name) {
      #expect(
        await !Self.reached("com.other.*", scopes: [.operate, .define], call).calls.isEmpty, "the control: \(name)")
    }
  }

  @Test("Of the notifications only those of jobs that the patterns cover are shown and counted", .refuses(19))
  func notifications() async throws {
    let coordinator = FakeCoordinator([]) { state in
      func report(_ job: JobIdentifier?) -> NotificationReport {
        var facts = JobNotification(id: "1", event: .failure, at: "")
        facts.identifier = job
        return NotificationReport(receiver: ReceiverName("ops")!, facts: facts, attempts: 1)
      }
      let mine = JobIdentifier("com.mine.a")!
      state.notifications.waiting = [report(mine), report(Self.foreign), report(nil)]
      state.notifications.failed = [report(Self.foreign), report(mine)]
      (state.notifications.waitingCount, state.notifications.failedCount) = (3000, 2)
    }
    let credential = Credential(
      id: [1], name: "alice", digest: [2], scopes: [.read], patterns: [IdentifierPattern("com.mine.*")!],
      end: Timestamp(nanoseconds: .max), createdAt: Timestamp(nanoseconds: 0), createdBy: "ana")
    let limited = PermittedAPI(
      api: coordinator, caller: Caller(name: "alice", credential: credential), audit: nil, meter: nil)
    let seen = try await limited.notifications()
    #expect((seen.waiting + seen.failed).map(\.facts.identifier?.rawValue) == ["com.mine.a", "com.mine.a"])
    #expect(seen.waitingCount == 1 && seen.failedCount == 1, "the number of others' notifications is shown")
    let owner = PermittedAPI(api: coordinator, caller: Caller(name: "ana"), audit: nil, meter: nil)
    #expect(try await owner.notifications().waitingCount == 3000)
  }

  @Test("A credential with patterns sees no addresses of receivers", .refuses(19))
  func receivers() async throws {
    let coordinator = FakeCoordinator { state in
      state.notifications.receivers = [
        ReceiverReport(name: ReceiverName("team")!, kind: .mail, place: "ana@example.org")
      ]
    }
    for (patterns, place) in [(["com.mine.*"], ""), ([], "ana@example.org")] {
      let seen = try await Self.limited(coordinator, to: patterns, [.read]).notifications()
      #expect(seen.receivers.map(\.place) == [place])
    }
  }

  /// The calls of a credential with these patterns.
  private static func limited(
    _ coordinator: FakeCoordinator, to patterns: [String], _ scopes: Set<Scope>
  ) -> PermittedAPI {
    let credential = Credential(
      id: [1], name: "alice", digest: [2], scopes: scopes, patterns: patterns.map { IdentifierPattern($0)! },
      end: Timestamp(nanoseconds: .max), createdAt: Timestamp(nanoseconds: 0), createdBy: "ana")
    return PermittedAPI(
      api: coordinator, caller: Caller(name: "alice", credential: credential), audit: nil, meter: nil)
  }

  private static let flow: [RequestRecord] = [
    .example(1, "com.mine.a", .running) { ($0.flow, $0.principal) = (RequestID(1), "alice") },
    .example(2, "com.mine.b", .scheduled) { ($0.flow, $0.principal) = (RequestID(1), "alice") },
    .example(3, "com.mine.c", .ready) { ($0.flow, $0.principal) = (RequestID(3), "alice") },
    .example(4, "com.other.d", .scheduled) { ($0.flow, $0.principal) = (RequestID(3), "alice") },
    .example(5, "com.mine.e", .ready) { ($0.flow, $0.principal) = (RequestID(5), "bo") },
    .example(6, "com.other.f", .ready) { ($0.flow, $0.principal) = (RequestID(6), "alice") },
  ]

  @Test(
    "A flow is cancelled only by a caller that may cancel each of its requests", .refuses(19),
    arguments: [
      (1, ["com.mine.*"], [.submit], ""), (3, ["com.mine.*"], [.operate], "may not cancel"),
      (5, [], [.submit], "may not cancel"), (5, [], [.operate], ""), (3, [], [.submit], ""),
      (6, ["com.mine.*"], [.operate], "there is no flow 6"), (7, ["com.mine.*"], [.operate], "there is no flow 7"),
    ] as [(Int64, [String], Set<Scope>, String)])
  func cancelFlow(flow: Int64, patterns: [String], scopes: Set<Scope>, refusal: String) async {
    let coordinator = FakeCoordinator(Self.flow)
    let api = Self.limited(coordinator, to: patterns, scopes)
    do {
      _ = try await api.cancel(.flow(RequestID(flow)), by: "")
      #expect(refusal.isEmpty)
    } catch {
      #expect(!refusal.isEmpty && "\(error)".contains(refusal), "\(error)")
    }
    let cancelled = coordinator.calls.contains { $0.hasPrefix("cancel") }
    #expect(cancelled == refusal.isEmpty, "\(coordinator.calls)")
  }

  @Test("A definition may let its launches submit only what its author may define", .refuses(19))
  func maySubmit() async {
    for (other, isRefused) in [("com.other.*", true), ("com.*", true), ("com.mine.b", false)] {
      let (calls, error) = await Self.reached("com.mine.*", scopes: [.define]) { api in
        var definition = Definition(pattern: IdentifierPattern("com.mine.a")!, kind: .processing)
        definition.maySubmit = [IdentifierPattern("com.mine.c")!, IdentifierPattern(other)!]
        _ = try await api.apply([definition])
      }
      #expect(calls.isEmpty == isRefused && (error is OperatorError) == isRefused, "\(other): \(error as Any)")
      if isRefused { #expect("\(error as Any)".contains("'maySubmit' of 'com.mine.a' names '\(other)'")) }
    }
  }

  @Test("Submissions for other jobs do not reach the coordinator, and the answer is that of a job that does not exist")
  func submissions() async {
    let (calls, error) = await Self.reached("com.mine.*", scopes: [.submit]) { api in
      let results = try await api.submit([SubmissionOrder(id: "one", identifier: Self.foreign)], by: "alice")
      guard case .refused("notPermitted", _)? = results.first else { throw OperatorError.unknown("\(results)") }
    }
    #expect(calls.isEmpty && error == nil, "\(calls) \(error as Any)")
  }
}
