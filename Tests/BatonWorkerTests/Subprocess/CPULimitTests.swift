import BatonModel
import ContractRows
import Foundation
import Synchronization
import Testing

@testable import BatonProcess
@testable import BatonWorker

@Suite("The limit of processor time", .timeLimit(.minutes(10)))
struct CPULimitTests {
  @Test(
    "a quota is per cent of one core",
    arguments: [
      ("50%", 50), ("150%", 150), ("1%", 1), ("100000%", 100_000), ("0%", nil), ("100001%", nil), ("50", nil),
      ("%", nil), ("-5%", nil), ("+5%", nil), ("1.5%", nil), (" 5%", nil), ("5 %", nil), ("50%%", nil),
      ("999999999999%", nil),
    ] as [(String, Int?)])
  func quota(text: String, percent: Int?) {
    #expect(CPUQuota(parsing: text)?.percent == percent)
    if let percent { #expect(CPUQuota(parsing: text)?.cpuMaxText == "\(percent)000 100000") }
  }

  @Test("a definition that requires external power is not held back, every other one is", .contract(18.3))
  func power() throws {
    let fixture = try CommandFixture()
    let limit = CPULimit(try #require(CPUQuota(percent: 50)), group: nil)
    for (externalPower, expected) in [(true, nil), (false, limit)] as [(Bool, CPULimit?)] {
      let runner = runner(fixture, fixture.shell("true"), limit, externalPower: externalPower)
      #expect(runner.limit == expected)
    }
  }

  private func runner(
    _ fixture: CommandFixture, _ work: Work, _ limit: CPULimit, externalPower: Bool = false
  ) -> CommandRunner {
    let plain = fixture.runner(work)
    var definition = plain.definition
    definition.requirements.externalPower = externalPower
    return CommandRunner(
      definition: definition, assignment: plain.assignment, folders: fixture.folders, host: plain.host,
      processes: fixture.processes, limit: limit)
  }

  #if os(Linux)
    @Test(
      "a command and what it started are nice to everything else; one without a limit is not", arguments: [true, false])
    func niceness(usesStarter: Bool) async throws {
      let fixture = try CommandFixture(usesStarter: usesStarter)
      let (own, limit) = (Niceness.own, CPULimit(try #require(CPUQuota(percent: 50)), niceness: 7, group: nil))
      let limited = try await fixture.start("sleep 1000 & echo child $!; wait", limit: limit)
      await limited.runtime.waitForOutput("child")
      let words = limited.runtime.output.split(whereSeparator: \.isWhitespace)
      let child = try #require(words.last.flatMap { Int32($0) })
      #expect(niceness(of: limited.pid) == max(own, 7) && niceness(of: child) == max(own, 7))

      let free = try await fixture.start("exec sleep 1000")
      #expect(niceness(of: free.pid) == own)
      fixture.processes.killAll()
      _ = try await (limited.task.value, free.task.value)
    }

    @Test("a launch holds its commands to the host's limit", .contract(18.3))
    func launch() async throws {
      let fixture = try CommandFixture()
      let (niceness, runtime) = (max(Niceness.own, 7), FakeRuntime())
      let limit = CPULimit(try #require(CPUQuota(percent: 50)), niceness: 7, group: nil)
      let work = fixture.shell("while [ $(nice) -lt \(niceness) ]; do :; done; nice")
      try await runner(fixture, work, limit).run(runtime)
      #expect(runtime.output == "\(niceness)\n")
    }

    private func niceness(of pid: Int32) -> Int32? {
      let line = SystemCall.contents(of: "/proc/\(pid)/stat").map { String(decoding: $0, as: UTF8.self) } ?? ""
      let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
      return fields.count > 16 ? Int32(fields[16]) : nil
    }
  #endif
}

@Suite("Control groups")
struct ControlGroupTests {
  @Test(
    "the group of a process is found below where the hierarchy is mounted",
    arguments: [
      (
        "0::/system.slice/baton.service\n", "29 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "/sys/fs/cgroup/system.slice/baton.service"
      ),
      (
        "4:memory:/a\n0::/\n", "1 2 0:3 / /sys rw - sysfs sysfs rw\n41 31 0:38 / /unified rw,x shared:9 - cgroup2 c rw",
        "/unified"
      ),
      ("0::/a/b c/d\n", "41 31 0:38 /a/b\\040c /mnt/x\\040y rw - cgroup2 c rw", "/mnt/x y/d"),
      ("0::/ab\n", "41 31 0:38 /a /mnt rw - cgroup2 c rw", nil),
      ("0::/a/../b\n", "41 31 0:38 / /mnt rw - cgroup2 c rw", nil),
      ("4:memory:/a\n", "41 31 0:38 / /m rw - cgroup2 c rw", nil),
      ("0::/a\n", "41 31 0:38 / /m rw - cgroup c rw,cpu", nil), ("", "", nil), ("0::/a", "- cgroup2", nil),
    ] as [(String, String, String?)])
  func place(cgroup: String, mounts: String, path: String?) {
    #expect(ControlGroupPlace.path(cgroup: cgroup, mounts: mounts) == path)
  }

  private func quota() throws -> CPUQuota { try #require(CPUQuota(percent: 150)) }

  @Test("the worker and its supervisor move to a leaf, and commands get a group with the quota", .contract(18.3))
  func makes() throws {
    let kernel = FakeKernel(members: [10, 11])
    let group = try ControlGroup.limited(to: quota(), for: [10, 11, 12], files: kernel.files)
    #expect(group.path == "/c/baton/limited")
    #expect(kernel.groups["/c/baton"] == [] && kernel.groups["/c/baton/worker"] == [10, 11])
    #expect(kernel.file("/c/baton/limited/cpu.max") == "150000 100000")
  }

  @Test("a worker that its supervisor starts anew finds the groups, and sets the quota again")
  func again() throws {
    let kernel = FakeKernel(members: [10, 11])
    _ = try ControlGroup.limited(to: quota(), for: [10, 11], files: kernel.files)
    kernel.moveSelf(to: "/baton/worker")
    let group = try ControlGroup.limited(to: #require(CPUQuota(percent: 20)), for: [10, 12], files: kernel.files)
    #expect(group.path == "/c/baton/limited")
    #expect(kernel.file("/c/baton/limited/cpu.max") == "20000 100000")
    #expect(kernel.groups.keys.sorted() == ["/c/baton", "/c/baton/limited", "/c/baton/worker"])
  }

  @Test("a group that is only called worker is not the leaf of an earlier life")
  func namesake() throws {
    let kernel = FakeKernel(path: "/slice/worker", members: [10])
    #expect(try ControlGroup.limited(to: quota(), for: [10], files: kernel.files).path == "/c/slice/worker/limited")
  }

  @Test("other processes in the worker's group are left alone")
  func others() throws {
    let kernel = FakeKernel(members: [10, 99])
    let error = #expect(throws: SystemError.self) {
      try ControlGroup.limited(to: quota(), for: [10], files: kernel.files)
    }
    #expect(error?.description.contains("/c/baton") == true)
    #expect(kernel.groups == ["/c/baton": [10, 99]])
  }

  @Test("without a cpu controller, without a delegated group and without any the error says so")
  func missing() throws {
    let cases: [(FakeKernel, String)] = [
      (FakeKernel(members: [10], controllers: "memory pids"), "Delegate=yes"),
      (FakeKernel(members: [10], isWritable: false), "/c/baton/worker"),
      (FakeKernel(path: nil, members: []), "cgroup v2"),
    ]
    for (kernel, words) in cases {
      let error = #expect(throws: SystemError.self) {
        try ControlGroup.limited(to: quota(), for: [10], files: kernel.files)
      }
      #expect(error?.description.contains(words) == true)
    }
  }
}

/// A kernel in memory, with the rules of control groups that matter here.
private final class FakeKernel: Sendable {
  private struct State {
    var own: String?
    var groups: [String: [Int32]]
    var written: [String: String] = [:]
  }

  private let state: Mutex<State>
  private let controllers: String
  private let isWritable: Bool

  init(path: String? = "/baton", members: [Int32], controllers: String = "cpuset cpu io", isWritable: Bool = true) {
    state = Mutex(State(own: path, groups: path.map { ["/c" + $0: members] } ?? [:]))
    self.controllers = controllers
    self.isWritable = isWritable
  }

  var groups: [String: [Int32]] { state.withLock { $0.groups } }
  func file(_ path: String) -> String? { state.withLock { $0.written[path] } }
  func moveSelf(to path: String) { state.withLock { $0.own = path } }

  var files: ControlGroupFiles {
    ControlGroupFiles(read: { self.read($0) }, write: { self.write($0, $1) }, makeFolder: { self.make($0) })
  }

  private func read(_ path: String) -> String? {
    state.withLock { state in
      switch path {
      case "/proc/self/cgroup": return state.own.map { "0::\($0)\n" } ?? "1:cpu:/\n"
      case "/proc/self/mountinfo": return "41 31 0:38 / /c rw - cgroup2 cgroup2 rw\n"
      default: break
      }
      let (group, file) = Self.split(path)
      guard let members = state.groups[group] else { return nil }
      switch file {
      case "cgroup.procs": return members.map { "\($0)\n" }.joined()
      case "cgroup.controllers": return controllers + "\n"
      default: return state.written[path]
      }
    }
  }

  private func write(_ text: String, _ path: String) -> Int32 {
    state.withLock { state in
      let (group, file) = Self.split(path)
      guard let members = state.groups[group] else { return ENOENT }
      // The rule "no internal processes": a group with processes cannot enable controllers for its children.
      if file == "cgroup.subtree_control", !members.isEmpty { return EBUSY }
      if file == "cgroup.procs", let pid = Int32(text) {
        for key in state.groups.keys { state.groups[key]?.removeAll { $0 == pid } }
        state.groups[group]?.append(pid)
      }
      // The file exists only if the parent group has enabled the controller.
      if file == "cpu.max", state.written[Self.split(group).folder + "/cgroup.subtree_control"] != "+cpu" {
        return ENOENT
      }
      state.written[path] = text
      return 0
    }
  }

  private func make(_ path: String) -> Int32 {
    state.withLock { state in
      guard isWritable else { return EACCES }
      guard state.groups[path] == nil else { return EEXIST }
      state.groups[path] = []
      return 0
    }
  }

  private static func split(_ path: String) -> (folder: String, file: String) {
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    return (String(path[..<slash]), String(path[slash...].dropFirst()))
  }
}
