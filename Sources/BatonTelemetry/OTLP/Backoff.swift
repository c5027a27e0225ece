internal import BatonModel

/// How long to wait before a batch is sent again.
///
/// A wait doubles from `first` up to `longest`, and half of it is drawn: many workers that lost one backend come back
/// one after the other. Values: starred defaults, near those of OpenTelemetry's Java SDK and Collector.
package struct Backoff: Hashable, Sendable {
  package var first: Duration = .seconds(1)
  package var longest: Duration = .seconds(30)
  /// The longest that a backend may ask for with `Retry-After`: a wrong date must not stop exports for ever.
  package var longestAsked: Duration = .seconds(600)
  /// How often one batch is tried before it is dropped and counted; its time may be over before.
  package var attempts = 8

  package init() {}

  /// - Parameters:
  ///   - attempt: how many have failed, from 1.
  ///   - asked: what the backend asked for, which counts for more, and is not drawn: it is what it is.
  ///   - draw: from 0 up to 1, from the caller's generator.
  package func wait(after attempt: Int, asked: Duration?, draw: Double) -> Duration {
    if let asked { return min(max(asked, .zero), longestAsked) }
    let doubled = attempt > 30 ? longest : first * (1 << max(0, attempt - 1))
    let whole = min(doubled, longest).nanoseconds
    return .nanoseconds(whole / 2 + Int64(Double(whole / 2) * min(max(draw, 0), 1)))
  }
}
