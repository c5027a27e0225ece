package import BatonModel

/// Holds a rate: bytes are taken after they were received, and the one who took them waits until they are paid for.
package struct TokenBucket: Hashable, Sendable {
  /// Bytes in a second.
  private let rate: Double
  /// What can be taken without a wait after a silence, in bytes: as much as flows in a quarter of a second.
  private let depth: Double
  private var level: Double
  private var at: Instant

  /// - Parameter rate: bytes in a second, 1 or more.
  package init(rate: Int64, at now: Instant) {
    precondition(rate > 0, "a rate of \(rate) bytes in a second")
    self.rate = Double(rate)
    depth = max(Double(rate) / 4, 1)
    level = depth
    at = now
  }

  /// Takes bytes, and returns how long to wait before more are received; zero if there were enough.
  package mutating func take(_ bytes: Int, at now: Instant) -> Duration {
    level = min(depth, level + Double(max((now - at).nanoseconds, 0)) / 1e9 * rate) - Double(bytes)
    at = max(at, now)
    return level >= 0 ? .zero : .nanoseconds(Int64(min(-level / rate * 1e9, 1e18)))
  }
}
