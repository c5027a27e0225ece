package import BatonModel

/// The hours of the week in which the owner lends the host (`hours` in worker.yaml), in the host's local time.
///
/// The hours are compared with the local time that a clock shows. In the night in which clocks go forward, a skipped
/// hour is therefore not lent. In the night in which they go back, an hour that comes twice is lent twice.
public struct LendingHours: Sendable {
  /// A span of time on each of `days`, from `start` to `end`. It ends on the next day if `end` is not later than
  /// `start`.
  package struct Span: Hashable, Sendable {
    package var days: Set<Weekday>
    /// Seconds since midnight, 0 to 86,399.
    package var start: Int
    /// Seconds since midnight, 1 to 86,400. The host is closed from this second on.
    package var end: Int

    package init(days: Set<Weekday> = Set(Weekday.allCases), start: Int, end: Int) {
      self.days = days
      self.start = start
      self.end = end
    }

    func contains(_ weekday: Weekday, second: Int) -> Bool {
      if start < end { return days.contains(weekday) && (start..<end).contains(second) }
      return (days.contains(weekday) && second >= start) || (days.contains(weekday.advanced(by: -1)) && second < end)
    }
  }

  /// An empty list means that the host is always lent.
  package let spans: [Span]
  let calendar: LocalCalendar

  package init(_ spans: [Span], calendar: LocalCalendar = .system) {
    self.spans = spans
    self.calendar = calendar
  }

  /// The host is always lent.
  public static let always = LendingHours([Span]())

  package func isOpen(_ weekday: Weekday, second: Int) -> Bool {
    spans.isEmpty || spans.contains { $0.contains(weekday, second: second) }
  }

  /// The next start of a span after this time: the number of days until then (0 to 7), and the second of that day.
  /// `nil` if there is no span.
  package func nextOpening(after weekday: Weekday, second: Int) -> (days: Int, second: Int)? {
    (0...7).lazy.compactMap { days in
      let starts = spans.filter { $0.days.contains(weekday.advanced(by: days)) && (days > 0 || $0.start > second) }
      return starts.map(\.start).min().map { (days, $0) }
    }.first
  }

  /// Returns `nil` while the host is lent. Otherwise returns `.outsideHours` with the date at which the host is lent
  /// next.
  package func word(at date: Timestamp) -> OwnersWord? {
    let time = calendar.time(date)
    guard !isOpen(time.weekday, second: time.second),
      let opening = nextOpening(after: time.weekday, second: time.second)
    else { return nil }
    return .outsideHours(
      until: settled(LocalTime(day: time.day + opening.days, second: opening.second), after: date))
  }

  /// The first date around `time` at which the host is open. `time` itself does not exist if clocks go forward over it.
  private func settled(_ time: LocalTime, after now: Timestamp) -> Timestamp {
    let nearest = calendar.date(time)
    guard calendar.time(nearest) != time else { return nearest }
    // Clocks change by up to two hours, and by a day if a country crosses the date line.
    var date = max(nearest + .seconds(-7200), now)
    let end = nearest + .seconds(25 * 3600)
    while !isOpen(at: date), date < end { date = date + .seconds(60) }
    return date
  }

  private func isOpen(at date: Timestamp) -> Bool {
    let time = calendar.time(date)
    return isOpen(time.weekday, second: time.second)
  }
}
