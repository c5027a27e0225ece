import BatonCoordinator
import BatonHandler
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWorker
import Foundation
import Synchronization
import Testing

/// A request with shards on a coordinator and its store: the table in `Documentation/reference/scheduling.md`.
@Suite(.timeLimit(.minutes(10))) struct ShardRulesTests {
  private static let name = JobIdentifier("com.example.a")!
  private static let pattern = IdentifierPattern(name)

  /// A worker of one slot, with the launch of a shard.
  private struct Lane {
    let worker: FakeWorker
    let launch: Assignment

    /// Commits a batch of one unit.
    /// - Returns: what the worker hears up to the answer; `nil` if the connection ends before it.
    func commit(_ batch: Int) async -> [CoordinatorMessage]? {
      worker.say(.checkpoint(Checkpoint(launch: launch.launch, batch: batch, completedUnits: Int64(batch + 1))))
      return await worker.hears { if case .committed(launch.launch, batch, _) = $0 { true } else { false } }
    }

    /// - Returns: what the worker hears up to the answer; `nil` if the connection ends before it.
    func end(_ outcome: LaunchOutcome = .finished) async -> [CoordinatorMessage]? {
      worker.say(.ended(Ending(launch: launch.launch, outcome: outcome)))
      return await worker.hears { $0 == .endingCommitted(launch.launch) }
    }

    /// The batches of the shard from this one on, and its end.
    func finish(from batch: Int = 0) async -> [CoordinatorMessage]? {
      var heard: [CoordinatorMessage] = []
      for batch in batch..<2 {
        guard let messages = await commit(batch) else { return nil }
        heard += messages
      }
      return await end().map { heard + $0 }
    }
  }

  /// Two hosts of one slot, each with one of the two shards of request 1, which have two units.
  private func start(
    _ fleet: Fleet, _ group: inout ThrowingTaskGroup<Void, any Error>
  ) async throws -> (Lane, Lane) {
    let coordinator = fleet.coordinator
    try await coordinator.restore()
    group.addTask { try await coordinator.run() }
    var definition = Definition(pattern: Self.pattern, kind: .processing)
    definition.work = Work(command: ["true"], items: .range(1...4))
    definition.spread = Spread(lanes: 2, shardSize: 2)
    definition.requirements.requiresIdle = false
    _ = try await coordinator.apply([definition])
    let workers = ["a", "b"].map { FakeWorker($0) { $0.capabilities.slots = 1 } }
    for worker in workers {
      worker.connect(to: coordinator, in: &group)
      #expect(await worker.welcome()?.isWelcome == true)
    }
    try await fleet.submit(Self.name.rawValue)
    let one = Lane(worker: workers[0], launch: try #require(await workers[0].assignment()))
    let other = Lane(worker: workers[1], launch: try #require(await workers[1].assignment()))
    #expect(Set([one.launch.shard?.index, other.launch.shard?.index]) == [0, 1])
    #expect(one.launch.head == other.launch.head)
    return (one, other)
  }

  private static func isExpiry(_ message: CoordinatorMessage) -> Bool {
    if case .expire = message { true } else { false }
  }

  @Test(arguments: [ExpiryReason.draining, .evicted])
  func `a word about one host stops its shard, which goes on elsewhere at its checkpoint, and no other shard`(
    reason: ExpiryReason
  ) async throws {
    let fleet = try Fleet(leaseTerm: .seconds(1_000_000))
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (one, other) = try await start(fleet, &group)
      #expect(await one.commit(0) != nil)
      if reason == .draining {
        try await fleet.coordinator.setDraining(HostName("a"), true)
      } else {
        #expect(try await fleet.coordinator.setEvicted(Self.pattern, from: [HostName("a")], true) == [HostName("a")])
      }
      #expect(await one.worker.hears { $0 == .expire(one.launch.launch, reason) } != nil)
      #expect(await one.end(.expired(reason)) != nil)
      var details = try await fleet.coordinator.details(Self.name, number: nil)
      #expect(details.record.state == .running)
      #expect(details.record.shards?.running == 1 && details.record.shards?.ready == 1)
      let heard = try #require(await other.finish())
      #expect(!heard.contains(where: Self.isExpiry), "the other shard was left alone")
      // Only host `b` may run the rest.
      var next = heard.compactMap(\.assignment).first
      if next == nil { next = await other.worker.assignment() }
      let launch = try #require(next)
      #expect(launch.launch == LaunchKey(request: one.launch.launch.request, number: 2))
      #expect(launch.shard == one.launch.shard && launch.progress.completedUnits == 1)
      #expect(await Lane(worker: other.worker, launch: launch).finish(from: 1) != nil)
      details = try await fleet.coordinator.details(Self.name, number: nil)
      #expect(details.record.state == .succeeded && details.record.progress.completedUnits == 4)
      group.cancelAll()
    }
  }

  private func poke(_ fleet: Fleet, _ payload: UInt8) async throws -> SubmissionReceipt {
    let order = SubmissionOrder(id: "poke-\(payload)", identifier: Self.name, payload: [payload], poke: .immediate)
    guard case .accepted(let receipt, _, _)? = try await fleet.coordinator.submit([order], by: "test").first else {
      throw Surprise("the poke was refused")
    }
    return receipt
  }

  @Test func `pokes while a divided request is live make the next request, which waits for the last shard`()
    async throws
  {
    let fleet = try Fleet(leaseTerm: .seconds(1_000_000))
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (one, other) = try await start(fleet, &group)
      // So much is left of the shard that it is not split.
      #expect(await one.commit(0) != nil)
      let first = try await poke(fleet, 7)
      try #require(first.state == .scheduled, "it waits")
      let second = try await poke(fleet, 8)
      #expect(first.request != one.launch.head && first.request == second.request && second.replaced)
      let heard = try #require(await other.finish())
      var next = try await fleet.coordinator.details(Self.name, number: 2)
      #expect(next.record.state == .scheduled && next.record.waitsBecause == .waitsForLiveRequest(number: 1))
      #expect(next.record.launches == 0 && next.record.shards == nil, "a waiting request has no shards yet")
      let rest = try #require(await one.finish(from: 1))
      #expect(!(heard + rest).contains(where: Self.isExpiry), "no shard was stopped for a poke")
      #expect(try await fleet.coordinator.details(Self.name, number: 1).record.state == .succeeded)
      var started = (heard + rest).compactMap(\.assignment)
      if started.isEmpty { started += [await one.worker.assignment()].compactMap { $0 } }
      #expect(started.first?.requestNumber == 2 && started.first?.payload == [8], "the last payload wins")
      next = try await fleet.coordinator.details(Self.name, number: 2)
      #expect(next.record.state == .running && next.record.waitsBecause == nil)
      group.cancelAll()
    }
  }

  /// The series of all metrics of a coordinator and its worker, after a request with so many shards of which shard 0
  /// has failed.
  private func series(shards: Int) async throws -> Set<[String]> {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let registry = MetricsRegistry(date: { Timestamp(nanoseconds: 0) })
    let fleet = Fleet(
      coordinator: Coordinator(
        store: try SQLiteStore.inMemory(), settings: CoordinatorSettings(leaseTerm: .seconds(1_000_000)),
        metrics: CoordinatorMetrics(factory: registry), logger: Fleet.quiet))
    let handler: Handler = { task in if task.shard?.index == 0 { throw Surprise("no") } }
    let worker = fleet.worker("one", folder: folder, [(Self.name.rawValue, handler)])
    registry.collect { await fleet.coordinator.metricFamilies() + worker.metricFamilies }
    let found = Mutex<Set<[String]>>([])
    try await fleet.run([worker]) {
      var definition = Definition(pattern: Self.pattern, kind: .processing)
      definition.spread = Spread(lanes: 2, shards: shards)
      definition.retry.limit = 0
      _ = try await fleet.coordinator.apply([definition])
      try await fleet.submit(Self.name.rawValue)
      let record = try await fleet.ended(Self.name.rawValue).record
      #expect(record.state == .failed && record.shards?.succeeded == shards - 1)
      let families = await registry.snapshot().families
      let series = families.flatMap { family in
        family.samples.map { [family.name] + $0.labels.flatMap { [$0.name, $0.value] } }
      }
      found.withLock { $0 = Set(series) }
    }
    return found.withLock { $0 }
  }

  @Test func `no metric has a label for each shard: twelve shards have the series of two`() async throws {
    let (few, many) = (try await series(shards: 2), try await series(shards: 12))
    #expect(many == few, "\(many.symmetricDifference(few))")
    for metric in [Names.Metric.launches, Names.Metric.requestsFailed] { #expect(few.contains { $0.first == metric }) }
    let labels = Set(few.flatMap { series in stride(from: 1, to: series.count, by: 2).map { series[$0] } })
    #expect(
      labels.isSubset(of: [
        Names.Label.definition, Names.Label.state, Names.Label.outcome, Names.Label.reason, Names.Label.condition,
        Names.Label.host, Names.Label.code,
      ]), "\(labels)")
  }
}
