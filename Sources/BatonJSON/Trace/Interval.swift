package import BatonModel

/// The time from `from` to `to`, which is never before `from`.
package struct Interval: Hashable, Sendable {
  package var from: Timestamp
  package var to: Timestamp

  package init(from: Timestamp, to: Timestamp) { (self.from, self.to) = (from, max(from, to)) }

  package var duration: Duration { to - from }

  /// The part of this interval that lies within `other`. If no part does, it is empty and lies at the nearer end
  /// of `other`.
  package func clipped(to other: Interval) -> Interval {
    Interval(from: min(max(from, other.from), other.to), to: min(max(to, other.from), other.to))
  }

  /// How long the two intervals overlap.
  package func overlap(_ other: Interval) -> Duration { max(.zero, min(to, other.to) - max(from, other.from)) }
}

extension [Interval] {
  /// The intervals in order, with those that overlap or touch merged.
  package var merged: [Interval] {
    sorted { $0.from < $1.from }.reduce(into: []) { merged, next in
      if let last = merged.last, next.from <= last.to {
        merged[merged.count - 1].to = Swift.max(last.to, next.to)
      } else {
        merged.append(next)
      }
    }
  }

  /// The time that at least one of the intervals covers.
  package var duration: Duration { merged.reduce(.zero) { $0 + $1.duration } }
}
