import BatonCoordinator
import BatonHandler
import BatonModel
import BatonStore
import BatonWorker
import ContractRows
import Foundation
import Synchronization
import Testing

@Suite("Launches, from submission to completion", .timeLimit(.minutes(10)))
struct LaunchTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"

  @Test("A handler's batches run in order, each checkpointed, and the request succeeds", .contract(29.1))
  func batches() async throws {
    let fleet = try Fleet()
    let seen = Mutex<[[Int]]>([])
    let worker = fleet.worker(
      "one", folder: folder,
      [
        (
          "com.example.purge",
          { task in
            for try await batch in task.batches(of: 0..<25, size: 10) { seen.withLock { $0.append(Array(batch)) } }
          }
        )
      ])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([
        Definition(pattern: IdentifierPattern("com.example.purge")!, kind: .processing)
      ])
      try await fleet.submit("com.example.purge")
      let details = try await fleet.ended("com.example.purge")
      #expect(details.record.state == .succeeded)
      #expect(details.record.progress.batches == 3)
      #expect(details.record.progress.completedUnits == 25)
      #expect(details.launches.map(\.outcome) == [.finished])
      #expect(seen.withLock { $0 } == [Array(0..<10), Array(10..<20), Array(20..<25)])
    }
  }

  @Test("A command runs once per batch with its items as arguments, and its output is kept")
  func command() async throws {
    let fleet = try Fleet()
    var definition = Definition(pattern: IdentifierPattern("com.example.echo")!, kind: .processing)
    definition.work = Work(command: ["/bin/echo", "got"], items: .range(1...5), batchSize: 2)
    let echo = definition
    try await fleet.run([fleet.worker("one", folder: folder)]) {
      _ = try await fleet.coordinator.apply([echo])
      try await fleet.submit("com.example.echo")
      let details = try await fleet.ended("com.example.echo")
      #expect(details.record.state == .succeeded, "\(details.record)")
      #expect(details.record.progress.batches == 3)
      let output = try await fleet.coordinator.store.output(of: details.launches[0].launch)
      #expect(String(decoding: output, as: UTF8.self) == "got 1 2\ngot 3 4\ngot 5\n")
    }
  }

  @Test(
    "a host that cannot give the sandbox is passed over, with the reason; nothing runs with less",
    arguments: [SandboxLevel.basic, nil])
  func sandbox(required: SandboxLevel?) async throws {
    let fleet = try Fleet()
    var definition = Definition(pattern: IdentifierPattern("com.example.echo")!, kind: .processing)
    definition.requirements.requiresIdle = false
    definition.work = Work(command: ["/bin/echo"], items: .range(1...1), sandbox: required == nil ? .basic : nil)
    let echo = definition
    let worker = fleet.worker("one", folder: folder) {
      $0.sandbox = .off
      $0.sandbox.required = required
      $0.sandbox.helper = "/nothing/baton-exec"
    }
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([echo])
      try await fleet.submit("com.example.echo")
      try await fleet.attached(1)
      let explained = try await fleet.coordinator.explain(JobIdentifier("com.example.echo")!, number: nil)
      let line = try #require(explained.lines.first { $0.code == "sandboxUnavailable" })
      #expect(line.text.contains("there is no /nothing/baton-exec"))
      #expect(line.remedy.contains("sandbox.require: none"))
    }
  }

  @Test(
    "a worker as root takes no command unless its owner allows it",
    .enabled(if: geteuid() == 0, "only root can be root"))
  func root() async throws {
    let fleet = try Fleet()
    var definition = Definition(pattern: IdentifierPattern("com.example.echo")!, kind: .processing)
    definition.requirements.requiresIdle = false
    definition.work = Work(command: ["/bin/echo"], items: .range(1...1))
    let echo = definition
    let worker = fleet.worker("one", folder: folder) { $0.sandbox.allowsRoot = false }
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([echo])
      try await fleet.submit("com.example.echo")
      try await fleet.attached(1)
      let explained = try await fleet.coordinator.explain(JobIdentifier("com.example.echo")!, number: nil)
      let line = try #require(explained.lines.first { $0.code == "notPermittedOnHost" })
      #expect(line.remedy.contains("'allow.root'"))
    }
  }

  @Test("Items of a glob are frozen in the store before the first batch")
  func glob() async throws {
    let fleet = try Fleet()
    try FileManager.default.createDirectory(atPath: folder + "/in", withIntermediateDirectories: true)
    for name in ["b", "a", "c"] { try "x".write(toFile: "\(folder)/in/\(name).txt", atomically: true, encoding: .utf8) }
    var definition = Definition(pattern: IdentifierPattern("com.example.list")!, kind: .processing)
    definition.work = Work(command: ["/bin/echo"], directory: folder + "/in", items: .glob("*.txt"), batchSize: 2)
    let list = definition
    try await fleet.run([fleet.worker("one", folder: folder)]) {
      _ = try await fleet.coordinator.apply([list])
      try await fleet.submit("com.example.list")
      let details = try await fleet.ended("com.example.list")
      #expect(details.record.state == .succeeded, "\(details.record)")
      #expect(details.record.frozenItems == 3)
      let items = try await fleet.coordinator.store.items(of: details.record.id, start: 0, count: 10)
      #expect(items == ["a.txt", "b.txt", "c.txt"])
    }
  }

  @Test("A drained host's launch goes on elsewhere after its last checkpoint, with no batch lost or repeated")
  func drain() async throws {
    let fleet = try Fleet()
    let seen = Mutex<[Int]>([])
    let handler: Handler = { task in
      for try await batch in task.batches(of: 0..<2000, size: 1) { seen.withLock { $0 += batch } }
    }
    let workers = ["one", "two"].map { fleet.worker($0, folder: folder, [("com.example.long", handler)]) }
    try await fleet.run(workers) {
      _ = try await fleet.coordinator.apply([
        Definition(pattern: IdentifierPattern("com.example.long")!, kind: .processing)
      ])
      try await fleet.submit("com.example.long")
      let running = try await fleet.reached("com.example.long") { $0.record.progress.batches > 20 }
      let first = try #require(running.record.host)
      try await fleet.coordinator.setDraining(first, true)
      let details = try await fleet.ended("com.example.long")
      #expect(details.record.state == .succeeded, "\(details.record)")
      #expect(details.launches.map(\.outcome) == [.expired, .finished])
      #expect(details.launches.map(\.reason) == ["draining", nil])
      #expect(details.launches[0].host == first)
      #expect(details.launches[1].host != first)
      #expect(seen.withLock { $0 } == Array(0..<2000))
    }
  }

  @Test("An idle worker that is stopped gives its lease back at once, and is gone")
  func stop() async throws {
    let fleet = try Fleet(leaseTerm: .seconds(3600))
    let worker = fleet.worker("one", folder: folder)
    try await fleet.run([]) {
      async let stopped: Void = worker.run()
      try await fleet.attached(1)
      worker.drain()
      try await stopped
      try await fleet.hosts { $0.map(\.state) == [.gone] }
    }
  }

  @Test("A failing handler is tried again and then fails with its last error", .contract(29.1))
  func failure() async throws {
    let fleet = try Fleet()
    var definition = Definition(pattern: IdentifierPattern("com.example.fails")!, kind: .processing)
    definition.retry = RetryRule(limit: 1, backoff: .milliseconds(1))
    let fails = definition
    let worker = fleet.worker("one", folder: folder, [("com.example.fails", { _ in throw Surprise("no luck") })])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([fails])
      try await fleet.submit("com.example.fails")
      let details = try await fleet.ended("com.example.fails")
      #expect(details.record.state == .failed)
      #expect(details.record.launches == 2)
      #expect(details.record.reason?.contains("no luck") == true)
    }
  }

  @Test("Cancelling a running request ends it, and its reason names who cancelled", .contract(34.1))
  func cancel() async throws {
    let fleet = try Fleet()
    let worker = fleet.worker(
      "one", folder: folder,
      [
        (
          "com.example.sleeps",
          { task in
            task.update(subtitle: "sleeping")
            try await Task.sleep(for: .seconds(3600))
          }
        )
      ])
    try await fleet.run([worker]) {
      var definition = Definition(pattern: IdentifierPattern("com.example.sleeps")!, kind: .continued)
      definition.title = "Sleep"
      _ = try await fleet.coordinator.apply([definition])
      try await fleet.submit("com.example.sleeps")
      _ = try await fleet.reached("com.example.sleeps") { $0.record.subtitle == "sleeping" }
      _ = try await fleet.coordinator.cancel(
        CancelSelection.identifier(JobIdentifier("com.example.sleeps")!, number: nil), by: "ann")
      let details = try await fleet.ended("com.example.sleeps")
      #expect(details.record.state == .cancelled)
      #expect(details.launches.map(\.reason) == ["cancelled"])
    }
  }
}
