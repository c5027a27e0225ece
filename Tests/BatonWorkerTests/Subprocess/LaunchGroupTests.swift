import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// Asks the system directly, without Baton's code: a fault in that code has to fail these tests, and not to skip them.
private let controlGroupsArePossible: Bool = {
  let own = ((try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? "").split(separator: "\n")
  let mounts = ((try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? "").split(separator: "\n")
    .map { $0.split(separator: " ") }
  guard let path = own.first(where: { $0.hasPrefix("0::/") })?.dropFirst(3),
    let mount = mounts.first(where: { $0.count > 2 && $0[2] == "cgroup2" })?[1]
  else { return false }
  let trial = "\(mount)\(path == "/" ? "" : path)/trial-\(UUID().uuidString)"
  guard access("\(mount)\(path)/cgroup.procs", W_OK) == 0, mkdir(trial, 0o755) == 0 else { return false }
  defer { rmdir(trial) }
  let isDomain = (try? String(contentsOfFile: trial + "/cgroup.type", encoding: .utf8))?.hasPrefix("domain\n") ?? true
  return isDomain && access(trial + "/cgroup.kill", W_OK) == 0
}()

/// Tests with the kernel's own control groups (promise P8). They need root, or a group that was delegated.
@Suite(
  "Control groups of launches", .enabled(if: controlGroupsArePossible, "no writable cgroup v2 here"),
  .timeLimit(.minutes(10)))
struct LaunchGroupTests {
  let fixture: CommandFixture
  let processes: ProcessRegistry

  init() throws {
    fixture = try CommandFixture()
    processes = ProcessRegistry(
      folders: fixture.folders, groups: try LaunchGroups.found(for: fixture.folders.data),
      helper: Fence.besideThisProgram)
  }

  private func run(
    _ script: String, on runtime: FakeRuntime = FakeRuntime(), in processes: ProcessRegistry? = nil
  ) async throws -> FakeRuntime {
    let plain = fixture.runner(fixture.shell(script, items: .range(1...1)))
    try await CommandRunner(
      definition: plain.definition, assignment: plain.assignment, folders: fixture.folders, host: plain.host,
      processes: processes ?? self.processes
    ).run(runtime)
    return runtime
  }

  private func pid() throws -> Int32 {
    try #require(Int32(try fixture.read("pid").trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  /// Without `baton-exec` the command is moved into its group while it runs.
  @Test("a launch runs in a group of its own, which is gone afterwards", arguments: [true, false])
  func own(usesStarter: Bool) async throws {
    let alone = ProcessRegistry(folders: fixture.folders, groups: processes.groups)
    let wait = usesStarter ? "" : "while ! grep -q 0::.*/baton- /proc/self/cgroup; do sleep 0.01; done; "
    let runtime = try await run(
      wait + "grep ^0:: /proc/self/cgroup; sh -c 'sh -c \"grep ^0:: /proc/self/cgroup\"'",
      in: usesStarter ? processes : alone)
    let lines = Set(runtime.output.split(separator: "\n"))
    #expect(lines.count == 1)
    let name = try #require(lines.first?.split(separator: "/").last.map(String.init))
    #expect(name.hasSuffix("-7-2"))
    let base = try #require(processes.groups).base
    #expect(!SystemCall.isFolder(base + "/" + name))
  }

  /// Without control groups, the sweep would have to spare this process, because it could come from the other launch.
  @Test("what left its session, its parents and its environment ends with its launch, also while others run")
  func hidden() async throws {
    let other = fixture.folders.launches + "/other"
    ChildTable.begin(other)
    defer { ChildTable.end(other) }
    _ = try await run("env -i setsid sh -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do sleep 0.01; done")
    let entry = ProcessTable.entry(of: try pid())
    #expect(entry == nil || entry?.isZombie == true)
  }

  @Test("groups that a launch made within its own are gone, too")
  func nested() async throws {
    let base = try #require(processes.groups).base
    _ = try await run(
      """
      own=\(base)/$(sed -n 's/^0::.*\\///p' /proc/self/cgroup); mkdir -p $own/a/b
      sh -c 'echo $$ > pid; echo $$ > '$own'/a/b/cgroup.procs; exec sleep 1000' & while [ ! -s pid ]; do sleep 0.01; done
      """)
    await waitForEnd(of: try pid())
    #expect(SystemRoot(base).names(in: "").filter { $0.hasSuffix("-7-2") && isOurs($0) }.isEmpty)
  }

  @Test("a worker that comes next kills what it finds in groups, and leaves those of other workers alone")
  func leftovers() async throws {
    let runtime = FakeRuntime()
    let task = Task {
      try await run("env -i setsid sh -c 'echo $$ > pid; exec sleep 1000' & echo up; sleep 1000", on: runtime)
    }
    await runtime.waitForOutput("up")
    while ((try? fixture.read("pid")) ?? "").isEmpty { await Task.yield() }
    let stranger = try LaunchGroups.found(for: "/somebody/else")
    #expect(stranger.killLeftovers() == 0)
    #expect(try ProcessTable.entry(of: pid())?.isZombie == false)

    let groups = try #require(processes.groups)
    #expect(groups.killLeftovers() >= 3)
    await waitForEnd(of: try pid())
    await #expect(throws: CommandError.self) { _ = try await task.value }
    #expect(SystemRoot(groups.base).names(in: "").filter(isOurs).isEmpty)
  }

  /// Whether a group belongs to this test's worker. Other tests run at the same time, with groups of their own.
  private func isOurs(_ name: String) -> Bool {
    guard let group = processes.groups?.make("x", inside: nil) else { return false }
    defer { _ = group.remove() }
    let prefix = group.path.split(separator: "/").last?.dropLast() ?? ""
    return name.hasPrefix(prefix) && name != prefix + "x"
  }
}

@Suite("Whether launches can have control groups")
struct LaunchGroupPlaceTests {
  private static func files(
    folder: Int32 = 0, mayWrite: @escaping @Sendable (String) -> Bool = { _ in true }, cgroup: String = "0::/baton\n"
  ) -> ControlGroupFiles {
    ControlGroupFiles(
      read: { $0 == "/proc/self/cgroup" ? cgroup : "41 31 0:38 / /c rw - cgroup2 cgroup2 rw\n" }, write: { _, _ in 0 },
      makeFolder: { _ in folder }, removeFolder: { _ in 0 }, mayWrite: mayWrite)
  }

  @Test("where the worker's group may be divided they can")
  func possible() throws {
    #expect(try LaunchGroups.found(for: "/d", files: Self.files()).base == "/c/baton")
  }

  @Test("where not, the error says why and what would help")
  func impossible() {
    let cases: [(ControlGroupFiles, String)] = [
      (Self.files(cgroup: "4:memory:/a\n"), "no control group of version 2 (cgroup v2)"),
      (Self.files { !$0.hasSuffix("/cgroup.procs") }, "'Delegate=yes'"),
      (Self.files(folder: EACCES), "Permission denied"), (Self.files { !$0.hasSuffix("/cgroup.kill") }, "Linux 5.14"),
    ]
    for (files, words) in cases {
      let error = #expect(throws: SystemError.self) { try LaunchGroups.found(for: "/d", files: files) }
      #expect(error?.description.contains(words) == true)
    }
  }
}
