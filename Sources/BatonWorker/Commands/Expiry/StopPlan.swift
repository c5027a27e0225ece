import BatonBase
import BatonHandler
import BatonModel

/// Decides which signals a running command gets, and when.
struct StopPlan: Hashable, Sendable {
  struct Step: Hashable, Sendable {
    /// When to send the signal; `nil` for at once.
    var time: ContinuousClock.Instant?
    var signal: Int32
  }

  let steps: [Step]

  /// - Parameters:
  ///   - expiry: `nil` for a withdrawal, which kills the command at once.
  ///   - behaviour: whether SIGTERM is sent at once, or before the deadline. It is always sent at once to a batch that
  ///     takes too long.
  ///   - margin: how long before the deadline SIGTERM is sent, unless it is sent at once.
  init(_ expiry: Expiry?, behaviour: ExpiryBehaviour, margin: Duration) {
    guard let expiry else {
      steps = [Step(signal: SIGKILL)]
      return
    }
    let isAtOnce = behaviour == .terminate || expiry.reason == .batchTimedOut
    let warning = isAtOnce ? nil : expiry.deadline - margin
    steps = [Step(time: warning, signal: SIGTERM), Step(time: expiry.deadline, signal: SIGKILL)]
  }
}
