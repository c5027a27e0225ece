/// How many values fell into which bucket.
package struct HistogramCounts: Hashable, Sendable {
  /// They rise; a value that is equal to one belongs below it.
  package let bounds: [Double]
  /// One more than there are bounds: the last bucket has no upper one.
  package private(set) var counts: [UInt64]
  package private(set) var sum: Double = 0

  package init(bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  package var count: UInt64 { counts.reduce(0, +) }

  /// What is not a finite number is left out: it would spoil the sum for ever.
  package mutating func record(_ value: Double) {
    guard value.isFinite else { return }
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
  }

  /// For each bound, and for no bound at last, how many values are not above it.
  package var cumulative: [(bound: Double, count: UInt64)] {
    var total: UInt64 = 0
    return zip(bounds + [.infinity], counts).map { bound, count in
      total += count
      return (bound, total)
    }
  }
}
