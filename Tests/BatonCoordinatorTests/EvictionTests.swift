import BatonCoordinator
import BatonModel
import ContractRows
import Testing

/// Operators' words about single hosts (contract, rows 25 and 43).
@Suite struct EvictionTests {
  static let a = HostName("a")
  static let wildcard = IdentifierPattern("com.example.*")!

  private func desk() -> Desk {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.*"))
    desk.attach()
    return desk
  }

  @Test(.contract(25.3)) func `an eviction stops what runs there and keeps it away until it is taken back`() {
    var desk = desk()
    desk.start(Desk.assignment(1))
    let effects = desk.dispatcher.setEvicted(Self.wildcard, from: Self.a, true)
    #expect(effects == [.noteExpiry(key(1), .evicted), .send(.expire(key(1), .evicted))])
    desk.dispatcher.ended(key(1))
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    #expect(desk.dispatcher.obstacles(for: Desk.job("com.example.*")).hosts.map(\.1) == [[.evicted]])
    desk.attach(Desk.hello("b", "b1"))
    #expect(desk.dispatcher.reserve(ready(1), count: 1).map(\.host) == [HostName("b")])
    #expect(desk.dispatcher.setEvicted(Self.wildcard, from: Self.a, false) == [])
    #expect(desk.dispatcher.obstacles(for: Desk.job("com.example.*")).hosts.map(\.1) == [[], []])
  }

  @Test func `one instance can be evicted, and the others stay`() {
    var desk = desk()
    let instance = JobIdentifier("com.example.a")!
    _ = desk.dispatcher.setEvicted(IdentifierPattern(instance), from: Self.a, true)
    #expect(desk.dispatcher.reserve(ready(1), instance, count: 1) == [])
    #expect(desk.dispatcher.obstacles(for: Desk.job("com.example.*"), instance).hosts.map(\.1) == [[.evicted]])
    #expect(desk.dispatcher.reserve(ready(1), JobIdentifier("com.example.b")!, count: 1).count == 1)
  }

  @Test
  func `a simulated launch takes a place whatever the conditions, and not against the owner's word`() {
    var desk = desk()
    var conditions = Conditions.assumed
    conditions.thermal.value = .critical
    desk.dispatcher.conditionsChanged(conditions, on: Self.a)
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    let id = JobIdentifier("com.example.a")!
    guard case .reserved(let reservation) = desk.dispatcher.reserveSimulated(ready(1), id, on: nil) else {
      Issue.record("no place")
      return
    }
    #expect(reservation.host == Self.a && desk.host.usedSlots == 1)
    _ = desk.dispatcher.settle(reservation, with: [], hasMore: true)
    #expect(desk.host.usedSlots == 0)
    conditions.owner = .paused(by: "alex", until: nil)
    desk.dispatcher.conditionsChanged(conditions, on: Self.a)
    #expect(
      desk.dispatcher.reserveSimulated(ready(1), id, on: nil)
        == .none([HostObstacle(host: Self.a, obstacle: .hostPausedByOwner(until: nil))]))
    #expect(
      desk.dispatcher.reserveSimulated(ready(1), id, on: HostName("z"))
        == .none([HostObstacle(host: HostName("z"), obstacle: .hostGone)]))
  }

  @Test func `simulated conditions go to the worker, which decides what they stop`() {
    let desk = desk()
    let overrides = ConditionOverrides(power: .battery)
    let (isConnected, effects) = desk.dispatcher.simulate(overrides, on: Self.a, lasting: .seconds(60))
    #expect(isConnected && effects == [.send(.simulate(overrides, lasting: .seconds(60)))])
    #expect(desk.dispatcher.simulate(overrides, on: HostName("b"), lasting: .seconds(60)).isConnected == false)
  }
}
