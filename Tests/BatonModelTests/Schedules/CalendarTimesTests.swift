import BatonModel
import Foundation
import Testing

/// A series of `CronTable`.
struct CronSeries: Sendable, CustomTestStringConvertible {
  var expression: String
  var zone: String
  var source: String
  var times: [String]
  var testDescription: String { "\(expression) in \(zone), \(source)" }

  static let all: [CronSeries] = CronTable.text.split(separator: "\n").reduce(into: []) { series, line in
    if line.hasPrefix("#") { return }
    let parts = line.split(separator: " | ").map(String.init)
    if parts.count == 3 {
      series.append(CronSeries(expression: parts[0], zone: parts[1], source: parts[2], times: []))
    } else {
      series[series.count - 1].times += line.split(whereSeparator: { $0 == " " || $0 == ">" }).map(String.init)
    }
  }
}

@Suite("The times of a cron expression in a time zone")
struct CalendarTimesTests {
  static func times(
    _ expression: String, in zone: String = "UTC", excluding dates: [String] = []
  ) throws -> CalendarTimes {
    CalendarTimes(
      try CronExpression(expression), in: try #require(ZoneOffsets.named(zone), "this machine has no zone \(zone)"),
      excluding: Set(dates.compactMap { CivilDate($0) }))
  }

