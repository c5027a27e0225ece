import Foundation
import Testing

/// What an owner, an operator and a tracing backend see of a worker, for `baton-worker` and for the worker in Swift of
/// Examples/Worker: both are the same program with other handlers.
extension EndToEnd {
  @Suite("A worker in Swift is a whole worker, as baton-worker is one", .timeLimit(.minutes(10)))
  struct WholeWorkerTests {
    static let programs: [Program] = [.worker, .exampleWorker]

    /// A job that tells when its items run, and lasts until the file `gate` is there.
    private func job(_ fleet: ProcessFleet, _ keys: String = "") -> String {
      """
      identifier: com.example.work
      kind: processing
      closingWindow: 3s
      \(keys)
      work:
        terminateBefore: 2s
        command: [/bin/sh, -c, 'echo "$1" > "$PIPE"; while [ ! -e "$GATE" ]; do sleep 0.05; done', sh]
        environment: {PIPE: \(fleet.pipe.path), GATE: \(fleet.folder)/gate}
        items: {range: 1...3}
      """
    }

    private func submit(_ fleet: ProcessFleet, _ keys: String = "") async throws {
      try fleet.write(job(fleet, keys), to: "work.yaml")
      let submitted = try await fleet.baton("submit", "-f", "work.yaml")
      #expect(submitted.status == 0, "\(submitted)")
    }

    /// Waits until an explanation of the job names an obstacle.
    private func waits(for code: String, _ fleet: ProcessFleet) async throws {
      while try await !fleet.baton("explain", "com.example.work").output.contains(code) {}
    }

    private func finishes(_ fleet: ProcessFleet) async throws {
      try fleet.write("", to: "gate")
      let waited = try await fleet.baton("wait", "com.example.work", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited)")
    }

    private func owner(
      _ fleet: ProcessFleet, _ words: String...
    ) async throws -> (
      status: Int32, output: String, errors: String
    ) {
      try await Child(.worker, words, environment: fleet.environment).finished()
    }

    @Test("The host's owner sees what runs, takes the host back, and lends it again", arguments: programs)
    func owner(program: Program) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      try await fleet.startWorker("desk", program: program)
      try await submit(fleet)
      await fleet.pipe.first { $0 == "1" }
      let status = try await owner(fleet, "status", "-o", "json")
      #expect(status.output.contains(#""name" : "desk""#), "\(status)")
      #expect(status.output.contains(#""identifier" : "com.example.work""#), "\(status)")
      let paused = try await owner(fleet, "pause", "2h")
      #expect(paused.status == 0 && paused.errors.contains("desk"), "\(paused)")
      let launch = try await fleet.show("com.example.work").launchHistory.last
      #expect(launch?.outcome == "expired" && launch?.reason == "pausedByOwner")
      try await waits(for: "hostPausedByOwner", fleet)
      // The pause survives the worker's process.
      let worker = try #require(fleet.worker("desk"))
      for child in worker.children { kill(child, SIGKILL) }
      while try await owner(fleet, "status").status != 0 {}
      #expect(try await owner(fleet, "status").output.contains("paused"))
      #expect(try await owner(fleet, "resume").status == 0)
      try await finishes(fleet)
    }

