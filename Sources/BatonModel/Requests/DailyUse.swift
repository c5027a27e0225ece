/// How much of a daily allowance is used. Launch time is counted for each day of the steady clock (contract, row 17).
package struct DailyUse: Hashable, Sendable {
  /// The day for which `used` counts, in days since 1970 on the steady clock. A new day refills the allowance.
  package var day: Int64
  package var used: Duration

  package init(day: Int64 = 0, used: Duration = .zero) {
    self.day = day
    self.used = used
  }

  private static let dayLength: Int64 = 86_400_000_000_000

  private static func day(of steady: Timestamp) -> Int64 {
    let (day, rest) = steady.nanoseconds.quotientAndRemainder(dividingBy: dayLength)
    return rest < 0 ? day - 1 : day
  }

  /// When the day of `steady` ends.
  package static func refill(after steady: Timestamp) -> Timestamp {
    let (end, overflow) = (day(of: steady) + 1).multipliedReportingOverflow(by: dayLength)
    return overflow ? .distantFuture : Timestamp(nanoseconds: end)
  }

  /// The launch time that is used on the day of `steady`.
  package func used(at steady: Timestamp) -> Duration { Self.day(of: steady) == day ? used : .zero }

  /// Both uses together. Of two days only the later one counts.
  package func joined(with other: DailyUse) -> DailyUse {
    if day != other.day { return day > other.day ? self : other }
    return DailyUse(day: day, used: used + other.used)
  }

  /// Counts launch time that ends at `steady`. Time before midnight counts towards the previous day, and is not added.
  package mutating func charge(_ duration: Duration, at steady: Timestamp) {
    let today = Self.day(of: steady)
    if today != day { self = DailyUse(day: today) }
    used += min(max(duration, .zero), Self.sinceMidnight(steady))
  }

  private static func sinceMidnight(_ steady: Timestamp) -> Duration {
    .nanoseconds(steady.nanoseconds - day(of: steady) * dayLength)
  }
}
