import BatonCoordinator
import BatonHandler
import BatonModel
import BatonStore
import BatonWire
import BatonWorker
import Logging

/// A coordinator on a store in memory, and workers, in this process. Only the network and the disk are not real.
struct Fleet {
  let coordinator: Coordinator

  init(leaseTerm: Duration = .seconds(15), logger: Logger = Fleet.quiet) throws {
    coordinator = Coordinator(
      store: try SQLiteStore.inMemory(), settings: CoordinatorSettings(leaseTerm: leaseTerm), logger: logger)
  }

  init(coordinator: Coordinator) { self.coordinator = coordinator }

  /// A logger that writes only entries of the level critical.
  static var quiet: Logger {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return logger
  }

  /// Makes a fleet whose clocks stand still until they are moved, and whose leases never run out by default.
  init(
    _ store: SQLiteStore, _ time: ManualTime, leaseTerm: Duration = .seconds(1_000_000_000),
    permitted: [IdentifierPattern] = []
  ) {
    coordinator = Coordinator(
      store: store,
      settings: CoordinatorSettings(leaseTerm: leaseTerm, permittedIdentifiers: permitted),
      clocks: time.clocks, logger: Fleet.quiet)
  }

  /// Returns when this many workers are attached.
  func attached(_ count: Int) async throws {
    try await hosts { $0.filter { $0.state == .ready }.count == count }
  }

  /// Returns when `condition` holds for the hosts.
  func hosts(_ condition: ([HostReport]) -> Bool) async throws {
    while !condition(try await coordinator.hostReports()) { await Task.yield() }
  }

  /// The configuration of a worker. Its host is not probed and counts as idle, because the machine that runs the tests
  /// may be in use.
  private func configuration(_ name: String, folder: String, slots: Int) -> WorkerConfiguration {
    var configuration = WorkerConfiguration(name: name, dataFolder: folder + "/" + name, slots: slots)
    configuration.probesHost = false
    configuration.sandbox = .off
    return configuration
  }

  func worker(
    _ name: String, folder: String, slots: Int = 4, _ handlers: [(String, Handler)] = [],
    logger: Logger = Fleet.quiet, configured: (inout WorkerConfiguration) -> Void = { _ in }
  ) -> Worker {
    var configuration = configuration(name, folder: folder, slots: slots)
    configured(&configuration)
    let worker = Worker(
      configuration,
      incarnation: Incarnation(.randomIncarnation()), logger: logger,
      connector: EmbeddedConnector { [coordinator] in try await coordinator.serve($0, from: "test") })
    for (identifier, handler) in handlers { worker.register(identifier, handler: handler) }
    return worker
  }

  /// Runs the coordinator and the workers around `body`, and drains the workers afterwards.
  func run(_ workers: [Worker], _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await coordinator.restore()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await coordinator.run()
        return false
      }
      for worker in workers {
        group.addTask {
          try await worker.run()
          return false
        }
      }
      group.addTask {
        try await body()
        return true
      }
      defer { group.cancelAll() }
      while let isBody = try await group.next(), !isBody {}
      for worker in workers { worker.drain() }
      for _ in workers { _ = try await group.next() }
    }
  }

  func submit(_ identifier: String, payload: [UInt8]? = nil) async throws {
    let results = try await coordinator.submit(
      [SubmissionOrder(id: .randomIncarnation(), identifier: JobIdentifier(identifier)!, payload: payload)], by: "test")
    guard case .accepted? = results.first else { throw Surprise("not accepted: \(results)") }
  }

  /// Waits until the request has ended, and returns it.
  func ended(_ identifier: String) async throws -> RequestDetails {
    try await reached(identifier) { $0.record.state.isEnded }
  }

  /// Waits until `condition` holds for the request, and returns it.
  func reached(
    _ identifier: String, _ condition: @escaping @Sendable (RequestDetails) -> Bool
  ) async throws -> RequestDetails {
    let (stream, continuation) = AsyncStream.makeStream(of: RequestDetails.self)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await coordinator.watch(JobIdentifier(identifier)!, number: nil) { (details: RequestDetails) in
          continuation.yield(details)
        }
        continuation.finish()
      }
      defer { group.cancelAll() }
      for await details in stream where condition(details) { return details }
      throw Surprise("\(identifier) ended without that")
    }
  }
}

struct Surprise: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
