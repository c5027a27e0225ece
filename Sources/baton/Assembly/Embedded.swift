import BatonBase
import BatonCoordinator
import BatonExporter
import BatonHost
import BatonModel
import BatonProcess
import BatonStore
import BatonTransfers
import BatonWire
import BatonWorker
import BatonWorkerSettings
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator and its only worker in one process, with a store of their own. `baton run` and `baton up` use it.
struct Embedded {
  let store: any VerbStore
  let coordinator: Coordinator
  let worker: Worker
  /// The settings of the host's transfers; `nil` if it has none.
  private let transfers: TransferSettings?
  private let environment: [String: String]
  private let logger: Logger

  /// The settings of the worker.
  struct Host {
    var slots: Int?
    /// The path of a worker.yaml.
    var settings: String?
    /// Whether the host counts as idle even if a person uses it, because the person started the job just now.
    var isIdle = false
    /// Whether the worker answers `baton-worker pause`, `resume` and `status`.
    var answersOwner = false
    /// The coordinator's address as `baton-worker status` shows it; `nil` if the coordinator does not listen, or
    /// listens on any free port.
    var coordinator: String?
  }

  /// Opens the store, and makes the coordinator and the worker. Nothing runs yet.
  /// - Throws: `SettingsError` if the worker's settings are wrong; the store's errors.
  init(
    dataFolder: String, host: Host, environment: [String: String], logger: Logger,
    settings: CoordinatorSettings = CoordinatorSettings(),
    limits: StoreLimits = StoreLimits(), identities: () throws -> HostIdentities? = { nil }, telemetry: ProcessTelemetry
  ) async throws {
    var settings = settings
    let name = HostName.ofMachine(ProcessInfo.processInfo.hostName).rawValue
    settings.embeddedHost = HostName(name)
    var configuration = WorkerConfiguration(
      name: name, dataFolder: dataFolder + "/worker", slots: ProcessInfo.processInfo.activeProcessorCount)
    let transfers = try await WorkerSettings.read(
      file: host.settings ?? environment["BATON_WORKER_CONFIG"], environment: environment, into: &configuration)
    configuration.slots = host.slots ?? configuration.slots
    configuration.ownsProcess = true
    configuration.answersOwner = host.answersOwner
    configuration.coordinator = host.coordinator ?? "in this process"
    configuration.sandbox.hidden = [dataFolder]
    if host.isIdle {
      configuration.conditions.assumesIdle()
      // A person who runs a job as root on this machine has allowed it by that.
      configuration.sandbox.allowsRoot = true
    }
    for warning in configuration.warnings(user: geteuid()) { logger.warning("\(warning)") }
    if let problem = transfers?.problem {
      logger.warning("this host has no transfers", metadata: ["transfers.folder": "\(problem)"])
    }
    self.transfers = transfers?.problem == nil ? transfers : nil
    (self.environment, self.logger) = (environment, logger)
    (store, coordinator) = try telemetry.coordinator(
      folder: dataFolder, settings, limits, identities: identities, logger: logger)
    worker = Worker(
      configuration, incarnation: Incarnation(.randomIncarnation()), logger: logger,
      connector: EmbeddedConnector { [coordinator] in try await coordinator.serve($0, from: "this process") },
      transfers: self.transfers.map { HostTransfers($0) })
  }

  /// Runs the coordinator and the worker while `body` runs. Afterwards it lets running batches finish, sends the
  /// remaining spans, and closes the store.
  /// - Parameter folder: a folder to remove if `body` returned without an error. It is removed while its lock is
  ///   still held.
  func run<Result: Sendable>(
    removing folder: String?, prepare: @escaping @Sendable (any OperatorAPI) async throws -> Void,
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    try await coordinator.restore()
    do {
      // `prepare` has to run before a launch can start.
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
        try await withTransfers { try await worker.run() }
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

  /// Carries out the host's transfers while `body` runs. Those that have not ended go on from the disk when they are
  /// carried out again.
  private func withTransfers(_ body: () async throws -> Void) async throws {
    guard let transfers else { return try await body() }
    let service: TransferService
    do {
      service = try await onOwnThread { [environment, logger] in
        try TransferService(transfers, environment: environment, logger: logger)
      }
    } catch {
      logger.warning("this host has no transfers", metadata: ["error": "\(error)"])
      return try await body()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [logger] in
        do { try await service.run() } catch {
          logger.warning("the transfers of this host have ended", metadata: ["error": "\(error)"])
        }
      }
      defer { service.drain() }
      try await body()
    }
  }

  /// The result of `body`, once the worker has ended too.
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
