package import BatonModel
internal import Synchronization

/// How many spans of this process were dropped: `baton_spans_dropped_total`.
package final class SpanDrops: Sendable {
  private let count = Atomic<Int>(0)

  package init() {}

  package var total: Int { count.load(ordering: .relaxed) }

  func set(_ total: Int) { count.store(total, ordering: .relaxed) }
}

/// Decides when drops get a line in the log: the first drop at once, later drops at most once a minute, with their
/// number since the last line.
package struct DropReport: Hashable, Sendable {
  package var pause = Duration.seconds(60)
  private var reported = 0
  private var next: Instant?

  package init() {}

  /// How many drops to report now, nil for none.
  package mutating func due(total: Int, at now: Instant, isLast: Bool = false) -> Int? {
    guard total > reported, isLast || next.map({ $0 <= now }) ?? true else { return nil }
    defer { (reported, next) = (total, now + pause) }
    return total - reported
  }
}
