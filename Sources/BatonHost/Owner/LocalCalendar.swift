import BatonBase
package import BatonModel

/// A point in the host's local calendar, as a local clock shows it.
package struct LocalTime: Hashable, Sendable {
  /// Days since 1 January 1970 in the host's local calendar.
  package var day: Int
  /// The time of day that the clock shows, in seconds since midnight, 0 to 86,399.
  package var second: Int

  package var weekday: Weekday { Weekday(rawValue: ((day + 3) % 7 + 7) % 7)! }
}

package enum Weekday: Int, Hashable, Sendable, CaseIterable {
  case monday, tuesday, wednesday, thursday, friday, saturday, sunday

  /// The name as `hours` in worker.yaml has it.
  package var name: String { ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][rawValue] }

  func advanced(by days: Int) -> Weekday { Weekday(rawValue: ((rawValue + days) % 7 + 7) % 7)! }
}

/// Converts between dates and the host's local time. This is the only place that knows about time zones and daylight
/// saving.
package struct LocalCalendar: Sendable {
  /// The local time at a date.
  package var time: @Sendable (Timestamp) -> LocalTime
  /// The date at which the clock shows this local time. For a time that is skipped in spring, the result may be early
  /// or late by up to the skipped hour. For a time that comes twice in autumn, the result is one of the two dates.
  package var date: @Sendable (LocalTime) -> Timestamp

  /// The time zone of this host. It is read again for each conversion, so that a new time zone counts at once: the
  /// owner may travel.
  package static let system = LocalCalendar(
    time: { date in
      tzset()
      var seconds = time_t(date.wholeSeconds)
      var fields = tm()
      localtime_r(&seconds, &fields)
      let second = Int(fields.tm_hour * 3600 + fields.tm_min * 60 + min(fields.tm_sec, 59))
      (fields.tm_hour, fields.tm_min, fields.tm_sec) = (0, 0, 0)
      return LocalTime(day: Int(timegm(&fields)) / 86_400, second: second)
    },
    date: { time in
      var seconds = time_t(time.day * 86_400)
      var fields = tm()
      gmtime_r(&seconds, &fields)
      // `mktime` needs the hour and minute that the clock shows. On a day with a clock change, they differ from the
      // seconds that have passed since midnight.
      (fields.tm_hour, fields.tm_min) = (Int32(time.second / 3600), Int32(time.second / 60 % 60))
      fields.tm_sec = Int32(time.second % 60)
      fields.tm_isdst = -1
      return Timestamp(nanoseconds: Int64(mktime(&fields)) * 1_000_000_000)
    })
}
