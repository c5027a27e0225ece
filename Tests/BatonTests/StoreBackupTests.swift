import BatonCommands
import BatonStore
import Synchronization
import Testing

/// `baton store backup`.
@Suite struct StoreBackupTests {
  @Test func `the coordinator is asked to write the file, and how far it is goes to standard error`() async throws {
    let world = World()
    let run = await world.baton("store", "backup", "/var/backups/monday.sqlite")
    #expect(world.coordinator.calls == ["backup /var/backups/monday.sqlite"])
    try Golden.expect(run.transcript, is: "store-backup")
  }

  @Test func `on a terminal one line is redrawn, and taken away at the end`() async {
    var world = World()
    world.terminal = .init(columns: 80, rows: 24)
    let run = await world.baton("store", "backup", "/a.sqlite")
    #expect(
      run.error == "\r\u{1B}[K0 % copied\r\u{1B}[K50 % copied\r\u{1B}[Kcopied; checking the copy\r\u{1B}[K")
  }

  @Test func `its summary as JSON is data`() async {
    let run = await World().baton("store", "backup", "/a.sqlite", "-o", "jsonl")
    #expect(run.output == #"{"path":"/a.sqlite","bytes":1048576,"store":"3f0a","commit":48211}"# + "\n")
  }

  @Test func `a relative path is refused where the coordinator would not know what it means`() async {
    let world = World()
    let run = await world.baton("store", "backup", "monday.sqlite")
    #expect(run.status == 64)
    #expect(run.error.contains("such as /srv/monday.sqlite"))
    #expect(world.coordinator.calls.isEmpty)
  }

  @Test func `a stopped store is copied by the command itself`() async {
    let world = World()
    let run = await world.baton("store", "backup", "monday.sqlite", "--data", "state")
    #expect(run.status == 0)
    #expect(world.backend.backups.withLock { $0 } == ["/srv/state /srv/monday.sqlite"])
    #expect(world.coordinator.calls.isEmpty)
  }

  @Test func `a store that is in use is 75, one that is not there is 3, and a disk that is full is 4`() async {
    for (code, status) in [(StoreError.Code.locked, 75), (.notFound, 3), (.refused, 4), (.cannotWrite, 4)] {
      let backend = FakeBackend(FakeCoordinator(), error: StoreError(code, "why"))
      let run = await World(backend).baton("store", "backup", "/a.sqlite", "--data", "/state")
      #expect(run.status == status)
      #expect(run.error.hasSuffix("error: why\n"))
    }
  }
}
