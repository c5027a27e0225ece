import BatonCommands
import BatonCoordinator
import BatonDoctor
import BatonStore
import Synchronization

/// Connects to a `FakeCoordinator`, and remembers what it was asked for.
final class FakeBackend: Backend {
  let coordinator: FakeCoordinator
  /// Thrown instead of connecting or starting.
  let error: (any Error)?
  let targets = Mutex<[ConnectionTarget]>([])
  let runs = Mutex<[RunOptions]>([])
  let ups = Mutex<[UpOptions]>([])
  let coordinators = Mutex<[CoordinatorOptions]>([])
  let examinations = Mutex<[DoctorOptions]>([])
  /// What `baton doctor` finds.
  let host: HostFacts

  init(_ coordinator: FakeCoordinator, error: (any Error)? = nil, host: HostFacts = HostFacts()) {
    self.coordinator = coordinator
    self.host = host
    self.error = error
  }

  func connect<Result: Sendable>(
    _ target: ConnectionTarget, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    targets.withLock { $0.append(target) }
    if let error { throw error }
    return try await body(coordinator)
  }

  func runEmbedded<Result: Sendable>(
    _ options: RunOptions, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    runs.withLock { $0.append(options) }
    if let error { throw error }
    return try await body(coordinator)
  }

  func runUp(
    _ options: UpOptions, started: @escaping @Sendable (any OperatorAPI) async throws -> Void
  ) async throws {
    ups.withLock { $0.append(options) }
    if let error { throw error }
    try await started(coordinator)
  }

  func runCoordinator(_ options: CoordinatorOptions) async throws {
    coordinators.withLock { $0.append(options) }
    if let error { throw error }
  }

  func examineHost(_ options: DoctorOptions) async -> HostFacts {
    examinations.withLock { $0.append(options) }
    return host
  }
}
