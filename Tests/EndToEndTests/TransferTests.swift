import ContractRows
import Foundation
import Testing

/// Transfers with the real programs, from a job file to the launch that works with the files.
extension EndToEnd {
  @Suite("Files are fetched outside of launches, and wake their job", .timeLimit(.minutes(10)))
  struct TransferTests {
    private static let preview = ["BATON_TRANSFERS_PREVIEW": "1"]

    private func job(_ transfers: [String], _ fleet: ProcessFleet) -> String {
      """
      identifier: com.example.load
      kind: processing
      retry: {limit: 0}
      work:
        command: [/bin/sh, -c, 'tr -d "\\n" < "$BATON_TRANSFERS" > "$PIPE"; echo > "$PIPE"', sh]
        environment: {PIPE: \(fleet.pipe.path)}
        transfers: [\(transfers.joined(separator: ", "))]
      """
    }

    private struct Event: Decodable {
      var number: Int
      var state: String
      var new: Bool
      var path: String?
      var sha256: String?
      var code: String?
    }

    private struct Row: Decodable {
      var transfer: String
      var host: String
      var state: String
      var bytes: Int?
    }

    private func events(_ line: String) throws -> [Event] {
      try JSONDecoder().decode([Event].self, from: Data(line.utf8))
    }

    /// Asks again until the rows of `baton transfers` satisfy the condition.
    private func rows(_ fleet: ProcessFleet, until condition: ([Row]) -> Bool) async throws -> [Row] {
      while true {
        let answer = try await fleet.baton("transfers", "-o", "json")
        if answer.status == 0, let rows = try? JSONDecoder().decode([Row].self, from: Data(answer.output.utf8)),
          condition(rows)
        {
          return rows
        }
        try Task.checkCancellation()
      }
    }

    @Test("one launch gets the ends of all transfers of a group, errors included", .contract(39.1, 40.3))
    func group() async throws {
      let (fleet, server) = (try ProcessFleet(), try FileServer())
      defer {
        server.stop()
        fleet.stop()
      }
      server.serve(Array("one\n".utf8), at: "/one.txt")
      server.serve([UInt8](repeating: 7, count: 1 << 20), at: "/two.bin")
      server.hold("/two.bin", after: 1000)
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha", adding: Self.preview)
      let names = ["/one.txt", "/two.bin", "/missing.txt"]
      try fleet.write(job(names.map { "{url: \"\(server.url($0))\"}" }, fleet), to: "load.yaml")
      let submitted = try await fleet.baton("submit", "-f", "load.yaml")
      #expect(submitted.status == 0, "\(submitted.errors)")
      let rows = try await rows(fleet) { rows in
        rows.map(\.state) == ["done", "running", "failed"] && rows[1].bytes ?? 0 > 0
      }
      #expect(rows.map(\.host) == ["alpha", "alpha", "alpha"])
      let explained = try await fleet.baton("explain", "com.example.load")
      #expect(explained.output.contains("waitsForTransfers"), "\(explained.output)")
      #expect(try await fleet.show("com.example.load").launches == 0, "a launch did not wait for the group")
      server.release("/two.bin")
      let events = try events(await fleet.pipe.first { !$0.isEmpty })
      #expect(events.map(\.number) == [0, 1, 2])
      #expect(events.map(\.state) == ["done", "done", "failed"])
      #expect(events.map(\.code) == [nil, nil, "refusedByServer"])
      let waited = try await fleet.baton("wait", "com.example.load", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited.errors)")
      #expect(try await fleet.show("com.example.load").launches == 1)
    }

    @Test(
      "a transfer survives the worker and the coordinator, and its file stays until the request has ended",
      .contract(37.2, 38.2))
    func survives() async throws {
      let (fleet, server) = (try ProcessFleet(), try FileServer())
      defer {
        server.stop()
        fleet.stop()
      }
      server.serve((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 / 3) }, at: "/data.bin")
      server.hold("/data.bin", after: 300_000)
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha", adding: Self.preview)
      let transfer = "{url: \"\(server.url("/data.bin"))\", to: in/data.bin}"
      let waits = job([transfer], fleet).replacing("echo > \"$PIPE\"", with: "echo > \"$PIPE\"; read _ < \"$GATE\"")
        .replacing("environment: {", with: "environment: {GATE: \(fleet.folder)/gate, ")
      try fleet.write(waits, to: "load.yaml")
      mkfifo(fleet.folder + "/gate", 0o600)
      let submitted = try await fleet.baton("submit", "-f", "load.yaml")
      #expect(submitted.status == 0, "\(submitted.errors)")
      _ = try await rows(fleet) { $0.first?.bytes ?? 0 >= 300_000 }
      let worker = try #require(fleet.worker("alpha"))
      for child in worker.children { kill(child, SIGKILL) }
      fleet.coordinator?.signal(SIGKILL)
      _ = await fleet.coordinator?.finished()
      server.release("/data.bin")
      try await fleet.startCoordinator()
      let event = try #require(try events(await fleet.pipe.first { !$0.isEmpty }).first)
      #expect(event.state == "done")
      let path = try #require(event.path)
      let file = try Data(contentsOf: URL(filePath: path))
      #expect(file == Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 / 3) }), "the file is not the server's")
      #expect(server.requests.filter { $0 == "/data.bin" }.count == 1, "it began again: \(server.requests)")
      // The launch runs. Its file is there, and goes when the request has ended.
      let gate = try #require(FileHandle(forWritingAtPath: fleet.folder + "/gate"))
      try gate.write(contentsOf: Data("go\n".utf8))
      let waited = try await fleet.baton("wait", "com.example.load", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited.errors)")
      while FileManager.default.fileExists(atPath: path) { await Task.yield() }
      #expect(try await fleet.show("com.example.load").launches == 1)
    }
  }
}
