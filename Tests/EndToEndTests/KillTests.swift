import ContractRows
import Foundation
import Testing

/// Kills the real binaries. The commands themselves record what ran, in a pipe.
extension EndToEnd {
  @Suite("Whatever is killed, at most one batch is repeated and none is lost", .timeLimit(.minutes(10)))
  struct KillTests {
    private let job = """
      identifier: com.example.count
      kind: processing
      work:
        command: [/bin/sh, -c, 'for item; do echo "$BATON_LAUNCH $BATON_BATCH $item"; done > "$PIPE"', sh]
        environment: {PIPE: PATH}
        items: {range: 1...400}
        batchSize: 4
      """

    /// Starts a fleet that works on the job, and returns when the first hundred items have run.
    private func start(
      _ fleet: ProcessFleet, workers: [String], program: Program = .worker, lease: String = "1s"
    ) async throws {
      try await fleet.startCoordinator(lease: lease)
      for name in workers { try await fleet.startWorker(name, program: program) }
      try fleet.write(job.replacing("PATH", with: fleet.pipe.path), to: "count.yaml")
      let submitted = try await fleet.baton("submit", "-f", "count.yaml")
      #expect(submitted.status == 0, "\(submitted.errors)")
      await fleet.pipe.first { $0.hasSuffix(" 100") }
    }

    /// How often each item ran.
    private func runs(_ lines: [String]) -> [Int: Int] {
      Dictionary(lines.compactMap { line in line.split(separator: " ").last.flatMap { Int($0) }.map { ($0, 1) } }) {
        $0 + $1
      }
    }

    @Test("SIGKILL of a whole worker host: another one goes on after the last checkpoint", .contract(31.1, 34.2))
    func killWorker() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await start(fleet, workers: ["one", "two"])
      let host = try #require(try await fleet.show("com.example.count").launchHistory.last?.host)
      let worker = try #require(fleet.worker(host))
      for child in worker.children { kill(child, SIGKILL) }
      worker.signal(SIGKILL)
      let waited = try await fleet.baton("wait", "com.example.count", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited.errors)")
      let shown = try await fleet.show("com.example.count")
      #expect(shown.state == "succeeded")
      #expect(shown.launchHistory.map(\.outcome) == ["lost", "finished"])
      let runs = runs(await fleet.pipe.drained())
      #expect(Set(runs.keys) == Set(1...400))
      #expect(runs.values.reduce(0) { $0 + $1 - 1 } <= 4, "more than one batch was repeated")
      #expect(shown.launchHistory.map(\.batches).reduce(0, +) == 100)
    }

