import BatonBase
import BatonCoordinator
import BatonCore
import BatonModel
import BatonWire
import BatonWorker
import Foundation
import Synchronization

/// B6: 10,000 workers without work, each on its own connection. Then each worker runs one launch, and the fleet is
/// paused, which expires all launches.
enum Crowd {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let count = options.isSmall ? 500 : 9_900
    let folder = Files.temporary()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let coordinator = try Child(["coordinator", folder], Fleet.untraced)
    defer { coordinator.stop() }
    let port = String(await coordinator.line { $0.hasPrefix("port ") }.dropFirst(5))
    let crowd = try Child(["crowd", port, "\(count)"], Fleet.untraced)
    defer { crowd.end() }
    _ = await crowd.line { $0 == "joined" }
    let alone = coordinator.mebibytes("VmRSS")
    _ = await crowd.line { $0 == "attached" }
    note("  \(count) workers are attached")
    let before = coordinator.processorTime
    let length = options.isSmall ? 10.0 : 30.0
    try await Task.sleep(for: .seconds(length))
    let idle = (coordinator.processorTime - before) / length * 100
    let memory = coordinator.mebibytes("VmRSS")
    let spread = try await Fleet.withClient(port: Int(port) ?? 0) { api in
      try await expiry(of: count, on: crowd, api)
    }
    note("  \(((memory - alone) * 1024 / Double(count)).formatted()) KiB for each connection")
    return [
      .bound("B6 memory of the coordinator with \(count) idle workers", memory, "MiB", atMost: 1024),
      .bound("B6 processor of the coordinator with \(count) idle workers", idle, "% of a core", atMost: 15),
      .bound("B6 from the first to the last of \(count) expiries", spread, "s", atMost: 1),
    ]
  }

  private static func expiry(of count: Int, on crowd: Child, _ api: any OperatorAPI) async throws -> Double {
    _ = try await api.apply([Fleet.definition("crowd.*")])
    for first in stride(from: 0, to: count, by: 1000) {
      let orders = (first..<min(first + 1000, count)).map { Fleet.order("crowd.\($0)", id: "crowd-\($0)") }
      try await Fleet.submit(orders, to: api)
    }
    _ = await crowd.line { $0 == "running" }
    try await api.setPaused(true)
    let line = await crowd.line { $0.hasPrefix("expired ") }
    return line.split(separator: " ").last.flatMap { Double($0) } ?? .infinity
  }
}

/// Simulated workers in one process: each has a real `WorkerCore` and a real connection, but no host and no handlers.
final class CrowdOfWorkers: Sendable {
  private struct Progress {
    var attached = 0
    var running = 0
    var firstExpiry: Instant?
    var expired = 0
  }

  private let port: String
  private let count: Int
  /// For the identities of workers that have joined.
  private let folder = Files.temporary()
  private let progress = Mutex(Progress())

  init(port: String, count: Int) { (self.port, self.count) = (port, count) }

  func run() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    if TLS.isOn {
      for index in 0..<count { try await TLS.join("crowd-\(index)", data: "\(folder)/\(index)", port: Int(port) ?? 0) }
    }
    say("joined")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        group.addTask { try await self.worker(index) }
        // Opening a connection takes about a millisecond of processor time on each side.
        try await Task.sleep(for: .milliseconds(2))
      }
      try await group.waitForAll()
    }
  }

  private func worker(_ index: Int) async throws {
    let configuration = WorkerConfiguration(
      coordinator: "127.0.0.1:\(port)", name: "crowd-\(index)", dataFolder: TLS.isOn ? "\(folder)/\(index)" : "",
      slots: 1)
    var core = WorkerCore(
      host: HostName(configuration.name), incarnation: Incarnation("crowd-\(index)"), version: "bench",
      capabilities: Capabilities(slots: 1, kinds: Set(JobKind.allCases)), endsProcessOnOverrun: false)
    core.announce([IdentifierPattern(Fleet.prefix + "crowd.*")!])
    let state = CoreBox(core)
    try await GRPCConnector(configuration).withConnection { connection in
      self.perform(state.change { $0.connected(at: SystemClocks.instant()) }, state, connection)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          while let messages = await connection.down.receive() { self.take(messages, state, connection) }
        }
        group.addTask {
          while !Task.isCancelled {
            try await Task.sleep(for: .seconds(2))
            self.perform(state.change { $0.tick(at: SystemClocks.instant()) }, state, connection)
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
  }

  private func take(_ messages: [CoordinatorMessage], _ state: CoreBox, _ connection: Connection) {
    for message in messages {
      if case .welcome = message,
        progress.withLock({
          $0.attached += 1
          return $0.attached
        }) == count
      {
        say("attached")
      }
      perform(state.change { $0.received(message, at: SystemClocks.instant()) }, state, connection)
    }
  }

  private func perform(_ effects: [WorkerCore.Effect], _ state: CoreBox, _ connection: Connection) {
    for effect in effects {
      switch effect {
      case .send(let message): connection.up.send(message)
      case .start:
        if progress.withLock({
          $0.running += 1
          return $0.running
        }) == count {
          say("running")
        }
      case .expire(let launch, _):
        expired()
        perform(state.change { $0.handlerEnded(launch, .stopped()) }, state, connection)
      default: break
      }
    }
  }

  private func expired() {
    let now = SystemClocks.instant()
    let spread = progress.withLock { progress -> Double? in
      let first = progress.firstExpiry ?? now
      progress.firstExpiry = first
      progress.expired += 1
      return progress.expired == count ? (now - first).inSeconds : nil
    }
    if let spread { say("expired \(spread)") }
  }
}

/// The core of one simulated worker, which two tasks share.
private final class CoreBox: Sendable {
  private let core: Mutex<WorkerCore>
  init(_ core: WorkerCore) { self.core = Mutex(core) }

  func change(_ body: (inout WorkerCore) -> [WorkerCore.Effect]) -> [WorkerCore.Effect] {
    core.withLock { body(&$0) }
  }
}
