import BatonBase
import BatonModel
import BatonStore
import Foundation
import Synchronization
import Testing

@testable import BatonCommands
@testable import BatonCoordinator

/// `baton run`, and how it goes on with an earlier run.
@Suite struct RunningTests {
  static let job = """
    identifier: com.example.report
    kind: processing
    work: {command: ["true"], items: {range: 1...100}, batchSize: 10}
    """

  private func withJob(_ body: (_ file: String, _ folder: String) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
      try write(Self.job, to: folder + "/job.yaml")
      try await body(folder + "/job.yaml", folder)
    }
  }

  /// The line about what a run does not do.
  private static let ignoring = "'baton run' does not wait for an idle host: it ignores 'requiresIdle'"

  private static func earlier(
    _ state: RequestState, _ change: (inout RequestRecord) -> Void = { _ in }
  ) -> RequestRecord {
    .example(1, "com.example.report", state) {
      $0.launches = 2
      $0.progress = Progress(batches: 6, completedUnits: 60, totalUnits: 100)
      change(&$0)
    }
  }

  private static func world(_ record: RequestRecord) -> World {
    World([record]) { state in
      state.changes[record.id] = record.state == .succeeded ? [] : [earlier(.succeeded)]
    }
  }

  @Test func `a first run applies, submits and watches`() async throws {
    try await withJob { file, folder in
      let world = World()
      let run = await world.baton("run", file, "--data", folder + "/state")
      #expect(run.status == 1, "the folder of the state is the backend's to make")
      try FileManager.default.createDirectory(atPath: folder + "/state", withIntermediateDirectories: true)
      let again = World()
      let good = await again.baton("run", file, "--data", folder + "/state", "--slots", "3")
      #expect(good.status == 0)
      #expect(good.output.isEmpty)
      #expect(
        good.error == """
          \(Self.ignoring)
          com.example.report, request 1: ready: waits for a host
          com.example.report, request 1: succeeded

          """)
      #expect(
        again.coordinator.calls.prefix(3) == [
          "details com.example.report", "apply com.example.report", "submit com.example.report by ana",
        ])
      #expect(
        again.backend.runs.withLock { $0 } == [
          RunOptions(dataFolder: folder + "/state", removesDataFolder: false, slots: 3)
        ])
      #expect(again.coordinator.state.withLock { $0.definitions.first?.work?.directory } == folder)
    }
  }

  @Test func `by default the state folder depends on the files, and is removed after success`() async throws {
    try await withJob { file, folder in
      var world = World()
      world.variables = ["XDG_STATE_HOME": folder]
      _ = await world.baton("run", file)
      _ = await world.baton("run", folder + "//./job.yaml")
      let runs = world.backend.runs.withLock { $0 }
      #expect(runs.count == 2)
      #expect(Set(runs).count == 1, "the same file has the same state however it is written")
      #expect(runs.allSatisfy { $0.removesDataFolder && $0.dataFolder.hasPrefix(folder + "/baton/run/job.yaml-") })
    }
  }

  @Test func `an unfinished request of an earlier run is watched, not submitted again`() async throws {
    try await withJob { file, folder in
      let world = Self.world(Self.earlier(.ready))
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.status == 0)
      #expect(world.coordinator.orders.isEmpty)
      #expect(run.error.hasPrefix("\(Self.ignoring)\ncom.example.report: going on at batch 6 of 10 (60 of 100 done)\n"))
    }
  }

  @Test func `a failed one goes on at its checkpoint`() async throws {
    try await withJob { file, folder in
      let world = Self.world(Self.earlier(.failed))
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.status == 0)
      #expect(world.coordinator.orders.isEmpty)
      #expect(world.coordinator.calls.contains("retry com.example.report"))
    }
  }

  @Test func `one that succeeded is not done twice, unless the run came to its end`() async throws {
    try await withJob { file, folder in
      let world = Self.world(Self.earlier(.succeeded))
      let first = await world.baton("run", file, "--data", folder)
      #expect(first.status == 0)
      #expect(first.error.hasPrefix("\(Self.ignoring)\ncom.example.report: has succeeded already\n"))
      #expect(world.coordinator.orders.isEmpty)
      let second = await world.baton("run", file, "--data", folder)
      #expect(second.status == 0)
      #expect(world.coordinator.orders.count == 1)
    }
  }

  @Test(arguments: [
    (RequestState.ready, "redefine com.example.report"), (.failed, "retry com.example.report with new definition"),
  ])
  func `a repaired definition holds for what goes on`(state: RequestState, call: String) async throws {
    try await withJob { file, folder in
      let world = Self.world(Self.earlier(state) { $0.definition = DefinitionID(7) })
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.status == 0)
      #expect(world.coordinator.calls.contains(call))
      #expect(
        run.error.hasPrefix(
          "\(Self.ignoring)\ncom.example.report: the definition has changed; the request goes on with the new one\n"
            + "com.example.report: going on at batch 6 of 10 (60 of 100 done)\n"))
    }
  }

  @Test func `a definition that the checkpoint does not fit is refused, and --anew takes it`() async throws {
    try await withJob { file, folder in
      let old = Self.earlier(.ready) { $0.definition = DefinitionID(7) }
      let world = Self.world(old)
      let refusal = OperatorError.conflict("'batchSize' was 2 and is 3; with baton run: --anew")
      // The two calls before it read the request and apply the file.
      world.coordinator.state.withLock { $0.failing["redefine com.example.report"] = refusal }
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.status == 4)
      #expect(run.error.contains("'batchSize' was 2 and is 3; with baton run: --anew"))
      #expect(world.coordinator.orders.isEmpty)
      let anew = Self.world(old)
      let fresh = await anew.baton("run", file, "--data", folder, "--anew")
      #expect(fresh.status == 0)
      #expect(!fresh.error.contains("warning"))
      #expect(anew.coordinator.orders.count == 1)
      #expect(anew.coordinator.calls.contains { $0.hasPrefix("cancel") })
    }
  }

  @Test func `a failure shows the last output, and keeps the state`() async throws {
    try await withJob { file, folder in
      let world = World { state in
        state.changes[RequestID(100)] = [
          .example(100, "com.example.report", .failed) {
            $0.launches = 4
            $0.reason = "exit status 2"
          }
        ]
        state.output = [(4, (1...30).map { "line \($0)\n" }.joined())]
      }
      let run = await world.baton("run", file, "--data", folder, "--quiet")
      #expect(run.status == 1)
      #expect(run.output.isEmpty)
      #expect(!run.error.contains("line 10\n"))
      #expect(run.error.contains("the last output of com.example.report, request 1:\n  | line 11\n"))
      #expect(run.error.contains("error: com.example.report, request 1 failed: exit status 2\n"))
      #expect(
        run.error.hasSuffix(
          "finished batches are saved; when you have repaired the cause, go on with: baton run \(file) --data "
            + "\(folder)\n"
        ))
    }
  }

  @Test func `what the commands write is shown as it comes, and a failure shows no part of it again`() async throws {
    try await withJob { file, folder in
      let world = World { state in
        state.changes[RequestID(100)] = [
          .example(100, "com.example.report", .failed) {
            $0.launches = 1
            $0.reason = "exit status 2"
          }
        ]
        state.logPieces = [
          LogPiece(launch: 1, bytes: Array("one\ntw".utf8)), LogPiece(launch: 1, bytes: Array("o\u{1B}[2J\nend".utf8)),
        ]
      }
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.output == "one\ntwo\\u{1b}[2J\nend\n")
      #expect(!run.error.contains("the last output"))
      #expect(world.coordinator.calls.contains("logs com.example.report all shards follow since \(now.utc)"))
      let json = await world.baton("run", file, "--data", folder, "-o", "jsonl")
      #expect(json.error.contains("\ncom.example.report | two\\u{1b}[2J\n"), "JSON has standard output for itself")
    }
  }

  @Test func `lines of several requests and shards say whose they are`() async throws {
    try await withTemporaryFolder { folder in
      try write(Self.job + "\n---\n" + Self.job.replacing("report", with: "other"), to: folder + "/jobs.yaml")
      let world = World { $0.logPieces = [LogPiece(launch: 1, shard: 3, bytes: Array("x\n".utf8))] }
      let run = await world.baton("run", folder + "/jobs.yaml", "--data", folder)
      #expect(run.status == 0, "\(run.error)")
      #expect(
        Set(run.output.split(separator: "\n")) == [
          "com.example.report, shard 3 | x", "com.example.other, shard 3 | x",
        ])
    }
  }

  @Test func `a quiet run that succeeds writes nothing`() async throws {
    try await withJob { file, folder in
      let world = World { $0.output = [(1, "noise\n")] }
      let run = await world.baton("run", file, "--data", folder, "-q")
      #expect(run.status == 0)
      #expect(run.output.isEmpty)
      #expect(run.error.isEmpty)
    }
  }

  @Test func `Ctrl-C stops, and says that the next run goes on`() async throws {
    try await withJob { file, folder in
      let coordinator = FakeCoordinator([Self.earlier(.running)]) { $0.hangs = true }
      var world = World(FakeBackend(coordinator))
      world.interrupted = { await coordinator.hanging() }
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.status == 130)
      #expect(
        run.error.hasSuffix(
          "stopping: a running batch may finish and is saved; Ctrl-C again ends at once\n"
            + "stopped; go on with: baton run \(file) --data \(folder)\n"))
      #expect(!coordinator.calls.contains { $0.hasPrefix("cancel") })
    }
  }

  /// A run whose request waits, and for which `explain` gives this answer.
  private static func waitingWorld(_ verdict: Explanation.Verdict, _ lines: [Explanation.Line]) -> World {
    let record = RequestRecord.example(1, "com.example.report", .ready)
    let coordinator = FakeCoordinator([record]) { state in
      state.hangs = true
      state.explanation = Explanation(record: record, verdict: verdict, lines: lines)
    }
    var world = World(FakeBackend(coordinator))
    world.elapsing = [.seconds(2)]
    return world
  }

  @Test func `a job that this machine can never take ends the run, with the obstacle and the remedy`() async throws {
    try await withJob { file, folder in
      let world = Self.waitingWorld(
        .impossible,
        [
          Explanation.line("here", .tooFewSlots(needed: 8, total: 4)),
          Explanation.line("here", .batteryLow(percent: 3)),
        ])
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.status == 4)
      #expect(
        run.error.hasSuffix(
          """
          error: com.example.report, request 1 can never run on this machine: it needs 8 slots and the host has 4; \
          lower 'slots' of the job, or give --slots
          finished batches are saved; when you have repaired the cause, go on with: baton run \(file) --data \(folder)

          """), "\(run.error)")
    }
  }

  @Test func `a label that is missing is never there in a run, so the run ends`() async throws {
    try await withJob { file, folder in
      let world = Self.waitingWorld(
        .waiting, [Explanation.line("here", .missingLabel(name: "rack", wanted: "a", found: nil))])
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.status == 4)
      #expect(run.error.contains("can never run on this machine: it requires the label rack=a"))
      #expect(run.error.contains("'baton run' has no labels"))
    }
  }

  @Test func `a condition that can change is waited for, with a line that says so, once`() async throws {
    try await withJob { file, folder in
      var world = Self.waitingWorld(
        .waiting,
        [Explanation.line("here", .slotsInUse(needed: 1, free: 0)), Explanation.line("here", .needsExternalPower)])
      let coordinator = world.coordinator
      // Ctrl-C is pressed after several looks.
      world.interrupted = {
        while coordinator.calls.count(where: { $0.hasPrefix("explain") }) < 5 { await Task.yield() }
      }
      let run = await world.baton("run", file, "--data", folder)
      #expect(run.status == 130)
      let line =
        "com.example.report: waits: it requires external power and the host runs on battery (plug the host in)\n"
      #expect(run.error.components(separatedBy: line).count == 2, "\(run.error)")
      #expect(!run.error.contains("slots"))
    }
  }

  @Test func `a second run at the same time is refused`() async throws {
    try await withJob { file, folder in
      let locked = StoreError(.locked, "The store in \(folder) is in use by process 12; stop that process first.")
      let run = await World(FakeBackend(FakeCoordinator(), error: locked)).baton("run", file, "--data", folder)
      #expect(run.status == 75)
      #expect(
        run.error.hasPrefix("error: these files are being run already. The store in \(folder) is in use by process 12"))
    }
  }

  @Test func `the ended requests are written as data only with -o json or jsonl`() async throws {
    try await withJob { file, folder in
      let run = await World().baton("run", file, "--data", folder, "-o", "json")
      #expect(run.status == 0)
      let list = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]]
      #expect(list?.first?["state"] as? String == "succeeded")
    }
  }

  @Test func `coordinator and up pass their flags on`() async throws {
    try await withJob { file, folder in
      let world = World()
      let run = await world.baton(
        "coordinator", "--data", "state", "--listen", "127.0.0.1:1", "--http", "127.0.0.1:2", "--lease", "1s",
        "--config",
        "/etc/c.yaml")
      #expect(run.status == 0)
      let options = CoordinatorOptions(
        dataFolder: "/srv/state", listen: "127.0.0.1:1", http: "127.0.0.1:2", leaseTerm: .seconds(1),
        configurationFile: "/etc/c.yaml")
      #expect(world.backend.coordinators.withLock { $0 } == [options])
      let up = await world.baton("up", file, "--data", folder, "--slots", "2")
      #expect(up.status == 0)
      #expect(
        world.backend.ups.withLock { $0 } == [UpOptions(coordinator: CoordinatorOptions(dataFolder: folder), slots: 2)])
      #expect(world.coordinator.calls == ["apply com.example.report"])
      #expect(up.error == "com.example.report: created\n")
    }
  }
}
