import BatonHandler
import BatonModel
import ContractRows
import Foundation
import Synchronization
import Testing

@testable import BatonProcess
@testable import BatonWorker

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

@Suite struct CursorTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  @Test func `a command without items is one of one`() async throws {
    let runtime = try await fixture.run(fixture.shell("echo done"))
    #expect(runtime.output == "done\n")
    #expect(runtime.commits == [Commit(cursor: nil, completedUnits: 1, totalUnits: 1, reachesEnd: true)])
  }

  @Test func `each line is a commit, its checkpoint kept byte for byte`() async throws {
    let script = #"""
      say() { echo "$1" >&$BATON_PROGRESS_FD; read answer <&$BATON_COMMIT_FD; echo "$answer"; }
      say '{"checkpoint": {"b":  1.50, "a": "}\"]"} , "completed":10,"total":247,"subtitle":"café"}'
      say '{"completed": 20}'
      say ' { "total" : 200, "checkpoint":null } '
      """#
    let runtime = try await fixture.run(fixture.shell(script))
    #expect(runtime.output == "{\"committed\": 1}\n{\"committed\": 2}\n{\"committed\": 3}\n")
    let first = Array(#"{"b":  1.50, "a": "}\"]"}"#.utf8)
    let null = Array("null".utf8)
    #expect(
      runtime.commits == [
        Commit(cursor: first, completedUnits: 10, totalUnits: 247, subtitle: "café"),
        Commit(cursor: first, completedUnits: 20, totalUnits: 247),
        Commit(cursor: null, completedUnits: 20, totalUnits: 200),
        Commit(cursor: null, completedUnits: 20, totalUnits: 200, reachesEnd: true, isEndOnly: true),
      ])
  }

  /// The descriptors are pipes without a path, so that other commands of this user cannot open them. They block,
  /// because few programs can handle `EAGAIN`.
  @Test(.enabled(if: access("/proc/self/fdinfo", F_OK) == 0, "there is no /proc/self/fdinfo"))
  func `the descriptors are pipes that only this command has, and wait as pipes do`() async throws {
    let script = """
      for i in 3 4; do readlink /proc/self/fd/$i | sed 's/:.*//'; grep -c 'flags:.*[4-7]...$' /proc/self/fdinfo/$i; done
      readlink /proc/self/fd/0
      """
    // The fourth octal digit from the end contains O_NONBLOCK (04000).
    let output = try await fixture.run(fixture.shell(script)).output
    #expect(output == "pipe\n0\npipe\n0\n/dev/null\n")
  }

  @Test func `lines left in the pipe at the end count, and so does a last one without its end`() async throws {
    let script = #"for i in 1 2 3; do echo "{\"checkpoint\":$i}" >&3; done; printf '{"checkpoint":4}' >&3"#
    let runtime = try await fixture.run(fixture.shell(script))
    #expect(
      runtime.commits.compactMap(\.cursor).map { String(decoding: $0, as: UTF8.self) } == ["1", "2", "3", "4", "4"])
  }

  @Test(.contract(42.1), arguments: RefreshResult.allCases)
  func `a line may say what a refresh found`(result: RefreshResult) async throws {
    let runtime = try await fixture.run(
      fixture.shell(#"echo '{"result": "\#(result.rawValue)"}' >&3"#), kind: .refresh)
    #expect(runtime.result == result)
  }

  @Test func `what a command reported before it failed is kept`() async throws {
    let runtime = FakeRuntime()
    let error = try await fixture.failure(
      fixture.shell(#"echo '{"checkpoint":1}' >&3; printf '{"checkp' >&3; exit 9"#), on: runtime)
    #expect(error.code == .exitStatus)
    #expect(runtime.commits == [Commit(cursor: Array("1".utf8), completedUnits: 0, totalUnits: nil)])
  }

  @Test(arguments: [
    (#"{"checkpoint": 1"#, "is not a JSON object"), (#"[1]"#, "is not a JSON object"),
    (#"{"completed": "1"}"#, "'subtitle' is a string"), (#"{"completed": -1}"#, "has a negative 'completed'"),
    (#"{"checkpont": 1}"#, "unknown key 'checkpont'"), ("", "is not a JSON object"),
  ])
  func `a line that means nothing stops the command and is named`(line: String, text: String) async throws {
    let error = try await fixture.failure(
      fixture.shell("echo '{}' >&3; echo '\(line)' >&3; read x <&4; sleep 1000; sleep 1000"))
    #expect(error.code == .badProgress)
    #expect(error.message.contains("line 2 of") && error.message.contains(text), "\(error.message)")
  }

  @Test func `half a line at a good end is an error`() async throws {
    let error = try await fixture.failure(fixture.shell(#"printf '{"checkpoint' >&3"#))
    #expect(error.message.contains("line 1 of") && error.message.hasSuffix(#"{"checkpoint"#))
  }

  @Test(arguments: [
    (#"head -c 1048577 /dev/zero | tr '\0' 7"#, "has a checkpoint of 1048579 bytes"),
    (#"head -c 2000000 /dev/zero | tr '\0' 7"#, "is longer than"),
  ])
  func `a checkpoint over the limit is refused here`(number: String, text: String) async throws {
    let error = try await fixture.failure(
      fixture.shell(#"{ printf '{"checkpoint":"'; \#(number); echo '"}'; } >&3; exec sleep 1000"#))
    #expect(error.message.contains(text), "\(error.message)")
    #expect(error.message.utf8.count < 1000)
  }

  @Test func `a checkpoint that the store refuses names its line`() async throws {
    let runtime = FakeRuntime { _ in throw HandlerError(.checkpointRefused, "too big for this store") }
    let error = try await fixture.failure(fixture.shell("echo '{\"checkpoint\":1}' >&3; sleep 1000"), on: runtime)
    #expect(error.message.contains("line 1 of") && error.message.contains("too big for this store"))
  }

  @Test func `a command that never reads its acknowledgements blocks nobody`() async throws {
    let script = #"i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo "{\"completed\":$i}"; done >&3"#
    let runtime = try await fixture.run(fixture.shell(script))
    #expect(runtime.commits.count == 5001)
    #expect(runtime.commits.last?.completedUnits == 5000)
  }

  @Test func `who reads them late still gets the last one`() async throws {
    let script = #"""
      i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo "{\"completed\":$i}"; done >&3
      while read line <&4; do case "$line" in *5000*) exit 0;; esac; done
      """#
    #expect(try await fixture.run(fixture.shell(script)).commits.count == 5001)
  }

  @Test func `a command that runs ahead is held up until its lines are durable`() async throws {
    let gate = Mutex<CheckedContinuation<Void, Never>?>(nil)
    let runtime = FakeRuntime { commit in
      if commit.completedUnits == 1 { await withCheckedContinuation { pause in gate.withLock { $0 = pause } } }
    }
    // The lines are more than the pipe and one read hold: "written" cannot come before the first commit.
    let script = #"""
      echo '{"completed":1}' >&3; echo begun
      i=0; while [ $i -lt 12000 ]; do i=$((i+1)); echo '{"completed":2}'; done >&3; echo written
      """#
    let task = Task { try await fixture.run(fixture.shell(script), on: runtime) }
    await runtime.waitForOutput("begun")
    while gate.withLock({ $0 == nil }) { await Task.yield() }
    #expect(runtime.output == "begun\n")
    gate.withLock { $0.take() }?.resume()
    _ = try await task.value
    #expect(runtime.output == "begun\nwritten\n")
    #expect(runtime.commits.count == 12002)
  }

  @Test func `a line is acknowledged once it is durable, and not before`() async throws {
    let channel = try ProgressChannel()
    let passed = channel.invocation(of: ["true"]).passed
    let (toWorker, fromWorker) = (passed[0].file.descriptor, passed[1].file.descriptor)
    @Sendable func isAcknowledged() -> Bool {
      var pipe = pollfd(fd: fromWorker, events: Int16(POLLIN), revents: 0)
      return poll(&pipe, 1, 0) > 0
    }
    let early = Mutex<[Bool]>([])
    let runtime = FakeRuntime { _ in early.withLock { $0.append(isAcknowledged()) } }
    let line = Array("{\"completed\": 1}\n".utf8)
    #expect(write(toWorker, line, line.count) == line.count)
    try await ProgressPump(channel, of: .processing, runtime: runtime).drain(isWhole: false)
    #expect(early.withLock { $0 } == [false])
    #expect(isAcknowledged())
  }

  @Test func `a resumed command finds its checkpoint, and the environment says which batch`() async throws {
    let runtime = FakeRuntime(progress: Progress(batches: 4, cursor: Array("[1]".utf8), completedUnits: 4))
    try await fixture.run(fixture.shell(#"cat "$BATON_CHECKPOINT_FILE"; echo " $BATON_BATCH""#), on: runtime)
    #expect(runtime.output == "[1] 4\n")
    #expect(
      runtime.commits == [Commit(cursor: Array("[1]".utf8), completedUnits: 4, totalUnits: nil, reachesEnd: true)])
  }
}
