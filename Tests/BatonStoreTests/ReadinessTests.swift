import BatonModel
import Testing

@testable import BatonStore

/// The pure part of scheduling, as tables. The wall clock is an hour ahead of the steady clock.
@Suite struct ReadinessTests {
  private static let now = Moment(date: at(3600), steady: at(0))

  /// The time this many seconds after an arbitrary start.
  private static func at(_ seconds: Int64) -> Timestamp {
    Timestamp(nanoseconds: 1_700_000_000_000_000_000 + seconds * 1_000_000_000)
  }
  private static func date(_ seconds: Int64) -> Earliest { Earliest(at: at(seconds), isDated: true) }
  private static func steady(_ seconds: Int64) -> Earliest { Earliest(at: at(seconds), isDated: false) }
  private static func ready(_ seconds: Int64) -> Readiness { Readiness(state: .ready, eligibleAt: at(seconds)) }

  @Test(arguments: [
    (steady(0), nil, ready(0)),
    (steady(-5), nil, ready(-5)),
    (steady(5), nil, Readiness(state: .scheduled, eligibleAt: at(5), cause: .notBefore)),
    (steady(0), at(-1), ready(0)),
    (steady(0), at(0), ready(0)),
    (steady(0), at(1), Readiness(state: .scheduled, eligibleAt: at(1), cause: .rateLimited)),
    (steady(5), at(5), Readiness(state: .scheduled, eligibleAt: at(5), cause: .notBefore)),
    (steady(5), at(6), Readiness(state: .scheduled, eligibleAt: at(6), cause: .rateLimited)),
    (date(3600), nil, ready(0)),
    (date(3590), nil, ready(-10)),
    (date(3590), at(-3), ready(-3)),
    (date(3601), nil, Readiness(state: .scheduled, eligibleAt: .distantFuture, cause: .notBefore, date: at(3601))),
    (date(3605), at(4), Readiness(state: .scheduled, eligibleAt: .distantFuture, cause: .notBefore, date: at(3605))),
    (date(3605), at(6), Readiness(state: .scheduled, eligibleAt: at(6), cause: .rateLimited)),
    (date(3590), at(6), Readiness(state: .scheduled, eligibleAt: at(6), cause: .rateLimited)),
  ])
  func aFirstLaunchWaitsForTheLaterOfItsTimeAndItsSpacing(
    earliest: Earliest, spacedUntil: Timestamp?, expected: Readiness
  ) {
    let found = Readiness.firstLaunch(
      earliest: earliest, spacedUntil: spacedUntil, isHeld: false, at: Self.now)
    #expect(found == expected)
    let held = Readiness.firstLaunch(earliest: earliest, spacedUntil: spacedUntil, isHeld: true, at: Self.now)
    #expect(held == Readiness(state: .scheduled, eligibleAt: .distantFuture, cause: .waitsForLiveRequest))
    #expect(held.due == NextDue())
  }

  /// A request that waits is due later on one of the two clocks, and not before.
  @Test(arguments: [date(3605), date(90_000), steady(5), steady(0)], [nil, at(4), at(900)])
  func whatWaitsIsDueLaterOnOneClock(earliest: Earliest, spacedUntil: Timestamp?) {
    let found = Readiness.firstLaunch(
      earliest: earliest, spacedUntil: spacedUntil, isHeld: false, at: Self.now)
    #expect(found.due.hasCome(at: Self.now) == false)
    #expect((found.due == NextDue()) == (found.state == .ready))
    #expect(found.eligibleDate(at: Self.now) >= Self.now.date)
  }

