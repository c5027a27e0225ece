import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess

@Suite struct ProcessRegistryTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private func start(
    _ script: String, environment: [String: String] = [:]
  ) async throws -> (
    Int32, Task<ProcessOutcome, any Error>
  ) {
    let launch = ProcessLaunch(
      executable: "/bin/sh", arguments: ["sh", "-c", script], environment: environment, directory: fixture.directory)
    let runtime = FakeRuntime()
    let task = Task { [fixture] in
      try await launch.run(in: fixture.processes, folder: fixture.folders.launches + "/1-1") { runtime.output($0) }
    }
    await runtime.wait { $0.output.last == 10 }
    return (try #require(Int32(runtime.output.dropLast())), task)
  }

  /// The child hides its environment. It is found by the process group that its parent leads. This is not the group of
  /// the command, which its own worker kills.
  @Test func `a worker that comes next kills the group of what carries its marker`() async throws {
    let marker = ProcessMarker.value(folder: fixture.folders.launches + "/1-1")
    let (pid, task) = try await start(
      "setsid sh -c 'env -i sleep 1000 & echo $!; sleep 1000; true' & sleep 1000; true",
      environment: [ProcessMarker.variable: marker])
    #expect(ProcessRegistry(folders: fixture.folders).killLeftovers() >= 2)
    await waitForEnd(of: pid)
    let outcome = try await task.value
    #expect(outcome == ProcessOutcome(end: .signalled(9), signalsSent: []))
  }

  @Test func `a process without the marker is left alone`() async throws {
    let (pid, task) = try await start("echo $$; read x; exec sleep 1000 < /dev/null")
    #expect(ProcessRegistry(folders: fixture.folders).killLeftovers() == 0)
    #expect(ProcessTable.entry(of: pid)?.isZombie == false)
    fixture.processes.killAll()
    _ = try await task.value
  }

  /// Earlier versions kept a record of each command in a folder that commands can write to.
  @Test(.refuses(31)) func `a forged record kills no process`() async throws {
    let stranger = try CommandFixture()
    let launch = ProcessLaunch(
      executable: "/bin/sh", arguments: ["sh", "-c", "echo $$; exec sleep 1000"], environment: [:],
      directory: fixture.directory)
    let runtime = FakeRuntime()
    let task = Task {
      try await launch.run(in: stranger.processes, folder: stranger.folders.launches + "/1-1") { runtime.output($0) }
    }
    await runtime.wait { $0.output.last == 10 }
    let pid = try #require(Int32(runtime.output.dropLast()))
    let victim = try #require(ProcessTable.entry(of: pid))
    let records = fixture.folders.data + "/processes"
    try SystemCall.makeFolders(records)
    try Data("\(victim.startTime)".utf8).write(to: URL(fileURLWithPath: "\(records)/\(pid)"))
    #expect(ProcessRegistry(folders: fixture.folders).killLeftovers() == 0)
    fixture.folders.removeLeftovers()
    #expect(ProcessTable.entry(of: pid)?.isZombie == false)
    #expect(!SystemCall.exists(records), "the record is gone")
    stranger.processes.killAll()
    _ = try await task.value
  }

  @Test func `a worker that comes next kills what carries its marker`() async throws {
    let marker = ProcessMarker.value(folder: fixture.folders.launches + "/1-1")
    let (pid, task) = try await start(
      "setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000", environment: [ProcessMarker.variable: marker])
    #expect(ProcessRegistry(folders: fixture.folders).killLeftovers() >= 2)
    await waitForEnd(of: pid)
    _ = try await task.value
  }

  @Test func `another worker's processes are not this one's leftovers`() async throws {
    let other = try CommandFixture()
    let marker = ProcessMarker.value(folder: other.folders.launches + "/1-1")
    let (_, task) = try await start("echo $$; exec sleep 1000", environment: [ProcessMarker.variable: marker])
    #expect(fixture.processes.killLeftovers() == 0)
    #expect(other.processes.killLeftovers() == 1)
    _ = try await task.value
  }

  @Test func `killAll leaves nothing, daemons included`() async throws {
    let marker = ProcessMarker.value(folder: fixture.folders.launches + "/1-1")
    let (pid, task) = try await start(
      "trap '' TERM; setsid sh -c 'echo $$; exec sleep 1000' & while :; do sleep 1000; done",
      environment: [ProcessMarker.variable: marker])
    fixture.processes.killAll()
    await waitForEnd(of: pid)
    #expect(try await task.value.end == .signalled(9))
  }

  @Test func `no signal is sent to a process that was reaped`() async throws {
    let (pid, task) = try await start("echo $$")
    let process = RunningProcess(pid: pid)
    _ = try await task.value
    process.signal(9)
    #expect(process.signalsSent.isEmpty)
  }

  @Test func `a line of proc is read whatever the process is called`() throws {
    let line = "42 (a) b (c)) S 1 42 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2"
    let entry = try #require(ProcessEntry(stat: Array(line.utf8)))
    #expect(entry.pid == 42 && entry.parent == 1 && entry.group == 42 && entry.session == 7)
    #expect(entry.startTime == 9876 && !entry.isZombie)
    #expect(ProcessEntry(stat: Array("nonsense".utf8)) == nil)
  }
}
