import BatonBase
import BatonExporter
import BatonHTTP
import BatonModel
import BatonProcess
import BatonTelemetry
import BatonTransfers
import BatonWire
import BatonWorker
import BatonWorkerSettings
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
    if let problem = transfers?.problem {
      logger.warning("this host has no transfers", metadata: ["transfers.folder": "\(problem)"])
    }
    return try await Supervisor.run(
      arguments: Array(CommandLine.arguments.dropFirst()), runsTransfers: runsTransfers,
      onTransfersDeath: transfersDied
    ) { death in
      logger.warning("the worker process died and is started again", metadata: ["end": "\(death.end)"])
      guard let incarnation = death.announcement else { return }
      await DeathReport(
        configuration: configuration, incarnation: Incarnation(incarnation),
        isBlameless: death.end == .exited(Worker.overrunStatus)
      ).send()
    }
  }

  private func transfersDied(_ death: WorkerDeath) {
    logger("baton-worker.supervisor").warning(
      "the process of the transfers ended and is started again", metadata: ["end": "\(death.end)"])
  }

  /// Runs what this process is below its supervisor. Returns the exit status.
  func workSupervised() async throws -> Int32 {
    switch SupervisedProcess.role {
    case .worker: try await work()
    case .transfers: try await transfers(quiet(logger("baton-worker.transfers")))
    }
  }

  /// Runs the worker process below the supervisor. Returns the exit status.
  private func work() async throws -> Int32 {
    let logger = logger("baton-worker")
    let incarnation = Incarnation(.randomIncarnation())
    for warning in configuration.warnings(user: geteuid()) { logger.warning("\(warning)") }
    let telemetry = ProcessTelemetry(
      "baton-worker", environment: ProcessInfo.processInfo.environment, logger: logger)
    telemetry.bootstrap()
    DescriptorBudget.raise(to: DescriptorBudget.needed(bySlots: configuration.slots))
    var configuration = configuration
    configuration.flushTelemetry = telemetry.flush
    let worker = Worker(
      configuration, incarnation: incarnation, logger: logger, connector: nil,
      transfers: runsTransfers ? transfers.map { HostTransfers($0) } : nil)
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
    } catch let error as SystemError where error.code == .inUse {
      // The worker of a supervisor that was killed may still end.
      StandardError.say("baton-worker: \(error)")
      return 75
    } catch {
      StandardError.say("baton-worker: \(error)")
      return 78
    }
  }

  private func servers(_ worker: Worker, _ telemetry: ProcessTelemetry, _ logger: Logger) throws -> [any Service] {
    var services: [any Service] = []
    let readiness: @Sendable () async -> DaemonReadiness = {
      worker.isConnected ? .ready : .notReady("the worker is not connected to a coordinator: look at its log")
    }
    if let http {
      services.append(
        try HTTPService(
          .plain(http), readiness: readiness, logger: logger,
          onListening: { if let address = $0 { StandardError.say("baton-worker: health is on http://\(address)") } }))
    }
    if let https {
      let certificate = HostServerCertificate(dataFolder: configuration.dataFolder)
      // A host that has not joined learns it at the start, and not from its first client.
      _ = try certificate.context()
      let file = configuration.metricsTokenFile
      if file == nil { _ = try TokenFile.ownForMetrics(dataFolder: configuration.dataFolder) }
      let route = WorkerMetricsRoute(reader: telemetry.reader) { [folder = configuration.dataFolder] in
        if let file { return try? TokenFile.read(file, port: 0) }
        return try? TokenFile.ownForMetrics(dataFolder: folder)
      }
      services.append(
        try HTTPService(
          .tls(https, { try certificate.context() }), readiness: readiness, logger: logger,
          routes: { route.add(to: $0) },
          onListening: { if let address = $0 { StandardError.say("baton-worker: metrics are on https://\(address)") } })
      )
    }
    return services
  }

  private func quiet(_ logger: Logger) -> Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .warning)
    return logger
  }
}
