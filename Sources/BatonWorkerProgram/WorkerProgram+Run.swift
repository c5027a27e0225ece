internal import BatonBase
internal import BatonExporter
internal import BatonModel
internal import BatonProcess
internal import BatonTelemetry
internal import BatonTransfers
internal import BatonWire
public import BatonWorker
internal import BatonWorkerSettings
internal import Logging
public import ServiceLifecycle
internal import UnixSignals

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension WorkerProgram {
  /// Runs what this process is: the supervisor, the worker below it, or the host's transfers. It returns after SIGTERM
  /// or SIGINT, when the running launches have expired with the reason `draining`, and when the program cannot go on.
  /// - Parameters:
  ///   - services: services that the handlers need; see `main(beside:_:)`.
  ///   - register: registers the handlers; see `main(beside:_:)`.
  /// - Returns: the status with which the process has to exit, which the program passes to `exit`. 0 after a shutdown;
  ///   64 if an address of `http` or `https` is wrong; 75 if another start may succeed, because a port is in use or
  ///   another worker still uses the data folder; 77 if the system forbids the port; 78 if the settings are wrong. What
  ///   is wrong was written to standard error. The supervisor starts a worker again that ended in another way, for
  ///   example with 86 because a handler ignored its deadline.
  public func run(
    beside services: [any Service] = [], _ register: @escaping @Sendable (Worker) async throws -> Void
  ) async -> Int32 {
    // This keeps the token from other processes of the same user. Both the supervisor and the worker do it before the
    // token is read.
    ProcessPrivacy.hide(environment: environment)
    do {
      let servers = try Addresses(http: http, https: https)
      if setsUpLogging { setUpLogging() }
      guard SupervisedProcess.isSupervised else { return try await supervise() }
      switch SupervisedProcess.role {
      case .worker: return try await work(servers, beside: services, register)
      case .transfers: return try await runTransfers(quiet(logger(".transfers")))
      }
    } catch let error as HostPortError {
      say("\(error)")
      return 64
    } catch {
      say("\(error)")
      return 1
    }
  }

  /// Where servers listen.
  struct Addresses {
    var http: HostPort?
    var https: HostPort?

    init(http: String?, https: String?) throws {
      self.http = try http.map { try HostPort(parsing: $0) }
      self.https = try https.map { try HostPort(parsing: $0) }
    }
  }

  func say(_ text: String) { StandardError.say("\(ProgramName.own): \(text)") }

  private func setUpLogging() {
    let level = logLevel
    LoggingSystem.bootstrap(
      { label, provider in
        var handler = PlainLogHandler(StreamLogHandler.standardError(label: label, metadataProvider: provider))
        handler.logLevel = level
        return handler
      }, metadataProvider: .spans)
  }

  /// - Parameter part: what comes after the name of the program.
  func logger(_ part: String = "") -> Logger {
    var logger = Logger(label: ProgramName.own + part)
    if setsUpLogging { logger.logLevel = logLevel }
    return logger
  }

  func quiet(_ logger: Logger) -> Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .warning)
    return logger
  }

  // MARK: The supervisor

  /// Runs the supervisor. It starts this program again as the worker process, and when that process dies it tells the
  /// coordinator and starts another. Returns the exit status.
  private func supervise() async throws -> Int32 {
    let logger = logger(".supervisor")
    if let problem = transfers?.problem {
      logger.warning("this host has no transfers", metadata: ["transfers.folder": "\(problem)"])
    }
    return try await Supervisor.run(
      arguments: Array(CommandLine.arguments.dropFirst()), runsTransfers: runsTransfers,
      onTransfersDeath: { transfersDied($0, logger) }, onDeath: { await workerDied($0, logger) })
  }

  private func transfersDied(_ death: WorkerDeath, _ logger: Logger) {
    logger.warning("the process of the transfers ended and is started again", metadata: ["end": "\(death.end)"])
  }

  private func workerDied(_ death: WorkerDeath, _ logger: Logger) async {
    logger.warning("the worker process died and is started again", metadata: ["end": "\(death.end)"])
    guard let incarnation = death.announcement else { return }
    await DeathReport(
      configuration: configuration, incarnation: Incarnation(incarnation),
      isBlameless: death.end == .exited(Worker.overrunStatus)
    ).send()
  }

  // MARK: The worker

  /// Runs the worker process below the supervisor. Returns the exit status.
  private func work(
    _ addresses: Addresses, beside others: [any Service], _ register: @Sendable (Worker) async throws -> Void
  ) async throws -> Int32 {
    let logger = logger()
    let incarnation = Incarnation(.randomIncarnation())
    for warning in configuration.warnings(user: geteuid()) { logger.warning("\(warning)") }
    let telemetry = WorkerTelemetry(environment: setsUpTelemetry ? environment : WorkerTelemetry.none, logger: logger)
    if setsUpTelemetry { telemetry.bootstrap() }
    DescriptorBudget.raise(to: DescriptorBudget.needed(bySlots: configuration.slots))
    var configuration = configuration
    if setsUpTelemetry { configuration.flushTelemetry = telemetry.flush }
    let worker = Worker(
      configuration, incarnation: incarnation, logger: logger, connector: nil,
      transfers: runsTransfers ? transfers.map { HostTransfers($0) } : nil)
    SupervisedProcess.watchSupervisor { worker.killCommands() }
    SupervisedProcess.announce(incarnation.rawValue)
    telemetry.collect(worker)
    do {
      try await register(worker)
      let services = try telemetry.services + others + servers(addresses, worker, telemetry, logger) + [worker]
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) },
          gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet(logger)))
      try await group.run()
      return 0
    } catch let error as ListenError {
      // The status 75 says "try again": a port that is taken may be free at the next start.
      say("\(error)")
      return error.code == .notPermitted ? 77 : 75
    } catch let error as SystemError where error.code == .inUse {
      // The worker of a supervisor that was killed may still end.
      say("\(error)")
      return 75
    } catch {
      say("\(error)")
      return 78
    }
  }
}
