import BatonModel
import BatonStore
import Foundation
import Synchronization
import Testing

@testable import BatonCommands
@testable import BatonDoctor

@Suite("baton doctor")
struct DoctorTests {
  private static func world(_ change: (inout HostFacts) -> Void = { _ in }) -> World {
    var facts = HostFacts()
    facts.user = .init(id: 998, name: "baton")
    var store = HostFacts.Folder(path: "/var/lib/baton")
    (store.owner, store.mode) = (998, 0o700)
    store.mount = MountedFileSystem(kind: "ext4", device: "/dev/sda1")
    store.room = .init(freeBytes: 40 << 30, freeFiles: 2_000_000)
    store.syncs = .init(count: 1250, lasted: .seconds(1), slowest: .milliseconds(4))
    facts.store = store
    facts.database = StoreInspection(path: "/var/lib/baton/baton.sqlite", state: .current)
    facts.clock = .init(isSynchronised: true, error: .milliseconds(12))
    facts.coordinators = [.init(address: "127.0.0.1:7420", answer: .unreachable("nobody answers"))]
    facts.groups = .init(base: nil, why: "this process is in no control group of version 2 (cgroup v2) that it can see")
    facts.owner = .absent("no worker runs")
    facts.limits = .init(openFiles: 1024, openFilesAtMost: 1_048_576)
    facts.versions = .init(baton: "0.1.0", sqlite: "3.40.1", system: "Linux 6.1.0 x86_64")
    facts.conditions = .assumed
    change(&facts)
    return World(FakeBackend(FakeCoordinator(), host: facts))
  }

  private static func broken(_ facts: inout HostFacts) {
    facts.store?.mount = MountedFileSystem(kind: "nfs4", device: "base:/export")
    facts.tokens = [
      .init(path: "/var/lib/baton/token", kind: .own, state: .there(owner: 998, mode: 0o644), isReadable: true)
    ]
  }

  @Test("warnings do not fail, problems do")
  func status() async throws {
    let fine = await Self.world().baton("doctor")
    #expect(fine.status == 0)
    try Golden.expect(fine.transcript, is: "doctor")
    let broken = await Self.world(Self.broken).baton("doctor")
    #expect(broken.status == 1)
    try Golden.expect(broken.transcript, is: "doctor-problems")
  }

  @Test("for scripts every finding is an object with the same keys")
  func json() async throws {
    let run = await Self.world(Self.broken).baton("doctor", "-o", "json")
    #expect(run.status == 1)
    let findings = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]])
    #expect(findings.count > 10)
    #expect(findings.allSatisfy { Set($0.keys) == ["area", "check", "level", "found", "remedy"] })
    let lines = await Self.world(Self.broken).baton("doctor", "-o", "jsonl")
    #expect(lines.output.split(separator: "\n").count == findings.count)
  }

  @Test("every key, area, check and level is documented")
  func documented() async throws {
    let page = try String(contentsOfFile: Golden.root + "/Documentation/reference/commands.md", encoding: .utf8)
    let run = await Self.world(Self.broken).baton("doctor", "-o", "json")
    let findings = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]])
    let words =
      findings.flatMap { [$0["area"], $0["check"], $0["level"]] }.compactMap { $0 as? String } + findings[0].keys
    for word in Set(words) { #expect(page.contains("`\(word)`"), "\(word)") }
  }

  @Test("what is asked for is passed on, with absolute paths")
  func options() async {
    let world = Self.world()
    _ = await world.baton(
      "doctor", "--role", "coordinator", "--data", "d", "--worker-data", "/w", "--config", "c.yaml", "--worker-config",
      "../w.yaml", "--coordinator", "127.0.0.1:9000")
    #expect(
      world.backend.examinations.withLock { $0 } == [
        DoctorOptions(
          roles: [.coordinator],
          coordinator: CoordinatorOptions(dataFolder: "/srv/d", configurationFile: "/srv/c.yaml"),
          workerFolder: "/w", workerSettings: "/w.yaml", target: ConnectionTarget(endpoint: "127.0.0.1:9000"),
          address: "127.0.0.1:9000")
      ])
    #expect(await world.baton("doctor", "--role", "king").status == 64)
  }
}
