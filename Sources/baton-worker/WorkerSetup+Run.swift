import BatonModel
import BatonWire
import BatonWorker
import Logging
import ServiceLifecycle
import UnixSignals

extension WorkerSetup {
  private func logger(_ label: String) -> Logger {
    var logger = Logger(label: label) { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = logLevel
    return logger
  }

  /// The parent: starts this program again as the worker proper, and tells the coordinator when that dies.
  func supervise() async throws -> Int32 {
    let logger = logger("baton-worker.supervisor")
    return try await Supervisor.run(arguments: Array(CommandLine.arguments.dropFirst())) { death in
      logger.warning("the worker died and is started anew", metadata: ["end": "\(death.end)"])
      guard let incarnation = death.announcement else { return }
      await DeathReport(
        configuration: configuration, incarnation: Incarnation(incarnation),
        isBlameless: death.end == .exited(Worker.overrunStatus)
      ).send()
    }
  }

  /// The worker proper.
  func work() async throws -> Int32 {
    let logger = logger("baton-worker")
    let incarnation = Incarnation(.randomIncarnation())
    let worker = Worker(configuration, incarnation: incarnation, logger: logger, connector: nil)
    SupervisedProcess.watchSupervisor { worker.killCommands() }
    SupervisedProcess.announce(incarnation.rawValue)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [.init(service: worker, successTerminationBehavior: .gracefullyShutdownGroup)],
        gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet(logger)))
    do {
      try await group.run()
      return 0
    } catch {
      StandardError.say("baton-worker: \(error)")
      return 78
    }
  }

  private func quiet(_ logger: Logger) -> Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .warning)
    return logger
  }
}
