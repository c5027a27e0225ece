import BatonBase
import BatonCoordinator
import BatonHandler
import BatonModel
import BatonProcess
import BatonStore
import BatonWire
import BatonWorker
import Foundation
import Logging
import Synchronization

/// B7: the time from a change of a condition to the cancellation of the handler, in one process.
enum Flips {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let inWorker = try await times(launches: 200, rounds: 10, hasProbes: false)
    let fromFile = try await times(launches: 1, rounds: 10, hasProbes: true)
    return [
      Measurement(
        "B7 conditions changed to handler cancelled, 200 launches, p99 (against 50 ms)",
        value: inWorker.percentile(0.99) * 1000, unit: "ms", limit: 50, target: 1, isAtMost: true),
      Measurement(
        "B7 power supply unplugged in sysfs to handler cancelled, p99 (the probe reads once a second; row 18 allows 2 "
          + "s)",
        value: fromFile.percentile(0.99) * 1000, unit: "ms", limit: 2000, target: 1, isAtMost: true),
    ]
  }

  /// The seconds from each change to each cancellation.
  /// - Parameter hasProbes: true to unplug a power supply in a folder that stands for the system's files; false to
  ///   change the conditions in the worker directly.
  private static func times(launches: Int, rounds: Int, hasProbes: Bool) async throws -> [Double] {
    let host = try FlippingHost(launches: launches, hasProbes: hasProbes)
    defer { host.remove() }
    return try await host.run {
      var times: [Double] = []
      for _ in 0..<rounds {
        await host.untilRunning(launches)
        let start = SystemClocks.instant()
        try host.unplug()
        times += await host.cancellations(launches).map { ($0 - start).inSeconds }
        try host.plugIn()
      }
      return times
    }
  }
}

/// A coordinator and a worker in this process, with launches that wait until they are cancelled.
private final class FlippingHost: Sendable {
  private let folder: String
  private let launches: Int
  private let hasProbes: Bool
  private let worker: Worker
  private let coordinator: Coordinator
  private let store: SQLiteStore
  private let started = Mailbox<Void>(capacity: 1 << 16)
  private let cancelled = Mailbox<Instant>(capacity: 1 << 16)

  init(launches: Int, hasProbes: Bool) throws {
    let folder = NSTemporaryDirectory() + "baton-bench-\(UUID().uuidString)"
    (self.folder, self.launches, self.hasProbes) = (folder, launches, hasProbes)
    store = try SQLiteStore.open(folder: folder + "/store")
    coordinator = Coordinator(store: store, settings: CoordinatorSettings(), logger: Role.logger())
    var configuration = WorkerConfiguration(name: "bench", dataFolder: folder + "/worker", slots: launches)
    configuration.probesHost = hasProbes
    configuration.conditions.root = SystemRoot(folder + "/machine")
    configuration.conditions.probes = [.power]
    configuration.conditions.returnAfter.power = .zero
    worker = Worker(
      configuration, incarnation: Incarnation("bench"), logger: Role.logger(),
      connector: EmbeddedConnector { [coordinator] in try await coordinator.serve($0, from: "bench") })
    worker.register("com.example.bench.flip.*") { [started, cancelled] _ in
      started.send(())
      do {
        try await Task.sleep(for: .seconds(3600))
      } catch {
        cancelled.send(SystemClocks.instant())
        throw error
      }
    }
    for (supply, type) in [("AC", "Mains"), ("BAT0", "Battery")] {
      try FileManager.default.createDirectory(atPath: "\(supplies)/\(supply)", withIntermediateDirectories: true)
      try write(type, "\(supply)/type")
    }
    try write("80", "BAT0/capacity")
    try supply(isPlugged: true)
  }

  private var supplies: String { folder + "/machine/sys/class/power_supply" }

  private func supply(isPlugged: Bool) throws {
    try write(isPlugged ? "1" : "0", "AC/online")
    try write(isPlugged ? "Charging" : "Discharging", "BAT0/status")
  }

