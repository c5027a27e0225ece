import BatonModel

/// From one time to another, which is not before it.
struct Interval: Hashable, Sendable {
  var from: Timestamp
  var to: Timestamp

  init(from: Timestamp, to: Timestamp) { (self.from, self.to) = (from, max(from, to)) }

  var duration: Duration { to - from }

  /// What of it lies within `other`; empty at an end of it if nothing does.
  func clipped(to other: Interval) -> Interval {
    Interval(from: min(max(from, other.from), other.to), to: min(max(to, other.from), other.to))
  }

  /// How long both last together.
  func overlap(_ other: Interval) -> Duration { max(.zero, min(to, other.to) - max(from, other.from)) }
}

extension [Interval] {
  /// The same times, each once: those that overlap or touch are one.
  var merged: [Interval] {
    sorted { $0.from < $1.from }.reduce(into: []) { merged, next in
      if let last = merged.last, next.from <= last.to {
        merged[merged.count - 1].to = Swift.max(last.to, next.to)
      } else {
        merged.append(next)
      }
    }
  }

  /// How long any of them lasts.
  var duration: Duration { merged.reduce(.zero) { $0 + $1.duration } }
}
