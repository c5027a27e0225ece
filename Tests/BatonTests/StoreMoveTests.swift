import BatonCommands
import BatonStore
import Synchronization
import Testing

/// `baton store move`.
@Suite struct StoreMoveTests {
  private let address = "postgres://baton@db/baton"

  @Test func `what was moved, and how to start again`() async throws {
    let world = World()
    let run = await world.baton("store", "move", "--to", address, "--data", "state")
    #expect(world.backend.moves.withLock { $0 } == ["/srv/state postgres(\"\(address)\")"])
    #expect(run.status == 0)
    #expect(run.output.contains("moved 9 rows (2 requests)") && run.output.contains("store: \(address)"))
    #expect(run.error.contains("the copy is the same"))
  }

  @Test func `a folder is made absolute, and a rehearsal moves nothing`() async {
    let world = World()
    let run = await world.baton("store", "move", "--to", "new", "--dry-run", "-o", "jsonl")
    #expect(world.backend.moves.withLock { $0 } == ["- folder(\"/srv/new\") rehearsal"])
    #expect(run.output == #"{"rows":9,"requests":2,"finished":false,"moved":false}"# + "\n")
  }

  @Test func `a target that is not empty is 4, and a folder in use is 75`() async {
    for (code, status) in [(StoreError.Code.refused, 4), (.locked, 75), (.notFound, 3), (.unavailable, 75)] {
      let backend = FakeBackend(FakeCoordinator(), error: StoreError(code, "why"))
      let run = await World(backend).baton("store", "move", "--to", "new")
      #expect(run.status == status)
      #expect(run.error.hasSuffix("error: why\n"))
    }
  }
}
