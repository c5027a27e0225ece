import BatonModel
import BatonProcess
import BatonSettings
import BatonTransfers
import Logging
import ServiceLifecycle
import UnixSignals

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension WorkerSetup {
  /// Whether the supervisor starts the host's transfers. It is off as long as nothing gives them orders; tests of the
  /// real programs turn it on.
  static let runsTransfers = ProcessInfo.processInfo.environment["BATON_TRANSFERS_PREVIEW"] == "1"

  /// Runs the process of the host's transfers below the supervisor. Returns the exit status.
  func transfers(_ logger: Logger) async throws -> Int32 {
    // What has arrived but is not synced may be lost. The next process goes on from the journal.
    SupervisedProcess.watchSupervisor {}
    let environment = ProcessInfo.processInfo.environment
    do {
      let settings = TransferSettings(folder: configuration.dataFolder + "/transfers")
      let service = try await onOwnThread { [conditions = configuration.conditions] in
        try TransferService(
          settings, conditions: configuration.probesHost ? conditions : nil, environment: environment, logger: logger)
      }
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
          gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
      try await group.run()
      return 0
    } catch let error as SystemError where error.code == .unusable {
      // A process that its killed supervisor left may still end: another start may succeed.
      StandardError.say("baton-worker: transfers: \(error)")
      return 1
    } catch {
      StandardError.say("baton-worker: transfers: \(error)")
      return 78
    }
  }
}