  private func write(_ text: String, _ file: String) throws {
    try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: supplies + "/" + file))
  }

  func remove() { try? FileManager.default.removeItem(atPath: folder) }

  func unplug() throws {
    guard !hasProbes else { return try supply(isPlugged: false) }
    worker.conditionsChanged(conditions(.battery))
  }

  func plugIn() throws {
    guard !hasProbes else { return try supply(isPlugged: true) }
    worker.conditionsChanged(conditions(.external))
  }

  private func conditions(_ power: PowerSource) -> Conditions {
    var conditions = Conditions.assumed
    conditions.power = Reading(power, source: "bench")
    return conditions
  }

  func untilRunning(_ count: Int) async {
    var seen = 0
    while seen < count { seen += await started.receive()?.count ?? count }
  }

  func cancellations(_ count: Int) async -> [Instant] {
    var all: [Instant] = []
    while all.count < count { all += await cancelled.receive() ?? [] }
    return all
  }

  func run<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await coordinator.restore()
    let result = try await withThrowingTaskGroup(of: Result?.self) { group in
      group.addTask { [coordinator] in
        try await coordinator.run()
        return nil
      }
      group.addTask { [worker] in
        try await worker.run()
        return nil
      }
      group.addTask { [self] in
        try await submit()
        return try await body()
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() {
        if let ended { return ended }
      }
      throw CancellationError()
    }
    try await store.close()
    return result
  }

  private func submit() async throws {
    var definition = Definition(pattern: IdentifierPattern("com.example.bench.flip.*")!, kind: .continued)
    definition.title = "Flip"
    definition.requirements.externalPower = true
    definition.stallAfter = .seconds(86_400)
    _ = try await coordinator.apply([definition])
    let orders = (0..<launches).map {
      SubmissionOrder(id: "flip-\($0)", identifier: JobIdentifier("com.example.bench.flip.\($0)")!)
    }
    _ = try await coordinator.submit(orders, by: "bench")
  }
}

/// B8: the disk space, memory and processor time of the program `baton-worker`, connected and without work.
enum IdleWorker {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let folder = Files.temporary()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let coordinator = try Child(["coordinator", folder + "/coordinator"], Fleet.untraced)
    defer { coordinator.stop() }
    let port = String(await coordinator.line { $0.hasPrefix("port ") }.dropFirst(5))
    let worker = try Child(
      ["--coordinator", "127.0.0.1:\(port)", "--name", "idle-worker", "--data", folder + "/worker"], Fleet.untraced,
      program: Files.program("baton-worker"))
    defer { worker.stop() }
    let bare = try Child(["idle", port, folder + "/bare"], Fleet.untraced)
    defer { bare.stop() }
    // The probes' first readings, and looking for programs that are not installed, cost more than later readings.
    try await Task.sleep(for: .seconds(20))
    let length = options.isSmall ? 20.0 : 60.0
    let before = (processorTime(of: worker), bare.processorTime)
    try await Task.sleep(for: .seconds(length))
    let used = (processorTime(of: worker) - before.0) / length * 100
    let usedBare = (bare.processorTime - before.1) / length * 100
    let processes = [worker.pid] + worker.children
    guard processes.count > 1 else { fatalError("the supervisor has no worker") }
    return [
      .bound("B8 idle worker, processor", used, "% of a core", atMost: 0.2),
      .bound("B8 its probes alone, processor", max(0.001, used - usedBare), "% of a core", atMost: 0.5),
      .bound(
        "B8 idle worker, resident", processes.map { Child.mebibytes("VmRSS", $0) }.max() ?? 0, "MiB", atMost: 40),
      .bound(
        "B8 worker, static and stripped, on disk", try strippedMegabytes(folder), "MB", atMost: 40),
    ]
  }

  private static func strippedMegabytes(_ folder: String) throws -> Double {
    let (strip, stripped) = (Process(), folder + "/stripped")
    strip.executableURL = URL(fileURLWithPath: "/usr/bin/strip")
    strip.arguments = ["-o", stripped, Files.program("baton-worker")]
    try strip.run()
    strip.waitUntilExit()
    let size = try FileManager.default.attributesOfItem(atPath: stripped)[.size] as? Int
    return Double(size ?? 0) / 1e6
  }

  /// The processor time of the supervisor and of its worker together.
  private static func processorTime(of worker: Child) -> Double {
    worker.processorTime + worker.children.map(Child.processorTime(of:)).reduce(0, +)
  }
}