  static func time(_ text: String) throws -> Timestamp { try #require(Timestamp(local: text), "\(text)") }

  @Test("Each time of the table is the next one after the time before it", arguments: CronSeries.all)
  func table(series: CronSeries) throws {
    let times = try Self.times(series.expression, in: series.zone)
    #expect(series.times.count >= 2)
    for (before, after) in zip(series.times, series.times.dropFirst()) {
      let (start, end) = (try Self.time(before), try Self.time(after))
      #expect(times.next(after: start) == end, "after \(before)")
      // From everywhere between the two, the time is the same.
      #expect(times.next(after: Timestamp(nanoseconds: (start.nanoseconds + end.nanoseconds) / 2)) == end)
      #expect(times.next(after: Timestamp(nanoseconds: end.nanoseconds - 1)) == end)
    }
  }

  @Test("The table has at least 200 cases")
  func size() { #expect(CronSeries.all.reduce(0) { $0 + $1.times.count - 1 } + CronMistakes.all.count >= 400) }

  @Test(
    "A day has as many runs of every hour as it has hours",
    arguments: [
      ("2026-03-28T23:59+01:00", "2026-03-29T23:59+02:00", "Europe/Berlin", 23),
      ("2026-10-24T23:59+02:00", "2026-10-25T23:59+01:00", "Europe/Berlin", 25),
      ("2026-06-01T23:59+02:00", "2026-06-02T23:59+02:00", "Europe/Berlin", 24),
      ("2026-03-07T23:59-05:00", "2026-03-08T23:59-04:00", "America/New_York", 23),
      ("2026-10-31T23:59-04:00", "2026-11-01T23:59-05:00", "America/New_York", 25),
      ("2018-11-03T23:59-03:00", "2018-11-04T23:59-02:00", "America/Sao_Paulo", 23),
      ("2018-02-16T23:59-02:00", "2018-02-17T23:59-03:00", "America/Sao_Paulo", 25),
      ("2011-12-28T23:59-10:00", "2011-12-31T23:59+14:00", "Pacific/Apia", 48),
    ])
  func hours(start: String, end: String, zone: String, count: Int) throws {
    let (start, end) = (try Self.time(start), try Self.time(end))
    #expect(try Self.times("0 * * * *", in: zone).times(after: start, through: end, limit: 1_000).count == count)
    #expect(try Self.times("@hourly", in: zone).times(after: start, through: end, limit: 20).count == 20)
  }

  @Test("No time is on an excluded date; a skipped or repeated time belongs to the date that the expression names")
  func exclusions() throws {
    func next(
      _ expression: String, _ zone: String, _ dates: [String], after time: String, is expected: String,
      location: SourceLocation = #_sourceLocation
    ) throws {
      let times = try Self.times(expression, in: zone, excluding: dates)
      #expect(times.next(after: try Self.time(time)) == (try Self.time(expected)), sourceLocation: location)
    }
    try next("0 9 * * *", "UTC", ["2026-12-25", "2026-12-26"], after: "2026-12-24T10:00Z", is: "2026-12-27T09:00Z")
    try next("0 * * * *", "UTC", ["2026-12-25"], after: "2026-12-24T23:00Z", is: "2026-12-26T00:00Z")
    // 2026-12-25 in UTC is not the local date.
    try next("0 9 * * *", "Asia/Tokyo", ["2026-12-25"], after: "2026-12-24T12:00+09:00", is: "2026-12-26T09:00+09:00")
    try next(
      "0 23 * * *", "America/New_York", ["2026-12-25"], after: "2026-12-24T12:00-05:00", is: "2026-12-24T23:00-05:00")
    // The skipped 09:00 of the day that Apia did not have would happen on the next date.
    try next(
      "0 9 * * *", "Pacific/Apia", ["2011-12-30"], after: "2011-12-29T10:00-10:00", is: "2011-12-31T09:00+14:00")
    try next(
      "0 9 * * *", "Pacific/Apia", ["2011-12-31"], after: "2011-12-29T10:00-10:00", is: "2011-12-31T00:00+14:00")
    // At midnight the clocks of Sao Paulo went back, to an hour of an excluded date that is already over.
    try next(
      "0 * * * *", "America/Sao_Paulo", ["2018-02-17"], after: "2018-02-16T23:30-02:00", is: "2018-02-18T00:00-03:00")
  }

  @Test("There is no time if all dates of 50 years are excluded")
  func noTime() throws {
    let first = try #require(CivilDate("2026-01-01")).daysSince1970
    for expression in ["0 0 * * *", "0 * * * *"] {
      var times = try Self.times(expression)
      times.excludedDates = Set((first..<first + 366 * 51).map { CivilDate(daysSince1970: $0) })
      #expect(times.next(after: try Self.time("2026-01-01T00:00Z")) == nil)
    }
  }

  @Test("There is no time outside of the range of a timestamp")
  func range() throws {
    for expression in ["0 0 * * *", "* * * * *"] {
      let times = try Self.times(expression, in: "Europe/Berlin")
      #expect(times.next(after: .distantFuture) == nil)
      #expect(times.next(after: Timestamp(nanoseconds: .max - 1)) == nil)
      let first = try #require(times.next(after: Timestamp(nanoseconds: .min)))
      #expect(first > Timestamp(nanoseconds: .min))
    }
  }

  @Test("A range of times has both its limits, and ends at the later time")
  func ranges() throws {
    let times = try Self.times("0 0 * * *")
    let (start, end) = (try Self.time("2026-03-01T00:00Z"), try Self.time("2026-03-04T00:00Z"))
    #expect(times.times(after: start, through: end, limit: 10) == [1, 2, 3].map { start + .seconds($0 * 86_400) })
    #expect(times.times(after: start, through: end, limit: 2).count == 2)
    #expect(times.times(after: start, through: end, limit: 0) == [])
    #expect(times.times(after: end, through: start, limit: 10) == [])
    #expect(times.times(after: start, through: start, limit: 10) == [])
  }

  // MARK: Properties

  @Test("In UTC, the next time is the first later minute whose fields match", arguments: [1, 2, 3] as [UInt64])
  func nothingBetween(seed: UInt64) throws {
    var random = RandomExpressions(seed: seed)
    for _ in 0..<400 {
      let expression = random.expression()
      let start = Int64(random.number(-1_000_000_000...4_000_000_000))
      let next = try #require(CalendarTimes(expression, in: .utc).next(after: Timestamp(seconds: start))).seconds
      #expect(next > start)
      #expect(expression.matches(CivilTime(secondsSince1970: next)), "\(expression) after \(start)")
      // More than a month of minutes would take long.
      let firstMinute = max(start - start % 60 - 60, next - 40 * 86_400)
      let between = stride(from: firstMinute, to: next, by: 60).first {
        $0 > start && expression.matches(CivilTime(secondsSince1970: $0))
      }
      #expect(between == nil, "\(expression) after \(start)")
    }
  }

  @Test(
    "A later start never gives an earlier time, and each time is strictly later than its start",
    arguments: ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"])
  func monotone(zone: String) throws {
    var random = RandomExpressions(seed: 7)
    let offsets = try #require(ZoneOffsets.named(zone))
    for _ in 0..<200 {
      let times = CalendarTimes(random.expression(), in: offsets)
      let first = Int64(random.number(1_200_000_000...1_500_000_000)) * 1_000_000_000
      let starts = (0..<20).map { _ in Timestamp(nanoseconds: first + Int64(random.number(0...30_000_000_000_000_000)))
      }
      var last = Timestamp(nanoseconds: .min)
      for start in starts.sorted() {
        let next = try #require(times.next(after: start))
        #expect(next > start && next >= last)
        last = next
      }
    }
  }

  /// Walks over all minutes from a day and a half before a change of the clocks to a day and a half after it, and
  /// applies the rules of `CalendarTimes` as they are written.
  private static func walk(_ times: CalendarTimes, around change: Int64) -> [Timestamp] {
    let start = change - change % 60 - 129_600
    var shown = times.offsets.latestTime(before: start)
    return stride(from: start, through: change + 129_600, by: 60).filter { instant in
      let now = instant + Int64(times.offsets.offset(instant))
      let minutes = times.expression.namesHours ? Array(stride(from: shown + 60, through: now, by: 60)) : [now]
      shown = max(shown, now)
      return minutes.map { CivilTime(secondsSince1970: $0) }.contains {
        times.expression.matches($0) && !times.excludedDates.contains($0.date)
      }
    }.map { Timestamp(seconds: $0) }
  }

  @Test(
    "At each change of the clocks, the times are those of a walk over all minutes",
    arguments: [
      "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Beirut", "Africa/Cairo",
      "Pacific/Apia", "Europe/Dublin", "Africa/Casablanca", "Antarctica/Troll", "Pacific/Kwajalein", "Asia/Pyongyang",
      "America/Caracas", "Asia/Gaza", "America/Noronha",
    ])
  func changes(zone: String) throws {
    let offsets = try #require(ZoneOffsets.named(zone))
    var random = RandomExpressions(seed: 11)
    // From 1990 on. The last changes of some zones are decided by politics, but the walk asks the same offsets.
    for change in offsets.changes(from: 631_152_000, to: 1_830_000_000).suffix(8) {
      for _ in 0..<3 {
        var times = CalendarTimes(random.expression(), in: offsets)
        if random.isDrawn(oneIn: 4) {
          times.excludedDates = [CivilDate(daysSince1970: Int(change / 86_400) + random.number(-1...1))]
        }
        let walked = Self.walk(times, around: change)
        let start = change - change % 60 - 129_600
        let found = times.times(
          after: Timestamp(seconds: start - 60), through: Timestamp(seconds: change + 129_600), limit: 10_000)
        #expect(found == walked, "\(times.expression) around \(change)")
      }
    }
  }

  @Test("A time is found in less than 5 ms, even on a debug build")
  func speed() throws {
    let times = try ["*/5 * * * *", "30 2 * * 1-5", "0 0 1 * *", "0 0 29 2 *", "0 0 * 2 5#5"].map {
      try Self.times($0, in: "Europe/Berlin")
    }
    let clock = ContinuousClock()
    for times in times {
      let start = clock.now
      _ = times.times(after: Timestamp(seconds: 1_772_000_000), through: .distantFuture, limit: 5)
      #expect(clock.now - start < .milliseconds(25 * 5), "\(times.expression)")
    }
  }
}

extension ZoneOffsets {
  /// The latest local time, in seconds since 1970, that clocks have shown in the two days before `instant`.
  fileprivate func latestTime(before instant: Int64) -> Int64 {
    stride(from: instant - 2 * 86_400, to: instant, by: 60).map { $0 + Int64(offset($0)) }.max() ?? instant
  }
}
