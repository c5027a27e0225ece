package import BatonModel

/// The hours of the week in which the owner lends the host (`hours` in worker.yaml), in the host's local time.
///
/// Whether it is open is asked of what the clock on the wall shows. So in the night in which clocks go forward an hour
/// that is skipped is not lent, and in the night in which they go back one that comes twice is lent twice.
package struct LendingHours: Sendable {
  /// From `start` on each of `days` until `end`, on the next day where that is not later than the start.
  package struct Span: Hashable, Sendable {
    package var days: Set<Weekday>
    /// Seconds since midnight, 0 up to 86,399.
    package var start: Int
    /// Seconds since midnight, 1 up to 86,400; the host is closed from then on.
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

  /// None means that the host is always lent.
  package let spans: [Span]
  let calendar: LocalCalendar

  package init(_ spans: [Span], calendar: LocalCalendar = .system) {
    self.spans = spans
    self.calendar = calendar
  }

  package static let always = LendingHours([])

  package func isOpen(_ weekday: Weekday, second: Int) -> Bool {
    spans.isEmpty || spans.contains { $0.contains(weekday, second: second) }
  }

  /// The next start of a span after that: in how many days (0 to 7), and at which second of it. Nil if none is set.
  package func nextOpening(after weekday: Weekday, second: Int) -> (days: Int, second: Int)? {
    (0...7).lazy.compactMap { days in
      let starts = spans.filter { $0.days.contains(weekday.advanced(by: days)) && (days > 0 || $0.start > second) }
      return starts.map(\.start).min().map { (days, $0) }
    }.first
  }

  /// Nil while the host is lent; else when it is next.
  package func word(at date: Timestamp) -> OwnersWord? {
    let time = calendar.time(date)
    guard !isOpen(time.weekday, second: time.second),
      let opening = nextOpening(after: time.weekday, second: time.second)
    else { return nil }
    return .outsideHours(
      until: settled(LocalTime(day: time.day + opening.days, second: opening.second), after: date))
  }

  /// When the host is open first around `time`, which does not exist where clocks go forward over it.
  private func settled(_ time: LocalTime, after now: Timestamp) -> Timestamp {
    let nearest = calendar.date(time)
    guard calendar.time(nearest) != time else { return nearest }
    // The clock is changed by up to two hours, and by a day where a country moves over the date line.
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
