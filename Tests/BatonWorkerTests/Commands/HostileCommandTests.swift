import BatonHandler
import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// Commands that try to stay, to block, or to flood the worker (promise P8).
@Suite struct HostileCommandTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  /// Runs the script, and checks that the process whose id it wrote to the file `pid` has ended with it.
  private func outlive(_ script: String) async throws {
    let runtime = try await fixture.run(fixture.shell(script, items: .range(1...1)))
    #expect(runtime.commits.count == 1)
    let pid = try #require(Int32(try fixture.read("pid").trimmingCharacters(in: .whitespacesAndNewlines)))
    let entry = ProcessTable.entry(of: pid)
    #expect(entry == nil || entry?.isZombie == true, "what is dead may still wait to be reaped")
  }

  @Test func `what stays in the background ends with its batch`() async throws {
    try await outlive("sleep 1000 & echo $! > pid")
  }

  @Test func `a process that holds the output open holds nothing up`() async throws {
    try await outlive("(trap '' TERM HUP; exec sleep 1000) & echo $! > pid; exit 0")
  }

  @Test func `a job of its own process group ends with the launch`() async throws {
    try await outlive("set -m; sleep 1000 & echo $! > pid")
  }

  @Test func `a daemon in its own session ends with the launch`() async throws {
    try await outlive("setsid sh -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do sleep 0.01; done")
  }

  @Test func `a daemon of a daemon ends too`() async throws {
    try await outlive(
      "setsid sh -c 'setsid sh -c \"echo \\$\\$ > pid; exec sleep 1000\" & sleep 1000' & "
        + "while [ ! -s pid ]; do sleep 0.01; done"
    )
  }

  @Test func `a daemon that hides its environment ends when nothing else may run`() async throws {
    let script = "env -i setsid sh -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do sleep 0.01; done"
    try await fixture.run(fixture.shell(script, items: .range(1...1)))
    let pid = try #require(Int32(try fixture.read("pid").trimmingCharacters(in: .whitespacesAndNewlines)))
    // Launches of other tests may run now, and the daemon could belong to one of them. Only `killAll` ends it for sure.
    fixture.processes.killAll()
    await waitForEnd(of: pid)
  }

  @Test func `a daemon that floods the output holds nothing up`() async throws {
    try await outlive(
      "setsid sh -c 'echo $$ > pid; exec yes' & while [ ! -s pid ]; do sleep 0.01; done; exit 0")
  }

  @Test func `a daemon that floods the progress holds nothing up`() async throws {
    let runtime = try await fixture.run(
      fixture.shell("setsid sh -c 'exec yes {}' >&3 & echo '{}' >&3; read x <&4; exit 0"))
    #expect(runtime.commits.last?.reachesEnd == true)
  }

  @Test func `fifty megabytes of output blocks nobody`() async throws {
    let runtime = try await fixture.run(
      fixture.shell("head -c 50000000 /dev/zero", items: .range(1...1)))
    #expect(runtime.outputBytes == 50_000_000)
  }

  @Test func `a command that closes its descriptors still has an exit status`() async throws {
    let error = try await fixture.failure(
      fixture.shell("exec 0<&- 1>&- 2>&-; sleep 0.05; exit 7", items: .range(1...1)))
    #expect(error.code == .exitStatus && error.message.contains("status 7; it wrote nothing"))
  }

  @Test func `output of both streams comes in order`() async throws {
    let runtime = try await fixture.run(
      fixture.shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done", items: .range(1...1)))
    #expect(runtime.output == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n")
  }

  @Test func `folders that a command locks are in nobody's way`() async throws {
    try await fixture.run(fixture.shell("mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a", items: .range(1...2)))
    try await fixture.run(fixture.shell("true", items: .range(1...2)))
  }
}
