internal import BatonModel

/// Computes how long to wait before a batch of spans is sent again.
///
/// The wait doubles from `first` up to `longest`. Half of it is random, so that many workers that lost one backend do
/// not all return at once. The values are near those of OpenTelemetry's Java SDK and Collector.
package struct Backoff: Hashable, Sendable {
  package var first: Duration = .seconds(1)
  package var longest: Duration = .seconds(30)
  /// The longest wait that a backend may ask for with `Retry-After`. Without a limit, a wrong date could stop exports
  /// for ever.
  package var longestAsked: Duration = .seconds(600)
  /// How often one batch is tried before it is dropped and counted. It may be dropped earlier, when its time is used
  /// up.
  package var attempts = 8

  package init() {}

  /// Returns how long to wait after a failed attempt.
  ///
  /// - Parameters:
  ///   - attempt: the number of attempts that have failed, from 1.
  ///   - asked: the wait that the backend asked for. It takes precedence, and no part of it is random.
  ///   - draw: a random number from 0 up to but not including 1.
  package func wait(after attempt: Int, asked: Duration?, draw: Double) -> Duration {
    if let asked { return min(max(asked, .zero), longestAsked) }
    let doubled = attempt > 30 ? longest : first * (1 << max(0, attempt - 1))
    let whole = min(doubled, longest).nanoseconds
    return .nanoseconds(whole / 2 + Int64(Double(whole / 2) * min(max(draw, 0), 1)))
  }
}
