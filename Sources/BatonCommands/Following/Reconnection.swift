import BatonCoordinator
import BatonModel
import Synchronization

/// Tries again when the connection to a coordinator that did answer is lost: requests go on while it restarts, and so
/// does whoever watches them.
final class Reconnection: Sendable {
  /// Tries in a row, half a second apart: after a minute the command gives up.
  static let limit = 120
  static let pause = Duration.milliseconds(500)

  private let hasConnected = Mutex(false)
  private let failures = Mutex(0)
  private let limit: Int

  init(limit: Int = Reconnection.limit) { self.limit = limit }

  /// From now on a lost connection is tried again.
  func noteConnected() { hasConnected.withLock { $0 = true } }

  /// The coordinator does what it should: earlier failures are forgotten.
  func noteAnswer() {
    noteConnected()
    failures.withLock { $0 = 0 }
  }

  /// - Parameter body: may be called several times.
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
