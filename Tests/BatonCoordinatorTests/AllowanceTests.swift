import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Testing

/// Launch time per day (contract, row 17).
@Suite struct AllowanceTests {
  static let hour = Duration.seconds(3600)
  static let noon =
    Timestamp(nanoseconds: 1_700_000_000_000_000_000 - 1_700_000_000_000_000_000 % 86_400_000_000_000)
    + hour * 12
  static let midnight = noon + hour * 12

  static func limited(_ allowance: Duration) -> Definition { Desk.job { $0.dailyAllowance = allowance } }

  private func desk(_ allowance: Duration) -> Desk {
    var desk = Desk()
    desk.date = Self.noon
    desk.tick()
    desk.learn(1, Self.limited(allowance))
    desk.attach()
    return desk
  }

  /// Lets time pass as a coordinator sees it, one heartbeat each second.
  private func pass(_ seconds: Int, _ desk: inout Desk) -> [Dispatcher.Effect] {
    (0..<seconds).flatMap { number -> [Dispatcher.Effect] in
      desk.advance(.seconds(1))
      _ = desk.dispatcher.heartbeat(number, from: HostName("a"), at: desk.now)
      desk.dispatcher.progressed(key(1), .units(completed: Int64(number), of: nil), on: HostName("a"))
      return desk.tick()
    }
  }

  @Test(.contract(17.1, 17.4))
  func `what runs when the allowance is used up expires, and nothing starts before it refills`() {
    var desk = desk(.seconds(10))
    desk.start(Desk.assignment(1))
    #expect(pass(9, &desk) == [])
    #expect(desk.dispatcher.obstacles(for: Self.limited(.seconds(10))).fleet == [])
    #expect(pass(1, &desk) == [.noteExpiry(key(1), .allowanceSpent), .send(.expire(key(1), .allowanceSpent))])
    desk.dispatcher.ended(key(1))
    let spent = Obstacle.allowanceSpent(refillsAt: Self.midnight)
    #expect(desk.dispatcher.obstacles(for: Self.limited(.seconds(10))).fleet == [spent])
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    desk.advance(Self.midnight - desk.date - .seconds(1))
    desk.tick()
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    desk.advance(.seconds(1))
    desk.tick()
    _ = desk.dispatcher.heartbeat(1, from: HostName("a"), at: desk.now)
    #expect(desk.dispatcher.obstacles(for: Self.limited(.seconds(10))).fleet == [])
    #expect(desk.dispatcher.reserve(ready(1), count: 1).count == 1)
  }

  @Test func `launches side by side use it together`() {
    var desk = desk(.seconds(10))
    desk.start(Desk.assignment(1), Desk.assignment(2))
    #expect(pass(4, &desk) == [])
    let effects = pass(1, &desk)
    #expect(
      effects.contains(.noteExpiry(key(1), .allowanceSpent)) && effects.contains(.noteExpiry(key(2), .allowanceSpent)))
  }

  @Test func `what a coordinator before this one counted still counts`() {
    var desk = Desk()
    desk.date = Self.noon
    desk.restore([DefinitionID(1): Self.limited(.seconds(10))], running: [key(1)]) { fleet in
      let day = Int64(Self.noon.nanoseconds / 86_400_000_000_000)
      fleet.use = [IdentifierPattern("com.example.a")!: DailyUse(day: day, used: .seconds(4))]
      fleet.running[0].startedSteady = Self.noon + .seconds(-3)
    }
    desk.attach(Desk.hello(running: [RunningLaunch(launch: key(1))]), assignments: [Desk.assignment(1)])
    #expect(pass(2, &desk) == [])
    #expect(pass(1, &desk) == [.noteExpiry(key(1), .allowanceSpent), .send(.expire(key(1), .allowanceSpent))])
  }

  @Test(.contract(17.2)) func `a host's own allowance expires what runs there, and is said of that host`() {
    var desk = Desk()
    desk.date = Self.noon
    desk.tick()
    desk.learn(1)
    var hello = Desk.hello()
    hello.capabilities.dailyAllowance = .seconds(10)
    desk.attach(hello)
    desk.attach(Desk.hello("b", "b1"))
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    #expect(reservation.host == HostName("a"))
    _ = desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: false)
    #expect(pass(9, &desk) == [])
    #expect(pass(1, &desk) == [.noteExpiry(key(1), .allowanceSpent), .send(.expire(key(1), .allowanceSpent))])
    desk.dispatcher.ended(key(1))
    desk.tick()
    let obstacles = desk.dispatcher.obstacles(for: Desk.job())
    #expect(obstacles.fleet == [])
    #expect(obstacles.hosts.map(\.1) == [[.allowanceSpent(refillsAt: Self.midnight)], []])
  }

  @Test func `a step of the wall clock refills nothing`() {
    var desk = desk(.seconds(10))
    desk.start(Desk.assignment(1))
    _ = pass(10, &desk)
    desk.dispatcher.ended(key(1))
    var now = desk.clocks
    now.date = now.date + .seconds(86_400)
    _ = desk.dispatcher.tick(at: Now(instant: now.instant, date: now.date, steady: desk.date))
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
  }
}
