import BatonProcess
import BatonTransfers
import BatonWire
import Logging
import ServiceLifecycle
import UnixSignals

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension WorkerSetup {
  /// Whether the supervisor starts the host's transfers.
  var runsTransfers: Bool { transfers != nil && transfers?.problem == nil }

  /// Runs the process of the host's transfers below the supervisor. Returns the exit status.
  func transfers(_ logger: Logger) async throws -> Int32 {
    // What has arrived but is not synced may be lost. The next process goes on from the journal.
    SupervisedProcess.watchSupervisor {}
    let environment = ProcessInfo.processInfo.environment
    guard let settings = transfers else { return 0 }
    do {
      let service = try await onOwnThread {
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
      StandardError.say("baton-worker: transfers: \(error)")
      return SupervisedProcess.untilNextStart
    } catch {
      StandardError.say("baton-worker: transfers: \(error)")
      return 78
    }
  }
}
