import BatonBase
import BatonModel
import ContractRows
import Testing

@testable import BatonHost

@Suite("The hours in which a host is lent")
struct LendingHoursTests {
  private static let hour = 3600

  @Test(
    "a night goes on after midnight, also over the end of the week, and days are those of its start",
    arguments: [
      (["22:00-07:00"], .monday, 22 * hour, true), (["22:00-07:00"], .monday, 22 * hour - 1, false),
      (["22:00-07:00"], .tuesday, 7 * hour - 1, true), (["22:00-07:00"], .tuesday, 7 * hour, false),
      (["Sun 22:00-07:00"], .monday, 6 * hour, true), (["Sun 22:00-07:00"], .sunday, 6 * hour, false),
      (["Sun 22:00-07:00"], .monday, 23 * hour, false), (["Sat,Sun 00:00-24:00"], .sunday, 86_399, true),
      (["Sat,Sun 00:00-24:00"], .monday, 0, false), (["Sat,Sun 00:00-24:00"], .friday, 86_399, false),
      (["Mon-Fri 12:00-13:00"], .friday, 12 * hour, true), (["Mon-Fri 12:00-13:00"], .saturday, 12 * hour, false),
      (["Fri-Mon 12:00-13:00"], .sunday, 12 * hour, true), (["Fri-Mon 12:00-13:00"], .tuesday, 12 * hour, false),
      (["Mon,Wed-Thu 12:00-13:00"], .wednesday, 12 * hour, true),
      (["08:00-09:00", "10:00-11:00"], .monday, 10 * hour, true),
      (["08:00-09:00", "10:00-11:00"], .monday, 9 * hour, false), ([], .monday, 0, true),
    ] as [([String], Weekday, Int, Bool)])
  func isOpen(texts: [String], day: Weekday, second: Int, expected: Bool) throws {
    #expect(try LendingHours(parsing: texts).isOpen(day, second: second) == expected)
  }

  @Test(
    "the next opening is the first start after now",
    arguments: [
      (["22:00-07:00"], .monday, 8 * hour, 0, 22 * hour), (["Mon-Fri 12:00-13:00"], .friday, 13 * hour, 3, 12 * hour),
      (["Mon 12:00-13:00"], .monday, 13 * hour, 7, 12 * hour), (["Sat,Sun 00:00-24:00"], .monday, 0, 5, 0),
      (["18:00-19:00", "06:00-07:00"], .monday, 8 * hour, 0, 18 * hour),
      (["18:00-19:00", "06:00-07:00"], .monday, 20 * hour, 1, 6 * hour),
    ] as [([String], Weekday, Int, Int, Int)])
  func opening(texts: [String], day: Weekday, second: Int, days: Int, at: Int) throws {
    let opening = try #require(try LendingHours(parsing: texts).nextOpening(after: day, second: second))
    #expect(opening.days == days && opening.second == at)
  }

  @Test(
    "what cannot be understood says what is wrong, and what hours look like",
    arguments: [
      ("25:00-07:00", "'25:00' is not a time from 00:00 to 24:00"), ("22:60-07:00", "'22:60'"),
      ("22-07:00", "'22' is not a time HH:MM"), ("9:00-17:00", "'9:00' is not a time HH:MM"),
      ("Mon 24:00-07:00", "write 00:00 of the next day"), ("22:00-00:00", "write 24:00 for an end at midnight"),
      ("07:00-07:00", "write 00:00-24:00 for a whole day"), ("mon 07:00-08:00", "'mon' is not a day; use Mon, Tue"),
      ("Monday 07:00-08:00", "'Monday' is not a day"),
      ("Mon-Wed-Fri 07:00-08:00", "'Mon-Wed-Fri' is not a day or a range of days"),
      ("Mon, 07:00-08:00", "'' is not a day"), ("Mon  07:00-08:00", ""), ("07:00-08:00 Mon", ""), ("07:00", ""),
      ("", ""),
      ("24:01-07:00", "'24:01'"), ("-1:00-07:00", ""), ("٠٧:00-08:00", ""), ("Sat", "has days but no times"),
    ])
  func errors(text: String, words: String) throws {
    let error = #expect(throws: LendingHoursError.self) { try LendingHours(parsing: [text]) }
    let description = try #require(error?.description)
    #expect(description.contains(words) && description.contains("'\(text)'"))
    #expect(description.contains("Mon-Fri 12:00-13:00"))
  }

