import BatonModel

/// How long a worker waits before it connects again: full jitter, a time by chance between nothing and a ceiling that
/// doubles with each attempt. So the workers of a fleet, who all lost their coordinator at one moment, come back
/// spread over that time instead of together (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter).
package struct Reconnection: Hashable, Sendable {
  /// Attempts since a connection last held.
  private var attempts = 0

  package init() {}

  /// The first ceiling: a thousand workers that come back within it are five in a millisecond.
  package static let shortest = Duration.milliseconds(200)
  /// The last ceiling.
  package static let longest = Duration.milliseconds(1600)
  /// The last ceiling of a worker that the coordinator answers and does not take, say because another one has its name:
  /// only a person can change that.
  package static let longestRefused = Duration.seconds(10)
  /// A connection that lasted so long was one: the ceiling begins anew. One that is refused at once was none.
  package static let success = Duration.seconds(5)

  /// - Parameters:
  ///   - lifetime: of the connection that has just ended, or of the attempt that failed.
  ///   - refusals: how often in a row the coordinator has refused this worker.
  ///   - limit: no ceiling is above it.
  package mutating func next(
    afterConnectionOf lifetime: Duration, refusals: Int = 0, atMost limit: Duration,
    using generator: inout some RandomNumberGenerator
  ) -> Duration {
    attempts = lifetime > Self.success ? 1 : min(attempts + 1, Self.mostDoublings)
    let doublings = refusals > 0 ? min(refusals, Self.mostDoublings) : attempts
    let most = refusals > 0 ? Self.longestRefused : Self.longest
    let ceiling = min(Self.shortest * (1 << (doublings - 1)), most, limit)
    return .nanoseconds(Int64.random(in: 0...max(0, ceiling.nanoseconds), using: &generator))
  }

  /// Beyond it nothing grows.
  private static let mostDoublings = 8
}

extension WorkerCore {
  /// How long this worker may wait before it tries to connect again: a tenth of the lease it holds, so that a
  /// coordinator that comes back within the lease finds it in time.
  package var longestPause: Duration {
    if case .held(_, let term, _) = lease { min(term / 10, Reconnection.longest) } else { Reconnection.longestRefused }
  }
}
