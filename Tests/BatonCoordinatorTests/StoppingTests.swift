import BatonModel
import Testing

@testable import BatonCoordinator

@Suite struct StoppingTests {
  let a = HostName("a")

  static func stop(_ launch: LaunchKey, _ reason: ExpiryReason) -> [Dispatcher.Effect] {
    [.noteExpiry(launch, reason), .send(.expire(launch, reason))]
  }

  @Test func `a launch expires once, for the first reason`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1), Desk.assignment(2))
    #expect(desk.dispatcher.expire(key(1), .cancelled(by: "ann")) == Self.stop(key(1), .cancelled(by: "ann")))
    #expect(desk.dispatcher.expire(key(1), .draining) == [])
    #expect(desk.dispatcher.workerExpires(key(1), .budgetSpent, on: a) == [])
    #expect(desk.dispatcher.setPaused(true) == Self.stop(key(2), .paused))
  }

  @Test func `what the worker stopped on its own is noted, once and from its own host only`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.attach(Desk.hello("b", "b1", slots: 0))
    desk.start(Desk.assignment(1))
    #expect(desk.dispatcher.workerExpires(key(1), .thermal, on: HostName("b")) == [])
    #expect(
      desk.dispatcher.workerExpires(key(1), .thermal, on: a)
        == [.noteExpiry(key(1), .thermal, from: WorkerProcess(host: a, incarnation: Incarnation("a1")))])
    #expect(desk.dispatcher.workerExpires(key(1), .thermal, on: a) == [])
    #expect(desk.dispatcher.expire(key(1), .paused) == [])
  }

  @Test func `a launch that is over or unknown cannot expire`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1))
    desk.dispatcher.ended(key(1))
    #expect(desk.dispatcher.expire(key(1), .paused) == [])
    #expect(desk.dispatcher.expire(key(5), .paused) == [])
    #expect(desk.dispatcher.workerExpires(key(1), .thermal, on: a) == [])
  }

  @Test func `an ended launch frees what it held, once`() {
    var desk = Desk()
    desk.learn(1, Desk.job { $0.requirements.slots = 2 })
    desk.attach()
    desk.start(Desk.assignment(1), Desk.assignment(2))
    #expect(desk.host.usedSlots == 4)
    for _ in 1...2 {
      desk.dispatcher.ended(key(1))
      #expect(desk.host.usedSlots == 2)
    }
    #expect(desk.dispatcher.places == [key(2): a])
  }

  @Test func `a paused fleet expires every launch and starts none until it goes on`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(2), Desk.assignment(1))
    #expect(desk.dispatcher.setPaused(true) == Self.stop(key(1), .paused) + Self.stop(key(2), .paused))
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    #expect(desk.dispatcher.setPaused(true) == [])
    #expect(desk.dispatcher.setPaused(false) == [])
    #expect(desk.dispatcher.reserve(ready(1), count: 1).count == 1)
  }

  @Test func `a drained host expires its launches and takes none, also after another hello`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1))
    desk.attach(Desk.hello("b", "b1", slots: 1))
    #expect(desk.dispatcher.setDraining(a, true) == Self.stop(key(1), .draining))
    desk.attach()
    #expect(desk.dispatcher.reserve(ready(1), count: 9).map(\.host.rawValue) == ["b"])
    #expect(desk.dispatcher.setDraining(a, false) == [])
    #expect(desk.dispatcher.reserve(ready(1), count: 9).map(\.host.rawValue) == ["a"])
  }

  @Test func `a worker that shuts down takes nothing new, whatever an operator says, until it says hello again`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1))
    desk.dispatcher.workerDrains(a)
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    #expect(desk.dispatcher.setDraining(a, false) == [])
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [], "each launch there would expire at once, and again")
    desk.attach(assignments: [Desk.assignment(1)])
    #expect(desk.dispatcher.reserve(ready(1), count: 1).count == 1)
  }

  @Test func `a worker that was stopped in order gives its lease back, and is gone rather than draining`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1))
    desk.dispatcher.workerDrains(a)
    #expect(desk.dispatcher.hosts[a]?.reportState == .draining)
    desk.dispatcher.disconnected(a)
    #expect(desk.tick() == [], "its launch has not ended: it may come back")
    desk.dispatcher.ended(key(1))
    desk.dispatcher.disconnected(a)
    desk.advance(.milliseconds(100))
    #expect(desk.tick() == [.disconnect(a), .endLease(countsAsLoss: false)])
    #expect(desk.dispatcher.hosts[a]?.reportState == .gone && desk.host.isDraining == false)
    #expect(desk.tick() == [])
    desk.leaseEnded(a, Incarnation("a1"))
    #expect(desk.dispatcher.obstacles(for: Desk.job()).hosts.map(\.1) == [[.hostGone]])
  }

  @Test func `a host that an operator drains stays drained after its worker was stopped in order`() {
    var desk = Desk()
    desk.attach()
    _ = desk.dispatcher.setDraining(a, true)
    desk.dispatcher.workerDrains(a)
    desk.dispatcher.disconnected(a)
    desk.tick()
    desk.leaseEnded(a, Incarnation("a1"))
    #expect(desk.host.isDraining)
  }

  @Test func `a host can be drained before it ever connected`() {
    var desk = Desk()
    desk.learn(1)
    #expect(desk.dispatcher.setDraining(a, true) == [])
    desk.attach()
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
  }

  @Test func `new conditions keep launches away from then on`() {
    var desk = Desk()
    desk.learn(1, Desk.job { $0.requirements.externalPower = true })
    desk.attach()
    var conditions = Conditions.assumed
    conditions.power.value = .battery
    desk.dispatcher.conditionsChanged(conditions, on: a)
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    desk.dispatcher.conditionsChanged(.assumed, on: a)
    #expect(desk.dispatcher.reserve(ready(1), count: 1).count == 1)
  }

  /// The store claims a launch, and an operator stops it before the dispatcher knows it.
  @Test(arguments: ["cancel", "pause", "drain"])
  func `what is stopped while it is being claimed stops once it is known`(how: String) {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    let early: [Dispatcher.Effect]
    let reason: ExpiryReason
    switch how {
    case "cancel": (early, reason) = (desk.dispatcher.expire(key(1), .cancelled(by: "ann")), .cancelled(by: "ann"))
    case "pause": (early, reason) = (desk.dispatcher.setPaused(true), .paused)
    default: (early, reason) = (desk.dispatcher.setDraining(a, true), .draining)
    }
    #expect(early == [])
    let effects = desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: false)
    #expect(effects == [.definition(1), .send(.launch(Desk.assignment(1)))] + Self.stop(key(1), reason))
  }

  @Test func `a stop is remembered only while claims are open that may know its launch`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    _ = desk.dispatcher.expire(key(1), .simulated(as: nil))
    let before = desk.dispatcher.reserve(ready(1), count: 1)[0]
    _ = desk.dispatcher.expire(key(2), .simulated(as: nil))
    let after = desk.dispatcher.reserve(ready(1), count: 1)[0]
    _ = desk.dispatcher.settle(before, with: [], hasMore: true)
    let effects = desk.dispatcher.settle(after, with: [Desk.assignment(1), Desk.assignment(2)], hasMore: false)
    #expect(effects == [.definition(1), .send(.launch(Desk.assignment(1))), .send(.launch(Desk.assignment(2)))])
  }
}
