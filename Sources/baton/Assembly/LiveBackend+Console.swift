import BatonBase
import BatonCommands
import BatonConsole
import BatonCoordinator
import BatonModel
import BatonProcess
import BatonWire
import Logging
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension LiveBackend {
  func runConsole(
    _ options: ConsoleOptions, _ target: ConnectionTarget, signIn: @escaping @Sendable (_ address: String) -> Void
  ) async throws {
    let address = try await asUsage { try options.http.map { try HostPort(parsing: $0) } }
    let connection = HeldConnection { [self] body in try await connect(target, body) }
    defer { connection.end() }
    let service = ConsoleService(
      at: address, isReadOnly: options.isReadOnly, principal: options.user, traceURL: options.traceURL,
      connection: { try await connection.current() }, logger: Self.logger(.critical),
      onListening: { service, bound in
        let open: @Sendable () -> Void = { signIn(service.signIn(at: bound, page: options.page)) }
        open()
        Self.onEachLine(open)
      })
    try await Self.serve([service], .error)
  }

  /// The console of a coordinator in this process, for the person who runs the process.
  func console(of coordinator: Coordinator, _ setup: CoordinatorSetup, at address: HostPort?) -> ConsoleService {
    let user = Terminal.userName(environment)
    return ConsoleService(
      at: address, isReadOnly: setup.console == .readOnly, principal: user, traceURL: environment["BATON_TRACE_URL"],
      connection: {
        let caller = Caller(name: user)
        return (coordinator.calls(of: caller), caller)
      }, logger: Self.logger(.critical),
      onListening: { service, bound in
        // An hour is long enough to find the line in a terminal.
        StandardError.say("baton: the console is at \(service.signIn(at: bound, lasting: .seconds(3600)))")
      })
  }

  /// Calls `body` for each line that a person types, until the process ends. A thread of its own waits for the lines.
  private static func onEachLine(_ body: @escaping @Sendable () -> Void) {
    guard let readLine = Terminal.readAnswer else { return }
    Task { try await onOwnThread { while readLine() != nil { body() } } }
  }
}

/// A connection to a coordinator that lasts, and is made again when the coordinator does not answer any more.
private final class HeldConnection: Sendable {
  typealias Found = (api: any OperatorAPI, caller: Caller)

  private struct State {
    /// The connection, or what makes it.
    var found: Task<Found, any Error>?
    /// Holds the connection open.
    var holder: Task<Void, Never>?
    var checkedAt: Instant?
  }

  /// After how long it is asked again whether the coordinator answers and accepts the credential.
  private static let checkedFor = Duration.seconds(5)

  private let state = Mutex(State())
  private let connect: @Sendable (@escaping @Sendable (any OperatorAPI) async throws -> Void) async throws -> Void

  /// - Parameter connect: connects, calls the function with the connection, and ends it when that returns.
  init(
    _ connect: @escaping @Sendable (@escaping @Sendable (any OperatorAPI) async throws -> Void) async throws -> Void
  ) { self.connect = connect }

  func end() { drop() }

  /// The connection, and whom the coordinator takes the caller for.
  /// - Throws: `CoordinatorUnreachable`, or what else `connect` throws.
  func current() async throws -> (any OperatorAPI, Caller) {
    let now = SystemClocks.instant()
    let (task, isFresh) = state.withLock { state in
      let isFresh = state.checkedAt.map { now < $0 + Self.checkedFor } ?? false
      if state.found == nil { begin(&state) }
      guard let found = state.found else { preconditionFailure("a connection was begun") }
      return (found, isFresh)
    }
    do {
      let found = try await task.value
      if isFresh { return (found.api, found.caller) }
      let caller = try await found.api.whoAmI()
      state.withLock { state in
        guard state.found == task else { return }
        state.checkedAt = now
        state.found = Task { (found.api, caller) }
      }
      return (found.api, caller)
    } catch {
      // The next call connects again, perhaps to another coordinator.
      drop(task)
      throw error
    }
  }

  private func drop(_ task: Task<Found, any Error>? = nil) {
    let holder = state.withLock { state -> Task<Void, Never>? in
      guard task == nil || state.found == task else { return nil }
      defer { state = State() }
      return state.holder
    }
    holder?.cancel()
  }

  private func begin(_ state: inout State) {
    let (found, continuation) = AsyncThrowingStream<any OperatorAPI, any Error>.makeStream()
    state.holder = Task { [connect] in
      do {
        try await connect { api in
          continuation.yield(api)
          // Until it is cancelled.
          while true { try await Task.sleep(for: .seconds(3600)) }
        }
      } catch {
        continuation.finish(throwing: error)
      }
    }
    state.found = Task {
      for try await api in found { return (api, try await api.whoAmI()) }
      throw CancellationError()
    }
  }
}
