/// The times that a cron expression names, such as `30 2 * * 1-5` for 02:30 on weekdays.
///
/// The meaning is that of crontab(5), with `L`, `#` and the names of days and months as in croniter. An expression says
/// which local times match. `CalendarTimes` says which instants these are in a time zone.
package struct CronExpression: Hashable, Sendable, CustomStringConvertible {
  /// The text as it was written.
  package let text: String
  /// From 0 to 59.
  let minutes: CronValues
  /// From 0 to 23.
  let hours: CronValues
  /// From 1 to 12.
  let months: CronValues
  let days: CronDays

  /// Whether the expression names hours, because its hour field does not have all 24: it then names local times, each
  /// of which happens once on its day. An expression that does not name hours follows real time. The difference
  /// matters when clocks change; `CalendarTimes` describes it.
  package var namesHours: Bool { !hours.contains(all: CronField.hour.range) }

  /// The text as it was written.
  package var description: String { text }

  /// Whether `time` is one of the local times that the expression names. Its second has to be 0.
  package func matches(_ time: CivilTime) -> Bool {
    let (second, date) = (time.secondOfDay, time.date)
    return second % 60 == 0 && minutes.contains(second / 60 % 60) && hours.contains(second / 3_600) && matches(date)
  }

  /// Whether some time of `date` matches.
  package func matches(_ date: CivilDate) -> Bool {
    months.contains(date.month)
      && days.contains(date.day, weekday: date.weekday, length: CivilDate.length(ofMonth: date.month, year: date.year))
  }

  /// The first matching local time that is later than `time`.
  /// - Parameters:
  ///   - excluded: dates on which no time matches.
  ///   - lastDay: the last day that is searched, in days since 1970-01-01. It limits the work.
  /// - Returns: `nil` if no time matches until the end of that day.
  func first(after time: CivilTime, excluding excluded: Set<CivilDate>, through lastDay: Int) -> CivilTime? {
    let minute = time.secondOfDay / 60 + 1
    let today = time.date
    if time.daysSince1970 <= lastDay, matches(today), !excluded.contains(today),
      let (hour, minute) = firstTime(from: minute)
    {
      return CivilTime(today, hour: hour, minute: minute)
    }
    guard let date = firstDate(after: time.daysSince1970, excluding: excluded, through: lastDay),
      let (hour, minute) = firstTime(from: 0)
    else { return nil }
    return CivilTime(date, hour: hour, minute: minute)
  }

  /// - Parameter minute: a minute of the day, from 0 to 1,440.
  /// - Returns: the first matching time of a day from this minute on.
  private func firstTime(from minute: Int) -> (hour: Int, minute: Int)? {
    let hour = minute / 60
    if hours.contains(hour), let minute = minutes.first(from: minute % 60) { return (hour, minute) }
    guard let later = hours.first(from: minute % 60 == 0 ? hour : hour + 1), let first = minutes.first(from: 0) else {
      return nil
    }
    return (later, first)
  }

  private func firstDate(after day: Int, excluding excluded: Set<CivilDate>, through lastDay: Int) -> CivilDate? {
    var firstOfMonth = day + 1
    while firstOfMonth <= lastDay {
      let start = CivilDate(daysSince1970: firstOfMonth)
      let length = CivilDate.length(ofMonth: start.month, year: start.year)
      if months.contains(start.month) {
        for offset in 0...(length - start.day) where firstOfMonth + offset <= lastDay {
          let weekday = CivilDate.weekday(daysSince1970: firstOfMonth + offset)
          guard days.contains(start.day + offset, weekday: weekday, length: length) else { continue }
          let date = CivilDate(daysSince1970: firstOfMonth + offset)
          if !excluded.contains(date) { return date }
        }
      }
      firstOfMonth += length - start.day + 1
    }
    return nil
  }
}

/// A set of numbers from 0 to 63.
struct CronValues: Hashable, Sendable {
  private var bits: UInt64 = 0

  init() {}

  init(_ range: ClosedRange<Int>) { for value in range { insert(value) } }

  mutating func insert(_ value: Int) { bits |= 1 << UInt64(value) }

  mutating func formUnion(_ other: Self) { bits |= other.bits }

  func contains(_ value: Int) -> Bool { bits & (1 << UInt64(value)) != 0 }

  func contains(all values: ClosedRange<Int>) -> Bool { values.allSatisfy(contains) }

  var isEmpty: Bool { bits == 0 }

  /// The smallest number of the set that is at least `value`.
  func first(from value: Int) -> Int? {
    let rest = bits & (UInt64.max << UInt64(value))
    return rest == 0 ? nil : rest.trailingZeroBitCount
  }
}

/// The days that the day of month and the day of week of an expression match together.
struct CronDays: Hashable, Sendable {
  /// From 1 to 31.
  var monthDays = CronValues()
  /// `L`: the last day of each month.
  var hasLastDay = false
  /// From 0 (Sunday) to 6.
  var weekdays = CronValues()
  /// `5#2`, the second Friday: each weekday of a month with its number, as `index(ofWeekday:number:)` gives it.
  var numberedWeekdays = CronValues()
  /// `L5`, the last Friday: from 0 (Sunday) to 6.
  var lastWeekdays = CronValues()
  /// False if the day of month is restricted.
  var hasEveryMonthDay = false
  /// False if the day of week is restricted.
  var hasEveryWeekday = false

  /// The index of a weekday that is the first to fifth of its month.
  static func index(ofWeekday weekday: Int, number: Int) -> Int { (number - 1) * 7 + weekday }

  /// Whether a day matches. If both fields are restricted, a day matches if either field does (crontab(5)).
  /// - Parameter length: the number of days of the month.
  func contains(_ day: Int, weekday: Int, length: Int) -> Bool {
    let monthDay = hasEveryMonthDay || monthDays.contains(day) || (hasLastDay && day == length)
    if hasEveryWeekday { return monthDay }
    if monthDay && !hasEveryMonthDay { return true }
    return weekdays.contains(weekday) || (lastWeekdays.contains(weekday) && day + 7 > length)
      || numberedWeekdays.contains(Self.index(ofWeekday: weekday, number: (day + 6) / 7))
  }
}
