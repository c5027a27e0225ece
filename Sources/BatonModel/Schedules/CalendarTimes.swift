/// The instants at which a cron expression matches in a time zone, except on excluded dates.
///
/// When clocks change, the meaning follows cron(8) of Debian ("Special considerations exist when the clock is changed
/// by less than 3 hours"), with the same rule for a change of any size:
///
/// - An expression that names hours (`CronExpression.namesHours`) names local times, and each of them happens exactly
///   once. A time that is skipped happens at the first instant after the gap; several skipped times happen together,
///   as one instant. A time that comes twice happens the first time only. In cron(8), "if the time has moved forwards,
///   those jobs which would have run in the time that was skipped will be run soon after the change", and jobs "that
///   fall into the repeated time will not be re-run".
/// - An expression that does not name hours, such as `0 * * * *`, follows real time: it matches whenever a clock shows
///   a matching time. A day with 23 hours has 23 runs, and a day with 25 hours has 25. In cron(8), "jobs which are
///   specified with wildcards are run based on the new time immediately".
///
/// cron(8) also counts an expression as one with wildcards if its minute is `*`. Here only the hours decide: `*/5 2 * *
/// *` names 12 local times. Otherwise a job that is restricted to the hour from 02:00 would not run at all on the day
/// on which this hour is skipped.
///
/// All functions are pure: the times do not depend on the clock or on the zone of this machine.
package struct CalendarTimes: Sendable {
  package var expression: CronExpression
  package var offsets: ZoneOffsets
  /// Local dates on which nothing happens. A skipped or repeated time belongs to the date that the expression names,
  /// even if clocks show another date when it happens.
  package var excludedDates: Set<CivilDate>

  package init(_ expression: CronExpression, in offsets: ZoneOffsets, excluding excludedDates: Set<CivilDate> = []) {
    self.expression = expression
    self.offsets = offsets
    self.excludedDates = excludedDates
  }

  /// How far `next(after:)` looks ahead: 50 years. Without excluded dates there is always an earlier time: 29 February
  /// comes at least every 8 years, and a fifth Friday of February at least every 40.
  package static let horizonInDays = 18_263

  /// The first instant that is strictly later than `time`, at a whole second.
  ///
  /// A later `time` never gives an earlier instant. The work has a bound: each search goes over at
  /// most 600 months.
  /// - Returns: `nil` if there is no instant in the 50 years after `time`, or within the range of `Timestamp`.
  package func next(after time: Timestamp) -> Timestamp? {
    let instant = time.nanoseconds.dividedDown(by: 1_000_000_000)
    guard let next = expression.namesHours ? nextNamed(after: instant) : nextShown(after: instant) else { return nil }
    let (nanoseconds, overflow) = next.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? nil : Timestamp(nanoseconds: nanoseconds)
  }

  /// The instants that are strictly later than `start` and not later than `end`, from the earliest on.
  ///
  /// To count the times that were missed, give the last time that was handled as `start` and now as `end`.
  /// - Parameter limit: the most instants that are returned. Work and memory are proportional to it. To learn whether
  ///   there are more than `limit`, ask for one more.
  package func times(after start: Timestamp, through end: Timestamp, limit: Int) -> [Timestamp] {
    var times: [Timestamp] = []
    var last = start
    while times.count < limit, let time = next(after: last), time <= end {
      times.append(time)
      last = time
    }
    return times
  }

  /// The first instant of a local time that clocks have not shown yet. A time that comes twice is over the first time.
  private func nextNamed(after instant: Int64) -> Int64? {
    let shown = offsets.latestLocalTime(through: instant)
    return first(after: shown, horizonFrom: shown).map(offsets.instant)
  }

  /// The first instant at which clocks show a matching time.
  private func nextShown(after instant: Int64) -> Int64? {
    let start = offsets.localTime(at: instant)
    var instant = instant
    // Until the clocks change, the first matching time comes at `expected`. Each round passes a change, or skips days
    // that have no matching time at any offset.
    while true {
      let shown = offsets.localTime(at: instant)
      guard let time = first(after: shown, horizonFrom: start) else { return nil }
      let expected = instant + (time.secondsSince1970 - shown.secondsSince1970)
      let isNear = expected - instant <= 2 * ZoneOffsets.window
      let end = isNear ? expected : instant + ZoneOffsets.window
      if let change = offsets.firstChange(after: instant, through: end) {
        if happens(at: offsets.localTime(at: change)) { return change }
        instant = change
      } else if isNear {
        return expected
      } else {
        instant = expected - ZoneOffsets.window
      }
    }
  }

  private func first(after time: CivilTime, horizonFrom start: CivilTime) -> CivilTime? {
    expression.first(after: time, excluding: excludedDates, through: start.daysSince1970 + Self.horizonInDays)
  }

  private func happens(at time: CivilTime) -> Bool {
    expression.matches(time) && !excludedDates.contains(time.date)
  }
}
