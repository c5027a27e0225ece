import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Testing

/// What one worker says about the launch of another worker has no effect. Each message of a worker is sent by a host
/// that does not run the launch.
@Suite(.timeLimit(.minutes(10))) struct OtherWorkersTests {
  private let name = JobIdentifier("com.example.a")!

  private static let messages: [@Sendable (LaunchKey) -> WorkerMessage] = [
    {
      .checkpoint(
        Checkpoint(launch: $0, batch: 0, cursor: [9], completedUnits: 9, subtitle: "forged", reachesEnd: true))
    },
    { .ended(Ending(launch: $0, outcome: .finished)) },
    { .ended(Ending(launch: $0, outcome: .failed("forged"))) },
    { .ended(Ending(launch: $0, outcome: .expired(.stalled), isGraceful: false)) },
    { .ended(Ending(launch: $0, outcome: .lost)) },
    { .items(ItemPage(launch: $0, start: 0, items: ["forged"], isLast: true)) },
    { .itemsWanted($0, start: 0, count: 9) },
    { .output(OutputChunk(launch: $0, bytes: [9])) },
    { .submission($0, LaunchSubmission(name: "forged", identifier: JobIdentifier("com.example.a")!)) },
    { .update(LaunchUpdate(launch: $0, title: "forged", subtitle: "forged", completedUnits: 9, totalUnits: 9)) },
    { .expiring($0, .thermal) },
    { .overran($0, .thermal) },
    { _ in .draining },
  ]

  @Test(.refuses(11), arguments: 0..<messages.count)
  func `no message of another host changes a launch`(index: Int) async throws {
    let fleet = try Fleet(leaseTerm: .seconds(1_000_000))
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (owner, launch) = try await start(fleet, &group)
      let stranger = FakeWorker("b") { $0.capabilities.slots = 0 }
      stranger.connect(to: fleet.coordinator, in: &group)
      #expect(await stranger.welcome()?.isWelcome == true)
      let before = try await fleet.coordinator.details(name, number: nil)
      stranger.say(Self.messages[index](launch))
      await settled(stranger, launch)
      #expect(try await fleet.coordinator.details(name, number: nil) == before)
      #expect(try await fleet.coordinator.store.output(of: launch) == [])
      #expect(try await fleet.coordinator.requests(RequestFilter(), after: nil, limit: 9).count == 1)
      // The launch goes on with its own worker, and still takes its slot.
      #expect(try await fleet.coordinator.hostReports().first { $0.name.rawValue == "a" }?.usedSlots == 1)
      owner.say(.checkpoint(Checkpoint(launch: launch, batch: 0, completedUnits: 1, reachesEnd: true)))
      #expect(await owner.hears { $0 == .committed(launch, batch: 0) } != nil)
      owner.say(.ended(Ending(launch: launch, outcome: .finished)))
      #expect(await owner.hears { $0 == .endingCommitted(launch) } != nil)
      let after = try await fleet.coordinator.details(name, number: nil)
      #expect(after.record.state == .succeeded)
      #expect(after.record.frozenItems == nil)
      group.cancelAll()
    }
  }

  @Test(.refuses(11)) func `a hello that claims another host's launch is told that it has none`() async throws {
    let fleet = try Fleet(leaseTerm: .seconds(1_000_000))
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (owner, launch) = try await start(fleet, &group)
      let stranger = FakeWorker("b") { $0.running = [RunningLaunch(launch: launch)] }
      stranger.connect(to: fleet.coordinator, in: &group)
      #expect(await stranger.hears { $0.withdraws(launch) } != nil)
      #expect(try await fleet.coordinator.details(name, number: nil).launches.map(\.host.rawValue) == ["a"])
      owner.say(.ended(Ending(launch: launch, outcome: .finished)))
      #expect(await owner.hears { $0 == .endingCommitted(launch) } != nil)
      group.cancelAll()
    }
  }

  @Test(.contract(44.2)) func `a commit for another host's launch is logged with the launch's ids`() async throws {
    let log = LaunchLines()
    let fleet = try Fleet(leaseTerm: .seconds(1_000_000), logger: log.logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (_, launch) = try await start(fleet, &group)
      let stranger = FakeWorker("b") { $0.capabilities.slots = 0 }
      stranger.connect(to: fleet.coordinator, in: &group)
      stranger.say(.checkpoint(Checkpoint(launch: launch, batch: 0, completedUnits: 1)))
      var line: LaunchLines.Line?
      while line == nil {
        await Task.yield()
        line = log.all.first { $0.text == "a superseded launch tried to commit" }
      }
      let found = try #require(line)
      let details = try await fleet.coordinator.details(name, number: nil)
      #expect(found.metadata["baton.identifier"] == name.rawValue && found.metadata["baton.request"] == "1")
      #expect(found.metadata["baton.launch.number"] == "1" && found.metadata["baton.host"] == "b")
      #expect(found.metadata["trace_id"] == details.record.trace.traceID.description)
      #expect(found.metadata["span_id"] == details.launches.first?.spanID.description)
      group.cancelAll()
    }
  }

  /// Starts a launch of one job on host `a`.
  private func start(
    _ fleet: Fleet, _ group: inout ThrowingTaskGroup<Void, any Error>
  ) async throws -> (FakeWorker, LaunchKey) {
    let coordinator = fleet.coordinator
    try await coordinator.restore()
    group.addTask { try await coordinator.run() }
    var definition = Definition(pattern: IdentifierPattern(name.rawValue)!, kind: .continued)
    definition.title = "Job"
    definition.maySubmit = [definition.pattern]
    _ = try await coordinator.apply([definition])
    let owner = FakeWorker("a") { $0.capabilities.handlers = [IdentifierPattern("com.*")!] }
    owner.connect(to: coordinator, in: &group)
    try await fleet.submit(name.rawValue)
    return (owner, try #require(await owner.assignment()?.launch))
  }

  /// Returns when the store has handled everything that `stranger` has sent: its messages get there in order.
  private func settled(_ stranger: FakeWorker, _ launch: LaunchKey) async {
    let mark = LaunchKey(request: launch.request, number: 99)
    stranger.say(.heartbeat(number: 1), .itemsWanted(mark, start: 0, count: 1))
    #expect(await stranger.hears { $0.withdraws(mark) } != nil)
  }
}
