import BatonCoordinator
import BatonModel
import BatonStore
import Testing

@Suite struct LeaseTests {
  let a = HostName("a")
  let first = Incarnation("a1")

  @Test func `a lease that is not renewed ends after its term, once`() {
    var desk = Desk()
    desk.attach()
    #expect(desk.pass(14) == [])
    #expect(desk.pass(1) == [.disconnect(a), .endLease()])
    #expect(desk.pass(30) == [])
  }

  @Test func `heartbeats are answered by number and renew the lease`() {
    var desk = Desk()
    desk.attach()
    for number in 1...5 {
      #expect(desk.pass(10) == [])
      #expect(desk.dispatcher.heartbeat(number, from: a, at: desk.now) == [.send(.heartbeatAnswered(number: number))])
    }
    #expect(desk.pass(14) == [])
    #expect(desk.pass(1) == [.disconnect(a), .endLease()])
  }

  @Test func `a heartbeat after the end renews nothing: the worker has to say hello again`() {
    var desk = Desk()
    desk.attach()
    _ = desk.pass(15)
    #expect(desk.dispatcher.heartbeat(3, from: a, at: desk.now) == [.disconnect(a)])
    #expect(desk.dispatcher.heartbeat(3, from: HostName("nobody"), at: desk.now) == [.disconnect(HostName("nobody"))])
    desk.leaseEnded(a, first)
    #expect(desk.dispatcher.heartbeat(3, from: a, at: desk.now) == [.disconnect(a)])
  }

