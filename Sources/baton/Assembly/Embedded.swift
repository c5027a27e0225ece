import BatonCoordinator
import BatonExporter
import BatonModel
import BatonStore
import BatonWire
import BatonWorker
import BatonWorkerSettings
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator and its only worker in this process, on a store of their own.
struct Embedded {
  let store: SQLiteStore
  let coordinator: Coordinator
  let worker: Worker

  /// How the worker in this process is set up.
  struct Host {
    var slots: Int?
    /// A worker.yaml.
    var settings: String?
    /// The person asked now: it does not wait until nobody is there.
    var isIdle = false
    /// Obeys `baton-worker pause` as a worker of its own does.
    var answersOwner = false
    /// What the host's owner is told of where the coordinator listens; nil where nothing is listened on, or on any port.
    var coordinator: String?
  }

  init(
    dataFolder: String, host: Host, environment: [String: String], logger: Logger,
    settings: CoordinatorSettings = CoordinatorSettings(),
    limits: StoreLimits = StoreLimits(), telemetry: ProcessTelemetry
  ) async throws {
    var settings = settings
    let name = HostName.ofMachine(ProcessInfo.processInfo.hostName).rawValue
    settings.embeddedHost = HostName(name)
    var configuration = WorkerConfiguration(
      name: name, dataFolder: dataFolder + "/worker", slots: ProcessInfo.processInfo.activeProcessorCount)
    try await WorkerSettings.read(
      file: host.settings ?? environment["BATON_WORKER_CONFIG"], environment: environment, into: &configuration)
    configuration.slots = host.slots ?? configuration.slots
    configuration.ownsProcess = true
    configuration.answersOwner = host.answersOwner
    configuration.coordinator = host.coordinator ?? "in this process"
    if host.isIdle { configuration.conditions.assumesIdle() }
    (store, coordinator) = try telemetry.coordinator(folder: dataFolder, settings, limits, logger: logger)
    worker = Worker(
      configuration, incarnation: Incarnation(.randomIncarnation()), logger: logger,
      connector: EmbeddedConnector { [coordinator] in try await coordinator.serve($0, from: "this process") })
  }

  /// Runs both around `body`, then lets running batches finish and closes the store.
  /// - Parameter removing: the folder goes if `body` returned, while its lock is still held.
  func run<Result: Sendable>(
    removing folder: String?, prepare: @escaping @Sendable (any OperatorAPI) async throws -> Void,
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    try await coordinator.restore()
    do {
      // Before a launch can start.
      try await prepare(coordinator)
    } catch {
      try await store.close()
      throw error
    }
    let outcome = try await withThrowingTaskGroup(of: Swift.Result<Result, any Error>?.self) { group in
      group.addTask {
        try await coordinator.run()
        return nil
      }
      group.addTask {
        try await worker.run()
        return nil
      }
      group.addTask {
        let outcome: Swift.Result<Result, any Error>
        await coordinator.waitForAttachment()
        do { outcome = .success(try await body(coordinator)) } catch { outcome = .failure(error) }
        worker.drain()
        return outcome
      }
      defer { group.cancelAll() }
      return try await Self.outcome(of: &group)
    }
    await coordinator.deliverRest()
    if folder != nil, let unsent = try? await store.spanQueue().unsent, unsent > 0 {
      StandardError.say("baton: the tracing backend did not answer in time: spans of this run are lost")
    }
    if let folder, case .success = outcome { try? FileManager.default.removeItem(atPath: folder) }
    try await store.close()
    return try outcome.get()
  }

  /// What `body` made of it, once the worker has ended too.
  private static func outcome<Result>(
    of group: inout ThrowingTaskGroup<Swift.Result<Result, any Error>?, any Error>
  ) async throws -> Swift.Result<Result, any Error> {
    var outcome: Swift.Result<Result, any Error>?
    var isDrained = false
    while outcome == nil || !isDrained {
      guard let ended = try await group.next() else { break }
      if let ended { outcome = ended } else { isDrained = true }
    }
    return outcome ?? .failure(CancellationError())
  }
}
