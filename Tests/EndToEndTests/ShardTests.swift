import Foundation
import Testing

extension EndToEnd {
  @Suite("A request is divided into shards", .timeLimit(.minutes(5)))
  struct ShardTests {
    @Test("baton run has several shards in work at once, on slots of their own, and does each item once")
    func run() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      // A command says what it does, and goes on when it has read a line.
      let gate = fleet.folder + "/gate"
      mkfifo(gate, 0o600)
      let opened = open(gate, O_RDWR | O_CLOEXEC)
      defer { close(opened) }
      try fleet.write(
        """
        identifier: com.example.sums
        kind: processing
        work:
          command: [/bin/sh, -c, 'echo "$BATON_SHARD $1" >"$PIPE"; read -r line <"$GATE"', sh]
          environment: {PIPE: \(fleet.pipe.path), GATE: \(gate)}
          items: {range: 1...12}
          spread: 3
          shardSize: 3
        """, to: "sums.yaml")
      let run = try Child(
        .baton, ["run", "sums.yaml", "--slots", "3"], environment: fleet.environment, currentDirectory: fleet.folder)
      defer { run.stop() }
      // None of the first three ends before all of them have begun.
      var first: [String] = []
      for _ in 0..<3 { first.append(await fleet.pipe.next()) }
      #expect(Set(first) == ["0 1", "1 4", "2 7"])
      let lines = Array(repeating: UInt8(ascii: "\n"), count: 12)
      #expect(write(opened, lines, lines.count) == lines.count)
      let ended = await run.finished()
      #expect(ended.status == 0, "\(ended.errors)")
      #expect(ended.errors.contains("3 of 3 lanes in use"), "\(ended.errors)")
      #expect(ended.errors.contains("com.example.sums, request 1: succeeded"), "\(ended.errors)")
      let items = await fleet.pipe.drained().compactMap { line in line.split(separator: " ").last.flatMap { Int($0) } }
      #expect(items.sorted() == Array(1...12))
    }
  }
}
