import BatonModel
import ContractRows
import FalseServer
import Foundation
import Synchronization
import Testing

/// Transfers with the real programs, from a job file to the launch that works with the files.
extension EndToEnd {
  @Suite("Files are fetched outside of launches, and wake their job", .timeLimit(.minutes(5)))
  struct TransferTests {
    /// Serves files. The first answers for a file may stop in the middle.
    private final class Files: Sendable {
      /// What was asked for: the path, and the first byte that was wanted, if that is not the first of the file.
      struct Question: Hashable, Sendable {
        var path: String
        var from: Int64?
      }

      private let asked = Mutex<[Question]>([])
      private let server = Mutex<FalseServer?>(nil)

      var questions: [Question] { asked.withLock { $0 } }

      /// - Parameter turns: what happens in the first answers for a path, in their order.
      init(_ files: [String: [UInt8]], turns: [String: [(after: Int, FalseAnswer.Turn)]] = [:]) async throws {
        let server = try await FalseServer { [self] request in
          let earlier = asked.withLock { asked in
            defer { asked.append(Question(path: request.path, from: request.rangeStart)) }
            return asked.count { $0.path == request.path }
          }
          guard let bytes = files[request.path] else { return FalseAnswer(404, [("Content-Length", "0")]) }
          var answer = FalseFile(bytes).answer(to: request)
          if let turns = turns[request.path], earlier < turns.count { answer.turn = turns[earlier] }
          return answer
        }
        self.server.withLock { $0 = server }
      }

      func url(_ path: String) -> String { (server.withLock { $0?.origin } ?? "") + path }
      /// Closes the connections that stand still.
      func goOn() { server.withLock { $0 }?.dropConnections() }
      func stop() async { await server.withLock { $0.take() }?.stop() }
    }

