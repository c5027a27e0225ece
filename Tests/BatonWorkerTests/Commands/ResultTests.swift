import BatonHandler
import BatonModel
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// Results of commands, and what those that come after them get.
@Suite struct ResultTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private func results(_ runtime: FakeRuntime) -> [String?] { runtime.commits.map { $0.result?.text } }

  @Test func `a line with a result is saved with its checkpoint, byte for byte`() async throws {
    let script = #"""
      echo '{"result": {"rows":  2, "é": [1.50]} , "completed": 1}' >&3
      echo '{"completed": 2}' >&3; echo '{"result": "newData"}' >&3; printf '{"result": null}' >&3
      """#
    let runtime = try await fixture.run(fixture.shell(script))
    #expect(results(runtime) == [#"{"rows":  2, "é": [1.50]}"#, nil, #""newData""#, "null", nil])
    #expect(runtime.result == nil, "only a refresh says what it has found")
  }

  @Test(arguments: [#"\357\273\277{"completed": 1}"#, #"{\0}\0"#])
  func `a line in another encoding than UTF-8, or with a byte order mark, fails the launch`(line: String) async throws {
    let error = try await fixture.failure(fixture.shell("printf '\(line)\\n' >&3; exec sleep 1000"))
    #expect(error.message.contains("is not a JSON object (in UTF-8, without a byte order mark)"))
  }

  @Test func `the result of a refresh is one of three words`() async throws {
    let runtime = try await fixture.run(fixture.shell(#"echo '{"result": "noData"}' >&3"#), kind: .refresh)
    #expect(results(runtime).first == #""noData""# && runtime.result == .noData)
    let error = try await fixture.failure(
      fixture.shell(#"echo '{"result": "old"}' >&3; exec sleep 1000"#), kind: .refresh)
    #expect(error.message.contains("not newData, noData or failed"))
  }

  @Test(arguments: [
    (
      #"printf '{"result": "'; head -c 65535 /dev/zero | tr '\0' 7; echo '"}'"#,
      "a result of 65537 bytes, over the limit"
    ),
    (
      #"printf '{"result": '; head -c 200 /dev/zero | tr '\0' '['; head -c 200 /dev/zero | tr '\0' ']'; echo '}'"#,
      "a result that is not JSON"
    ),
  ])
  func `a result that cannot be kept fails the launch with the reason, and none is lost silently`(
    line: String, text: String
  ) async throws {
    for items in [nil, Items.range(1...1)] {
      let runtime = FakeRuntime()
      let error = try await fixture.failure(
        fixture.shell("{ \(line); } >&3; exec sleep 1000", items: items), on: runtime)
      #expect(error.code == .badProgress && error.message.contains(text), "\(error.message)")
      #expect(error.message.contains("line 1 of") && error.message.utf8.count < 1000)
      #expect(runtime.commits.isEmpty)
    }
  }

  @Test func `a result of 64 KiB is kept`() async throws {
    let runtime = try await fixture.run(
      fixture.shell(#"{ printf '{"result": "'; head -c 65534 /dev/zero | tr '\0' 7; echo '"}'; } >&3"#))
    #expect(runtime.commits.first?.result?.json.count == JobResult.maximumBytes)
  }

  @Test func `a batch of items gives a result with its commit`() async throws {
    let script = #"""
      [ "$1" = 2 ] || echo "{\"result\": $(($1 * 10))}" >&$BATON_PROGRESS_FD
      printf '{"result": %s, "subtitle": "item %s"}' $(($1 * 100)) "$1" >&$BATON_PROGRESS_FD
      """#
    let runtime = try await fixture.run(fixture.shell(script, items: .range(1...3)))
    #expect(results(runtime) == ["100", "200", "300"])
    #expect(runtime.commits.map(\.subtitle) == ["item 1", "item 2", "item 3"])
    #expect(runtime.commits.map(\.completedUnits) == [1, 2, 3])
  }

  @Test func `a batch that fails gives none`() async throws {
    let runtime = FakeRuntime()
    let error = try await fixture.failure(
      fixture.shell(#"echo '{"result": 1}' >&3; exit 3"#, items: .range(1...1)), on: runtime)
    #expect(error.code == .exitStatus && runtime.commits.isEmpty)
  }

  @Test func `a job with items keeps no cursor of its own`() async throws {
    let error = try await fixture.failure(
      fixture.shell(#"echo '{"checkpoint": 1}' >&3; exec sleep 1000"#, items: .range(1...1)))
    #expect(error.message.contains("whose position Baton keeps itself"), "\(error.message)")
  }

  // MARK: Inputs

  private static let inputs = [
    RequestInput(
      JobIdentifier("com.example.fetch")!, number: 3, state: .succeeded,
      result: JobResult(trusted: Array(#"{"rows":  2}"#.utf8))),
    RequestInput(
      JobIdentifier("com.example.work")!, number: 1, state: .succeeded,
      shards: [(0, "1.50"), (2, #""x""#)].map { shard, text in
        RequestInput.ShardResult(shard: shard, result: JobResult(trusted: Array(text.utf8)))
      }, isCut: true),
    RequestInput(JobIdentifier("com.example.check")!, number: 7, state: .failed),
  ]

  private func run(_ script: String, _ inputs: [RequestInput], in fixture: CommandFixture) async throws -> String {
    try await fixture.run(fixture.shell(script), inputs: inputs).output
  }

  @Test func `a command finds how the others have ended, in the order in which it names them`() async throws {
    let text = try await run(#"cat "$BATON_INPUTS_FILE""#, Self.inputs, in: fixture)
    #expect(
      text == #"""
        [
        {"identifier":"com.example.fetch","request":3,"state":"succeeded","result":{"rows":  2},"shards":[],"cut":false},
        {"identifier":"com.example.work","request":1,"state":"succeeded","result":null,"shards":[{"shard":0,"result":1.50},{"shard":2,"result":"x"}],"cut":true},
        {"identifier":"com.example.check","request":7,"state":"failed","result":null,"shards":[],"cut":false}
        ]

        """#)
    #expect(JSONText.isValid(Array(text.utf8)))
  }

  @Test func `a command of a request that waited for none has no such file`() async throws {
    #expect(
      try await run(#"echo "$${BATON_INPUTS_FILE-none}"; ls "$(dirname "$TMPDIR")" "#, [], in: fixture)
        == "none\ntmp\nwork\n")
  }

  @Test func `the file can be read in a sandbox`() async throws {
    for level in await ThisMachine.levels() {
      let fenced = try CommandFixture { CommandFixture.fenced($0, level) }
      #expect(try await run(#"grep -c fetch "$BATON_INPUTS_FILE""#, Self.inputs, in: fenced) == "1\n", "\(level)")
    }
  }
}
