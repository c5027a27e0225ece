import BatonCoordinator
import BatonModel
import BatonStore
import Testing

/// What operators are told of a request with shards while it runs, and what they change about it.
@Suite("Requests with shards", .timeLimit(.minutes(10)))
struct ShardTests {
  private static let name = JobIdentifier("com.example.sums")!

  private static func definition(lanes: Int, shards: Int) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(name), kind: .processing)
    definition.requirements.requiresIdle = false
    definition.retry.backoff = .seconds(3600)
    definition.spread = Spread(lanes: lanes, shards: shards)
    return definition
  }

  private static func worker(slots: Int) -> FakeWorker {
    FakeWorker("alpha") { hello in
      hello.capabilities.slots = slots
      hello.capabilities.handlers = [IdentifierPattern("com.*")!]
    }
  }

  /// Calls `body` while a coordinator serves a worker that has got the request's first launches.
  private func running(
    lanes: Int, shards: Int, slots: Int, _ count: Int,
    _ body: @Sendable (Coordinator, FakeWorker, [LaunchKey]) async throws -> Void
  ) async throws {
    // The worker sends no heartbeats, and its lease does not end while the clocks stand still.
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    let (coordinator, worker) = (fleet.coordinator, Self.worker(slots: slots))
    try await withThrowingTaskGroup(of: Void.self) { group in
      try await coordinator.restore()
      group.addTask { try await coordinator.run() }
      worker.connect(to: coordinator, in: &group)
      _ = try await coordinator.apply([Self.definition(lanes: lanes, shards: shards)])
      try await fleet.submit(Self.name.rawValue)
      try await body(coordinator, worker, await worker.assignments(count).map(\.launch))
      group.cancelAll()
    }
  }

  // MARK: Explaining

  /// With two lanes and three shards one waits for a lane; with one slot, a shard that has a lane waits for a host.
  @Test(
    "explain says what the next shard of a running request waits for: a lane, a host, or both",
    arguments: [
      (shards: 2, slots: 4, codes: [String]()), (shards: 3, slots: 4, codes: ["lanesInUse"]),
      (shards: 2, slots: 1, codes: ["slotsInUse"]), (shards: 3, slots: 1, codes: ["lanesInUse", "slotsInUse"]),
    ])
  func explaining(shards: Int, slots: Int, codes: [String]) async throws {
    try await running(lanes: 2, shards: shards, slots: slots, min(2, slots)) { coordinator, _, _ in
      let explained = try await coordinator.explain(Self.name, number: nil)
      #expect(explained.verdict == .running && explained.advice.isEmpty)
      #expect(explained.lines.map(\.code) == codes)
      for line in explained.lines {
        if line.code == "lanesInUse" {
          #expect(line.host == nil && line.text == "all 2 lanes of the request are in use")
          #expect(line.remedy == "wait, or: baton set com.example.sums spread=N")
        } else {
          #expect(line.host == HostName("alpha") && line.text == "it needs 1 slot and 0 are free")
        }
      }
    }
  }

  @Test("explain names no lane once every shard has one, also while a shard waits for its retry")
  func retrying() async throws {
    try await running(lanes: 2, shards: 3, slots: 4, 2) { coordinator, worker, launches in
      func codes() async throws -> [String] {
        try await coordinator.explain(Self.name, number: nil).lines.map(\.code)
      }
      worker.say(.ended(Ending(launch: launches[0], outcome: .failed("no such table"))))
      await worker.hears { $0 == .endingCommitted(launches[0]) }
      let waiting = try await coordinator.details(Self.name, number: nil).record.shards
      #expect(waiting?.scheduled == 1 && waiting?.lanesInUse == 2, "\(waiting as Any)")
      #expect(try await codes() == ["lanesInUse"], "for the third shard")
      worker.say(.ended(Ending(launch: launches[1], outcome: .finished)))
      #expect(await worker.assignment()?.shard?.index == 2)
      let last = try await coordinator.details(Self.name, number: nil).record.shards
      #expect(last?.scheduled == 1 && last?.lanesInUse == 2, "\(last as Any)")
      #expect(try await codes().isEmpty, "a lane is no use to the first shard, which has one")
    }
  }

  // MARK: Changing the lanes

  @Test("An operator sets the lanes of a running request: more shards start at once, and those too many stop")
  func lanes() async throws {
    try await ServedFleet.serving(clocks: StandingClock().clocks) { place in
      let worker = Self.worker(slots: 8)
      let token = try await place.credential("alice", [.operate, .read])
      try await withThrowingTaskGroup(of: Void.self) { group in
        worker.connect(to: place.coordinator, in: &group)
        _ = try await place.coordinator.apply([Self.definition(lanes: 1, shards: 4)])
        try await Fleet(coordinator: place.coordinator).submit(Self.name.rawValue)
        let first = await worker.assignments(1).map(\.launch)
        try await place.asOperator(token) { api in
          let more = try await api.setSpread(Self.name, number: nil, lanes: 3)
          #expect(
            more.shards
              == ShardSummary(
                lanes: 3, lanesInUse: 3, total: 3, running: 1, ready: 2, unitsLeft: 1, hosts: 1))
          let others = await worker.assignments(2)
          #expect(others.map(\.shard?.index) == [1, 2])
          let fewer = try await api.setSpread(Self.name, number: 1, lanes: 1)
          #expect(fewer.state == .running && fewer.shards?.lanes == 1 && fewer.shards?.lanesInUse == 3)
          let stopped = await worker.expiries(2)
          #expect(stopped == Dictionary(uniqueKeysWithValues: others.map { ($0.launch, .laneLost) }))
          for launch in stopped.keys {
            worker.say(.ended(Ending(launch: launch, outcome: .expired(.laneLost))))
            await worker.hears { $0 == .endingCommitted(launch) }
          }
          let shards = try await api.shards(Self.name, number: 1, after: nil, limit: 9)
          #expect(shards.map(\.state) == [.running, .scheduled, .scheduled])
          #expect(shards.map(\.isParked) == [false, true, true])
          #expect(shards.map(\.reason) == [nil, "laneLost", "laneLost"])
          #expect(try await api.explain(Self.name, number: 1).lines.map(\.code) == ["lanesInUse"])
          _ = try await api.setSpread(Self.name, number: 1, lanes: 2)
          let again = await worker.assignment()
          #expect(again?.shard?.index == 1 && again?.launch.number == 2)
          #expect(first.count == 1 && again?.head == first.first?.request)
        }
        group.cancelAll()
      }
      let rows = try await place.audit().filter { $0.contains("SetSpread") }
      let changes = ["com.example.sums 3", "com.example.sums#1 1", "com.example.sums#1 2"]
      #expect(rows == changes.map { "alice SetSpread \($0) done" })
    }
  }
}

extension FakeWorker {
  /// The next launches that the coordinator assigns to it, in the order of their shards.
  fileprivate func assignments(_ count: Int) async -> [Assignment] {
    var found: [Assignment] = []
    while found.count < count, let heard = await hears(until: { $0.assignment != nil }) {
      found += heard.compactMap(\.assignment)
    }
    return found.sorted { $0.shard?.index ?? 0 < $1.shard?.index ?? 0 }
  }

  /// The next launches that it is asked to stop, and why.
  fileprivate func expiries(_ count: Int) async -> [LaunchKey: ExpiryReason] {
    var found: [LaunchKey: ExpiryReason] = [:]
    while found.count < count, let heard = await hears(until: { if case .expire = $0 { true } else { false } }) {
      for case .expire(let launch, let reason) in heard { found[launch] = reason }
    }
    return found
  }
}
