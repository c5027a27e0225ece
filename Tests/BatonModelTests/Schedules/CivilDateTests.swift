import BatonModel
import Foundation
import Testing

@Suite("Dates of the calendar")
struct CivilDateTests {
  @Test(
    "A date and its number of days since 1970 belong together",
    arguments: [
      ("1970-01-01", 0, 4), ("1969-12-31", -1, 3), ("2000-02-29", 11_016, 2), ("2000-03-01", 11_017, 3),
      ("1900-03-01", -25_508, 4), ("2026-03-01", 20_513, 0), ("0000-03-01", -719_468, 3), ("0001-01-01", -719_162, 1),
      ("9999-12-31", 2_932_896, 5), ("1600-02-29", -135_081, 2),
    ])
  func days(text: String, days: Int, weekday: Int) throws {
    let date = try #require(CivilDate(text))
    #expect(date.daysSince1970 == days)
    #expect(date.weekday == weekday)
    #expect(CivilDate(daysSince1970: days) == date)
    #expect(date.description == text)
  }

  @Test("Every day of 1,200 years follows the day before")
  func everyDay() {
    var last = CivilDate(daysSince1970: -250_001)
    for days in -250_000...190_000 {
      let date = CivilDate(daysSince1970: days)
      let isNext =
        date.day == last.day + 1
        || (date.day == 1 && last.day == CivilDate.length(ofMonth: last.month, year: last.year))
      guard isNext, date.daysSince1970 == days, date > last, date.weekday == (last.weekday + 1) % 7,
        CivilDate(year: date.year, month: date.month, day: date.day) == date
      else {
        Issue.record("\(date) follows \(last)")
        return
      }
      last = date
    }
  }

  @Test("The dates are those of Foundation")
  func foundation() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(identifier: "GMT"))
    for days in stride(from: -130_000, to: 110_000, by: 97) {
      let parts = calendar.dateComponents(
        [.year, .month, .day, .weekday], from: Date(timeIntervalSince1970: Double(days) * 86_400))
      let date = CivilDate(daysSince1970: days)
      #expect(parts.year == date.year && parts.month == date.month && parts.day == date.day)
      #expect(parts.weekday == date.weekday + 1)
    }
  }

  @Test(
    "Any other text is no date",
    arguments: [
      "", "2026-02-30", "2026-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "2026-04-31", "2026-3-1",
      "26-03-01", "2026/03/01", "2026-03-01 ", " 2026-03-01", "2026-03-01T00:00Z", "+026-03-01", "-026-03-01",
      "２026-03-01", "2026-03-0１", "2026-03-1a", "20260301", "2026-03--1",
    ])
  func mistakes(text: String) { #expect(CivilDate(text) == nil) }

  @Test("A date outside of the calendar is nil")
  func outside() {
    #expect(CivilDate(year: 2026, month: 2, day: 29) == nil)
    #expect(CivilDate(year: 2028, month: 2, day: 29) != nil)
    #expect(CivilDate(year: .max, month: 1, day: 1) == nil)
    #expect(CivilDate(year: 2026, month: .min, day: .max) == nil)
    #expect(CivilDate(year: -1, month: 1, day: 1)?.description == "-0001-01-01")
  }
}
