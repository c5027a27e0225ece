import BatonBase
import BatonModel
import ContractRows
import Testing

@testable import BatonHost

@Suite("A pause by the host's owner")
struct OwnersPauseTests {
  private let now = Instant(nanoseconds: 1_000_000_000)
  private let date = ManualNow.noon

  @Test("it ends by the steady clock, and one without a length does not end")
  func ends() {
    let hour = OwnersPause(by: "ann", for: .seconds(3600), at: now, date: date)
    #expect(hour.word == .paused(by: "ann", until: date + .seconds(3600)))
    #expect(!hour.isOver(at: now + .milliseconds(3_599_999)) && hour.isOver(at: now + .seconds(3600)))
    let endless = OwnersPause(by: "ann", for: nil, at: now, date: date)
    #expect(endless.word == .paused(by: "ann", until: nil) && !endless.isOver(at: Instant(nanoseconds: .max)))
  }

  @Test(
    "after a restart what is left goes by the wall clock, and is never more than it was",
    arguments: [
      (0, 3600), (600, 3000), (3599, 1), (3600, nil), (90_000, nil),
      // The clock was set back.
      (-1, 3600), (-90_000, 3600),
    ] as [(Int, Int?)])
  func restart(elapsed: Int, left: Int?) {
    let record = OwnersPause(by: "ann", for: .seconds(3600), at: now, date: date).record
    let restarted = Instant(nanoseconds: 77)
    let pause = OwnersPause(record, at: restarted, date: date + .seconds(elapsed))
    #expect(pause?.endsAt == left.map { restarted + .seconds($0) })
    #expect(pause?.until == left.map { date + .seconds(elapsed + $0) })
    #expect(pause == nil || pause?.record.since == date)
  }

  @Test("one without a length goes on for ever, whatever the clocks show")
  func endless() {
    let record = OwnersPause(by: "ann", for: nil, at: now, date: date).record
    let pause = OwnersPause(record, at: now, date: date + .seconds(-1_000_000))
    #expect(pause?.endsAt == nil && pause?.word == .paused(by: "ann", until: nil))
  }

  @Test("a length past every date ends at the last one")
  func longest() {
    let pause = OwnersPause(by: "ann", for: .seconds(3650 * 86_400), at: now, date: date)
    #expect(pause.until == date + .seconds(3650 * 86_400) && !pause.isOver(at: now + .seconds(86_400)))
  }
}

@Suite("Dates in the worker's files")
struct DateTextTests {
  @Test(
    "they are RFC 3339 in UTC, and read as they were written",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_772_366_400_250, "2026-03-01T12:00:00.250Z"),
      (-1, "1969-12-31T23:59:59.999Z"), (951_826_799_000, "2000-02-29T12:19:59.000Z"),
    ] as [(Int64, String)])
  func written(milliseconds: Int64, text: String) {
    let date = Timestamp(nanoseconds: milliseconds * 1_000_000)
    #expect(date.rfc3339 == text)
    #expect(Timestamp(rfc3339: text) == date)
  }

  @Test("a fraction may have one to nine digits, or be missing")
  func fractions() {
    let second = Timestamp(rfc3339: "2026-03-01T12:00:00Z")
    #expect(second == ManualNow.noon)
    #expect(Timestamp(rfc3339: "2026-03-01T12:00:00.5Z") == ManualNow.noon + .milliseconds(500))
    #expect(Timestamp(rfc3339: "2026-03-01T12:00:00.123456789Z") == ManualNow.noon + .nanoseconds(123_456_789))
  }

  @Test(
    "what is no date is none",
    arguments: [
      "", "now", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00:00+01:00", "2026-02-30T12:00:00Z",
      "2026-13-01T12:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01T12:00:00.Z", "2026-03-01T12:00:00.1234567890Z",
      "2026-03-01T12:00:0xZ", "9999-03-01T12:00:00Z", "+026-03-01T12:00:00Z",
    ])
  func others(text: String) {
    #expect(Timestamp(rfc3339: text) == nil)
  }
}