  @Test func obstaclesAreAllOfThemOnTheWallClock() {
    let found = Readiness.obstacles(
      earliest: Self.date(3605), spacedUntil: Self.at(4), before: [1, 2], at: Self.now)
    #expect(
      found == [
        .waitsForLiveRequest(number: 1), .waitsForLiveRequest(number: 2), .rateLimited(until: Self.at(3604)),
        .notBefore(Self.at(3605)),
      ])
    #expect(Readiness.obstacles(earliest: Self.steady(0), spacedUntil: Self.at(0), before: [], at: Self.now) == [])
  }

  @Test(
    arguments: [
      (JobKind.processing, nil, 9, nil), (.continued, nil, 9, nil), (.refresh, nil, 0, 900), (.refresh, nil, 1, 900),
      (.refresh, nil, 2, 1800), (.refresh, nil, 3, 3600), (.refresh, nil, 99, 3600),
      (.processing, PokePriority.considerate, 0, 900), (.processing, .immediate, 0, nil),
      (.refresh, .immediate, 3, nil),
      (.refresh, .considerate, 0, 900), (.refresh, .considerate, 3, 3600),
    ] as [(JobKind, PokePriority?, Int, Int64?)])
  func firstLaunchesAreSpacedByKindPokeAndResults(
    kind: JobKind, poke: PokePriority?, noDataInRow: Int, seconds: Int64?
  ) {
    let definition = Definition(pattern: IdentifierPattern(trusted: "job"), kind: kind)
    let found = Spacing.ofFirstLaunches(definition, poke: poke, LaunchHistory(noDataInRow: noDataInRow))
    #expect(found == seconds.map { .seconds($0) })
  }

  @Test(
    arguments: [
      (300, 0, 900), (300, 2, 1800), (7200, 0, 900), (7200, 1, 900), (7200, 2, 14_400), (7200, 3, 28_800),
    ] as [(Int64, Int, Int64)])
  func aRepetitionLengthensTheSpacingOnlyAfterNothingWasFound(every: Int64, noDataInRow: Int, seconds: Int64) {
    var definition = Definition(pattern: IdentifierPattern(trusted: "job"), kind: .refresh)
    definition.repeatEvery = .seconds(every)
    let history = LaunchHistory(noDataInRow: noDataInRow, usualInterval: .seconds(7))
    #expect(Spacing.ofFirstLaunches(definition, poke: nil, history) == .seconds(seconds))
    definition.allowFrequent = true
    let times: [Int: Int] = [2: 2, 3: 4]
    let frequent: Duration? = times[noDataInRow].map { Duration.seconds(every) * $0 }
    #expect(Spacing.ofFirstLaunches(definition, poke: nil, history) == frequent)
  }

  @Test(
    arguments: [
      (60, 1, nil), (60, 2, 120), (60, 3, 240), (60, 9, 240), (86_400, 2, 1800), (nil, 3, 0),
    ] as [(Int64?, Int, Int64?)])
  func aFrequentRefreshWithoutRepetitionIsLengthenedByItsUsualInterval(
    interval: Int64?, noDataInRow: Int, seconds: Int64?
  ) {
    var definition = Definition(pattern: IdentifierPattern(trusted: "job"), kind: .refresh)
    definition.allowFrequent = true
    let history = LaunchHistory(noDataInRow: noDataInRow, usualInterval: interval.map { Duration.seconds($0) })
    let expected: Duration? = seconds.map { Duration.seconds($0) }
    #expect(Spacing.ofFirstLaunches(definition, poke: nil, history) == expected)
  }

  @Test(
    arguments: [
      (steady(10), 60, steady(10)), (steady(0), 60, steady(60)), (steady(-1), 60, steady(59)),
      (steady(-60), 60, steady(60)), (steady(-61), 60, steady(59)), (date(3610), 60, date(3610)),
      (date(3600), 60, date(3660)), (date(-100_000), 86_400, date(-100_000 + 2 * 86_400)),
    ] as [(Earliest, Int64, Earliest)])
  func aChainGoesOnAtTheFirstOfItsTimesThatHasNotCome(anchor: Earliest, every: Int64, expected: Earliest) {
    #expect(Chain.next(from: anchor, every: .seconds(every), at: Self.now) == expected)
  }

  @Test func timesBeyondWhatCanBeCountedAreTheDistantFuture() {
    let far = Chain.next(from: Self.steady(-1), every: Duration.nanoseconds(Int64.max), at: Self.now)
    #expect(far.at == Timestamp.distantFuture)
    let past = Chain.next(
      from: Earliest(at: Timestamp(nanoseconds: .min), isDated: true), every: .nanoseconds(1), at: Self.now)
    #expect(past.at == .distantFuture || past.at > Self.now.date)
    let never = Earliest(at: .distantFuture, isDated: true)
    #expect(never.steady(at: Self.now) == .distantFuture)
    let waiting = Readiness.firstLaunch(earliest: never, spacedUntil: nil, isHeld: false, at: Self.now)
    #expect(waiting.state == .scheduled)
    #expect(waiting.due == NextDue())
    #expect(waiting.eligibleDate(at: Self.now) == .distantFuture)
  }
}
