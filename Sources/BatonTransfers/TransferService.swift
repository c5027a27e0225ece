internal import BatonBase
package import BatonHost
internal import BatonModel
internal import BatonProcess
package import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The transfers of a host as a whole: the engine, its socket, and the conditions of the host. It ends when it is asked
/// to shut down gracefully and everything that arrived is on the disk.
package struct TransferService: Service {
  private let engine: TransferEngine
  private let monitor: ConditionMonitor?
  private let isConstrained: Bool
  private let ready: @Sendable () -> Void

  /// Opens the folder of the transfers. Waits for the disk.
  /// - Parameters:
  ///   - conditions: how the host is read; `nil` means that every condition holds.
  ///   - environment: has the variables that header fields may name.
  ///   - ready: called when clients can connect.
  /// - Throws: as `TransferEngine.init`.
  package init(
    _ settings: TransferSettings, conditions: ConditionSettings?, environment: [String: String], logger: Logger,
    ready: @escaping @Sendable () -> Void = {}
  ) throws {
    let idle = ConditionMonitor.OwnWork(cpuTime: { nil }, isWorking: { false })
    monitor = conditions.map { ConditionMonitor($0, own: idle) }
    isConstrained = settings.isConstrained
    // Until the host was read, nothing starts.
    let first = TransferConditions(
      network: conditions == nil ? .unmetered : .unavailable, isConstrained: settings.isConstrained)
    engine = try TransferEngine(settings, conditions: first, environment: environment, logger: logger)
    self.ready = ready
  }

  package func run() async throws {
    let (engine, socket) = (engine, socket)
    try await withThrowingTaskGroup(of: Void.self) { group in
      let engine = engine
      group.addTask {
        do {
          try await socket.run(ready: ready)
        } catch {
          // Without the socket nothing can give orders, so the process ends, and is started again.
          engine.drain()
          throw error
        }
      }
      if let monitor {
        group.addTask {
          take(await monitor.look())
          await monitor.run { take($0) }
        }
      }
      await withGracefulShutdownHandler {
        await engine.perform()
      } onGracefulShutdown: {
        engine.drain()
      }
      group.cancelAll()
      while let result = await group.nextResult() {
        if case .failure(let error as SystemError) = result { throw error }
      }
    }
  }

  private var socket: TransferSocket { TransferSocket(engine, owner: { monitor?.ownerSays($0) }) }

  private func take(_ conditions: Conditions) {
    engine.conditionsChanged(TransferConditions(conditions, isConstrained: isConstrained))
  }
}
