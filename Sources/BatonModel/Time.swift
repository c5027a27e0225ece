/// A point of the wall clock, in nanoseconds since 1970 UTC. It records when something happened, and decides whether a
/// date in a definition has come; it decides nothing else (promise P7).
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
    return Instant(nanoseconds: overflow ? (right < .zero ? .min : .max) : sum)
  }

  /// Saturates instead of overflowing.
  package static func - (left: Self, right: Self) -> Duration {
    let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
    return .nanoseconds(overflow ? (left > right ? .max : .min) : difference)
  }
}

/// The time as the store takes it: the wall clock for dates, and a steady clock for durations.
///
/// Delays, spacing, backoff and allowances are measured with the steady clock. The steady clock agrees with the wall
/// clock when a store is made, goes on over restarts, and never steps; so a step of the wall clock starts nothing early
/// and strands nothing (promise P7). Only a date that a person wrote down is compared with the wall clock.
package struct Moment: Hashable, Sendable {
  package var date: Timestamp
  package var steady: Timestamp

  package init(date: Timestamp, steady: Timestamp) {
    self.date = date
    self.steady = steady
  }

  /// A point at which both clocks agree.
  package init(_ both: Timestamp) { self.init(date: both, steady: both) }

  /// What the wall clock will show when the steady clock shows `steady`, if it does not step before.
  package func date(ofSteady steady: Timestamp) -> Timestamp {
    steady == .distantFuture ? steady : date + (steady - self.steady)
  }

  package static func + (left: Self, right: Duration) -> Self {
    Moment(date: left.date + right, steady: left.steady + right)
  }
}

/// All clocks, read together: the fact that every decision takes. Leases, deadlines and progress go by `instant`.
package struct Now: Hashable, Sendable {
  package var instant: Instant
  package var date: Timestamp
  package var steady: Timestamp

  /// - Parameter steady: nil means that nobody has set the clock right yet, and it agrees with the wall clock.
  package init(instant: Instant, date: Timestamp, steady: Timestamp? = nil) {
    self.instant = instant
    self.date = date
    self.steady = steady ?? date
  }

  package var moment: Moment { Moment(date: date, steady: steady) }
}

extension Duration {
  /// Whole nanoseconds, saturated to what 64 bits hold (292 years).
  public var nanoseconds: Int64 {
    let magnitude = attoseconds.magnitude
    let (high, low) = (UInt64(truncatingIfNeeded: magnitude >> 64), UInt64(truncatingIfNeeded: magnitude))
    // What is longer does not fit. `components` would divide 128 bits twice, for every sum of times.
    guard high < 500_000_000 else { return attoseconds < 0 ? .min : .max }
    let whole = Int64(UInt64(1_000_000_000).dividingFullWidth((high, low)).quotient)
    return attoseconds < 0 ? -whole : whole
  }

  public var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

extension Duration {
  /// The two largest units, as people say it: `340ms`, `12s`, `3m 12s`, `2h 5m`, `4d 3h`.
  package var inWords: String {
    let milliseconds = max(0, nanoseconds / 1_000_000)
    if milliseconds < 1_000 { return milliseconds == 0 ? "0s" : "\(milliseconds)ms" }
    let units: [(name: String, size: Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]
    let seconds = milliseconds / 1_000
    let first = units.firstIndex { $0.size <= seconds } ?? units.count - 1
    let large = "\(seconds / units[first].size)\(units[first].name)"
    guard first + 1 < units.count else { return large }
    let small = seconds % units[first].size / units[first + 1].size
    return small == 0 ? large : "\(large) \(small)\(units[first + 1].name)"
  }
}
