internal import BatonBase
package import BatonModel
internal import BatonProcess
package import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The transfers of a host as a whole: the engine and its socket. The worker tells it the conditions of the host. It
/// ends when it is asked to shut down gracefully and everything that arrived is on the disk.
package struct TransferService: Service {
  private let engine: TransferEngine
  private let isConstrained: Bool
  private let ready: @Sendable () -> Void
  /// The worker has told conditions, which count from then on.
  private let told: AsyncStream<Void>
  private let tell: AsyncStream<Void>.Continuation

  /// How long conditions count that the worker has told. After that nothing is known of the host, and its transfers
  /// pause: a worker that does not come back cannot say that the owner wants the host, or that its network is metered.
  package static let conditionsCount = Duration.seconds(60)

  /// Opens the folder of the transfers. Waits for the disk.
  /// - Parameters:
  ///   - conditions: those of the host until the worker tells others; without them nothing starts before that.
  ///   - environment: has the variables that header fields may name.
  ///   - ready: called when clients can connect.
  /// - Throws: as `TransferEngine.init`.
  package init(
    _ settings: TransferSettings, conditions: Conditions? = nil, environment: [String: String], logger: Logger,
    ready: @escaping @Sendable () -> Void = {}
  ) throws {
    isConstrained = settings.isConstrained
    (told, tell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    let first = conditions.map { TransferConditions($0, isConstrained: settings.isConstrained) } ?? .unknown
    engine = try TransferEngine(settings, conditions: first, environment: environment, logger: logger)
    self.ready = ready
  }

  package func run() async throws {
    let engine = engine
    // The conditions count before the worker has its answer, so that no order overtakes them.
    let socket = TransferSocket(
      engine,
      conditions: { [tell, isConstrained] in
        engine.conditionsChanged(TransferConditions($0, isConstrained: isConstrained))
        tell.yield()
      })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        do {
          try await socket.run(ready: ready)
        } catch {
          // Without the socket nothing can give orders, so the process ends, and is started again.
          engine.drain()
          throw error
        }
      }
      group.addTask { await watchSilence() }
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

  /// Stops every transfer where it is. `run` then returns when everything that arrived is on the disk.
  package func drain() { engine.drain() }

  private func watchSilence() async {
    var silence: Task<Void, Never>?
    for await _ in told {
      silence?.cancel()
      silence = Task { [engine] in
        guard (try? await Task.sleep(for: Self.conditionsCount, clock: .continuous)) != nil else { return }
        engine.conditionsChanged(.unknown)
      }
    }
    silence?.cancel()
  }
}
