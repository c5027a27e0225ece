import BatonCoordinator
import BatonModel
import BatonStore
import Testing

/// The clock that continues over restarts (promise P7).
@Suite struct SteadyClockTests {
  private static let wall = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
  /// The last reading of an earlier coordinator: its steady clock was an hour behind the wall clock.
  private static let saved = ClockReading(
    moment: Moment(date: wall, steady: wall + .seconds(-3600)), boot: "boot 1",
    instant: Instant(nanoseconds: 50_000_000_000))

  private static func now(instant seconds: Int64, date: Duration) -> Now {
    Now(instant: Instant(nanoseconds: seconds * 1_000_000_000), date: wall + date)
  }

  @Test func `a new store starts with the wall clock, and runs with the monotonic clock`() {
    let now = Self.now(instant: 7, date: .zero)
    let clock = SteadyClock(resuming: nil, at: now, boot: "boot 1")
    #expect(clock.steady(at: now.instant) == Self.wall)
    #expect(clock.steady(at: now.instant + .seconds(10)) == Self.wall + .seconds(10))
  }

  @Test(arguments: [Duration.seconds(-86_400), .zero, .seconds(20), .seconds(86_400)])
  func `in one boot the time between two coordinators is that of the monotonic clock`(step: Duration) {
    let now = Self.now(instant: 70, date: step)
    let clock = SteadyClock(resuming: Self.saved, at: now, boot: "boot 1")
    #expect(clock.steady(at: now.instant) == Self.saved.moment.steady + .seconds(20))
  }

  /// The monotonic clock begins again with each boot, and a machine may not know its boot.
  @Test(arguments: [("boot 2", 30), ("", 30), ("boot 2", -30)])
  func `across a reboot the wall clock tells how much time passed, and never a negative time`(
    boot: String, seconds: Int
  ) {
    let now = Self.now(instant: 3, date: .seconds(seconds))
    let clock = SteadyClock(resuming: Self.saved, at: now, boot: boot)
    #expect(clock.steady(at: now.instant) == Self.saved.moment.steady + .seconds(max(0, seconds)))
  }
}
