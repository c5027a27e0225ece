import BatonBase
import BatonExporter
import BatonHTTP
import BatonModel
import BatonProcess
import BatonTelemetry
import BatonWire
import BatonWorker
import Logging
import ServiceLifecycle
import UnixSignals

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension WorkerSetup {
  private func logger(_ label: String) -> Logger {
    var logger = Logger(label: label) {
      PlainLogHandler(StreamLogHandler.standardError(label: $0, metadataProvider: .spans))
    }
    logger.logLevel = logLevel
    return logger
  }

  /// Runs the supervisor. It starts this program again as the worker process, and when that process dies it tells the
  /// coordinator and starts another. Returns the exit status.
  func supervise() async throws -> Int32 {
    let logger = logger("baton-worker.supervisor")
    return try await Supervisor.run(arguments: Array(CommandLine.arguments.dropFirst())) { death in
      logger.warning("the worker process died and is started again", metadata: ["end": "\(death.end)"])
      guard let incarnation = death.announcement else { return }
      await DeathReport(
        configuration: configuration, incarnation: Incarnation(incarnation),
        isBlameless: death.end == .exited(Worker.overrunStatus)
      ).send()
    }
  }

  /// Runs the worker process below the supervisor. Returns the exit status.
  func work() async throws -> Int32 {
    let logger = logger("baton-worker")
    let incarnation = Incarnation(.randomIncarnation())
    for warning in configuration.warnings(user: geteuid()) { logger.warning("\(warning)") }
    let telemetry = ProcessTelemetry(
      "baton-worker", environment: ProcessInfo.processInfo.environment, logger: logger)
    telemetry.bootstrap()
    DescriptorBudget.raise(to: DescriptorBudget.needed(bySlots: configuration.slots))
    var configuration = configuration
    configuration.flushTelemetry = telemetry.flush
    let worker = Worker(configuration, incarnation: incarnation, logger: logger, connector: nil)
    SupervisedProcess.watchSupervisor { worker.killCommands() }
    SupervisedProcess.announce(incarnation.rawValue)
    telemetry.registry.collect { [weak worker] in worker?.metricFamilies ?? [] }
    do {
      let services = try telemetry.services + servers(worker, telemetry, logger) + [worker]
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) },
          gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet(logger)))
      try await group.run()
      return 0
    } catch let error as ListenError {
      // The status 75 says "try again": a port that is taken may be free at the next start.
      StandardError.say("baton-worker: \(error)")
      return error.code == .notPermitted ? 77 : 75
    } catch {
      StandardError.say("baton-worker: \(error)")
      return 78
    }
  }

  private func servers(_ worker: Worker, _ telemetry: ProcessTelemetry, _ logger: Logger) throws -> [any Service] {
    guard let http else { return [] }
    let reader = telemetry.reader
    return [
      try HTTPService(
        http, metricsToken: { [configuration] in configuration.metricsToken() }, isReady: { worker.isConnected },
        metrics: { await reader.snapshot() }, logger: logger,
        onListening: { StandardError.say("baton-worker: health and metrics are on http://\($0)") })
    ]
  }

  private func quiet(_ logger: Logger) -> Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .warning)
    return logger
  }
}

extension WorkerConfiguration {
  /// The metrics token of this worker's fleet: that of the file, or derived from the present token. `nil` if the file
  /// does not exist or is refused.
  fileprivate func metricsToken() -> String? {
    if let metricsTokenFile { return try? TokenFile.read(metricsTokenFile, port: 0) }
    // A coordinator publishes the token for its own port only, and perhaps not all of them run.
    let addresses = (try? CoordinatorAddresses(parsing: coordinator).all) ?? []
    let token = addresses.lazy.compactMap { try? TokenFile.read(tokenFile, port: $0.port) }.first
    return token.map { MetricsToken.derived(from: $0) }
  }
}