    private static let data = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 / 3) }

    /// A job that writes its events to the fleet's pipe, and then runs `rest`.
    private func job(
      _ urls: [String], _ fleet: ProcessFleet, then rest: String = "true", adding keys: String = ""
    ) -> String {
      """
      identifier: com.example.load
      kind: processing
      retry: {limit: 0}
      work:
        command: [/bin/sh, -c, 'tr -d "\\n" < "$BATON_TRANSFERS" > "$PIPE"; echo > "$PIPE"; \(rest)', sh]
        environment: {PIPE: \(fleet.pipe.path), GATE: \(fleet.folder)/gate}
        transfers: [\(urls.map { "{url: \"\($0)\"\(keys)}" }.joined(separator: ", "))]
      """
    }

    private struct Event: Decodable {
      var number: Int
      var state: String
      var path: String?
      var code: String?
    }

    private struct Row: Decodable {
      var transfer: String
      var host: String
      var state: String
      var bytes: Int?
      var waitsFor: String?
      var endedAt: String?
    }

    private func submit(_ job: String, _ fleet: ProcessFleet) async throws {
      try fleet.write(job, to: "load.yaml")
      let submitted = try await fleet.baton("submit", "-f", "load.yaml")
      try #require(submitted.status == 0, "\(submitted.errors)")
    }

    /// The events that the next launch is given.
    private func events(_ fleet: ProcessFleet) async throws -> [Event] {
      try JSONDecoder().decode([Event].self, from: Data(await fleet.pipe.first { !$0.isEmpty }.utf8))
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

    private func waitForEnd(_ fleet: ProcessFleet) async throws {
      let waited = try await fleet.baton("wait", "com.example.load", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited.errors)")
    }

    /// The children of a supervisor: its worker, or the process of the transfers.
    private func children(of supervisor: Child, areTransfers: Bool) -> [Int32] {
      supervisor.children.filter { pid in
        let variables = FileManager.default.contents(atPath: "/proc/\(pid)/environ") ?? Data()
        return variables.range(of: Data("BATON_SUPERVISED_ROLE=\(areTransfers ? "transfers" : "worker")".utf8)) != nil
      }
    }

    @Test("one launch gets the ends of all transfers of a group, errors included", .contract(39.1))
    func group() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let files = try await Files(
        ["/one.txt": Array("one\n".utf8), "/two.bin": Self.data], turns: ["/two.bin": [(1000, .silence)]])
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha")
      try await submit(job(["/one.txt", "/two.bin", "/missing.txt"].map(files.url), fleet), fleet)
      let rows = try await rows(fleet) { rows in
        rows.map(\.state) == ["done", "running", "failed"] && rows[1].bytes ?? 0 > 0
      }
      #expect(rows.map(\.host) == ["alpha", "alpha", "alpha"])
      let explained = try await fleet.baton("explain", "com.example.load")
      #expect(explained.output.contains("waitsForTransfers"), "\(explained.output)")
      #expect(try await fleet.show("com.example.load").launches == 0, "a launch did not wait for the group")
      files.goOn()
      let events = try await events(fleet)
      #expect(events.map(\.number) == [0, 1, 2])
      #expect(events.map(\.state) == ["done", "done", "failed"])
      #expect(events.map(\.code) == [nil, nil, "refusedByServer"])
      try await waitForEnd(fleet)
      #expect(try await fleet.show("com.example.load").launches == 1)
      await files.stop()
    }

    @Test("an operator interrupts a transfer, which goes on where it was, and makes another one fail")
    func simulated() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let files = try await Files(
        ["/one.bin": Self.data, "/two.bin": Self.data],
        turns: ["/one.bin": [(300_000, .silence)], "/two.bin": [(300_000, .silence)]])
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha")
      try await submit(job(["/one.bin", "/two.bin"].map(files.url), fleet), fleet)
      let rows = try await rows(fleet) { $0.count == 2 && $0.allSatisfy { $0.bytes ?? 0 >= 300_000 } }
      let interrupted = try await fleet.baton("simulate", "transfer", rows[0].transfer, "--interrupt")
      #expect(interrupted.status == 0, "\(interrupted.errors)")
      let failed = try await fleet.baton("simulate", "transfer", rows[1].transfer, "--fail")
      #expect(failed.status == 0, "\(failed.errors)")
      let events = try await events(fleet)
      #expect(events.map(\.state) == ["done", "failed"])
      #expect(events.map(\.code) == [nil, "simulated"])
      #expect(files.questions.filter { $0.path == "/one.bin" }.map(\.from) == [nil, 300_000])
      try await waitForEnd(fleet)
      let nothing = try await fleet.baton("simulate", "transfer", rows[0].transfer, "--fail")
      #expect(nothing.status == 3, "\(nothing.errors)")
      await files.stop()
    }

    @Test(
      "a transfer survives the worker and the coordinator, and its file stays until the request has ended",
      .contract(37.2, 38.2))
    func survives() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let files = try await Files(["/data.bin": Self.data], turns: ["/data.bin": [(300_000, .silence)]])
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha")
      mkfifo(fleet.folder + "/gate", 0o600)
      try await submit(job([files.url("/data.bin")], fleet, then: "read _ < \"$GATE\""), fleet)
      _ = try await rows(fleet) { $0.first?.bytes ?? 0 >= 300_000 }
      let supervisor = try #require(fleet.worker("alpha"))
      let transfers = children(of: supervisor, areTransfers: true)
      #expect(transfers.count == 1)
      for worker in children(of: supervisor, areTransfers: false) { kill(worker, SIGKILL) }
      fleet.coordinator?.signal(SIGKILL)
      _ = await fleet.coordinator?.finished()
      try await fleet.startCoordinator()
      #expect(children(of: supervisor, areTransfers: true) == transfers, "the transfers died with the worker")
      #expect(files.questions.count == 1, "the transfer did not go on: \(files.questions)")
      files.goOn()
      let event = try #require(try await events(fleet).first)
      #expect(event.state == "done")
      let path = try #require(event.path)
      #expect(FileManager.default.contents(atPath: path).map(Array.init) == Self.data, "the file is not the server's")
      #expect(files.questions.dropFirst().map(\.from) == [300_000], "the transfer began again")
      // The launch runs. Its file is there, and goes when the request has ended.
      let gate = try #require(FileHandle(forWritingAtPath: fleet.folder + "/gate"))
      try gate.write(contentsOf: Data("go\n".utf8))
      try await waitForEnd(fleet)
      while FileManager.default.fileExists(atPath: path) {
        try Task.checkCancellation()
        await Task.yield()
      }
      #expect(try await fleet.show("com.example.load").launches == 1)
      await files.stop()
    }

    @Test("a discretionary transfer waits for external power and an unmetered network", .contract(37.3))
    func discretionary() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let files = try await Files(["/data.bin": Self.data])
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha")
      func simulate(_ conditions: String...) async throws {
        let answer = try await fleet.command(["simulate", "conditions", "alpha", "--idle", "true"] + conditions)
        #expect(answer.status == 0, "\(answer.errors)")
      }
      try await simulate("--power", "battery", "--network", "unmetered")
      try await submit(job([files.url("/data.bin")], fleet, adding: ", discretionary: true"), fleet)
      _ = try await rows(fleet) { $0.map(\.waitsFor) == ["externalPower"] }
      try await simulate("--power", "external", "--network", "metered")
      _ = try await rows(fleet) { $0.map(\.waitsFor) == ["unmeteredNetwork"] }
      #expect(files.questions.isEmpty, "it was fetched nevertheless")
      try await simulate("--power", "external", "--network", "unmetered")
      #expect(try await events(fleet).map(\.state) == ["done"])
      try await waitForEnd(fleet)
      await files.stop()
    }

    @Test("each launch that transfers ask for doubles the delay before the next one", .contract(40.1, 40.3))
    func limiter() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let files = try await Files(["/data.bin": Self.data])
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha")
      // Each of the first launches fetches another file, and is launched again by it.
      let add =
        #"printf \"{\\\"checkpoint\\\": $BATON_LAUNCH, \\\"transfers\\\": [{\\\"url\\\": \\\"$URL\\\", "#
        + #"\\\"to\\\": \\\"n$BATON_LAUNCH\\\"}]}\\n\" >&$BATON_PROGRESS_FD"#
      try fleet.write(
        """
        identifier: com.example.load
        kind: processing
        retry: {limit: 0}
        work:
          command: [/bin/sh, -c, "date +%s%N > $PIPE; if [ $BATON_LAUNCH -lt 4 ]; then \(add); fi", sh]
          environment: {PIPE: \(fleet.pipe.path), URL: "\(files.url("/data.bin"))"}
          transfers: [{url: "\(files.url("/data.bin"))"}]
        """, to: "load.yaml")
      let submitted = try await fleet.baton("submit", "-f", "load.yaml")
      try #require(submitted.status == 0, "\(submitted.errors)")
      var starts: [Int64] = []
      for launch in 1...4 {
        starts.append(try #require(Int64(await fleet.pipe.first { !$0.isEmpty })))
        guard launch == 3 else { continue }
        // It has two more seconds to be seen.
        while try await !fleet.baton("explain", "com.example.load").output.contains("transfersLimited") {
          try Task.checkCancellation()
        }
      }
      let gaps = zip(starts.dropFirst(), starts).map { ($0 - $1) / 1_000_000 }
      #expect(gaps[0] >= 1000 && gaps[1] >= 2000 && gaps[2] >= 4000, "in milliseconds: \(gaps)")
      try await waitForEnd(fleet)
      await files.stop()
    }

    @Test("after a quiet period the delay before the next launch begins again", .contract(40.2))
    func quietPeriod() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      // The third launch's file comes only after the quiet period.
      let files = try await Files(
        ["/data.bin": Self.data, "/late.bin": Self.data], turns: ["/late.bin": [(0, .silence)]])
      try await fleet.startCoordinator(adding: ["BATON_LIMITS_TRANSFER_QUIET": "5s"])
      try await fleet.startWorker("alpha")
      let add =
        #"U=$URL; if [ $BATON_LAUNCH = 3 ]; then U=$LATE; fi; "#
        + #"printf \"{\\\"checkpoint\\\": $BATON_LAUNCH, \\\"transfers\\\": [{\\\"url\\\": \\\"$U\\\", "#
        + #"\\\"to\\\": \\\"n$BATON_LAUNCH\\\"}]}\\n\" >&$BATON_PROGRESS_FD"#
      try fleet.write(
        """
        identifier: com.example.load
        kind: processing
        retry: {limit: 0}
        work:
          command: [/bin/sh, -c, "echo $BATON_LAUNCH > $PIPE; if [ $BATON_LAUNCH -lt 5 ]; then \(add); else read _ < $GATE; fi", sh]
          environment:
            {PIPE: \(fleet.pipe.path), GATE: \(fleet.folder)/gate, URL: "\(files.url("/data.bin"))",
             LATE: "\(files.url("/late.bin"))"}
          transfers: [{url: "\(files.url("/data.bin"))"}]
        """, to: "load.yaml")
      mkfifo(fleet.folder + "/gate", 0o600)
      let submitted = try await fleet.baton("submit", "-f", "load.yaml")
      try #require(submitted.status == 0, "\(submitted.errors)")
      for launch in 1...3 { #expect(await fleet.pipe.first { !$0.isEmpty } == "\(launch)") }
      let third = ContinuousClock.now
      while ContinuousClock.now - third < .seconds(6) {
        #expect(try await fleet.show("com.example.load").launches == 3)
        try Task.checkCancellation()
      }
      files.goOn()
      for launch in 4...5 { #expect(await fleet.pipe.first { !$0.isEmpty } == "\(launch)") }
      // Without the quiet period the fifth launch would have been due 8 s after its file had come, and not 1 s.
      let last = try #require(try await rows(fleet) { $0.count == 5 }.last?.endedAt)
      let due = try #require(try await fleet.show("com.example.load").eligibleAt)
      let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
      let delay = try format.parse(due).timeIntervalSince(format.parse(last))
      #expect(delay < 7, "it was due \(delay) s after its file had come")
      let gate = try #require(FileHandle(forWritingAtPath: fleet.folder + "/gate"))
      try gate.write(contentsOf: Data("go\n".utf8))
      try await waitForEnd(fleet)
      await files.stop()
    }

    @Test("a hundred transfers at once are one group, which launches its job once", .contract(40.4))
    func hundred() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let names = (0..<100).map { "/\($0).txt" }
      let files = try await Files(Dictionary(uniqueKeysWithValues: names.map { ($0, Array($0.utf8)) }))
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha")
      try await submit(job(names.map(files.url), fleet), fleet)
      let events = try await events(fleet)
      #expect(events.map(\.state) == Array(repeating: "done", count: 100))
      for (event, name) in zip(events, names) {
        #expect(FileManager.default.contents(atPath: event.path ?? "") == Data(name.utf8))
      }
      try await waitForEnd(fleet)
      #expect(try await fleet.show("com.example.load").launches == 1)
      await files.stop()
    }

    @Test("after SIGKILL of its process a transfer goes on where it was, and its file is whole", .contract(37.1, 38.1))
    func goesOn() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      // The first connection breaks, so that what came is synced. The second one stands still until all is killed.
      let files = try await Files(
        ["/data.bin": Self.data], turns: ["/data.bin": [(300_000, .close), (200_000, .silence)]])
      try await fleet.startCoordinator()
      try await fleet.startWorker("alpha")
      try await submit(job([files.url("/data.bin")], fleet), fleet)
      _ = try await rows(fleet) { rows in
        guard files.questions.count == 2, let from = files.questions[1].from else { return false }
        return Int64(rows.first?.bytes ?? 0) >= from + 200_000
      }
      let supervisor = try #require(fleet.worker("alpha"))
      let transfers = children(of: supervisor, areTransfers: true)
      for process in supervisor.children { kill(process, SIGKILL) }
      let event = try #require(try await events(fleet).first)
      let path = try #require(event.path)
      #expect(FileManager.default.contents(atPath: path).map(Array.init) == Self.data, "the file is not the server's")
      let starts = files.questions.map(\.from)
      try #require(starts.count == 3 && starts[0] == nil, "\(starts)")
      // A connection that is reset may lose bytes that were sent and not yet read.
      #expect((1...300_000).contains(starts[1] ?? 0), "\(starts)")
      #expect(((starts[1] ?? 0)...500_000).contains(starts[2] ?? 0), "the transfer lost what was synced")
      #expect(children(of: supervisor, areTransfers: true) != transfers)
      try await waitForEnd(fleet)
      await files.stop()
    }
  }
}
