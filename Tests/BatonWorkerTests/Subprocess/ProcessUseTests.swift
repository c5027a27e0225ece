import BatonModel
import Foundation
import Testing

@testable import BatonProcess

/// A shell function that uses some clock ticks of processor time.
private let burn = "burn() { i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; }; "

@Suite("What processes have used")
struct ProcessUseTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  @Test("a line of proc is read whatever the process is called")
  func line() throws {
    let line = "42 (a) R 9 (b)) S 1 42 7 0 -1 4194560 1 2 3 4 150 25 30 5 20 0 1 0 9876 999999 77 18446744073709551615"
    let sample = try #require(ProcessSample(stat: Array(line.utf8)))
    #expect(sample.pid == 42 && sample.ownTicks == 175 && sample.reapedTicks == 35 && sample.pages == 77)
    #expect(ProcessSample(stat: Array("42 (short) S 1 2".utf8)) == nil)
    #expect(ProcessSample(stat: Array("nonsense".utf8)) == nil)
  }

  @Test("children come before their own children, and a tree that never ends is left")
  func descendants() {
    let tree: [Int32: [Int32]] = [1: [2, 5], 2: [3], 3: [4]]
    #expect(ProcessTable.descendants(of: 1) { tree[$0] ?? [] } == [2, 5, 3, 4])
    #expect(ProcessTable.descendants(of: 1) { [$0 &+ 1] }.count == 100_000)
  }

  #if os(Linux)
    @Test("nobody is asked who is not there")
    func nobody() {
      #expect(ProcessUse.cpuTime(ofTree: 0) == nil)
      #expect(ProcessUse.tree(getpid()).map { $0.memory > 0 } == true)
    }

    @Test("the time of a child is its parent's when it is reaped: the sum does not fall")
    func reaped() async throws {
      let pipe = fixture.root + "/work/gate"
      // The child lives until the test writes to the gate.
      let process = try await fixture.start(
        burn + "mkfifo gate; (burn; echo burnt; read x < gate) & wait; echo reaped; exec sleep 1000")
      await process.runtime.waitForOutput("burnt")
      let living = try #require(ProcessUse.cpuTime(ofTree: process.pid))
      #expect(living > .zero)
      let gate = try SystemCall.open(pipe, O_WRONLY)
      #expect(write(gate, "go\n", 3) == 3)
      close(gate)
      await process.runtime.waitForOutput("reaped")
      #expect(try #require(ProcessUse.cpuTime(ofTree: process.pid)) >= living)
      fixture.processes.killAll()
      _ = try await process.task.value
    }

    @Test("the members of a tree are looked for while it grows, when one has ended, and now and then")
    func members() async throws {
      let process = try await fixture.start(burn + "read x < gate; burn; sleep 1000 & echo burnt; wait")
      let tree = ProcessTree(root: process.pid)
      let before = try #require(tree.cpuTime(isGrowing: true))
      for _ in 0..<100 { #expect(try #require(tree.cpuTime(isGrowing: false)) >= before) }
      fixture.processes.killAll()
      _ = try await process.task.value
      #expect(tree.cpuTime(isGrowing: false) == nil)
      #expect(ProcessTree(root: 0).cpuTime(isGrowing: true) == nil)
    }

    @Test("a launch has used what its ended and its running commands have, until it is over")
    func launch() async throws {
      let launch = LaunchKey(request: RequestID(1), number: 1)
      fixture.processes.begin(launch)
      let first = try await fixture.start(burn + "echo $$; burn")
      _ = try await first.task.value
      let ended = fixture.processes.use(of: launch)
      #expect(ended.cpuTime > .zero && ended.memory == 0)

      let second = try await fixture.start(burn + "burn; echo burnt; sleep 1000 & wait")
      await second.runtime.waitForOutput("burnt")
      let both = fixture.processes.use(of: launch)
      #expect(both.cpuTime > ended.cpuTime && both.memory > 0)
      #expect(fixture.processes.use(of: LaunchKey(request: RequestID(2), number: 1)) == ProcessUse())

      fixture.processes.kill(launch)
      _ = try await second.task.value
      #expect(fixture.processes.endUse(of: launch).cpuTime >= both.cpuTime)
      #expect(fixture.processes.use(of: launch) == ProcessUse())
    }
  #endif
}

/// A command that a test has started as the launch 1/1.
struct StartedProcess: Sendable {
  let pid: Int32
  let runtime: FakeRuntime
  let task: Task<ProcessOutcome, any Error>
}

extension CommandFixture {
  /// Starts a shell script, and returns when the script has printed its process id.
  func start(_ script: String, limit: CPULimit? = nil) async throws -> StartedProcess {
    var launch = ProcessLaunch(
      executable: "/bin/sh", arguments: ["sh", "-c", "echo pid $$; " + script], environment: ["PATH": "/bin:/usr/bin"],
      directory: directory)
    launch.limit = limit
    let (runtime, running) = (FakeRuntime(), launch)
    let task = Task {
      try await running.run(in: processes, folder: folders.launches + "/1-1") { runtime.output($0) }
    }
    await runtime.wait { $0.output.contains(UInt8(ascii: "\n")) }
    let first = runtime.output.split(separator: "\n").first ?? ""
    return StartedProcess(pid: try #require(Int32(first.dropFirst("pid ".count))), runtime: runtime, task: task)
  }
}