  @Test func `a closed stream alone ends nothing, and its host gets nothing new`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1))
    desk.dispatcher.disconnected(a)
    #expect(desk.pass(14) == [])
    #expect(desk.dispatcher.places == [key(1): a])
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
  }

  @Test func `a host whose stream has closed is away since then, until its lease ends or it is back`() {
    var desk = Desk()
    desk.attach()
    #expect(desk.dispatcher.hostsAway(among: [a], at: desk.clocks).isEmpty, "connected")
    _ = desk.pass(5)
    _ = desk.dispatcher.heartbeat(1, from: a, at: desk.now)
    desk.dispatcher.disconnected(a)
    let since = desk.clocks.date
    _ = desk.pass(4)
    let away = desk.dispatcher.hostsAway(among: [a, HostName("b")], at: desk.clocks)
    #expect(away == [a: HostAway(since: since, leaseUntil: since + .seconds(15))])
    var back = desk
    back.attach()
    #expect(back.dispatcher.hostsAway(among: [a], at: back.clocks).isEmpty, "back")
    _ = desk.pass(11)
    #expect(desk.dispatcher.hostsAway(among: [a], at: desk.clocks).isEmpty, "its lease has ended")
  }

  @Test func `the death of the process ends its lease at once, blamed or not`() {
    for isBlameless in [true, false] {
      var desk = Desk()
      desk.attach()
      let effects = desk.dispatcher.processDied(a, first, isBlameless: isBlameless)
      #expect(effects == [.disconnect(a), .endLease(countsAsLoss: !isBlameless)])
      #expect(desk.dispatcher.processDied(a, first, isBlameless: isBlameless) == [], "told twice")
      #expect(desk.pass(30) == [])
    }
  }

  @Test func `what overran stays where it is until its process is gone, and nothing new comes there`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1), Desk.assignment(2))
    #expect(
      desk.dispatcher.workerOverran(key(1), .budgetSpent, on: a) == [
        .noteExpiry(key(1), .budgetSpent, from: WorkerProcess(host: a, incarnation: first))
      ],
      "the word of the expiry itself may have been lost")
    #expect(desk.dispatcher.places == [key(1): a, key(2): a])
    #expect(desk.host.isDraining)
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    _ = desk.dispatcher.processDied(a, first, isBlameless: true)
    #expect(
      desk.dispatcher.overrunEndings(on: a)
        == [Ending(launch: key(1), outcome: .expired(.budgetSpent), isGraceful: false)], "its sibling is only lost")
    desk.leaseEnded(a, first)
    #expect(desk.dispatcher.overrunEndings(on: a) == [])
    desk.attach(Desk.hello("a", "a2"))
    #expect(!desk.host.isDraining)
    #expect(desk.dispatcher.reserve(ready(1), count: 1).flatMap(\.places).count == 1)
  }

  @Test func `a host has no say in launches of other hosts`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.attach(Desk.hello("b", "b1"))
    desk.start(Desk.assignment(1))
    #expect(desk.dispatcher.workerOverran(key(1), .budgetSpent, on: HostName("b")) == [])
    #expect(desk.dispatcher.overrunEndings(on: a) == [])
    #expect(desk.dispatcher.hosts[HostName("b")]?.host.isDraining == false)
  }

  @Test func `the death of an earlier process is no news, and that of another coordinator's process is its news`() {
    var desk = Desk()
    desk.attach(Desk.hello("a", "a2"))
    #expect(desk.dispatcher.processDied(a, first, isBlameless: false) == [])
    let other = WorkerProcess(host: HostName("b"), incarnation: first)
    #expect(
      desk.dispatcher.processDied(HostName("b"), first, isBlameless: false)
        == [.endLeaseElsewhere(other, countsAsLoss: true)])
    #expect(desk.dispatcher.hosts[a]?.lease == .held(Incarnation("a2"), until: desk.now + Desk.term))
  }

  @Test func `the end of a lease frees everything its launches held`() {
    var desk = Desk()
    desk.learn(1, Desk.job("com.example.*") { $0.maxRunning = 2 })
    desk.attach()
    desk.start(Desk.assignment(1), Desk.assignment(2))
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
    _ = desk.pass(15)
    desk.leaseEnded(a, first)
    #expect(desk.dispatcher.places == [:])
    #expect(desk.host.usedSlots == 0)
    #expect(!desk.host.hasLease)
    desk.attach(Desk.hello("a", "a2"))
    #expect(desk.dispatcher.reserve(ready(1), count: 9).flatMap(\.places).count == 2)
  }

  @Test func `only the lease that is ending ends`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1))
    desk.leaseEnded(a, first)
    desk.leaseEnded(a, Incarnation("a2"))
    #expect(desk.dispatcher.places == [key(1): a])
  }

  @Test func `a coordinator that was stopped gives every live lease one full new term`() {
    var desk = Desk()
    desk.attach(Desk.hello("a", "a1"))
    desk.attach(Desk.hello("b", "b1"))
    #expect(desk.pass(3) == [])
    // Stopped for a minute: the heartbeats of both wait in the socket.
    desk.advance(.seconds(60))
    #expect(desk.tick() == [])
    #expect(desk.pass(5) == [])
    _ = desk.dispatcher.heartbeat(1, from: a, at: desk.now)
    #expect(desk.pass(9) == [])
    #expect(desk.pass(1) == [.disconnect(HostName("b")), .endLease("b", "b1")], "only the silent one, and in time")
  }

  @Test func `a pause right after a restart is noticed too`() {
    var desk = Desk()
    desk.restore()
    desk.advance(.seconds(60))
    #expect(desk.tick() == [])
    #expect(desk.pass(14) == [])
    #expect(desk.pass(1) == [.disconnect(a), .endLease()])
  }

  @Test func `a pause brings no lease back that was over before`() {
    var desk = Desk()
    desk.attach()
    #expect(desk.pass(15) == [.disconnect(a), .endLease()])
    desk.advance(.seconds(60))
    #expect(desk.tick() == [])
    #expect(desk.dispatcher.hosts[a]?.lease == .ending(first))
  }

  @Test func `gaps that no heartbeat would miss renew nothing`() {
    var desk = Desk()
    desk.attach()
    desk.tick()
    for _ in 0..<2 {
      desk.advance(desk.dispatcher.pauseNoticed)
      #expect(desk.tick() == [])
    }
    desk.advance(desk.dispatcher.pauseNoticed)
    #expect(desk.tick() == [.disconnect(a), .endLease()])
  }

  @Test func `whoever ticks at each deadline lets no lease live on`() {
    var desk = Desk()
    #expect(desk.dispatcher.nextDeadline == nil)
    desk.attach()
    #expect(desk.dispatcher.nextDeadline == desk.now + Desk.term)
    desk.tick()
    var effects: [Dispatcher.Effect] = []
    while let deadline = desk.dispatcher.nextDeadline {
      desk.advance(deadline - desk.now)
      effects += desk.tick()
    }
    #expect(effects == [.disconnect(a), .endLease()])
  }
}