    @Test(
      "SIGKILL of the worker process: its supervisor reports it and starts the worker again",
      arguments: WholeWorkerTests.programs)
    func killWorkerProper(program: Program) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await start(fleet, workers: ["one"], program: program, lease: "30s")
      let worker = try #require(fleet.worker("one"))
      for child in worker.children { kill(child, SIGKILL) }
      // The wait ends long before the lease of 30 s does.
      let waited = try await fleet.baton("wait", "com.example.count", "--timeout", "25s")
      #expect(waited.status == 0, "\(waited.errors)")
      let shown = try await fleet.show("com.example.count")
      #expect(shown.launchHistory.map(\.outcome) == ["lost", "finished"])
      let runs = runs(await fleet.pipe.drained())
      #expect(Set(runs.keys) == Set(1...400))
      #expect(runs.values.reduce(0) { $0 + $1 - 1 } <= 4)
    }

    @Test("SIGKILL of the coordinator: the next one on the same data interrupts and repeats nothing")
    func killCoordinator() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await start(fleet, workers: ["one"], lease: "15s")
      fleet.coordinator?.signal(SIGKILL)
      _ = await fleet.coordinator?.finished()
      try await fleet.startCoordinator(lease: "15s")
      let waited = try await fleet.baton("wait", "com.example.count", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited.errors)")
      let shown = try await fleet.show("com.example.count")
      #expect(shown.launchHistory.map(\.outcome) == ["finished"])
      #expect(shown.launchHistory.map(\.batches) == [100])
      let runs = runs(await fleet.pipe.drained())
      #expect(runs == Dictionary(uniqueKeysWithValues: (1...400).map { ($0, 1) }))
    }

    @Test(
      "SIGTERM drains a worker: its batch is committed and another host goes on with none repeated",
      arguments: WholeWorkerTests.programs)
    func drainWorker(program: Program) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await start(fleet, workers: ["one", "two"], program: program)
      let host = try #require(try await fleet.show("com.example.count").launchHistory.last?.host)
      let worker = try #require(fleet.worker(host))
      worker.signal(SIGTERM)
      let waited = try await fleet.baton("wait", "com.example.count", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited.errors)")
      let shown = try await fleet.show("com.example.count")
      #expect(shown.launchHistory.map(\.outcome) == ["expired", "finished"])
      #expect(shown.launchHistory.first?.reason == "draining")
      let runs = runs(await fleet.pipe.drained())
      #expect(runs == Dictionary(uniqueKeysWithValues: (1...400).map { ($0, 1) }))
    }

    @Test("baton run, killed with SIGKILL three times, goes on each time")
    func killRun() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try fleet.write(job.replacing("PATH", with: fleet.pipe.path), to: "count.yaml")
      for item in [80, 180, 280] {
        let run = try Child(
          .baton, ["run", "count.yaml"], environment: fleet.environment, currentDirectory: fleet.folder)
        await fleet.pipe.first { $0.hasSuffix(" \(item)") }
        run.signal(SIGKILL)
        _ = await run.finished()
      }
      let last = try await fleet.baton("run", "count.yaml")
      #expect(last.status == 0, "\(last.errors)")
      #expect(last.errors.contains("going on at batch"))
      let runs = runs(await fleet.pipe.drained())
      #expect(Set(runs.keys) == Set(1...400))
      #expect(runs.values.reduce(0) { $0 + $1 - 1 } <= 3 * 4, "more than one batch was repeated per kill")
    }

    @Test(
      "A Swift handler that ignores its cancellation is ended with its process, and the host goes on",
      .contract(28.2, 28.4, 36.3)
    )
    func stubbornHandler() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(lease: "15s")
      try fleet.startHandlerWorker("one")
      try fleet.write(
        "identifier: com.example.stubborn\nkind: refresh\nbudget: 1s\nallowFrequent: true\n", to: "stubborn.yaml")
      let submitted = try await fleet.baton("submit", "-f", "stubborn.yaml")
      #expect(submitted.status == 0, "\(submitted.errors)")
      await fleet.pipe.first { $0.hasPrefix("stubborn 1") }
      // When the second launch begins, the budget of 1 s and the closing window of 5 s are over.
      await fleet.pipe.first { $0.hasPrefix("stubborn 2") }
      let waited = try await fleet.baton("wait", "com.example.stubborn", "--timeout", "30s")
      #expect(waited.status == 0, "\(waited.errors)")
      let shown = try await fleet.show("com.example.stubborn")
      #expect(shown.launchHistory.map(\.outcome) == ["expired", "finished"])
      #expect(shown.launchHistory.first?.reason == "budgetSpent")
    }

    /// A second host is free all the time, so that the next launch could begin there at any moment.
    @Test(
      "A handler that ignores its deadline is ended even while another launch in its process commits",
      .contract(28.2, 36.3)
    )
    func stubbornHandlerBesideABusyOne() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(lease: "15s")
      try fleet.startHandlerWorker("one")
      try fleet.write("identifier: com.example.patient\nkind: continued\ntitle: Patience\n", to: "patient.yaml")
      try fleet.write(
        "identifier: com.example.stubborn\nkind: refresh\nbudget: 1s\nclosingWindow: 1s\nallowFrequent: true\n",
        to: "stubborn.yaml")
      _ = try await fleet.baton("submit", "-f", "patient.yaml")
      await fleet.pipe.first { $0.hasPrefix("patient 1") }
      _ = try await fleet.baton("submit", "-f", "stubborn.yaml")
      await fleet.pipe.first { $0.hasPrefix("stubborn 1") }
      try fleet.startHandlerWorker("two")
      #expect(await fleet.pipe.first { $0.hasPrefix("stubborn 2") } == "stubborn 2 alone")
      for identifier in ["com.example.stubborn", "com.example.patient"] {
        let waited = try await fleet.baton("wait", identifier, "--timeout", "60s")
        #expect(waited.status == 0, "\(waited.errors)")
      }
      let stubborn = try await fleet.show("com.example.stubborn")
      #expect(stubborn.launchHistory.map(\.outcome) == ["expired", "finished"])
      #expect(stubborn.launchHistory.first?.reason == "budgetSpent")
      let patient = try await fleet.show("com.example.patient")
      #expect(patient.launchHistory.map(\.outcome) == ["lost", "finished"])
      // The next launch goes on after the last checkpoint, and repeats at most one batch.
      let batches = await fleet.pipe.drained().filter { $0.hasPrefix("patient") }.map { $0.split(separator: " ") }
      let last = batches.last { $0[1] == "1" }.flatMap { Int($0[2]) }
      let next = batches.first { $0[1] == "2" }.flatMap { Int($0[2]) }
      #expect(next == patient.launchHistory.first?.batches)
      #expect(next == last || next == last.map { $0 + 1 }, "\(next ?? -1) after \(last ?? -1)")
    }

    @Test("A handler that takes every thread and ignores its deadline is ended all the same", .contract(28.2))
    func spinningHandler() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(lease: "15s")
      try fleet.startHandlerWorker("one")
      try fleet.write(
        "identifier: com.example.spinning\nkind: refresh\nbudget: 1s\nclosingWindow: 1s\nallowFrequent: true\n",
        to: "spinning.yaml")
      _ = try await fleet.baton("submit", "-f", "spinning.yaml")
      #expect(await fleet.pipe.first { $0.hasPrefix("spinning 2") } == "spinning 2 alone")
      let waited = try await fleet.baton("wait", "com.example.spinning", "--timeout", "60s")
      #expect(waited.status == 0, "\(waited.errors)")
    }
  }
}
