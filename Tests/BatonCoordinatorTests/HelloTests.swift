import BatonModel
import Testing

@testable import BatonCoordinator

@Suite struct HelloTests {
  let a = HostName("a")
  let first = Incarnation("a1")

  @Test func `the first hello holds a lease for one term, and is welcomed once the store has it`() {
    var desk = Desk()
    desk.now = Instant(nanoseconds: 5)
    #expect(desk.says(Desk.hello()) == .attached(held: []))
    #expect(desk.dispatcher.hosts[a]?.lease == .held(first, until: desk.now + Desk.term))
    let effects = desk.dispatcher.attached(a, first, held: [], running: [], assignments: [])
    #expect(effects == [.welcome])
    #expect(desk.dispatcher.hosts[a]?.isConnected == true)
  }

  @Test func `nothing is claimed for a host before the store knows of its lease`() {
    var desk = Desk()
    desk.learn(1)
    _ = desk.says(Desk.hello())
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    _ = desk.dispatcher.attached(a, first, held: [], running: [], assignments: [])
    #expect(desk.dispatcher.reserve(ready(1), count: 1).count == 1)
  }

  @Test func `the same process may say hello again, whether its old connection is gone or not`() {
    for isGone in [true, false] {
      var desk = Desk()
      desk.learn(1)
      desk.attach()
      desk.start(Desk.assignment(1))
      if isGone { desk.dispatcher.disconnected(a) }
      _ = desk.pass(5)
      let hello = Desk.hello(running: [RunningLaunch(launch: key(1))])
      #expect(desk.says(hello) == .attached(held: [key(1)]))
      #expect(desk.dispatcher.hosts[a]?.lease == .held(first, until: desk.now + Desk.term))
    }
  }

  @Test func `a second live worker of one name is refused, both named, and may try again`() {
    var desk = Desk()
    desk.attach()
    #expect(
      desk.says(Desk.hello("a", "a2"))
        == .refused(
          "another worker named 'a' is connected and alive, so this one is not taken: give one of them another --name",
          isFinal: false))
    #expect(desk.dispatcher.hosts[a]?.incarnation == first)
  }

  @Test func `a second worker is refused while the first is being attached`() {
    var desk = Desk()
    _ = desk.says(Desk.hello())
    guard case .refused(_, isFinal: false) = desk.says(Desk.hello("a", "a2")) else {
      Issue.record("it was taken")
      return
    }
  }

  @Test func `another process of a name whose worker is away ends that one's lease first`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1))
    desk.dispatcher.disconnected(a)
    #expect(desk.says(Desk.hello("a", "a2")) == .after(ending: Desk.lease()))
    #expect(desk.host.hasLease == false)
    desk.leaseEnded(a, first)
    #expect(desk.dispatcher.places == [:])
    #expect(desk.host.usedSlots == 0)
    #expect(desk.attach(Desk.hello("a", "a2")) == [.welcome])
  }

  @Test func `a successor that comes while a lease is ending ends it itself, whoever began`() {
    var desk = Desk()
    desk.attach()
    desk.dispatcher.disconnected(a)
    #expect(desk.says(Desk.hello("a", "a2")) == .after(ending: Desk.lease()))
    #expect(desk.says(Desk.hello("a", "a2")) == .after(ending: Desk.lease()), "the first attempt broke off")
    desk.leaseEnded(a, first)
    #expect(desk.attach(Desk.hello("a", "a2")) == [.welcome])
    desk.leaseEnded(a, first)
    #expect(desk.dispatcher.hosts[a]?.incarnation == Incarnation("a2"), "the other attempt's end comes late")
  }

  @Test func `a process whose own lease is ending waits for that`() {
    var desk = Desk()
    desk.attach()
    _ = desk.pass(15)
    #expect(desk.says(Desk.hello()) == .refused("the lease of host 'a' is just ending; try again", isFinal: false))
    desk.leaseEnded(a, first)
    #expect(desk.attach() == [.welcome])
  }

  @Test func `a hello whose lease ended while the store was asked has to be said again`() {
    var desk = Desk()
    _ = desk.says(Desk.hello())
    _ = desk.dispatcher.processDied(a, first, isBlameless: false)
    let effects = desk.dispatcher.attached(a, first, held: [], running: [], assignments: [])
    #expect(effects == [.disconnect(a)])
    desk.leaseEnded(a, first)
    #expect(desk.dispatcher.attached(a, first, held: [], running: [], assignments: []) == [.disconnect(a)])
    #expect(desk.dispatcher.hosts[a]?.isConnected == false)
  }

  @Test func `the launches of a host are told to the process that holds the lease, to no other`() {
    var desk = Desk()
    _ = desk.says(Desk.hello())
    _ = desk.pass(15)
    desk.leaseEnded(a, first)
    _ = desk.says(Desk.hello("a", "a2"))
    let late = desk.dispatcher.attached(a, first, held: [], running: [], assignments: [])
    #expect(late == [.disconnect(a)])
  }

  @Test func `a restart gives every live lease one full new term, and no lease to others`() {
    var desk = Desk()
    desk.now = Instant(nanoseconds: 1_000_000_000_000)
    desk.restore(
      [DefinitionID(1): Desk.job()], hosts: [("a", false, "a1"), ("b", true, nil)], running: [key(1)])
    #expect(desk.dispatcher.hosts[a]?.lease == .held(first, until: desk.now + Desk.term))
    #expect(desk.dispatcher.hosts[HostName("b")]?.lease == HostState.Lease.none)
    #expect(desk.dispatcher.hosts[HostName("b")]?.host.isDraining == true)
    #expect(desk.dispatcher.places == [key(1): a])
    #expect(desk.pass(14) == [])
    #expect(desk.pass(1) == [.disconnect(a), .endLease()])
  }

  @Test func `after a restart workers come back to what they run, and get what was claimed but never delivered`() {
    var desk = Desk()
    desk.restore([DefinitionID(1): Desk.job()], readyClasses: [ready(1)], running: [key(1), key(2)])
    #expect(desk.dispatcher.reserveReady(limit: 9) == [], "its capabilities are not known before its hello")
    let effects = desk.attach(
      Desk.hello(running: [RunningLaunch(launch: key(1))]), assignments: [Desk.assignment(1), Desk.assignment(2)])
    #expect(effects == [.welcome, .definition(1), .send(.launch(Desk.assignment(2)))])
    #expect(desk.host.usedSlots == 2)
  }

  @Test func `only the process that holds the lease is listened to`() {
    var desk = Desk()
    desk.attach()
    func listens(_ host: String, _ incarnation: String) -> Bool {
      desk.dispatcher.listens(to: WorkerProcess(host: HostName(host), incarnation: Incarnation(incarnation)))
    }
    #expect(listens("a", "a1"))
    #expect(!listens("a", "a2"))
    #expect(!listens("b", "a1"))
    desk.dispatcher.disconnected(HostName("a"))
    #expect(listens("a", "a1"), "its lease goes on")
    guard case .after(let former) = desk.says(Desk.hello("a", "a2")) else {
      Issue.record("the second process was not taken")
      return
    }
    desk.dispatcher.leaseEnded(former)
    #expect(!listens("a", "a1"))
    desk.attach(Desk.hello("a", "a2"))
    #expect(listens("a", "a2") && !listens("a", "a1"))
  }
}
