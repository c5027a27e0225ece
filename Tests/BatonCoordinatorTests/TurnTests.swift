import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Testing

/// A definition that a person used lately goes before the others of its priority (contract, row 25).
@Suite struct TurnTests {
  private static let a = IdentifierPattern("com.example.a")!
  private static let b = IdentifierPattern("com.example.b")!

  /// One host with one slot, and two definitions with ready requests, of which the first has waited longer.
  private func desk(_ priorities: (Priority, Priority) = (.background, .background)) -> Desk {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.a", .processing))
    desk.learn(2, Desk.job("com.example.b", .processing))
    desk.attach(Desk.hello(slots: 1))
    desk.dispatcher.noteReady(ready(1, priorities.0))
    desk.dispatcher.noteReady(ready(2, priorities.1))
    return desk
  }

  /// Which definition gets the slot; it is free again afterwards, and both still have ready requests.
  private func served(_ desk: inout Desk) -> [DefinitionID] {
    let reservations = desk.dispatcher.reserveReady(limit: 9)
    for reservation in reservations {
      _ = desk.dispatcher.settle(reservation, with: [], hasMore: true, hasFitting: true)
    }
    return reservations.map(\.requirementClass.definition)
  }

  @Test(.contract(25.2)) func `recent use goes first, and without it the one that was served longest ago`() {
    var desk = desk()
    #expect(served(&desk) == [DefinitionID(1)])
    #expect(served(&desk) == [DefinitionID(2)])
    #expect(served(&desk) == [DefinitionID(1)])
    _ = desk.dispatcher.used(Self.a)
    #expect((1...3).map { _ in served(&desk) } == Array(repeating: [DefinitionID(1)], count: 3))
    _ = desk.dispatcher.used(Self.b)
    #expect(served(&desk) == [DefinitionID(2)], "both are used: the one that was served longest ago")
  }

  @Test func `recent use never goes before a higher priority`() {
    var desk = desk((.background, .utility))
    _ = desk.dispatcher.used(Self.a)
    #expect((1...3).map { _ in served(&desk) } == Array(repeating: [DefinitionID(2)], count: 3))
  }

  @Test func `a use counts for a day`() {
    var desk = desk()
    #expect(served(&desk) == [DefinitionID(1)])
    _ = desk.dispatcher.used(Self.a)
    desk.advance(Turn.recentUse - .seconds(1))
    desk.tick()
    #expect(desk.dispatcher.turn(of: ready(1, .background)).hasRecentUse)
    desk.advance(.seconds(1))
    desk.tick()
    #expect(!desk.dispatcher.turn(of: ready(1, .background)).hasRecentUse)
    #expect(served(&desk) == [DefinitionID(2)])
  }

  @Test func `a definition without recent use gets its turn after ten minutes, and is not starved`() {
    var desk = desk()
    desk.attach(Desk.hello("a", "a1", slots: 1))
    _ = desk.dispatcher.used(Self.a)
    var turns: [DefinitionID] = []
    for _ in 0..<30 {
      turns += served(&desk)
      desk.advance(.seconds(60))
      _ = desk.dispatcher.heartbeat(1, from: HostName("a"), at: desk.now)
      desk.tick()
    }
    #expect(turns.filter { $0 == DefinitionID(2) }.count == 2)
    #expect(turns.prefix(10).allSatisfy { $0 == DefinitionID(1) })
    #expect(turns[10] == DefinitionID(2))
  }

  @Test func `the store is told of a use once in five minutes for each definition`() {
    var desk = desk()
    let first = desk.clocks.steady
    #expect(desk.dispatcher.used(Self.a) == [.noteUse(Self.a, at: first)])
    #expect(desk.dispatcher.used(Self.a) == [])
    #expect(desk.dispatcher.used(Self.b) == [.noteUse(Self.b, at: first)])
    desk.advance(Turn.useIsKeptEvery - .milliseconds(1))
    desk.tick()
    #expect(desk.dispatcher.used(Self.a) == [])
    desk.advance(.milliseconds(1))
    desk.tick()
    #expect(desk.dispatcher.used(Self.a) == [.noteUse(Self.a, at: desk.clocks.steady)])
  }

  @Test func `a use survives a restart, and is not written again because of it`() {
    var desk = Desk()
    let now = desk.clocks.steady
    desk.restore { $0.lastUses = [Self.a: now] }
    desk.learn(1, Desk.job("com.example.a", .processing))
    #expect(desk.dispatcher.turn(of: ready(1, .background)).hasRecentUse)
    #expect(desk.dispatcher.used(Self.a) == [])
  }

