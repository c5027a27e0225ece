import BatonModel
import BatonProcess
import BatonSettings
import BatonTransfers
import BatonWire
import BatonWorker
import Logging
import ServiceLifecycle
import Synchronization
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
    guard var settings = transfers else { return 0 }
    settings.folder = transferFolder
    do {
      let service = try await onOwnThread { [settings, conditions = configuration.conditions] in
        try TransferService(
          settings, conditions: configuration.probesHost ? conditions : nil, environment: environment, logger: logger)
      }
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
          gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
      try await group.run()
      return SupervisedProcess.untilNextStart
    } catch let error as SystemError where error.code == .unusable {
      // A process that its killed supervisor left may still end: another start may succeed.
      StandardError.say("baton-worker: transfers: \(error)")
      return SupervisedProcess.untilNextStart
    } catch {
      StandardError.say("baton-worker: transfers: \(error)")
      return 78
    }
  }

  /// The folder of the transfers. Launches are told the paths of files in it, and have working folders of their own.
  private var transferFolder: String {
    let folder = transfers?.folder ?? configuration.dataFolder + "/transfers"
    return folder.hasPrefix("/") ? folder : FileManager.default.currentDirectoryPath + "/" + folder
  }

  /// The transfers of this host, as the worker reaches them.
  var hostTransfers: HostTransfers {
    let client = TransferClient(folder: transferFolder)
    let cursor = Mutex<TransferCursor?>(nil)
    return HostTransfers { orders in
      switch try await client.ask(.orders(orders)) {
      case .orders(let answers) where answers.count == orders.count:
        return answers.map { if case .refused(let text) = $0 { text } else { nil } }
      case .refused(let text): throw SystemError(.failed, text)
      case .orders, .statuses, .changes, .done: throw SystemError(.failed, "the answer fits no order")
      }
    } changes: { all in
      let since = all ? nil : cursor.withLock { $0 }
      guard case .changes(let changes) = try await client.ask(.changes(since: since, atMost: 100, wait: 2_000)) else {
        throw SystemError(.failed, "the transfers gave no changes")
      }
      cursor.withLock { $0 = changes.cursor }
      return changes.statuses
    }
  }
}
