import BatonModel

/// Decides how long a worker waits before it connects again. It uses full jitter: the wait is random between zero and a
/// ceiling that doubles with each attempt. When a coordinator goes away, all workers lose it at the same moment; the
/// random waits spread their reconnects (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter).
package struct Reconnection: Hashable, Sendable {
  /// The number of attempts since a connection last lasted.
  private var attempts = 0

  package init() {}

  /// The first ceiling. It spreads reconnects: 1,000 workers arrive at about 5 per millisecond.
  package static let shortest = Duration.milliseconds(200)
  /// The highest ceiling.
  package static let longest = Duration.milliseconds(1600)
  /// The highest ceiling for a worker that the coordinator answers and refuses, for example because another worker has
  /// its name. Only a person can change that.
  package static let longestRefused = Duration.seconds(10)
  /// A connection that lasted longer than this was successful, and the ceiling starts again at `shortest`. A connection
  /// that was refused at once does not count as successful.
  package static let success = Duration.seconds(5)

  /// Draws the wait before the next attempt.
  /// - Parameters:
  ///   - lifetime: how long the connection that has just ended lasted, or the attempt that has just failed took.
  ///   - refusals: how often in a row the coordinator has refused this worker.
  ///   - limit: an upper bound of the ceiling.
  ///   - generator: the source of random numbers.
  package mutating func next(
    afterConnectionOf lifetime: Duration, refusals: Int = 0, atMost limit: Duration,
    using generator: inout some RandomNumberGenerator
  ) -> Duration {
    attempts = lifetime > Self.success ? 1 : min(attempts + 1, Self.mostDoublings)
    let doublings = refusals > 0 ? min(refusals, Self.mostDoublings) : attempts
    let most = refusals > 0 ? Self.longestRefused : Self.longest
    let ceiling = min(Self.shortest * (1 << (doublings - 1)), most, limit)
    return .nanoseconds(Int64(generator.next(upperBound: UInt64(max(0, ceiling.nanoseconds)) + 1)))
  }

  /// The ceiling is not doubled more often than this. It has reached its limit before.
  private static let mostDoublings = 8
}