  @Test func `a new request without recent use does not overtake one with it, and no other is kept back`() {
    var desk = desk()
    desk.learn(3, Desk.job("com.example.c", .processing))
    #expect(desk.dispatcher.mayStartAtOnce(ready(3, .background)))
    _ = desk.dispatcher.used(Self.a)
    #expect(!desk.dispatcher.mayStartAtOnce(ready(3, .background)))
    #expect(desk.dispatcher.mayStartAtOnce(ready(3, .utility)))
    _ = desk.dispatcher.used(IdentifierPattern("com.example.c")!)
    #expect(desk.dispatcher.mayStartAtOnce(ready(3, .background)))
  }

  @Test
  func `a waiting request rises one priority after each hour, by the steady clock, and asks no other to give way`() {
    var desk = desk((.background, .userInitiated))
    let first = WaitingHead(RequestID(1), since: desk.clocks.steady)
    desk.dispatcher.noteReady(ready(1, .background), first: first)
    func priority() -> Priority { desk.dispatcher.turn(of: ready(1, .background)).priority }
    for (seconds, expected) in [(3_599, Priority.background), (1, .utility), (3_599, .utility), (1, .userInitiated)] {
      desk.advance(.seconds(seconds))
      desk.tick()
      #expect(priority() == expected)
    }
    desk.advance(.seconds(90_000))
    desk.tick()
    #expect(priority() == .userInitiated)
    desk.attach(Desk.hello(slots: 1))
    #expect((1...3).map { _ in served(&desk) } == [2, 1, 2].map { [DefinitionID($0)] }, "they take turns")
    #expect(desk.dispatcher.reserveReady(limit: 0) == [], "nothing is asked to give way")
  }

  @Test func `a step of the wall clock makes no request older`() {
    var desk = desk((.background, .userInitiated))
    let now = Now(instant: desk.now, date: desk.date + .seconds(400_000), steady: desk.clocks.steady)
    _ = desk.dispatcher.tick(at: now)
    #expect(desk.dispatcher.turn(of: ready(1, .background)).priority == .background)
  }

  @Test func `the next request of a class has its own age, and ageing can be off`() {
    var desk = desk((.background, .userInitiated))
    desk.dispatcher.noteReady(ready(1, .background), first: WaitingHead(RequestID(1), since: desk.clocks.steady))
    desk.advance(.seconds(3_600))
    desk.tick()
    desk.attach(Desk.hello(slots: 2))
    let reservation = desk.dispatcher.reserve(ready(1, .background), count: 1)[0]
    let next = WaitingHead(RequestID(2), since: desk.clocks.steady)
    _ = desk.dispatcher.settle(
      reservation, with: [Desk.assignment(1, of: 1, priority: .background)], hasMore: true, first: next)
    #expect(desk.dispatcher.turn(of: ready(1, .background)).priority == .background)
    #expect(Priority.background.aged(by: .seconds(90_000), step: nil) == .background)
    #expect(Priority.utility.aged(by: .seconds(10), step: .seconds(1)) == .userInitiated)
    #expect(Priority.background.aged(by: .seconds(-10), step: .seconds(1)) == .background)
  }

  @Test func `a request with a date does not count as old because its date is`() {
    var desk = desk((.background, .userInitiated))
    desk.dispatcher.noteReady(ready(1, .background), first: WaitingHead(RequestID(1), since: nil))
    #expect(desk.dispatcher.turn(of: ready(1, .background)).priority == .background)
    desk.advance(.seconds(3_600))
    desk.tick()
    desk.dispatcher.noteReady(ready(1, .background), first: WaitingHead(RequestID(1), since: nil))
    #expect(desk.dispatcher.turn(of: ready(1, .background)).priority == .utility)
    desk.dispatcher.noteReady(ready(1, .background), first: WaitingHead(RequestID(2), since: nil))
    #expect(desk.dispatcher.turn(of: ready(1, .background)).priority == .background)
  }

  @Test func `what explain counts is the order of the claims, on random fleets`() {
    for seed in 0..<UInt64(500) {
      var draw = FleetDraw(seed: seed)
      var desk = Desk()
      desk.tick()
      let count = draw.number(1...6)
      for id in 1...count {
        desk.learn(Int64(id), Desk.job("com.example.job\(id)", .processing))
        desk.dispatcher.noteReady(ready(Int64(id), draw.one(of: Priority.allCases)))
        if draw.once(in: 2) { _ = desk.dispatcher.used(IdentifierPattern("com.example.job\(id)")!) }
        if draw.once(in: 3) { desk.advance(.seconds(draw.number(1...50_000))) }
        desk.tick()
      }
      desk.attach(Desk.hello(slots: count))
      let turns = desk.dispatcher.turns
      let served = desk.dispatcher.reserveReady(limit: 1).first { !$0.places.isEmpty }
      #expect(served?.requirementClass == turns.first?.requirementClass, "seed \(seed)")
      for (one, other) in zip(turns, turns.dropFirst()) { #expect(!other.outranks(one), "seed \(seed)") }
    }
  }
}
