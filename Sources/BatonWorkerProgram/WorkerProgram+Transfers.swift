import BatonProcess
import BatonTransfers
import Logging
import ServiceLifecycle
import UnixSignals

extension WorkerProgram {
  /// Whether the supervisor starts the host's transfers.
  var runsTransfers: Bool { transfers != nil && transfers?.problem == nil }

  /// Runs the process of the host's transfers below the supervisor. Returns the exit status.
  func runTransfers(_ logger: Logger) async throws -> Int32 {
    // What has arrived but is not synced may be lost. The next process goes on from the journal.
    SupervisedProcess.watchSupervisor {}
    guard let settings = transfers else { return 0 }
    do {
      let service = try await onOwnThread { [environment] in
        try TransferService(settings, environment: environment, logger: logger)
      }
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
          gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
      try await group.run()
      return SupervisedProcess.untilNextStart
    } catch let error as SystemError where error.code == .inUse {
      // Another start may succeed.
      say("transfers: \(error)")
      return SupervisedProcess.untilNextStart
    } catch {
      say("transfers: \(error)")
      return 78
    }
  }
}