    @Test("Labels, a limit of processor time and the hours of worker.yaml hold", arguments: programs)
    func settings(program: Program) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      func write(hours: String) throws {
        try fleet.write("labels: {zone: garage}\ncpuLimit: 150%\nhours: [\"\(hours)\"]\n", to: "worker.yaml")
      }
      // From three hours before now to two hours before now.
      let hour = Calendar.current.component(.hour, from: Date())
      let (begin, end) = ((hour + 21) % 24, (hour + 22) % 24)
      // An end at midnight is written as 24:00.
      try write(hours: "\(Self.clock(begin))-\(Self.clock(end == 0 ? 24 : end))")
      let config = ["BATON_CONFIG": "\(fleet.folder)/worker.yaml"]
      try await fleet.startWorker("desk", program: program, adding: config)
      try await submit(fleet, "requiredLabels: {zone: cellar}")
      try await waits(for: "outsideHours", fleet)
      fleet.worker("desk")?.stop()
      try write(hours: "00:00-24:00")
      try await fleet.startWorker("desk", program: program, adding: config)
      try await waits(for: "missingLabel", fleet)
      #expect(try await fleet.baton("cancel", "com.example.work").status == 0)
      try await submit(fleet, "requiredLabels: {zone: garage}")
      await fleet.pipe.first { $0 == "1" }
      try await finishes(fleet)
      let hosts = try await fleet.baton("hosts", "-o", "json").output
      #expect(hosts.contains("garage"), "\(hosts)")
    }

    private static func clock(_ hour: Int) -> String { String(format: "%02d:00", hour) }

    @Test("A host that loses its power stops what must not drain its battery", arguments: programs)
    func conditions(program: Program) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      let supplies = "\(fleet.folder)/system/sys/class/power_supply"
      func write(_ supply: String, _ files: [String: String]) throws {
        try FileManager.default.createDirectory(atPath: "\(supplies)/\(supply)", withIntermediateDirectories: true)
        for (name, text) in files {
          try "\(text)\n".write(toFile: "\(supplies)/\(supply)/\(name)", atomically: true, encoding: .utf8)
        }
      }
      func plug(in isPluggedIn: Bool) throws {
        try write("BAT0", ["status": isPluggedIn ? "Charging" : "Discharging"])
        try write("AC", ["online": isPluggedIn ? "1" : "0"])
      }
      try write("BAT0", ["type": "Battery", "present": "1", "capacity": "80"])
      try write("AC", ["type": "Mains"])
      try plug(in: true)
      try await fleet.startWorker(
        "desk", program: program,
        adding: [
          "BATON_PROBES": "power", "BATON_SYSTEM_ROOT": "\(fleet.folder)/system", "BATON_RETURN_AFTER_POWER": "1s",
        ])
      try await submit(fleet, "requiresExternalPower: true")
      await fleet.pipe.first { $0 == "1" }
      try plug(in: false)
      try await waits(for: "needsExternalPower", fleet)
      let launch = try await fleet.show("com.example.work").launchHistory.last
      #expect(launch?.outcome == "expired" && launch?.reason == "powerLost")
      try plug(in: true)
      try await finishes(fleet)
    }

    // MARK: Spans

    private struct Trace: Decodable {
      struct Resource: Decodable { var scopeSpans: [Scope] }
      struct Scope: Decodable { var spans: [Span] }
      struct Span: Decodable {
        var name: String
        var spanId: String
        var parentSpanId: String?
      }
      var resourceSpans: [Resource]
    }

    /// Runs a job to its end, stops its worker, and returns the spans that the worker has sent.
    private func spans(
      of identifier: String, _ definition: String, by program: Program
    ) async throws -> [Trace.Span] {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      let file = "\(fleet.folder)/spans.jsonl"
      try await fleet.startWorker(
        "desk", program: program,
        adding: ["OTEL_TRACES_EXPORTER": "otlp_file", "OTEL_EXPORTER_OTLP_FILE": file])
      try fleet.write(definition, to: "job.yaml")
      let done = try await fleet.baton("submit", "-f", "job.yaml", "--wait")
      #expect(done.status == 0, "\(done)")
      // What waits is sent at the end.
      fleet.worker("desk")?.stop()
      return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").flatMap { line in
        try JSONDecoder().decode(Trace.self, from: Data(line.utf8)).resourceSpans.flatMap(\.scopeSpans).flatMap(\.spans)
      }
    }

    @Test("The spans of a run and of its batches are exported", arguments: programs)
    func exportedSpans(program: Program) async throws {
      let spans = try await spans(
        of: "com.example.short",
        """
        identifier: com.example.short
        kind: processing
        work: {command: ["true"], items: {range: 1...3}}
        """, by: program)
      let names = Set(spans.map(\.name))
      #expect(names.isSuperset(of: ["run com.example.short", "batch com.example.short"]), "\(names)")
      // They are children of the launch, whose span the coordinator sends.
      #expect(Set(spans.map(\.parentSpanId)).count == 1 && !spans.contains { $0.spanId == spans[0].parentSpanId })
    }

    @Test("A span that a handler makes is a child of its batch")
    func handlersSpans() async throws {
      let spans = try await spans(
        of: "com.example.db-cleanup", "identifier: com.example.db-cleanup\nkind: processing\n", by: .exampleWorker)
      let own = spans.filter { $0.name == "delete" }
      let batches = Set(spans.filter { $0.name == "batch com.example.db-cleanup" }.map(\.spanId))
      #expect(own.count == 40 && batches.count == 40)
      #expect(Set(own.compactMap(\.parentSpanId)) == batches)
    }

    // MARK: A client

    @Test("A client in Swift submits to a worker in Swift, and its wait survives the end of the coordinator")
    func client() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(lease: "30s")
      try await fleet.startWorker("desk", program: .exampleWorker)
      try fleet.write("identifier: com.example.import.*\nkind: continued\ntitle: Importing\n", to: "jobs.yaml")
      #expect(try await fleet.baton("apply", "jobs.yaml").status == 0)
      let client = try Child(
        .exampleClient, ["com.example.import.orders", "4000"], environment: fleet.environment)
      // The request has made progress when the coordinator dies.
      while try await fleet.baton("show", "com.example.import.orders", "-o", "json").status != 0 {}
      while try await fleet.show("com.example.import.orders").completedUnits < 100 {}
      fleet.coordinator?.signal(SIGKILL)
      _ = await fleet.coordinator?.finished()
      try await fleet.startCoordinator(lease: "30s")
      let end = await client.finished()
      #expect(end.status == 0, "\(end)")
      let lines = end.output.split(separator: "\n")
      #expect(lines.first == "submitted: com.example.import.orders, request 1", "\(end)")
      #expect(lines.last == "succeeded: 4000 of 4000", "\(end)")
      #expect(try await fleet.show("com.example.import.orders").launches == 1)
    }

    @Test("A client in Swift says why nothing was submitted, and what to do")
    func refused() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      func errors() async throws -> (status: Int32, output: String, errors: String) {
        try await Child(.exampleClient, ["com.example.unknown", "1"], environment: fleet.environment).finished()
      }
      let unreachable = try await errors()
      #expect(unreachable.status == 1 && unreachable.output.contains("unreachable: "), "\(unreachable)")
      #expect(unreachable.output.contains("baton coordinator"))
      try await fleet.startCoordinator()
      let refused = try await errors()
      #expect(refused.status == 1 && refused.output.hasPrefix("notPermitted: "), "\(refused)")
      #expect(refused.output.contains("apply a definition"))
    }
  }
}
