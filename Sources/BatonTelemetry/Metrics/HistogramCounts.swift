/// The contents of one histogram series: how many values fell into each bucket, and their sum.
package struct HistogramCounts: Hashable, Sendable {
  /// The upper bounds of the buckets, in ascending order. A value that is equal to a bound belongs to the bucket below
  /// it.
  package let bounds: [Double]
  /// The number of values in each bucket. There is one bucket more than there are bounds, because the last bucket has
  /// no upper bound.
  package private(set) var counts: [UInt64]
  package private(set) var sum: Double = 0

  package init(bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  package var count: UInt64 { counts.reduce(0, +) }

  /// Counts a value. NaN and infinite values are ignored, because they would make the sum useless for ever.
  package mutating func record(_ value: Double) {
    guard value.isFinite else { return }
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
  }

  /// For each bound, and at last for infinity, how many values are not above it.
  package var cumulative: [(bound: Double, count: UInt64)] {
    var total: UInt64 = 0
    return zip(bounds + [.infinity], counts).map { bound, count in
      total += count
      return (bound, total)
    }
  }
}
