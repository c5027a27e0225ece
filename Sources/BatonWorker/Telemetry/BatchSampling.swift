/// Which batches have a span of their own, beside the first and the last of a launch, the failed and the repeated ones,
/// and those that a handler gave a child: a million batches are not a million spans.
package struct BatchSampling: Hashable, Sendable {
  /// One batch in `interval` is drawn by chance; 1 draws all batches, 0 draws no batch. The same batch of a request is
  /// drawn on every host.
  package var interval: Int
  /// A slow batch takes more than `slowFactor` times as long as usual in its launch.
  package var slowFactor: Int
  /// A slow batch also takes longer than this: where batches take milliseconds, a pause of the machine is no news.
  package var slowMinimum: Duration

  package init(interval: Int = 100, slowFactor: Int = 4, slowMinimum: Duration = .seconds(1)) {
    (self.interval, self.slowFactor, self.slowMinimum) = (interval, slowFactor, slowMinimum)
  }
}
