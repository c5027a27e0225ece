/// Chooses which batches have their own span, so that a million batches do not become a million spans. Some batches are
/// always sent: the first and the last batch of a launch, failed and repeated batches, and batches in which the handler
/// made a child span.
public struct BatchSampling: Hashable, Sendable {
  /// One batch in `interval` is chosen at random; 1 means every batch, 0 none; by default 100. The same batch of a
  /// request is chosen on every host.
  public var interval: Int
  /// A slow batch takes more than `slowFactor` times as long as batches of its launch usually take; by default 4.
  public var slowFactor: Int
  /// A slow batch also takes longer than this; by default 1 s. If batches take milliseconds, a short pause of the
  /// machine is not worth a span.
  public var slowMinimum: Duration

  /// Creates settings with the defaults that each property describes.
  public init(interval: Int = 100, slowFactor: Int = 4, slowMinimum: Duration = .seconds(1)) {
    (self.interval, self.slowFactor, self.slowMinimum) = (interval, slowFactor, slowMinimum)
  }
}
