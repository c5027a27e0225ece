import BatonModel
import ContractRows
import Foundation
import Synchronization
import Testing

@testable import BatonCoordinator
@testable import BatonStore

/// What operators are answered, and what the coordinator learns from being asked.
@Suite(.timeLimit(.minutes(10))) struct OperatorAnswerTests {
  private static let a = JobIdentifier("com.example.a")!
  private static let pattern = IdentifierPattern("com.example.a")!
  private static let worker = WorkerProcess(host: HostName("a"), incarnation: Incarnation("a1"))

  private func traceID(_ result: SubmissionResult) throws -> String {
    guard case .accepted(_, let traceID, _) = result else {
      Issue.record("\(result)")
      return ""
    }
    return traceID
  }

  @Test func `a submission is answered with the trace of its request, whichever submission made it`() async throws {
    let fixture = try OperatorFixture()
    _ = try await fixture.coordinator.apply([Desk.job("com.example.a", .processing)])
    let first = try traceID(try await fixture.submit(id: "1"))
    #expect(first == (try await fixture.coordinator.request(Self.a, number: nil)).trace.traceID.description)
    #expect(try traceID(try await fixture.submit(id: "2")) == first, "replaced")
    #expect(try traceID(try await fixture.submit(id: "3", poke: .considerate)) == first, "joined")
    for id in ["1", "2", "3"] {
      let poke: PokePriority? = id == "3" ? .considerate : nil
      #expect(try traceID(try await fixture.submit(id: id, poke: poke)) == first, "id \(id) again")
    }
  }

  // MARK: Recent use

  @Test(.contract(25.2), arguments: ["submit", "show", "watch", "logs", "trace", "explain", "retry"])
  func `what a person does with a job is a use of its definition`(_ act: String) async throws {
    let fixture = try OperatorFixture()
    let coordinator = fixture.coordinator
    _ = try await coordinator.apply([Desk.job("com.example.a", .processing)])
    _ = try await fixture.submit(id: "1", poke: .immediate)
    #expect(fixture.lastUses == [:], "a poke is a program's word")
    switch act {
    case "submit": _ = try await fixture.submit(id: "2")
    case "show": _ = try await coordinator.details(Self.a, number: nil)
    case "watch":
      struct Enough: Error {}
      _ = try? await coordinator.watch(Self.a, number: nil) { (_: RequestDetails) in throw Enough() }
    case "logs": try await coordinator.logs(Self.a, number: nil, launch: nil, follows: false) { _, _ in }
    case "trace": _ = try await coordinator.trace(Self.a, number: nil)
    case "explain": _ = try await coordinator.explain(Self.a, number: nil)
    default:
      let now = coordinator.now().moment
      try await fixture.attach()
      let id = try await coordinator.request(Self.a, number: nil).id
      let definition = try #require(try await fixture.store.definitions().first).id
      for _ in 0..<5 {
        let claim = Claim(
          requirementClass: ready(definition.rawValue, .background), lease: Desk.lease(),
          places: [.init(gpus: [], spanID: SpanID(1))])
        guard let launch = try await fixture.store.claim([claim], at: now).first?.assignments.first?.launch else {
          break
        }
        _ = try await fixture.store.end(
          [Ending(launch: launch, outcome: .failed("no"))], from: Self.worker,
          at: now)
        _ = try await fixture.store.promote(
          at: Moment(date: now.date + .seconds(9999), steady: now.steady + .seconds(9999)), limit: 9)
      }
      #expect(try await fixture.store.request(id)?.state == .failed)
      _ = try await coordinator.retry(
        Self.a, number: nil, skipping: .nothing, withNewDefinition: false)
    }
    #expect(fixture.lastUses == [Self.pattern: OperatorFixture.noon])
  }

  @Test(.contract(25.2)) func `explain says by name whether there is recent use, and how many go before`()
    async throws
  {
    let fixture = try OperatorFixture()
    _ = try await fixture.coordinator.apply([
      Desk.job("com.example.a", .processing), Desk.job("com.example.b", .processing),
    ])
    _ = try await fixture.submit("com.example.a", id: "1", poke: .considerate)
    _ = try await fixture.submit("com.example.b", id: "2")
    let first = try #require(try await fixture.coordinator.explain(Self.a, number: nil).order)
    #expect(first == Explanation.Order(hasRecentUse: false, classesAhead: 1))
    let again = try #require(try await fixture.coordinator.explain(Self.a, number: nil).order)
    #expect(again == Explanation.Order(lastUsedAt: OperatorFixture.noon, hasRecentUse: true), "to explain it is a use")
  }

  // MARK: Transfers

  @Test(arguments: [(full: false, outOfRoom: false), (true, false), (false, true), (true, true)])
  func `explain names what keeps transfers from a host, and the store decides by the same`(
    full: Bool, outOfRoom: Bool
  ) async throws {
    let fixture = try OperatorFixture()
    var job = Desk.job("com.example.*", .processing)
    job.transfers = [DefinedTransfer(Transfer(url: "https://example.com/a", to: "a"))]
    _ = try await fixture.coordinator.apply([job])
    var hello = Desk.hello("a", "a1", slots: 1)
    hello.capabilities.runsTransfers = true
    try await fixture.attach(hello)
    let definition = try #require(try await fixture.store.definitions().first).id
    var claim = Claim(
      requirementClass: ready(definition.rawValue, .background), lease: Desk.lease(),
      places: [.init(gpus: [], spanID: SpanID(1))])
    for number in 0..<(full ? Policy.transferRequestsOnHost : 0) {
      _ = try await fixture.submit("com.example.x\(number)", id: "x\(number)")
      let answer = try await fixture.store.claim([claim], at: fixture.coordinator.now().moment)
      #expect(answer.map(\.hasPlaced) == [true])
    }
    _ = try await fixture.submit("com.example.a", id: "1")
    fixture.coordinator.state.withLock { $0.core.noteRoom(outOfRoom, on: HostName("a")) }
    let explained = try await fixture.coordinator.explain(Self.a, number: nil)
    let codes = explained.lines.filter { $0.host != nil }.map(\.code)
    #expect(codes == (full ? ["transfersFull"] : []) + (outOfRoom ? ["transfersOutOfRoom"] : []))
    claim.isOutOfRoom = outOfRoom
    let answer = try await fixture.store.claim([claim], at: fixture.coordinator.now().moment)
    #expect(answer.map(\.hasPlaced) == [codes.isEmpty])
    #expect(answer.map(\.assignments) == [[]])
  }

  // MARK: Warnings

  @Test func `the warning for a job that needs a GPU names the GPU, whatever else hosts lack`() async throws {
    let fixture = try OperatorFixture()
    var job = Desk.job("com.example.a", .processing)
    job.requirements.gpu = GPURequirement()
    _ = try await fixture.coordinator.apply([job])
    var hello = Desk.hello("a", "a1", slots: 1)
    hello.capabilities.kinds = [.processing]
    hello.conditions.power = Reading(.battery, source: "test")
    try await fixture.attach(hello)
    try await fixture.coordinator.setDraining(HostName("a"), true)
    guard case .accepted(_, _, let warning?) = try await fixture.submit() else {
      Issue.record("no warning")
      return
    }
    #expect(warning.contains("it needs 1 GPU, and no connected host has enough"))
    #expect(!warning.contains("draining"))
  }

  // MARK: Strategy fail

  private func job(_ pattern: String = "com.example.a") -> Definition {
    Desk.job(pattern, .continued) { $0.strategy = .fail }
  }

  /// Runs `body` while the store writes nothing.
  private func withBusyWriter(_ store: SQLiteStore, _ body: () async throws -> Void) async throws {
    let gate = DispatchSemaphore(value: 0)
    let (isHeld, held) = AsyncStream.makeStream(of: Void.self)
    async let holding: Void = store.write(.urgent) { _ in
      held.finish()
      gate.wait()
    }
    for await _ in isHeld {}
    do {
      try await body()
    } catch {
      gate.signal()
      throw error
    }
    gate.signal()
    try await holding
  }

  private func withStore(_ body: (OperatorFixture) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "baton-fail-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try SQLiteStore.open(folder: folder)
    try await body(OperatorFixture(store))
    try await store.close()
  }

  @Test(.contract(35.1, 35.2)) func `what must start and finds no host is refused without waiting for the store`()
    async throws
  {
    try await withStore { fixture in
      _ = try await fixture.coordinator.apply([job()])
      try await withBusyWriter(fixture.store) {
        guard case .refused("immediateRunIneligible", let text) = try await fixture.submit() else {
          Issue.record("it was not refused")
          return
        }
        // An answer at all shows that nothing waited for the writer. It also says that the store is busy if the second,
        // which is over at once here, ended before the answer.
        #expect(text.contains("no host has ever connected"))
      }
      #expect(try await fixture.store.counts().isEmpty)
    }
  }

  @Test(.contract(35.2))
  func `what must start is refused after a second if the store is busy, and leaves nothing behind`()
    async throws
  {
    try await withStore { fixture in
      _ = try await fixture.coordinator.apply([job()])
      try await fixture.attach()
      try await withBusyWriter(fixture.store) {
        guard case .refused("immediateRunIneligible", let text) = try await fixture.submit() else {
          Issue.record("it was not refused")
          return
        }
        #expect(text.contains("the store did not take it within a second"))
        #expect(fixture.slept.all == [.seconds(1)])
        #expect(fixture.coordinator.hosts().map(\.state.host.usedSlots) == [0], "its place is free again")
      }
      #expect(try await fixture.store.counts().isEmpty)
      #expect(try await fixture.store.fleet().running.isEmpty)
    }
  }

  @Test func `a simulated launch that the store does not start holds no place`() async throws {
    let fixture = try OperatorFixture()
    let delayed = Desk.job("com.example.a", .processing) { $0.earliestBeginDate = .afterSubmission(.seconds(3600)) }
    _ = try await fixture.coordinator.apply([delayed])
    try await fixture.attach()
    _ = try await fixture.submit()
    // The store, unlike the dispatcher, knows that the host's lease has ended.
    let now = fixture.coordinator.now().moment
    _ = try await fixture.store.endLease(Desk.lease(), countsAsLoss: false, at: now)
    #expect(fixture.coordinator.hosts().map(\.state.host.usedSlots) == [0])
    let id = JobIdentifier("com.example.a")!
    let error = await #expect(throws: OperatorError.self) {
      try await fixture.coordinator.simulateLaunch(id, number: nil, on: nil)
    }
    #expect(error != nil)
    #expect(fixture.coordinator.hosts().map(\.state.host.usedSlots) == [0])
  }

  /// The fixture's second is over at once, so that it ends before, while and after the store takes the submission.
  @Test func `what must start is refused only if the store does not have it`() async throws {
    let fixture = try OperatorFixture()
    _ = try await fixture.coordinator.apply([job("com.example.*")])
    try await fixture.attach(Desk.hello(slots: 100))
    var accepted: Set<JobIdentifier> = []
    for number in 0..<100 {
      let answer = try await fixture.submit("com.example.n\(number)", id: "\(number)")
      if case .accepted(let receipt, _, _) = answer { accepted.insert(receipt.identifier) }
    }
    let stored = try await fixture.store.fleet().running.map(\.identifier)
    #expect(Set(stored) == accepted && stored.count == accepted.count)
    #expect(fixture.coordinator.hosts().map(\.state.host.usedSlots) == [accepted.count])
  }
}
