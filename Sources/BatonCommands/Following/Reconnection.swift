import BatonCoordinator
import BatonModel
import Synchronization

/// Connects again when the connection to a coordinator is lost, so that a command that watches requests survives a
/// restart of the coordinator, as the requests do. It does so only for a coordinator that has answered once.
final class Reconnection: Sendable {
  /// The most failed attempts in a row. They are half a second apart, so the command gives up after a minute.
  static let limit = 120
  static let pause = Duration.milliseconds(500)

  private let hasConnected = Mutex(false)
  private let failures = Mutex(0)
  private let limit: Int

  init(limit: Int = Reconnection.limit) { self.limit = limit }

  /// Says that the coordinator was reached: from now on, a lost connection is made again.
  func noteConnected() { hasConnected.withLock { $0 = true } }

  /// Says that the coordinator has answered: the count of failures starts again at 0.
  func noteAnswer() {
    noteConnected()
    failures.withLock { $0 = 0 }
  }

  /// Calls `body` with a connection, and again with a new connection each time the connection is lost.
  /// - Parameter body: may be called several times.
  /// - Throws: every error of `body`, and `CoordinatorUnreachable` if the coordinator was never reached, does not
  ///   accept the token, or cannot be reached for `limit` attempts in a row.
  func run<Result: Sendable>(
    _ client: ClientOptions, _ display: ProgressDisplay,
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    while true {
      do {
        return try await client.connect(body)
      } catch let lost as CoordinatorUnreachable where mayTryAgain(lost) {
        if failures.withLock({ $0 }) == 1 {
          display.note("the connection to the coordinator was lost (\(lost.message.onOneLine)); trying again")
        }
        try await CommandEnvironment.current.sleep(Self.pause)
      }
    }
  }

  private func mayTryAgain(_ lost: CoordinatorUnreachable) -> Bool {
    guard !lost.isNotPermitted, hasConnected.withLock({ $0 }) else { return false }
    return failures.withLock { failures in
      failures += 1
      return failures <= limit
    }
  }
}
