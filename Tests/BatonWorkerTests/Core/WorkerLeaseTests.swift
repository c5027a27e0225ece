import BatonModel
import ContractRows
import Testing

@testable import BatonCore

@Suite struct WorkerLeaseTests {
  @Test(.contract(3.1)) func `the hello tells who it is and what it can do`() {
    var bench = Bench()
    #expect(bench.connects() == [Bench.hello()])
    #expect(bench.core.lease == .asked(at: bench.now))
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [])
  }

  @Test func `a lease is counted from when the hello was sent`() {
    var bench = Bench()
    _ = bench.connects()
    #expect(bench.pass(4) == [])
    _ = bench.hears(.welcome(leaseTerm: Bench.term))
    #expect(bench.pass(10.9) == [])
    #expect(bench.pass(0.1) == [.lapsed])
    #expect(bench.now == Instant(nanoseconds: 0) + Bench.term)
  }

  /// The times at which heartbeats are sent within a term.
  private func heartbeats(_ bench: Bench) -> [Int: Duration] {
    var (bench, sent): (Bench, [Int: Duration]) = (bench, [:])
    let start = bench.now
    for _ in 1...149 {
      bench.now = bench.now + .milliseconds(100)
      for case .send(.heartbeat(let number)) in bench.core.tick(at: bench.now) { sent[number] = bench.now - start }
    }
    return sent
  }

  @Test func `heartbeats go out three times in each term while there are launches, numbered`() {
    var bench = Bench.welcomed()
    _ = bench.starts()
    #expect(heartbeats(bench) == [1: .seconds(5), 2: .seconds(10)])
  }

  @Test func `a worker without launches sends two heartbeats in each term, and the next one early if a launch comes`() {
    var bench = Bench.welcomed()
    #expect(heartbeats(bench) == [1: .milliseconds(7500)])
    #expect(heartbeats(.welcomed(knowsOtherCoordinators: true)) == [1: .seconds(5), 2: .seconds(10)])
    _ = bench.pass(6)
    _ = bench.starts()
    #expect(bench.core.tick(at: bench.now).contains(.send(.heartbeat(number: 1))))
  }

  @Test func `time is looked at seldom while nothing runs, and never too seldom for a heartbeat`() {
    var bench = Bench()
    #expect(bench.core.tickInterval == .seconds(1))
    for (term, interval) in [(60, 1000), (5, 500), (1, 100)] {
      bench = Bench()
      _ = bench.connects()
      _ = bench.hears(.welcome(leaseTerm: .seconds(term)))
      #expect(bench.core.tickInterval == .milliseconds(interval))
    }
    bench = Bench.welcomed()
    _ = bench.hears(.definition(DefinitionID(1), Bench.job()))
    _ = bench.hears(.launch(Bench.assignment(1)))
    #expect(bench.core.tickInterval == .milliseconds(100))
    bench = Bench.welcomed()
    _ = bench.core.drain(at: bench.now)
    #expect(bench.core.tickInterval == .milliseconds(100))
  }

  @Test func `a lease is counted from when the heartbeat was sent, not from when its answer came`() {
    var bench = Bench.welcomed()
    _ = bench.starts()
    _ = bench.pass(5)
    let sent = bench.now
    #expect(bench.pass(9) == [])
    #expect(bench.hears(.heartbeatAnswered(number: 1)) == [])
    bench.now = sent + Bench.term + .milliseconds(-1)
    #expect(bench.core.tick(at: bench.now).contains(.lapsed) == false)
    bench.now = sent + Bench.term
    #expect(bench.core.tick(at: bench.now).contains(.lapsed))
  }

  @Test func `answers out of order, twice, or to what was never sent shorten and lengthen nothing`() {
    var bench = Bench.welcomed()
    _ = bench.starts()
    _ = bench.pass(5)
    _ = bench.pass(5)
    let sent = bench.now
    for number in [2, 1, 2, 7, 0, -1] { #expect(bench.hears(.heartbeatAnswered(number: number)) == []) }
    guard case .held(let until, _, _) = bench.core.lease else {
      Issue.record("no lease")
      return
    }
    #expect(until == sent + Bench.term)
  }

  @Test func `an answer to a heartbeat of an earlier connection is not taken for a later one's`() {
    var bench = Bench.welcomed()
    _ = bench.pass(5)
    _ = bench.reconnects()
    let reconnected = bench.now
    _ = bench.pass(5)
    _ = bench.hears(.heartbeatAnswered(number: 1))
    guard case .held(let until, _, _) = bench.core.lease else {
      Issue.record("no lease")
      return
    }
    #expect(until == reconnected + Bench.term)
  }

  @Test func `without a lease nothing may run on: launches expire, and a new connection is made`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(2))
    bench.starts(Bench.assignment(1))
    _ = bench.hears(.expire(key(2), .paused))
    #expect(bench.pass(14.9) == [])
    #expect(
      bench.pass(0.1) == WorkerCore.Effect.expiry(key(1), .leaseLost, bench.now + .seconds(2)) + [.lapsed],
      "the other one is closing already")
    #expect(bench.core.lease == .none)
    #expect(bench.pass(1) == [])
  }

  @Test func `a worker that was stopped past its lease stops at once when it wakes`() {
    var bench = Bench.welcomed()
    bench.starts()
    bench.now = bench.now + .seconds(3600)
    let effects = bench.core.tick(at: bench.now)
    #expect(
      effects == [.send(.heartbeat(number: 1))] + WorkerCore.Effect.expiry(key(1), .leaseLost, bench.now + .seconds(2))
        + [.lapsed])
  }

  @Test func `it goes on working while the coordinator is away, and comes back within its lease`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1, gpus: [3]))
    #expect(bench.pass(10) == [])
    #expect(bench.connects() == [Bench.hello(RunningLaunch(launch: key(1), gpus: [3]))])
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [])
    #expect(bench.passConnected(60) == [])
  }

  @Test func `a lease runs out also while a hello waits for its answer`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.pass(8)
    _ = bench.connects()
    _ = bench.pass(6.9)
    #expect(
      bench.pass(0.1) == WorkerCore.Effect.expiry(key(1), .leaseLost, bench.now + .seconds(2)).prefix(1) + [.lapsed])
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [.send(.expiring(key(1), .leaseLost))])
  }

  @Test func `a hello that nobody answers is given up`() {
    var bench = Bench()
    _ = bench.connects()
    #expect(bench.pass(9.9) == [])
    let text = "the coordinator did not answer the hello within \(WorkerCore.helloPatience.inWords)"
    #expect(bench.pass(0.1) == [.reconnect(text)])
    _ = bench.connects()
    _ = bench.hears(.welcome(leaseTerm: Bench.term))
    #expect(bench.passConnected(20) == [])
  }

  @Test func `a hello on a connection that was closed is not missed`() {
    var bench = Bench()
    _ = bench.connects()
    bench.core.disconnected()
    #expect(bench.pass(30) == [])
    _ = bench.connects()
    #expect(bench.pass(9.9) == [])
    #expect(bench.pass(0.1).count == 1)
  }

  @Test func `a welcome that was not asked for lengthens no lease`() {
    var bench = Bench.welcomed()
    _ = bench.pass(5)
    let lease = bench.core.lease
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [])
    #expect(bench.core.lease == lease)
  }

  @Test func `a refusal ends the worker or makes it try again`() {
    var bench = Bench()
    _ = bench.connects()
    #expect(bench.hears(.refused("later", isFinal: false)) == [.reconnect("later")])
    #expect(bench.hears(.refused("never", isFinal: true)) == [.end("never")])
  }

  @Test func `a final refusal leaves no handler waiting for an answer`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    _ = bench.commits(1)
    _ = bench.connects()
    #expect(
      bench.hears(.refused("never", isFinal: true)) == [
        .refused(key(1), "never", isSuperseded: true),
        .expire(key(1), .leaseLost, deadline: bench.now + .seconds(2)),
        .expire(key(2), .leaseLost, deadline: bench.now + .seconds(2)), .end("never"),
      ])
    for request in 1...Int64(2) {
      #expect(
        bench.commits(request)
          == [.refused(key(request), "the launch is over", isSuperseded: true)])
    }
  }
}
