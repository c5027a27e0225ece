import Foundation
import Synchronization

/// A coordinator and workers as processes, in a folder of their own, on free ports of loopback.
final class ProcessFleet: Sendable {
  let folder: String
  let pipe: EventPipe
  private let state = Mutex(State())

  private struct State {
    var coordinator: Child?
    var port = 0
    var workers: [String: Child] = [:]
  }

  init() throws {
    folder = NSTemporaryDirectory() + "baton-e2e-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder + "/run", withIntermediateDirectories: true)
    pipe = EventPipe(folder + "/events")
  }

  var address: String { "127.0.0.1:\(state.withLock { $0.port })" }
  var coordinator: Child? { state.withLock { $0.coordinator } }
  func worker(_ name: String) -> Child? { state.withLock { $0.workers[name] } }

  /// Starts a coordinator on the fleet's data, on the port it had before.
  func startCoordinator(lease: String = "1s") async throws {
    let child = try Child(
      .baton,
      ["coordinator", "--data", folder + "/coordinator", "--listen", address, "--http", "off", "--lease", lease],
      environment: environment, isDaemon: true)
    try await start(child)
  }

  /// `baton up` in place of a coordinator and a worker.
  func startUp() async throws {
    try await start(
      try Child(
        .baton, ["up", "--data", folder + "/up", "--listen", address, "--http", "off"], environment: environment,
        isDaemon: true))
  }

  private func start(_ child: Child) async throws {
    let line = await child.errorLine(containing: "listens on")
    let port = line.split(separator: " ").first { $0.hasPrefix("127.0.0.1:") }?.split(separator: ":").last
    state.withLock { state in
      state.coordinator = child
      state.port = port.flatMap { Int($0) } ?? 0
    }
  }

  func startWorker(_ name: String, slots: Int = 2) async throws {
    let child = try Child(
      .worker, ["--coordinator", address, "--name", name, "--data", "\(folder)/\(name)", "--slots", String(slots)],
      environment: environment, isDaemon: true)
    _ = await child.errorLine(containing: "connected to the coordinator")
    state.withLock { $0.workers[name] = child }
  }

  func startHandlerWorker(_ name: String) throws {
    let child = try Child(
      .handlerWorker, [address, name, "\(folder)/\(name)", pipe.path], environment: environment)
    state.withLock { $0.workers[name] = child }
  }

  /// Tokens are found where the coordinator of the same environment puts them.
  var environment: [String: String] {
    ["XDG_RUNTIME_DIR": folder + "/run", "XDG_STATE_HOME": folder + "/state", "BATON_COORDINATOR": address]
  }

  func baton(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await Child(.baton, arguments, environment: environment, currentDirectory: folder).finished()
  }

  func write(_ text: String, to name: String) throws {
    try text.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
  }

  /// The last launches of a request, from `show -o json`.
  func show(_ identifier: String) async throws -> Shown {
    let answer = try await baton("show", identifier, "-o", "json")
    return try JSONDecoder().decode(Shown.self, from: Data(answer.output.utf8))
  }

  func stop() {
    let (coordinator, workers) = state.withLock { ($0.coordinator, Array($0.workers.values)) }
    for worker in workers { worker.stop() }
    coordinator?.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }
}

/// The part of `show -o json` that the tests look at.
struct Shown: Decodable {
  struct Launch: Decodable, Equatable {
    var number: Int
    var host: String
    var outcome: String?
    var reason: String?
    var batches: Int
    var firstBatch: Int
  }

  var state: String
  var launches: Int
  var completedUnits: Int
  var launchHistory: [Launch]
}
