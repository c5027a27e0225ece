import BatonCoordinator
import BatonModel
import ContractRows
import Testing

/// No class holds a place, or takes a place from another class, without using it.
@Suite struct FairnessTests {
  static let (a, b) = (HostName("a"), HostName("b"))
  static let evicted = IdentifierPattern("com.example.x.a")!

  /// What the store answers if all that is ready is evicted from that host.
  private func nothingFits(_ reservation: Dispatcher.Reservation, _ desk: inout Desk) -> [Dispatcher.Effect] {
    desk.dispatcher.settle(reservation, with: [], hasMore: true, hasFitting: false)
  }

  @Test func `an instance that is evicted from a host holds no place there that others may use`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.x.*"))
    desk.learn(2, Desk.job("com.example.y", .processing))
    desk.attach()
    _ = desk.dispatcher.setEvicted(Self.evicted, from: Self.a, true)
    desk.dispatcher.noteReady(ready(1))
    desk.dispatcher.noteReady(ready(2, .background))
    for reservation in desk.dispatcher.reserveReady(limit: 9) { _ = nothingFits(reservation, &desk) }
    #expect(desk.dispatcher.reserveReady(limit: 9).map(\.requirementClass) == [ready(2, .background)])
  }

  @Test func `another host is asked for an instance that is evicted from the fullest one`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.x.*") { $0.maxRunning = 1 })
    desk.attach(Desk.hello("a", "a1", slots: 2))
    desk.attach(Desk.hello("b", "b1", slots: 8))
    desk.dispatcher.noteReady(ready(1))
    let first = desk.dispatcher.reserveReady(limit: 9)
    #expect(first.map(\.host) == [Self.a])
    _ = nothingFits(first[0], &desk)
    let second = desk.dispatcher.reserveReady(limit: 9)
    #expect(second.map(\.host) == [Self.b])
    _ = desk.dispatcher.settle(second[0], with: [], hasMore: true, hasFitting: true)
    desk.dispatcher.noteReady(ready(1))
    #expect(desk.dispatcher.reserveReady(limit: 9).map(\.host) == [Self.a], "news: it is asked again")
  }

  @Test func `what gave way gets its place back only after the one it gave way to has started`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.slow.*", .processing))
    desk.learn(2, Desk.job("com.example.wide", .continued) { $0.requirements.slots = 2 })
    desk.attach(Desk.hello(slots: 2))
    desk.start(
      Desk.assignment(1, of: 1, priority: .background), Desk.assignment(2, of: 1, priority: .background))
    desk.dispatcher.noteReady(ready(2))
    _ = desk.dispatcher.reserveReady(limit: 9).map { desk.dispatcher.settle($0, with: [], hasMore: true) }
    // The first to close is ready again while the other one still closes.
    desk.dispatcher.ended(key(1))
    desk.dispatcher.noteReady(ready(1, .background))
    #expect(desk.dispatcher.reserveReady(limit: 9) == [])
    desk.dispatcher.ended(key(2))
    let reservations = desk.dispatcher.reserveReady(limit: 9).filter { !$0.places.isEmpty }
    #expect(reservations.map(\.requirementClass) == [ready(2)])
  }

  @Test func `who could not help does not give way`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.plain", .processing))
    desk.learn(3, Desk.job("com.example.gpu", .processing) { $0.requirements.gpu = GPURequirement() })
    desk.learn(2, Desk.job("com.example.now", .continued) { $0.requirements.gpu = GPURequirement() })
    desk.attach(Desk.hello(slots: 4, gpus: [GPU(name: "g", memoryBytes: 1 << 30)]))
    desk.start(Desk.assignment(3, of: 3, priority: .background, gpus: [0]))
    desk.advance(.seconds(5))
    desk.tick()
    desk.start(Desk.assignment(1, of: 1, priority: .background))
    desk.dispatcher.noteReady(ready(2))
    let effects = desk.dispatcher.reserveReady(limit: 9).flatMap { desk.dispatcher.settle($0, with: [], hasMore: true) }
    #expect(effects == PressureTests.preempted(3))
  }

  @Test func `nobody gives way while the store takes nothing, or for an instance that may not run there`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.slow", .processing))
    desk.learn(2, Desk.job("com.example.x.*", .continued))
    desk.attach(Desk.hello(slots: 1))
    desk.start(Desk.assignment(1, of: 1, priority: .background))
    desk.dispatcher.noteReady(ready(2))
    for reservation in desk.dispatcher.reserveReady(limit: 9) { desk.dispatcher.giveUp(reservation) }
    #expect(desk.dispatcher.hosts[Self.a]?.launches[key(1)]?.expiring == nil)
    let effects = desk.dispatcher.reserveReady(limit: 9).flatMap { nothingFits($0, &desk) }
    #expect(effects == [] && desk.dispatcher.reserveReady(limit: 9) == [])
  }

  @Test func `an eviction while a claim is open holds for its launch`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.*"))
    desk.attach()
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    _ = desk.dispatcher.setEvicted(IdentifierPattern("com.example.a")!, from: Self.a, true)
    let effects = desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: false)
    #expect(effects.contains(.noteExpiry(key(1), .evicted)))
  }

  @Test func `an eviction that came while the worker was away holds when it is back`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1)
    _ = desk.dispatcher.setEvicted(IdentifierPattern("com.example.a")!, from: Self.a, true)
    let effects = desk.attach(
      Desk.hello(running: [RunningLaunch(launch: key(1))]), assignments: [Desk.assignment(1)])
    #expect(effects.contains(.noteExpiry(key(1), .evicted)))
  }

  @Test func `a simulated launch starts and goes on although the day's allowance is used up`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.a") { $0.dailyAllowance = .zero })
    desk.attach()
    let place = desk.dispatcher.reserveSimulated(ready(1), JobIdentifier("com.example.a")!, on: nil)
    guard case .reserved(let reservation) = place else {
      Issue.record("\(place)")
      return
    }
    var assignment = Desk.assignment(1)
    assignment.isSimulated = true
    _ = desk.dispatcher.settle(reservation, with: [assignment], hasMore: true)
    desk.advance(.milliseconds(100))
    #expect(desk.tick() == [])
  }

  @Test func `a new request does not overtake what waits with a higher priority`() {
    var desk = Desk()
    desk.learn(1)
    desk.dispatcher.noteReady(ready(1))
    #expect(!desk.dispatcher.mayStartAtOnce(ready(1)) && !desk.dispatcher.mayStartAtOnce(ready(2, .background)))
    #expect(desk.dispatcher.mayStartAtOnce(ready(2)))
  }
}
