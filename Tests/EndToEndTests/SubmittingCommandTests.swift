import ContractRows
import Foundation
import Testing

extension EndToEnd {
  @Suite("A command submits other jobs through the socket of its launch", .timeLimit(.minutes(5)))
  struct SubmittingCommandTests {
    /// A job whose command runs `script`, with the path of `baton` as its first argument.
    private func job(_ script: String, _ keys: String = "") -> String {
      """
      identifier: com.example.import
      kind: processing
      retry: {limit: 1, backoff: 0s}
      \(keys)
      work: {command: [/bin/sh, -c, '\(script)', sh, '\(Program.baton.path)']}
      ---
      identifier: com.example.report
      kind: processing
      work: {command: [/bin/sh, -c, 'cat "$BATON_PAYLOAD_FILE"']}
      """
    }

    private func run(_ fleet: ProcessFleet, _ job: String, status: Int32 = 0) async throws -> String {
      try await fleet.startCoordinator()
      try await fleet.startWorker("one")
      try fleet.write(job, to: "import.yaml")
      let applied = try await fleet.baton("apply", "-f", "import.yaml")
      try #require(applied.status == 0, "\(applied.errors)")
      let submitted = try await fleet.baton("submit", "com.example.import", "--wait")
      #expect(submitted.status == status, "\(submitted.errors)")
      return try await fleet.baton("logs", "com.example.import").output
    }

    @Test("without a setting or a token, and once, whatever is tried again", .contract(9.2))
    func once() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      // The first launch fails after it has submitted.
      let output = try await run(
        fleet,
        job(
          #""$1" submit com.example.report --payload "{\"day\":1}" && test $BATON_LAUNCH = 2"#,
          "maySubmit: [com.example.report]"))
      #expect(output.contains("com.example.report, request 1: "), "\(output)")
      #expect(output.contains("; this request had submitted it before"), "\(output)")
      let waited = try await fleet.baton("wait", "com.example.report", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited.errors)")
      #expect(try await fleet.baton("logs", "com.example.report").output == #"{"day":1}"#)
      let listed = try await fleet.baton("list", "com.example.report", "--all", "-o", "name")
      #expect(listed.output.split(separator: "\n").count == 1, "\(listed.output)")
      let shown = try await fleet.baton("show", "com.example.report", "-o", "json").output
      let imported = try await fleet.baton("show", "com.example.import", "-o", "json").output
      let traces = [shown, imported].map { $0.firstMatch(of: /"traceId": "([0-9a-f]+)"/).map { String($0.1) } }
      #expect(traces[0] != nil && traces[0] == traces[1])
    }

    @Test("and nothing but submit what the definition names")
    func refusals() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let output = try await run(
        fleet,
        job(
          #""$1" submit com.example.import; echo A $?; "$1" submit com.example.report --wait; echo B $?; "#
            + #""$1" submit -f x; echo C $?; unset BATON_SUBMIT_SOCKET; "$1" submit com.example.report; echo D $?"#,
          "maySubmit: [com.example.report]"))
      #expect(output.contains("'com.example.import' may not submit 'com.example.import'"), "\(output)")
      for line in ["A 77", "B 64", "C 64"] { #expect(output.contains(line + "\n"), "\(output)") }
      #expect(!output.contains("D 0"), "the launch reaches the coordinator without its socket: \(output)")
      let listed = try await fleet.baton("list", "com.example.report", "--all", "-o", "name")
      #expect(listed.output.isEmpty, "\(listed.output)")
    }
  }
}
