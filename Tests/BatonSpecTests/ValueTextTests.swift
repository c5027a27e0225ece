import BatonModel
import Testing

@testable import BatonSpec

@Suite("Durations, sizes, ranges and dates")
struct ValueTextTests {
  @Test(
    "durations",
    arguments: [
      ("500ms", Duration.milliseconds(500)), ("30s", .seconds(30)), ("10m", .seconds(600)), ("24h", .seconds(86_400)),
      ("7d", .seconds(604_800)), ("1h30m", .seconds(5_400)), ("1d2h3m4s5ms", .milliseconds(93_784_005)),
      ("0s", .zero), ("007s", .seconds(7)), ("3650d", .seconds(315_360_000)), ("90m", .seconds(5_400)),
    ])
  func duration(text: String, expected: Duration) throws {
    #expect(try DurationText.parse(text) == expected)
  }

  @Test(
    "texts that are not durations, with suggestions",
    arguments: [
      ("30", ", did you mean '30s'?"), ("10min", ", did you mean '10m'?"), ("10 M", ", did you mean '10m'?"),
      ("2hours", ", did you mean '2h'?"), ("-1s", ": it cannot be negative"), ("", ""), ("s", ""), ("1w", ""),
      ("1s ", ", did you mean '1s'?"),
      ("1s1s", ": the largest unit comes first, and each at most once"), ("٣s", ""), ("PT5M", ""),
      ("999999999999999999999d", ": the longest duration is 10 years, 3650d"),
      ("3650d1ms", ": the longest duration is 10 years, 3650d"),
    ])
  func noDuration(text: String, hint: String) {
    #expect(throws: Mistake(hint: hint)) { try DurationText.parse(text) }
  }

  @Test(
    "durations are told as one would write them",
    arguments: [
      (Duration.seconds(1), "1s"), (.zero, "0s"), (.seconds(600), "10m"), (.seconds(86_400), "24h"),
      (.seconds(2 * 86_400), "2d"), (.seconds(5_400), "1h30m"), (.milliseconds(93_784_005), "26h3m4s5ms"),
    ])
  func text(of duration: Duration, expected: String) throws {
    #expect(DurationText.text(duration) == expected)
    #expect(try DurationText.parse(expected) == duration)
  }

  @Test(
    "sizes",
    arguments: [
      ("8GiB", Int64(8) << 30), ("512MiB", 512 << 20), ("10GB", 10_000_000_000), ("1KiB", 1_024), ("1TiB", 1 << 40),
    ])
  func size(text: String, expected: Int64) throws {
    #expect(try SizeText.parse(text) == expected)
  }

  @Test(
    "no sizes", arguments: ["8", "8gb", "GiB", "", "-8GiB", "8.5GiB", "08GiB", "8B", "9999999999GiB", "999999999TiB"])
  func noSize(text: String) {
    #expect(throws: Mistake.self) { try SizeText.parse(text) }
  }

  @Test(
    "ranges",
    arguments: [
      ("1...10000", Int64(1)...10_000), ("0..<10", 0...9), ("-3...-1", -3...(-1)), ("7...7", 7...7),
      ("0..<1000000000", 0...999_999_999), ("-9223372036854775808...-9223372036854775808", Int64.min...Int64.min),
    ])
  func range(text: String, expected: ClosedRange<Int64>) throws {
    #expect(try RangeText.parse(text) == expected)
  }

  @Test(
    "no ranges",
    arguments: [
      "", "1", "1..2", "1....2", "2...1", "1..<1", "01...2", "+1...2", "1...", "...2", "1 ... 2", "a...b", "-0...1",
      "0...1000000000", "-9223372036854775808...9223372036854775807", "-9223372036854775808..<-9223372036854775808",
      "0...9223372036854775808",
    ])
  func noRange(text: String) {
    #expect(throws: Mistake.self) { try RangeText.parse(text) }
  }

  @Test(
    "dates, in seconds since 1970",
    arguments: [
      ("1970-01-01T00:00:00Z", Int64(0)), ("2000-02-29T12:00:00Z", 951_825_600),
      ("2026-03-01T06:30:00+01:00", 1_772_343_000),
      ("2260-12-31T23:59:59Z", 9_183_110_399), ("1999-12-31t23:30:00-00:30", 946_684_800),
    ])
  func date(text: String, seconds: Int64) throws {
    #expect(try DateText.parse(text) == Timestamp(nanoseconds: seconds * 1_000_000_000))
  }

  @Test("fractions of seconds, to the nanosecond")
  func fraction() throws {
    #expect(try DateText.parse("1970-01-01T00:00:01.5Z").nanoseconds == 1_500_000_000)
    #expect(try DateText.parse("1970-01-01T00:00:00.1234567899Z").nanoseconds == 123_456_789)
  }

  @Test(
    "no dates",
    arguments: [
      "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01",
      "2026",
      "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx", "2026-01-01T00:00:00+1:00",
      "2261-01-01T00:00:00Z", "1970-01-01T00:00:00+00:01", "",
    ])
  func noDate(text: String) {
    #expect(throws: Mistake.self) { try DateText.parse(text) }
  }

  @Test("how YAML readers read plain scalars")
  func plainScalars() {
    for text in ["1", "0", "-5", "123456789012345678901234567890"] { #expect(PlainScalar(text) == .wholeNumber) }
    for text in ["1.5", "-0.5", "1.", ".5"] { #expect(PlainScalar(text) == .fraction) }
    for text in [
      "a", "1a", "10.0.0.1", "1h30m", "2026-01-01", "-", "--all", "1...5", ".", "..", "0xyz", "12:ab", "1:2:3:", "::1",
      "e3",
    ] {
      #expect(PlainScalar(text) == .text, "\(text)")
    }
    for text in [
      "yes", "N", "~", "NULL", "True", "010", "1_000", "0x1F", "0b11", "0o17", "1e3", "+5", "12:30", "1:20:30.5",
      ".inf", "=",
    ] {
      guard case .trap = PlainScalar(text) else {
        Issue.record("\(text) is a trap")
        continue
      }
    }
  }

  @Test("the nearest key, if it is near")
  func suggestions() {
    #expect(Suggestion.nearest(to: "tilte", among: ["title", "kind"]) == "title")
    #expect(Suggestion.nearest(to: "REQUIRESIDLE", among: ["requiresIdle"]) == "requiresIdle")
    #expect(Suggestion.nearest(to: "colour", among: ["title", "kind"]) == nil)
    #expect(Suggestion.nearest(to: String(repeating: "x", count: 100_000), among: ["title"]) == nil)
    #expect(Suggestion.distance(Array("abc"), Array("acb")) == 1)
    #expect(Suggestion.distance(Array(""), Array("abc")) == 3)
  }
}
