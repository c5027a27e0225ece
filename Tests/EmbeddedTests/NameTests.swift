import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Logging
import Synchronization
import Testing

/// The name of a host belongs to the worker that used it first, and only a receipt of this store counts.
@Suite(.timeLimit(.minutes(10))) struct NameTests {
  private let name = JobIdentifier("com.example.a")!
  private static let mine = [UInt8](repeating: 1, count: 32)
  private static let other = [UInt8](repeating: 2, count: 32)

  private static func worker(_ incarnation: String, _ secret: [UInt8]?, receipt: Receipt? = nil) -> FakeWorker {
    FakeWorker("a", incarnation) { hello in
      hello.capabilities.handlers = [IdentifierPattern("com.*")!]
      hello.secret = secret
      hello.receipts = receipt.map { [$0] } ?? []
    }
  }

  /// Runs a coordinator with a launch, which has a payload and runs on a worker with the name `a` and the
  /// secret `mine`.
  private func withLaunch(
    secret: [UInt8]? = mine, logger: Logger = Fleet.quiet,
    _ body: (Coordinator, FakeWorker, LaunchKey, inout ThrowingTaskGroup<Void, any Error>) async throws -> Void
  ) async throws {
    let coordinator = try Fleet(leaseTerm: .seconds(1_000_000), logger: logger).coordinator
    try await coordinator.restore()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await coordinator.run() }
      var definition = Definition(pattern: IdentifierPattern(name.rawValue)!, kind: .continued)
      definition.title = "Job"
      definition.work = nil
      _ = try await coordinator.apply([definition])
      let owner = Self.worker("a-1", secret)
      owner.connect(to: coordinator, in: &group)
      let order = SubmissionOrder(id: "one", identifier: name, payload: [7])
      _ = try await coordinator.submit([order], by: "test")
      let assignment = try #require(await owner.assignment())
      #expect(assignment.payload == [7])
      try await body(coordinator, owner, assignment.launch, &group)
      group.cancelAll()
    }
  }

  private func gone(_ worker: FakeWorker, _ coordinator: Coordinator) async throws {
    worker.close()
    while try await coordinator.hostReports().contains(where: { $0.state == .ready }) { await Task.yield() }
  }

  @Test func `another process that says the name gets nothing, whether the owner is there or not`() async throws {
    try await withLaunch { coordinator, owner, launch, group in
      for isConnected in [true, false] {
        if !isConnected { try await gone(owner, coordinator) }
        for (secret, words) in [(Self.other, "another secret"), (nil, "sent none")] as [([UInt8]?, String)] {
          let impostor = Self.worker("x-1", secret)
          impostor.connect(to: coordinator, in: &group)
          let heard = try #require(await impostor.hears { $0.isRefusal })
          #expect(!heard.contains { $0.assignment != nil })
          guard case .refused(let text, isFinal: false)? = heard.last else {
            Issue.record("it was not refused: \(heard)")
            return
          }
          #expect(text.contains(words) && text.contains("baton hosts --forget a"), "\(text)")
        }
      }
      // Nothing has happened to the launch, and its worker goes on with it.
      let back = Self.worker("a-1", Self.mine)
      back.connect(to: coordinator, in: &group)
      #expect(await back.assignment()?.launch == launch)
      #expect(try await coordinator.details(name, number: nil).launches.map(\.outcome) == [nil])
    }
  }

  @Test func `the worker itself may come back as another process, at once`() async throws {
    try await withLaunch { coordinator, owner, launch, group in
      try await gone(owner, coordinator)
      let next = Self.worker("a-2", Self.mine)
      next.connect(to: coordinator, in: &group)
      let assignment = try #require(await next.assignment())
      #expect(assignment.launch == LaunchKey(request: launch.request, number: 2))
    }
  }

  @Test func `an operator releases a name, and the next worker is taken`() async throws {
    try await withLaunch { coordinator, owner, _, group in
      try await gone(owner, coordinator)
      try await coordinator.forget(HostName("a"))
      // The name is free now, and the lease of its last worker still runs.
      let early = Self.worker("a-2", Self.other)
      early.connect(to: coordinator, in: &group)
      guard case .refused(let text, isFinal: false)? = await early.welcome() else {
        Issue.record("it was taken before the lease ended")
        return
      }
      #expect(text.contains("its lease still runs"))
      try await coordinator.processDied(
        WorkerProcess(host: HostName("a"), incarnation: Incarnation("a-1")), secret: nil, isBlameless: true)
      while try await coordinator.hostReports().contains(where: { $0.state != .gone }) { await Task.yield() }
      let next = Self.worker("a-2", Self.other)
      next.connect(to: coordinator, in: &group)
      #expect(await next.assignment()?.launch.number == 2)
    }
    await #expect(throws: OperatorError.self) {
      try await Fleet().coordinator.forget(HostName("nobody"))
    }
  }

  @Test func `an older worker keeps its name until a worker with a secret uses that name`() async throws {
    try await withLaunch(secret: nil) { coordinator, owner, launch, group in
      try await gone(owner, coordinator)
      for secret in [Self.other, nil] {
        let impostor = Self.worker("x-1", secret)
        impostor.connect(to: coordinator, in: &group)
        #expect(await impostor.welcome()?.isRefusal == true)
      }
      let back = Self.worker("a-1", nil)
      back.connect(to: coordinator, in: &group)
      #expect(await back.assignment()?.launch == launch)
    }
  }

  @Test func `a worker whose name is in use is logged once, and again if it was taken and is refused anew`()
    async throws
  {
    let log = Lines()
    try await withLaunch(logger: log.logger) { coordinator, owner, _, group in
      for _ in 0..<3 {
        let second = Self.worker("a-2", Self.mine)
        second.connect(to: coordinator, in: &group)
        #expect(await second.welcome()?.isRefusal == true)
        second.close()
      }
      try await gone(owner, coordinator)
      let second = Self.worker("a-2", Self.mine)
      second.connect(to: coordinator, in: &group)
      #expect(await second.welcome()?.isWelcome == true)
      // A line may be logged after the worker has its answer.
      await log.waits(for: Self.refused, 1)
      await log.waits(for: Self.attached, 2)
      #expect(log.count(Self.refused) == 1)
      let first = Self.worker("a-1", Self.mine)
      first.connect(to: coordinator, in: &group)
      #expect(await first.welcome()?.isRefusal == true)
      await log.waits(for: Self.refused, 2)
    }
  }

  private static let attached = "a worker is attached"
  private static let refused = "a worker was refused"

  /// Counts the lines of a log by their message.
  private final class Lines: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    var logger: Logger { Logger(label: "test") { [self] _ in Counter(lines: self) } }

    func count(_ message: String) -> Int { counts.withLock { $0[message, default: 0] } }

    /// Returns once the message has been logged as often as this; the suite's time limit ends a test that waits
    /// in vain.
    func waits(for message: String, _ number: Int) async {
      while count(message) < number, !Task.isCancelled { await Task.yield() }
    }

    private struct Counter: LogHandler {
      let lines: Lines
      var metadata: Logger.Metadata = [:]
      var logLevel = Logger.Level.info
      subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
      }
      func log(event: LogEvent) { lines.counts.withLock { $0["\(event.message)", default: 0] += 1 } }
    }
  }

  @Test(.refuses(11)) func `a report of death counts only from who has the secret`() async throws {
    try await withLaunch { coordinator, _, launch, _ in
      let process = WorkerProcess(host: HostName("a"), incarnation: Incarnation("a-1"))
      for secret in [Self.other, nil] {
        try await coordinator.processDied(process, secret: secret, isBlameless: false)
        #expect(try await coordinator.hostReports().map(\.state) == [.ready])
      }
      try await coordinator.processDied(process, secret: Self.mine, isBlameless: true)
      while try await coordinator.hostReports().contains(where: { $0.state == .ready }) { await Task.yield() }
      #expect(try await coordinator.details(name, number: nil).record.id == launch.request)
    }
  }

  // MARK: Receipts

  @Test(.refuses(12)) func `a receipt from the future pauses the fleet only if this store signed it`() async throws {
    try await withLaunch { coordinator, owner, launch, group in
      owner.say(.checkpoint(Checkpoint(launch: launch, batch: 0, completedUnits: 1)))
      let heard = try #require(await owner.hears { $0.receipt != nil })
      let genuine = try #require(heard.compactMap(\.receipt).last)
      #expect(genuine.seal.count == 32)
      try await gone(owner, coordinator)
      var later = genuine
      later.sequence = .max
      var unsigned = later
      unsigned.seal = []
      var otherTenure = genuine
      otherTenure.tenure ^= 1
      for forged in [later, unsigned, otherTenure] {
        let worker = Self.worker("a-1", Self.mine, receipt: forged)
        worker.connect(to: coordinator, in: &group)
        #expect(await worker.welcome()?.isWelcome == true)
        try await gone(worker, coordinator)
      }
      #expect(try await !coordinator.store.fleet().isPaused)
      #expect(coordinator.store.receipt.store == genuine.store)
      #expect(try await coordinator.details(name, number: nil).launches.map(\.outcome) == [nil])
      let worker = Self.worker("a-1", Self.mine, receipt: genuine)
      worker.connect(to: coordinator, in: &group)
      #expect(await worker.welcome()?.isWelcome == true)
    }
  }

  @Test(.refuses(27)) func `two workers with the longest hello that there is are shown, and one with more is refused`()
    async throws
  {
    let coordinator = try Fleet(leaseTerm: .seconds(1_000_000)).coordinator
    try await coordinator.restore()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await coordinator.run() }
      let huge = String(repeating: "x", count: 16 << 20)
      let changes: [@Sendable (inout Hello) -> Void] = [
        { $0.version = huge }, { $0.conditions.labels.value = ["name": huge] }, { $0.host = HostName(huge) },
        { $0.conditions.gpus.value = [GPU(id: "0", name: huge, memoryBytes: 0)] },
      ]
      for change in changes {
        let worker = FakeWorker("big", "big-1", change: change)
        worker.connect(to: coordinator, in: &group)
        guard case .refused(let text, isFinal: true)? = await worker.welcome() else {
          Issue.record("it was taken")
          continue
        }
        #expect(text.utf8.count < 1100)
      }
      #expect(try await coordinator.hostReports() == [])
      for host in ["a", "b"] {
        let worker = FakeWorker(host) { $0.conditions.power.raw = String(repeating: "x", count: 60 << 10) }
        worker.connect(to: coordinator, in: &group)
        #expect(await worker.welcome()?.isWelcome == true)
      }
      let reports = try await coordinator.hostReports()
      #expect(reports.map(\.name.rawValue) == ["a", "b"])
      #expect(reports.allSatisfy { $0.conditions.power.raw.utf8.count == 1024 })
      group.cancelAll()
    }
  }

  @Test(.refuses(21), arguments: ["ada\nforged", "\u{1B}[2J", String(repeating: "x", count: 256)])
  func `a principal is a name of bounded length`(principal: String) async throws {
    try await withLaunch { coordinator, _, _, _ in
      let order = SubmissionOrder(id: "two", identifier: name)
      await #expect(throws: OperatorError.self) { try await coordinator.submit([order], by: principal) }
      await #expect(throws: OperatorError.self) { try await coordinator.cancel(CancelSelection.all, by: principal) }
      let details = try await coordinator.details(name, number: nil)
      #expect(details.record.number == 1)
    }
  }
}
