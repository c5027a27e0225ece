import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Testing

/// Launches that do not get further (contract, row 32).
@Suite struct StallTests {
  static let a = HostName("a")

  private func running(_ change: (inout Definition) -> Void = { _ in }) -> Desk {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.a", .continued, change))
    desk.attach()
    desk.start(Desk.assignment(1))
    return desk
  }

  /// Heartbeats go on all the time.
  private func pass(_ seconds: Int, _ desk: inout Desk) -> [Dispatcher.Effect] {
    (0..<seconds).flatMap { number -> [Dispatcher.Effect] in
      desk.advance(.seconds(1))
      _ = desk.dispatcher.heartbeat(number, from: Self.a, at: desk.now)
      return desk.tick()
    }
  }

  static func suspect(_ seconds: Int) -> Dispatcher.Effect {
    .note(RequestID(1), event: .suspect, detail: "no progress for \(seconds) s on a")
  }
  static let stalled: [Dispatcher.Effect] = [
    .noteExpiry(key(1), .stalled), .send(.expire(key(1), .stalled)),
  ]

  @Test(.contract(32.1, 32.2))
  func `a continued launch is suspected after 60 s without progress and expires after 120, heartbeats or not`() {
    var desk = running()
    #expect(pass(59, &desk) == [])
    #expect(pass(1, &desk) == [Self.suspect(60)])
    #expect(pass(59, &desk) == [])
    #expect(pass(1, &desk) == Self.stalled)
  }

  @Test func `a command in one piece is not watched until it has kept a cursor`() {
    var desk = running { $0.work = Work(command: ["pg_dump"]) }
    #expect(pass(3600, &desk) == [])
    desk.dispatcher.progressed(key(1), .batch(completed: 1, of: nil), on: Self.a)
    #expect(pass(59, &desk) == [])
    #expect(pass(1, &desk) == [Self.suspect(60)])
  }

  @Test func `a command in one piece is watched if its definition says stallAfter`() {
    var desk = running {
      $0.work = Work(command: ["pg_dump"])
      $0.stallAfter = .seconds(30)
    }
    #expect(pass(29, &desk) == [])
    #expect(pass(1, &desk) == [Self.suspect(30)])
  }

  @Test(arguments: [Dispatcher.Step.items, .units(completed: 1, of: nil), .batch(completed: 0, of: nil)])
  func `progress takes the suspicion back`(step: Dispatcher.Step) {
    var desk = running()
    _ = pass(100, &desk)
    desk.dispatcher.progressed(key(1), step, on: Self.a)
    #expect(pass(59, &desk) == [])
    #expect(pass(1, &desk) == [Self.suspect(60)])
  }

  @Test func `units that are said again are no progress`() {
    var desk = running()
    desk.dispatcher.progressed(key(1), .units(completed: 7, of: nil), on: Self.a)
    _ = pass(60, &desk)
    desk.dispatcher.progressed(key(1), .units(completed: 7, of: nil), on: Self.a)
    #expect(pass(60, &desk) == Self.stalled)
  }

  @Test func `stallAfter sets the time, also for kinds that nobody watches by themselves`() {
    var desk = running { ($0.kind, $0.stallAfter) = (.processing, .seconds(5)) }
    #expect(pass(5, &desk) == [Self.suspect(5)])
    #expect(pass(5, &desk) == Self.stalled)
    var unwatched = running { $0.kind = .processing }
    #expect(pass(3600, &unwatched) == [])
  }

  @Test(.contract(32.1)) func `once the batches of the definition are known, five times the 95th percentile is waited`()
  {
    var desk = running()
    for number in 0..<20 {
      _ = pass(30, &desk)
      desk.dispatcher.progressed(key(1), .batch(completed: Int64(number), of: nil), on: Self.a)
    }
    #expect(desk.dispatcher.usualBatches == [IdentifierPattern("com.example.a")!: .seconds(30)])
    #expect(pass(149, &desk) == [])
    #expect(pass(1, &desk) == [Self.suspect(150)])
    #expect(pass(150, &desk) == Self.stalled)
  }

  @Test func `what an earlier coordinator learnt holds until this one knows better`() {
    var desk = Desk()
    desk.restore([DefinitionID(1): Desk.job()], running: [key(1)]) { fleet in
      fleet.usualBatches = [IdentifierPattern("com.example.a")!: .seconds(30)]
    }
    desk.attach(Desk.hello(running: [RunningLaunch(launch: key(1))]), assignments: [Desk.assignment(1)])
    #expect(pass(150, &desk) == [Self.suspect(150)])
  }

  @Test func `the time for which a worker's connection is away does not count, and is no progress`() {
    var desk = running()
    _ = pass(50, &desk)
    desk.dispatcher.disconnected(Self.a)
    for _ in 0..<14 {
      desk.advance(.seconds(1))
      #expect(desk.tick() == [])
    }
    desk.attach(Desk.hello(running: [RunningLaunch(launch: key(1))]), assignments: [Desk.assignment(1)])
    #expect(pass(9, &desk) == [])
    #expect(pass(1, &desk) == [Self.suspect(60)])
  }

  @Test func `a batch that is said again after a reconnection is no progress`() {
    var desk = running()
    desk.dispatcher.progressed(key(1), .batch(0, completed: 1, of: nil), on: Self.a)
    _ = pass(60, &desk)
    desk.dispatcher.progressed(key(1), .batch(0, completed: 1, of: nil), on: Self.a)
    #expect(pass(60, &desk) == Self.stalled)
  }

  @Test func `a launch that waits for a slow store is not blamed`() {
    var desk = running()
    _ = pass(100, &desk)
    desk.dispatcher.progressed(key(1), .answered, on: Self.a)
    #expect(pass(59, &desk) == [])
  }

  @Test func `a coordinator that was stopped for less than a third of a lease does not count that time`() {
    var desk = running { $0.stallAfter = .seconds(3) }
    _ = pass(2, &desk)
    desk.advance(.seconds(4))
    #expect(desk.tick() == [])
    #expect(pass(1, &desk) == [Self.suspect(3)])
    #expect(pass(2, &desk) == [])
    #expect(pass(1, &desk) == Self.stalled)
  }

  @Test func `a coordinator that was stopped blames nobody for it`() {
    var desk = running()
    _ = pass(10, &desk)
    desk.advance(.seconds(600))
    #expect(desk.tick() == [])
    #expect(pass(59, &desk) == [])
    #expect(pass(1, &desk) == [Self.suspect(60)])
  }

  @Test func `a launch that is asked to stop is not suspected too`() {
    var desk = running()
    _ = desk.dispatcher.expire(key(1), .paused)
    #expect(pass(600, &desk) == [])
  }
}
