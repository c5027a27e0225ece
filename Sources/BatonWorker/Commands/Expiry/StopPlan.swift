import BatonHandler
import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Which signals a running command gets, and when.
struct StopPlan: Hashable, Sendable {
  struct Step: Hashable, Sendable {
    /// Nil means at once.
    var time: ContinuousClock.Instant?
    var signal: Int32
  }

  let steps: [Step]

  /// - Parameters:
  ///   - expiry: nil for a withdrawal, which ends the command at once.
  ///   - margin: how long before the deadline SIGTERM comes, unless it comes at once.
  init(_ expiry: Expiry?, behaviour: ExpiryBehaviour, margin: Duration) {
    guard let expiry else {
      steps = [Step(signal: SIGKILL)]
      return
    }
    let warning = behaviour == .terminate ? nil : expiry.deadline - margin
    steps = [Step(time: warning, signal: SIGTERM), Step(time: expiry.deadline, signal: SIGKILL)]
  }
}
