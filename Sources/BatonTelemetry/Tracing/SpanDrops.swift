package import BatonModel
internal import Synchronization

/// Counts the spans that this process dropped, for the metric `baton_spans_dropped_total`.
package final class SpanDrops: Sendable {
  private let count = Atomic<Int>(0)

  package init() {}

  package var total: Int { count.load(ordering: .relaxed) }

  func set(_ total: Int) { count.store(total, ordering: .relaxed) }
}

/// Decides when dropped spans are logged: the first drop at once, later drops at most once per `pause`, with their
/// number since the last log line.
package struct DropReport: Hashable, Sendable {
  package var pause = Duration.seconds(60)
  private var reported = 0
  private var next: Instant?

  package init() {}

  /// The number of drops to log now; `nil` if there is nothing to log.
  ///
  /// - Parameters:
  ///   - total: how many spans have been dropped since the start.
  ///   - isLast: true to log all drops that have not been logged yet, even if `pause` has not passed.
  package mutating func due(total: Int, at now: Instant, isLast: Bool = false) -> Int? {
    guard total > reported, isLast || next.map({ $0 <= now }) ?? true else { return nil }
    defer { (reported, next) = (total, now + pause) }
    return total - reported
  }
}
