import Foundation
import Testing

extension EndToEnd {
  @Suite("A job of a flow gives its result to the jobs after it", .timeLimit(.minutes(5)))
  struct ResultTests {
    /// The first launch of `fetch` gives a result and fails; the second one gives no other. Of the three shards of
    /// `work` the second one gives nothing.
    private let jobs = #"""
      identifier: com.example.fetch
      kind: processing
      retry: {limit: 1, backoff: 0s}
      work:
        command:
          - /bin/sh
          - -c
          - |
            test $BATON_LAUNCH = 2 && exit 0
            echo '{"checkpoint": 1, "result": {"rows":  2}}' >&$BATON_PROGRESS_FD
            read -r _ <&$BATON_COMMIT_FD
            exit 1
      ---
      identifier: com.example.work
      kind: processing
      after: [{identifier: com.example.fetch}]
      work:
        shards: 3
        spread: 3
        command:
          - /bin/sh
          - -c
          - test $BATON_SHARD = 1 || echo "{\"result\":$BATON_SHARD}" >&$BATON_PROGRESS_FD
      ---
      identifier: com.example.batches
      kind: processing
      after: [{identifier: com.example.fetch}]
      work:
        items: {range: 1...3}
        batchSize: 2
        command: [/bin/sh, -c, 'echo "{\"result\":\"$*\"}" >&$BATON_PROGRESS_FD', sh]
      ---
      identifier: com.example.report
      kind: processing
      after:
        - {identifier: com.example.work}
        - {identifier: com.example.fetch}
        - {identifier: com.example.batches, on: any}
      work: {command: [/bin/sh, -c, 'cat "$BATON_INPUTS_FILE"']}
      """#

    @Test("byte for byte, over a failed launch, from shards and from batches")
    func results() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      try await fleet.startWorker("one")
      try fleet.write(jobs, to: "flow.yaml")
      let submitted = try await fleet.baton("submit", "-f", "flow.yaml", "--as-flow", "--wait")
      #expect(submitted.status == 0, "\(submitted.errors)")
      let file = try await fleet.baton("logs", "com.example.report").output
      #expect(
        file == #"""
          [
          {"identifier":"com.example.work","request":1,"state":"succeeded","result":null,"shards":[{"shard":0,"result":0},{"shard":2,"result":2}],"cut":false},
          {"identifier":"com.example.fetch","request":1,"state":"succeeded","result":{"rows":  2},"shards":[],"cut":false},
          {"identifier":"com.example.batches","request":1,"state":"succeeded","result":"3","shards":[],"cut":false}
          ]

          """#)
      let shown = try await fleet.baton("show", "com.example.fetch", "-o", "json").output
      #expect(shown.contains(#""result": {"rows":  2},"#), "\(shown)")
      let text = try await fleet.baton("show", "com.example.fetch").output
      #expect(text.contains(#"{"rows":  2}"#), "\(text)")
      let shards = try await fleet.baton("show", "com.example.work", "--shards", "-o", "jsonl").output
      #expect(shards.contains(#""resultBytes":1,"result":2}"#), "\(shards)")
    }

    @Test("and a result that cannot be kept fails the launch with the reason")
    func tooLarge() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      try await fleet.startWorker("one")
      let script = #"{ printf "{\"result\": \""; head -c 70000 /dev/zero | tr "\\0" 7; echo "\"}"; } >&3; sleep 100"#
      try fleet.write(
        """
        identifier: com.example.large
        kind: processing
        retry: {limit: 0}
        work: {command: [/bin/sh, -c, '\(script)']}
        """, to: "large.yaml")
      let submitted = try await fleet.baton("submit", "-f", "large.yaml", "--wait")
      #expect(submitted.status == 1, "\(submitted.errors)")
      let shown = try await fleet.baton("show", "com.example.large", "-o", "json").output
      #expect(shown.contains("has a result of 70002 bytes, over the limit of 65536"), "\(shown)")
      #expect(shown.contains(#""result": null"#), "\(shown)")
    }
  }
}