  @Test("a list that an environment variable split at its commas is the same list")
  func split() throws {
    let whole = try LendingHours(parsing: ["Sat,Sun 00:00-24:00", "22:00-07:00"])
    #expect(try LendingHours(parsing: ["Sat", "Sun 00:00-24:00", "22:00-07:00"]).spans == whole.spans)
    #expect(throws: LendingHoursError.self) {
      try LendingHours(parsing: Array(repeating: "22:00-07:00", count: 65))
    }
  }
}

/// A time zone one hour east of Greenwich, with summer time from 29 March 2026 01:00 UTC to 25 October 2026 01:00 UTC,
/// as in much of Europe.
private let zone = LocalCalendar(
  time: { date in
    let local = date.wholeSeconds + offset(at: date)
    return LocalTime(day: Int(local / 86_400), second: Int(local % 86_400))
  },
  date: { time in
    // As mktime(3) does, this converts a time that does not exist with the offset before the change.
    let local = Int64(time.day * 86_400 + time.second)
    let winter = Timestamp(nanoseconds: (local - 3600) * 1_000_000_000)
    let summer = Timestamp(nanoseconds: (local - 7200) * 1_000_000_000)
    return offset(at: summer) == 7200 ? summer : winter
  })

private func offset(at date: Timestamp) -> Int64 {
  (utc("2026-03-29T01:00:00Z")..<utc("2026-10-25T01:00:00Z")).contains(date) ? 7200 : 3600
}

private func utc(_ text: String) -> Timestamp { Timestamp(rfc3339: text)! }

@Suite("Hours on the calendar")
struct CalendarTests {
  @Test(
    "a closed host says when it opens, in summer and in winter time",
    arguments: [
      // A Sunday in winter: 12:00 UTC is 13:00 local time.
      ("22:00-07:00", "2026-03-01T12:00:00Z", "2026-03-01T21:00:00Z"),
      ("22:00-07:00", "2026-07-01T12:00:00Z", "2026-07-01T20:00:00Z"),
      ("Mon-Fri 12:00-13:00", "2026-03-01T12:00:00Z", "2026-03-02T11:00:00Z"),
      ("22:00-07:00", "2026-03-01T21:00:00Z", nil), ("22:00-07:00", "2026-03-01T20:59:59Z", "2026-03-01T21:00:00Z"),
      // Clocks go forward in the night before it opens.
      ("Sun 06:00-08:00", "2026-03-28T12:00:00Z", "2026-03-29T04:00:00Z"),
      // 02:30 does not exist in that night: 03:00 comes after 01:59, and is within the hours.
      ("02:30-05:00", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"),
      // The whole span is skipped in that night, so the host opens on the next day.
      ("02:15-02:45", "2026-03-29T00:30:00Z", "2026-03-30T00:15:00Z"),
    ] as [(String, String, String?)])
  func opens(hours: String, at date: String, until: String?) throws {
    let hours = try LendingHours(parsing: [hours], calendar: zone)
    #expect(hours.word(at: utc(date)) == until.map { .outsideHours(until: utc($0)) })
  }

  @Test("an hour that comes twice is lent twice")
  func twice() throws {
    let hours = try LendingHours(parsing: ["02:00-02:30"], calendar: zone)
    let lent = ["00:00", "00:29", "01:00", "01:29"].map { hours.word(at: utc("2026-10-25T\($0):00Z")) == nil }
    let closed = ["00:30", "00:59", "01:30"].map { hours.word(at: utc("2026-10-25T\($0):00Z")) == nil }
    #expect(lent == [true, true, true, true] && closed == [false, false, false])
  }

  @Test("days of the week are the calendar's")
  func weekdays() {
    #expect(LocalTime(day: 0, second: 0).weekday == .thursday)
    #expect(LocalTime(day: -1, second: 0).weekday == .wednesday)
    #expect(zone.time(ManualNow.noon).weekday == .sunday)
    #expect(Weekday.allCases.map(\.name) == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
  }

  @Test("the host's own calendar finds its way there and back")
  func system() {
    let calendar = LocalCalendar.system
    for day in stride(from: 0, to: 366, by: 5) {
      let date = ManualNow.noon + .seconds(day * 86_400)
      let time = calendar.time(date)
      #expect(calendar.date(time) == date)
      #expect((0..<86_400).contains(time.second))
    }
    #expect(calendar.time(ManualNow.noon + .milliseconds(999)) == calendar.time(ManualNow.noon))
  }
}
