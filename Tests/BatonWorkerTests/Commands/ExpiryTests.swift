import BatonHandler
import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct ExpiryTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  @Test(.contract(16.2, 16.5)) func `the running batch may finish and is committed, no other begins`() async throws {
    let runtime = FakeRuntime()
    let script = #"echo "begin $1"; while [ ! -e "$BATON_EXPIRY_FILE" ]; do sleep 0.01; done; echo "end $1""#
    let result = await fixture.expire(fixture.shell(script, items: .range(1...3)), on: runtime) {
      await runtime.waitForOutput("begin 1\n")
    }
    #expect(throws: CommandExpired(isGraceful: true)) { try result.get() }
    #expect(runtime.output == "begin 1\nend 1\n")
    #expect(runtime.commits == [Commit(cursor: nil, completedUnits: 1, totalUnits: 3)])
  }

  @Test func `if the last batch finishes, the work is done`() async throws {
    let runtime = FakeRuntime()
    let script = #"echo begin; while [ ! -e "$BATON_EXPIRY_FILE" ]; do sleep 0.01; done"#
    let result = await fixture.expire(fixture.shell(script, items: .range(1...1)), on: runtime) {
      await runtime.waitForOutput("begin")
    }
    try result.get()
    #expect(runtime.commits.last?.reachesEnd == true)
  }

  @Test func `the file says why and until when`() async throws {
    let runtime = FakeRuntime()
    let script = #"echo begin; while [ ! -e "$BATON_EXPIRY_FILE" ]; do sleep 0.01; done; cat "$BATON_EXPIRY_FILE""#
    _ = await fixture.expire(
      fixture.shell(script, items: .range(1...1)), on: runtime, reason: .cancelled(by: "anna")
    ) { await runtime.waitForOutput("begin\n") }
    let json = try JSONSerialization.jsonObject(with: Data(runtime.output.dropFirst(6).utf8)) as? [String: String]
    #expect(json?["reason"] == "cancelled" && json?["detail"] == "anna")
    let deadline = try #require(json?["deadline"].flatMap { try? Date($0, strategy: .iso8601) })
    #expect(deadline > Date.now)
  }

  @Test func `SIGTERM comes five seconds before the deadline, and what it ends is repeated`() async throws {
    let runtime = FakeRuntime()
    // Exit status 0 after a stop signal does not prove that the batch is done.
    let script = "trap 'echo term; exit 0' TERM; echo begin; while :; do sleep 0.01; done"
    let result = await fixture.expire(fixture.shell(script, items: .range(1...3)), on: runtime) {
      await runtime.waitForOutput("begin")
    } then: {
      await fixture.clock.sleeper(until: .seconds(25))
      #expect(!runtime.output.contains("term"))
      fixture.clock.advance(to: .seconds(25))
    }
    #expect(throws: CommandExpired(isGraceful: true)) { try result.get() }
    #expect(runtime.output.contains("term"))
    #expect(runtime.commits.isEmpty)
  }

  @Test(.contract(16.4, 28.1)) func `a command that ignores SIGTERM is killed at the deadline`() async throws {
    let runtime = FakeRuntime()
    let script = "trap 'echo ignored' TERM; echo begin $$; while :; do sleep 0.01; done"
    let result = await fixture.expire(fixture.shell(script, items: .range(1...3)), on: runtime) {
      await runtime.waitForOutput("begin")
    } then: {
      await fixture.clock.sleeper(until: .seconds(25))
      fixture.clock.advance(to: .seconds(25))
      await runtime.waitForOutput("ignored")
      await fixture.clock.sleeper(until: .seconds(30))
      fixture.clock.advance(to: .seconds(30))
    }
    #expect(throws: CommandExpired(isGraceful: false)) { try result.get() }
  }

  @Test func `onExpiry terminate sends SIGTERM at once`() async throws {
    let runtime = FakeRuntime()
    var work = fixture.shell(
      "trap 'echo term; exit 1' TERM; echo begin; while :; do sleep 0.01; done", items: .range(1...3))
    work.onExpiry = .terminate
    let result = await fixture.expire(work, on: runtime) { await runtime.waitForOutput("begin") }
    #expect(throws: CommandExpired(isGraceful: true)) { try result.get() }
    #expect(runtime.output.hasSuffix("term\n"))
  }

  @Test func `a withdrawal kills at once`() async throws {
    let runtime = FakeRuntime()
    let result = await fixture.expire(
      fixture.shell("trap '' TERM; echo begin; while :; do sleep 0.01; done"), on: runtime, reason: nil
    ) { await runtime.waitForOutput("begin") }
    #expect(throws: CommandExpired(isGraceful: true)) { try result.get() }
  }

  @Test func `a command that leaves its process group is killed too`() async throws {
    let runtime = FakeRuntime()
    let leave = """
      $p = fork; if (!$p) { sleep 1000; exit } setpgrp($p, $p); setpgrp(0, $p); $SIG{TERM} = "IGNORE"; $| = 1;
      print "begin\\n"; sleep 1000
      """
    let result = await fixture.expire(fixture.shell("exec perl -e '\(leave)'"), on: runtime, reason: nil) {
      await runtime.waitForOutput("begin")
    }
    #expect(throws: CommandExpired(isGraceful: true)) { try result.get() }
  }

  @Test func `the registry ends a closing window early`() async throws {
    let runtime = FakeRuntime()
    let result = await fixture.expire(
      fixture.shell("echo begin; while :; do sleep 0.01; done", items: .range(1...2)), on: runtime
    ) {
      await runtime.waitForOutput("begin")
    } then: {
      await fixture.clock.sleeper(until: .seconds(25))
      fixture.processes.kill(LaunchKey(request: RequestID(7), number: 2))
    }
    #expect(throws: CommandExpired(isGraceful: true)) { try result.get() }
  }

  @Test func `a command that leaves because it saw the file has not failed`() async throws {
    let runtime = FakeRuntime()
    let script = #"""
      echo '{"checkpoint":1}' >&3; echo begin
      while [ ! -e "$BATON_EXPIRY_FILE" ]; do sleep 0.01; done
      echo '{"checkpoint":2}' >&3; exit 75
      """#
    let result = await fixture.expire(fixture.shell(script), on: runtime) { await runtime.waitForOutput("begin") }
    #expect(throws: CommandExpired(isGraceful: true)) { try result.get() }
    #expect(runtime.commits.map(\.cursor) == [Array("1".utf8), Array("2".utf8)])
    #expect(runtime.commits.allSatisfy { !$0.reachesEnd })
  }

  @Test func `a launch that expired before it began runs nothing`() async throws {
    let runtime = FakeRuntime()
    let result = await fixture.expire(fixture.shell("echo ran"), on: runtime) {}
    if case .success = result { #expect(runtime.output == "ran\n") } else { #expect(runtime.commits.isEmpty) }
    #expect(fixture.names(in: fixture.folders.launches).isEmpty)
  }

  @Test(
    arguments: [
      (JobKind.processing, 1.0, 0.5), (.processing, 4, 2), (.processing, 5, 2.5), (.processing, 10, 5),
      (.processing, 60, 5), (.refresh, 2, 1), (.refresh, 4, 2), (.refresh, 30, 2),
    ])
  func `a short closing window leaves the running batch half of it`(kind: JobKind, window: Double, margin: Double) {
    var definition = Definition(pattern: IdentifierPattern("com.example.a")!, kind: kind)
    definition.work = Work(command: ["true"])
    definition.closingWindow = .seconds(window)
    #expect(definition.terminationMargin == .seconds(margin))
    definition.work?.terminateBefore = .seconds(window)
    #expect(definition.terminationMargin == .seconds(window), "what is said counts")
  }

  /// With the usual margin of 5 s, SIGTERM would come at once.
  @Test(.contract(16.2)) func `in a closing window of three seconds the running batch finishes`() async throws {
    let runtime = FakeRuntime()
    let plain = fixture.runner(
      fixture.shell("echo begin; while [ ! -e \"$BATON_EXPIRY_FILE\" ]; do sleep 0.01; done", items: .range(1...3)))
    var definition = plain.definition
    definition.closingWindow = .seconds(3)
    let runner = CommandRunner(
      definition: definition, assignment: plain.assignment, folders: fixture.folders, host: plain.host,
      processes: fixture.processes, time: fixture.clock.time)
    let task = Task { try await runner.run(runtime) }
    await runtime.waitForOutput("begin")
    runtime.expire(Expiry(reason: .draining, deadline: fixture.clock.start + .seconds(3)))
    task.cancel()
    await #expect(throws: CommandExpired(isGraceful: true)) { try await task.value }
    #expect(runtime.commits.map(\.completedUnits) == [1], "its batch is committed, and no other begins")
  }

  @Test func `the margin follows the kind, or the work`() {
    #expect(fixture.runner(Work(command: ["true"]), kind: .refresh).margin == .seconds(2))
    #expect(fixture.runner(Work(command: ["true"]), kind: .continued).margin == .seconds(5))
    #expect(fixture.runner(Work(command: ["true"], terminateBefore: .seconds(9))).margin == .seconds(9))
    let expiry = Expiry(reason: .thermal, deadline: .now + .seconds(30))
    #expect(
      StopPlan(expiry, behaviour: .finishBatch, margin: .seconds(2)).steps == [
        .init(time: expiry.deadline - .seconds(2), signal: SIGTERM), .init(time: expiry.deadline, signal: SIGKILL),
      ])
    #expect(
      StopPlan(expiry, behaviour: .terminate, margin: .seconds(2)).steps == [
        .init(time: nil, signal: SIGTERM), .init(time: expiry.deadline, signal: SIGKILL),
      ])
    #expect(StopPlan(nil, behaviour: .finishBatch, margin: .seconds(2)).steps == [.init(time: nil, signal: SIGKILL)])
    let late = Expiry(reason: .batchTimedOut, deadline: expiry.deadline)
    #expect(
      StopPlan(late, behaviour: .finishBatch, margin: .seconds(2)).steps.first == .init(time: nil, signal: SIGTERM))
  }
}
