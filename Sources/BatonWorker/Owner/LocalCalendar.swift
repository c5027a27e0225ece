package import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A point of the host's own calendar, as its clock on the wall shows it.
package struct LocalTime: Hashable, Sendable {
  /// Days since 1 January 1970, in the calendar of the host.
  package var day: Int
  /// Seconds that the clock shows since midnight, 0 up to 86,399.
  package var second: Int

  package init(day: Int, second: Int) {
    self.day = day
    self.second = second
  }

  package var weekday: Weekday { Weekday(rawValue: ((day + 3) % 7 + 7) % 7)! }
}

package enum Weekday: Int, Hashable, Sendable, CaseIterable {
  case monday, tuesday, wednesday, thursday, friday, saturday, sunday

  /// As `hours` in worker.yaml has them.
  package var name: String { ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][rawValue] }

  func advanced(by days: Int) -> Weekday { Weekday(rawValue: ((rawValue + days) % 7 + 7) % 7)! }
}

/// The host's local time. The only place that knows of time zones and daylight saving.
package struct LocalCalendar: Sendable {
  package var time: @Sendable (Timestamp) -> LocalTime
  /// When the clock shows that. A time that is skipped in spring may come out up to the skipped hour early or late; of
  /// one that comes twice in autumn, either is meant.
  package var date: @Sendable (LocalTime) -> Timestamp

  package init(
    time: @escaping @Sendable (Timestamp) -> LocalTime, date: @escaping @Sendable (LocalTime) -> Timestamp
  ) {
    self.time = time
    self.date = date
  }

  /// The time zone of this host. One that is set anew counts from the next question on: the owner may travel.
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
      // Hour and minute as the clock shows them: seconds since midnight are others on a day when it is changed.
      (fields.tm_hour, fields.tm_min) = (Int32(time.second / 3600), Int32(time.second / 60 % 60))
      fields.tm_sec = Int32(time.second % 60)
      fields.tm_isdst = -1
      return Timestamp(nanoseconds: Int64(mktime(&fields)) * 1_000_000_000)
    })
}

extension Timestamp {
  /// Seconds since 1970, cut off towards the past.
  var wholeSeconds: Int64 {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
