import BatonCommands
import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Synchronization
import Testing

/// `wait`, `watch` and `submit --wait`: what they show, and how they end.
@Suite struct FollowingTests {
  private static func running(_ completed: Int64, _ change: (inout RequestRecord) -> Void = { _ in }) -> RequestRecord {
    var record = RequestRecord.running
    record.progress.completedUnits = completed
    change(&record)
    return record
  }

  private static func world(_ changes: [RequestRecord]) -> World {
    World([.running]) { $0.changes[RequestRecord.running.id] = changes }
  }

  private static let success = running(247) {
    $0.state = .succeeded
    $0.endedAt = now
  }

  private static let failure = running(130) {
    $0.state = .failed
    $0.reason = "exit status 2"
    $0.endedAt = now
  }

  private static let name = "com.example.photos.export.42"

  @Test func `in a pipe there is a line per 10 %, and one per change of state`() async throws {
    let world = Self.world((120..<247).map { Self.running($0) } + [Self.success])
    try Golden.expect(await world.baton("wait", Self.name).transcript, is: "wait")
  }

  @Test func `a failed request is 1, with its reason and what to do`() async throws {
    try Golden.expect(await Self.world([Self.failure]).baton("wait", Self.name).transcript, is: "wait-failed")
  }

  @Test func `the end as JSON is data`() async throws {
    let run = await Self.world([Self.success]).baton("wait", Self.name, "-o", "jsonl")
    #expect(run.status == 0)
    #expect(run.output.hasPrefix(#"{"identifier":"com.example.photos.export.42","request":3,"#))
    #expect(run.output.split(separator: "\n").count == 1)
  }

  @Test func `the time of a wait is over`() async throws {
    var world = World(FakeBackend(FakeCoordinator([.running]) { $0.hangs = true }))
    world.elapsing = [.seconds(600)]
    let run = await world.baton("wait", Self.name, "--timeout", "10m")
    #expect(run.status == 124)
    #expect(run.error.hasSuffix("error: the request has not ended after 10m; it goes on\n"))
  }

  @Test(arguments: [["wait"], ["watch"]]) func `Ctrl-C detaches and says how to cancel`(command: [String]) async throws
  {
    let coordinator = FakeCoordinator([.running]) { $0.hangs = true }
    var world = World(FakeBackend(coordinator))
    world.interrupted = { await coordinator.hanging() }
    let run = await world.baton(command + [Self.name])
    #expect(run.status == 130)
    #expect(
      run.error.hasSuffix(
        "detached; com.example.photos.export.42, request 3 goes on. Cancel with:\n"
          + "  baton cancel com.example.photos.export.42 --request 3\n"))
    #expect(!coordinator.calls.contains { $0.hasPrefix("cancel") })
  }

  @Test func `waiting goes on after the connection was lost`() async {
    var world = World([.running]) { state in
      state.changes[RequestRecord.running.id] = [Self.running(130)]
    }
    world.elapsing = [.milliseconds(500)]
    // The stream ends before the request does, as when a coordinator shuts down; then no coordinator answers for
    // a while.
    let coordinator = world.coordinator
    let run = await withTaskGroup(of: CommandRun.self) { group in
      group.addTask { [world] in await world.baton("wait", Self.name) }
      group.addTask {
        while coordinator.calls.filter({ $0.hasPrefix("watch") }).count < 2 { await Task.yield() }
        coordinator.state.withLock { state in
          state.errors = [CoordinatorUnreachable("refused"), CoordinatorUnreachable("refused")]
          state.changes[RequestRecord.running.id] = [Self.success]
        }
        return CommandRun(arguments: [], status: -1, output: "", error: "")
      }
      var runs: [CommandRun] = []
      for await run in group { runs.append(run) }
      return runs.first { $0.status >= 0 }
    }
    #expect(run?.status == 0)
    #expect(run?.error.contains("the connection to the coordinator was lost") == true)
  }

  @Test func `submit --wait follows what it submitted`() async throws {
    let run = await World().baton("submit", "com.example.report", "--wait")
    try Golden.expect(run.transcript, is: "submit-wait")
  }

  @Test func `watch in a pipe has its changes on standard output`() async throws {
    try Golden.expect(
      await Self.world([Self.running(200), Self.success]).baton("watch", Self.name).transcript, is: "watch")
    let lines = await Self.world([Self.running(200), Self.success]).baton("watch", Self.name, "-o", "json")
    #expect(lines.output.split(separator: "\n").count == 3)
  }

  @Test(.contract(33.1)) func `watch shows a new title and subtitle`() async throws {
    let changed = Self.running(120) { ($0.title, $0.subtitle) = ("Exporting more photos", "IMG_0121.jpg") }
    let lines = await Self.world([changed, Self.success]).baton("watch", Self.name, "-o", "jsonl")
    #expect(lines.output.contains(#""title":"Exporting more photos","subtitle":"IMG_0121.jpg""#))
  }

  @Test func `watch on a terminal redraws its lines`() async throws {
    var world = Self.world([Self.running(200), Self.success])
    world.terminal = .init(columns: 80, rows: 24)
    let run = await world.baton("watch", Self.name)
    try Golden.expect(run.transcript, is: "watch-terminal")
  }

  @Test func `watch without an identifier shows what is unfinished, and what ends`() async throws {
    let coordinator = FakeCoordinator([.running, .ready])
    var world = World(FakeBackend(coordinator))
    world.elapsing = [.seconds(1)]
    world.interrupted = {
      while coordinator.calls.count < 2 { await Task.yield() }
      coordinator.state.withLock { $0.requests[0] = Self.success }
      let count = coordinator.calls.count
      while coordinator.calls.count < count + 3 { await Task.yield() }
    }
    let run = await world.baton("watch")
    #expect(run.status == 130)
    #expect(
      run.output == """
        com.example.photos.export.42, request 3: running on alpha, launch 2 (48 %, 120 of 247 done)
        com.example.gpu, request 1: ready: waits for a host (launch 1: expired, draining) (33 %, 30 of 90 done)
        com.example.photos.export.42, request 3: succeeded after 3m 12s

        """)
  }
}
