import BatonCommands
import BatonCoordinator
import BatonStore
import Synchronization
import Testing

/// `baton store move`.
@Suite struct StoreMoveTests {
  private let address = "postgres://baton@db/baton"

  @Test func `the coordinator is asked, and how far it is goes to standard error`() async throws {
    let world = World()
    let run = await world.baton("store", "move", "--to", address)
    #expect(world.coordinator.calls == ["move to postgres(\"\(address)\")"])
    #expect(world.backend.moves.withLock { $0 }.isEmpty)
    try Golden.expect(run.transcript, is: "store-move")
  }

  @Test func `on a terminal one line is redrawn, and each step has its own`() async {
    var world = World()
    world.terminal = .init(columns: 80, rows: 24)
    let run = await world.baton("store", "move", "--to", address, "--dry-run")
    let (line, end) = ("\u{1B}[G\u{1B}[K", "\n")
    #expect(
      run.error == "\(line)0 % copied\(line)22 % copied\(line)55 % copied\(line)100 % copied"
        + "\(line)all rows are copied; comparing\(end)\(line)0 % compared\(line)55 % compared"
        + "\(line)the copy is the same\(end)\(line)the store has left its old place\(end)\(line)")
    #expect(run.output.contains("the store stays where it is"))
  }

  @Test func `a stopped store is moved by the command itself`() async throws {
    let world = World()
    let run = await world.baton("store", "move", "--to", address, "--data", "state")
    #expect(world.backend.moves.withLock { $0 } == ["/srv/state postgres(\"\(address)\")"])
    #expect(world.coordinator.calls.isEmpty)
    #expect(run.status == 0)
    #expect(run.output.contains("moved 9 rows (2 requests)") && run.output.contains("store: \(address)"))
    #expect(run.error.contains("the copy is the same"))
  }

  @Test func `a folder is made absolute, and a rehearsal moves nothing`() async {
    let world = World()
    let run = await world.baton("store", "move", "--to", "new", "--dry-run", "-o", "jsonl")
    #expect(world.coordinator.calls == ["move to folder(\"/srv/new\"), dry run"])
    #expect(run.output == #"{"rows":9,"requests":2,"finished":false,"moved":false}"# + "\n")
  }

  @Test func `a target that is not empty is 4, and a folder in use is 75`() async {
    for (code, status) in [(StoreError.Code.refused, 4), (.locked, 75), (.notFound, 3), (.unavailable, 75)] {
      let backend = FakeBackend(FakeCoordinator(), error: StoreError(code, "why"))
      let run = await World(backend).baton("store", "move", "--to", "new", "--data", "state")
      #expect(run.status == status)
      #expect(run.error.hasSuffix("error: why\n"))
    }
  }

  @Test func `without a coordinator the message says how a stopped one's store is moved`() async {
    let world = World(FakeBackend(FakeCoordinator(), error: CoordinatorUnreachable("no coordinator answers")))
    let run = await world.baton("store", "move", "--to", "new")
    #expect(run.status == 69)
    #expect(run.error.contains("no coordinator answers; the store of a stopped coordinator is moved with --data"))
  }

  @Test func `a coordinator and a data folder contradict each other`() async {
    let run = await World().baton("store", "move", "--to", "new", "--data", "d", "--coordinator", "127.0.0.1:1")
    #expect(run.status == 64)
  }
}
