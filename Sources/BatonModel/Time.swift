/// A point in time, in nanoseconds since 1970 UTC.
///
/// It is a time of the wall clock, unless a declaration says that it is a time of the steady clock (see `Moment`). A
/// time of the wall clock records when something happened; only dates that a person wrote down and the hours of a
/// host's owner are compared with it (promise P7).
public struct Timestamp: Hashable, Sendable, Comparable, Codable {
  /// Nanoseconds since 1970 UTC. The range is about the years 1678 to 2262.
  public var nanoseconds: Int64

  /// A point in time from nanoseconds since 1970 UTC.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// A time later than every date. It is the earliest begin time of a request that waits for an event instead of a
  /// time.
  package static let distantFuture = Timestamp(nanoseconds: .max)

  /// Whether `left` is earlier.
  public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The time that is `right` after `left`. The sum saturates instead of overflowing: a sum after the year 2262 is the
  /// latest time that fits.
  public static func + (left: Self, right: Duration) -> Self {
    let (sum, overflow) = left.nanoseconds.addingReportingOverflow(right.nanoseconds)
    return overflow ? (right < .zero ? Timestamp(nanoseconds: .min) : .distantFuture) : Timestamp(nanoseconds: sum)
  }

  /// The duration from `right` to `left`. The difference saturates at about 292 years instead of overflowing.
  public static func - (left: Self, right: Self) -> Duration {
    let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
    return .nanoseconds(overflow ? (left > right ? .max : .min) : difference)
  }

  /// Reads nanoseconds since 1970 UTC.
  public init(from decoder: any Decoder) throws {
    nanoseconds = try decoder.singleValueContainer().decode(Int64.self)
  }

  /// Writes nanoseconds since 1970 UTC.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(nanoseconds)
  }
}

/// A point in time of the monotonic clock of one process, in nanoseconds since an arbitrary start. Leases, budgets and
/// deadlines are compared on this clock. Instants of two processes cannot be compared.
package struct Instant: Hashable, Sendable, Comparable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

  package static func + (left: Self, right: Duration) -> Self {
    let (sum, overflow) = left.nanoseconds.addingReportingOverflow(right.nanoseconds)
    return Instant(nanoseconds: overflow ? (right < .zero ? .min : .max) : sum)
  }

  /// The duration from `right` to `left`. The difference saturates instead of overflowing.
  package static func - (left: Self, right: Self) -> Duration {
    let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
    return .nanoseconds(overflow ? (left > right ? .max : .min) : difference)
  }
}

/// The time as the store uses it: the wall clock for dates, and the steady clock for durations.
///
/// Delays, spacing, backoff and allowances are measured with the steady clock. The steady clock agrees with the wall
/// clock when a store is made. It goes on over restarts and never steps, so that a step of the wall clock starts
/// nothing early and strands nothing (promise P7). Only a date that a person wrote down is compared with the wall
/// clock.
package struct Moment: Hashable, Sendable {
  /// The time of the wall clock.
  package var date: Timestamp
  /// The time of the steady clock.
  package var steady: Timestamp

  package init(date: Timestamp, steady: Timestamp) {
    self.date = date
    self.steady = steady
  }

  /// A moment at which both clocks show the same time.
  package init(_ both: Timestamp) { self.init(date: both, steady: both) }

  /// The time that the wall clock will show when the steady clock shows `steady`, unless the wall clock steps before.
  /// `distantFuture` stays as it is.
  package func date(ofSteady steady: Timestamp) -> Timestamp {
    steady == .distantFuture ? steady : date + (steady - self.steady)
  }

  package static func + (left: Self, right: Duration) -> Self {
    Moment(date: left.date + right, steady: left.steady + right)
  }
}

/// All clocks, read at the same time. Every decision takes this value. Leases, deadlines and progress are measured with
/// `instant`.
package struct Now: Hashable, Sendable {
  package var instant: Instant
  package var date: Timestamp
  package var steady: Timestamp

  /// - Parameter steady: the time of the steady clock. `nil` means that it agrees with the wall clock.
  package init(instant: Instant, date: Timestamp, steady: Timestamp? = nil) {
    self.instant = instant
    self.date = date
    self.steady = steady ?? date
  }

  package var moment: Moment { Moment(date: date, steady: steady) }
}

extension Duration {
  /// Whole nanoseconds. A duration beyond 64 bits of nanoseconds (292 years) becomes the longest that fits.
  public var nanoseconds: Int64 {
    let magnitude = attoseconds.magnitude
    let (high, low) = (UInt64(truncatingIfNeeded: magnitude >> 64), UInt64(truncatingIfNeeded: magnitude))
    // A longer duration does not fit in 64 bits. This code does not use `components`, which would divide 128 bits twice
    // in every sum of times.
    guard high < 500_000_000 else { return attoseconds < 0 ? .min : .max }
    let whole = Int64(UInt64(1_000_000_000).dividingFullWidth((high, low)).quotient)
    return attoseconds < 0 ? -whole : whole
  }

  /// The duration in seconds.
  public var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

extension Duration {
  /// The duration in its two largest units, for people: `340ms`, `12s`, `3m 12s`, `2h 5m`, `4d 3h`. A negative duration
  /// is `0s`.
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
