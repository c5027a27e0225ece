/// A point of the wall clock, in nanoseconds since 1970 UTC. It says when a date in a definition is reached, and when
/// something happened; it decides nothing else (promise P7).
public struct Timestamp: Hashable, Sendable, Comparable, Codable {
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Later than every date; a request that waits for an event rather than a time is eligible then.
  package static let distantFuture = Timestamp(nanoseconds: .max)

  public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

  /// Saturates instead of overflowing: a sum past the year 2262 is `distantFuture`.
  public static func + (left: Self, right: Duration) -> Self {
    let (sum, overflow) = left.nanoseconds.addingReportingOverflow(right.nanoseconds)
    return overflow ? (right < .zero ? Timestamp(nanoseconds: .min) : .distantFuture) : Timestamp(nanoseconds: sum)
  }

  public static func - (left: Self, right: Self) -> Duration {
    let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
    return .nanoseconds(overflow ? (left > right ? .max : .min) : difference)
  }

  public init(from decoder: any Decoder) throws {
    nanoseconds = try decoder.singleValueContainer().decode(Int64.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(nanoseconds)
  }
}

/// A point of the monotonic clock of one process, in nanoseconds since an arbitrary start. Everything that decides on
/// time compares these.
package struct Instant: Hashable, Sendable, Comparable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

  package static func + (left: Self, right: Duration) -> Self {
    let (sum, overflow) = left.nanoseconds.addingReportingOverflow(right.nanoseconds)
    return Instant(nanoseconds: overflow ? .max : sum)
  }

  package static func - (left: Self, right: Self) -> Duration { .nanoseconds(left.nanoseconds - right.nanoseconds) }
}

/// Both clocks, read together: the fact that every decision takes.
package struct Now: Hashable, Sendable {
  package var instant: Instant
  package var date: Timestamp

  package init(instant: Instant, date: Timestamp) {
    self.instant = instant
    self.date = date
  }
}

extension Duration {
  /// Whole nanoseconds, saturated to what 64 bits hold (292 years).
  public var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || overflow2 ? (seconds < 0 ? .min : .max) : sum
  }

  public var inSeconds: Double { Double(nanoseconds) / 1e9 }
}
