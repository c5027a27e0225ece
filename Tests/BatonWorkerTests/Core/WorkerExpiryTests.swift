import BatonModel
import ContractRows
import Testing

@testable import BatonCore
@testable import BatonHost

@Suite struct WorkerExpiryTests {
  @Test(.contract(27.1), arguments: [(JobKind.refresh, 5), (.processing, 30), (.continued, 30)])
  func `the handler is told why and until when, by its kind`(kind: JobKind, seconds: Int) {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Bench.job(kind) { $0.budget = nil })
    let deadline = bench.now + .seconds(seconds)
    #expect(
      bench.hears(.expire(key(1), .cancelled(by: "ann"))) == [
        .expire(key(1), .cancelled(by: "ann"), deadline: deadline)
      ])
    #expect(bench.passConnected(Double(seconds) - 0.1) == [])
    #expect(bench.passConnected(0.1) == [.overrun(key(1))])
    #expect(bench.passConnected(60) == [], "once")
  }

  @Test func `the first reason wins, wherever it comes from`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Bench.job { $0.requirements.externalPower = true })
    _ = bench.hears(.expire(key(1), .paused))
    #expect(bench.hears(.expire(key(1), .draining)) == [])
    #expect(bench.core.conditionsChanged(Bench.onBattery, at: bench.now) == [.send(.conditions(Bench.onBattery))])
    #expect(bench.core.drain(at: bench.now) == [.send(.draining)])
    #expect(bench.core.handlerEnded(key(1), .failed("")) == [.ended(key(1), .expired(.paused))])
  }

  @Test func `a launch that is unknown or has ended does not expire`() {
    var bench = Bench.welcomed()
    #expect(bench.hears(.expire(key(1), .paused)) == [])
    bench.starts()
    _ = bench.core.handlerEnded(key(1), .finished)
    #expect(bench.hears(.expire(key(1), .paused)) == [])
    #expect(bench.passConnected(60) == [])
  }

  @Test(.contract(10.1)) func `a budget is counted from the start of the launch, connected or not`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Bench.job { $0.budget = .seconds(20) })
    #expect(bench.passConnected(10) == [])
    _ = bench.reconnects()
    #expect(bench.passConnected(9.9) == [])
    #expect(
      bench.passConnected(0.1) == WorkerCore.Effect.expiry(key(1), .budgetSpent, bench.now + .seconds(30)))
    #expect(bench.passConnected(29.9) == [])
    #expect(bench.passConnected(0.1) == [.overrun(key(1))])
  }

  private static func timed(_ change: (inout Definition) -> Void = { _ in }) -> Definition {
    Bench.job { definition in
      definition.batchTimeout = .seconds(5)
      change(&definition)
    }
  }

  @Test func `a batch that takes too long ends its launch as a failure, counted from the last answer`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Self.timed())
    #expect(bench.passConnected(4.9) == [])
    _ = bench.commits(1)
    _ = bench.hears(.committed(key(1), batch: 0))
    #expect(bench.passConnected(4.9) == [])
    #expect(
      bench.passConnected(0.1) == WorkerCore.Effect.expiry(key(1), .batchTimedOut, bench.now + .seconds(30)))
    var ending = Ending(launch: key(1), outcome: .failed("batch 1 took longer than 'batchTimeout' (5s)"))
    ending.errorType = "timedOut"
    #expect(bench.core.handlerEnded(key(1), .stopped()) == [.send(.ended(ending))])
  }

  @Test func `a batch that is saved in the closing window is no failure`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Self.timed())
    _ = bench.passConnected(5)
    _ = bench.commits(1)
    _ = bench.hears(.committed(key(1), batch: 0))
    #expect(bench.core.handlerEnded(key(1), .stopped()) == [.ended(key(1), .expired(.batchTimedOut))])
  }

  @Test func `while a batch waits for the coordinator to save it, its time does not count`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Self.timed())
    _ = bench.passConnected(4)
    _ = bench.commits(1)
    #expect(bench.passConnected(20) == [])
    _ = bench.hears(.committed(key(1), batch: 0))
    #expect(bench.passConnected(4.9) == [])
    #expect(!bench.passConnected(0.1).isEmpty)
  }

  @Test func `a handler that returns has finished, also after its batch took too long`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Self.timed())
    _ = bench.passConnected(5)
    #expect(bench.core.handlerEnded(key(1), .finished) == [.ended(key(1), .finished)])
  }

  @Test func `what ends first counts, the budget or the time of a batch`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Self.timed { $0.budget = .seconds(3) })
    _ = bench.passConnected(2.9)
    #expect(
      bench.passConnected(0.1) == WorkerCore.Effect.expiry(key(1), .budgetSpent, bench.now + .seconds(30)))
  }

  @Test func `a command in one piece runs on, and from its first cursor on has the budget of its kind`() {
    var bench = Bench.welcomed()
    let job = Bench.job(.processing) { definition in
      definition.budget = nil
      definition.work = Work(command: ["pg_dump"])
    }
    bench.starts(Bench.assignment(1), job)
    #expect(bench.passConnected(599) == [])
    #expect(bench.passConnected(3600) == [])
    _ = bench.commits(1)
    _ = bench.hears(.committed(key(1), batch: 0))
    #expect(
      bench.passConnected(0.1) == WorkerCore.Effect.expiry(key(1), .budgetSpent, bench.now + .seconds(30)))
  }

  @Test(.contract(12.4)) func `without a budget a launch runs on`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Bench.job { $0.budget = nil })
    #expect(bench.passConnected(3600) == [])
  }

  @Test func `what new conditions forbid expires at once, and the coordinator hears of both`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Bench.job { $0.requirements.externalPower = true })
    let powered = Bench.job { $0.requirements.externalPower = true }
    _ = bench.hears(.definition(DefinitionID(1), powered))
    _ = bench.hears(.launch(Bench.assignment(2)))
    _ = bench.hears(.definition(DefinitionID(1), Bench.job()))
    _ = bench.hears(.launch(Bench.assignment(3)))
    #expect(
      bench.core.conditionsChanged(Bench.onBattery, at: bench.now)
        == [.send(.conditions(Bench.onBattery))]
        + WorkerCore.Effect.expiry(key(1), .powerLost, bench.now + .seconds(30))
        + WorkerCore.Effect.expiry(key(2), .powerLost, bench.now + .seconds(30)))
    #expect(bench.core.conditionsChanged(Bench.onBattery, at: bench.now) == [], "nothing changed")
    #expect(bench.core.conditionsChanged(.assumed, at: bench.now) == [.send(.conditions(.assumed))])
  }

  /// The reading of a probe passes through `ConditionsCore`, which may delay it. A launch that requires external power
  /// is then asked to stop.
  @Test(.contract(18.2)) func `unplugging expires within two seconds of the probe seeing it`() {
    var (bench, host) = (Bench.welcomed(), ConditionsCore(ConditionSettings()))
    /// Reads the power, and tells the worker the conditions that count then.
    func look(_ power: PowerSource) -> [WorkerCore.Effect] {
      host.observations.power = PowerReadings(
        power: Reading(power, source: "sysfs"), battery: Reading(80, source: "sysfs"))
      return bench.core.conditionsChanged(host.conditions(at: bench.now), at: bench.now)
    }
    _ = look(.external)
    bench.starts(Bench.assignment(1), Bench.job { $0.requirements.externalPower = true })
    bench.starts(Bench.assignment(2))
    _ = bench.passConnected(60)
    let seenAt = bench.now
    var effects = look(.battery)
    while !effects.contains(where: { if case .expire = $0 { true } else { false } }), bench.now - seenAt < .seconds(10)
    {
      _ = bench.passConnected(0.1)
      effects += look(.battery)
    }
    #expect(bench.now - seenAt <= .seconds(2))
    let deadline = bench.now + .seconds(30)
    #expect(
      effects.suffix(2) == WorkerCore.Effect.expiry(key(1), .powerLost, deadline)[...], "and the other one runs on")
  }

  @Test func `the next hello has the conditions of the moment`() {
    var bench = Bench.welcomed()
    _ = bench.core.conditionsChanged(Bench.onBattery, at: bench.now)
    #expect(bench.connects() == [Bench.hello(conditions: Bench.onBattery)])
  }

  @Test func `a launch that comes too late for the conditions expires at once`() {
    var bench = Bench.welcomed()
    _ = bench.core.conditionsChanged(Bench.onBattery, at: bench.now)
    let job = Bench.job { $0.requirements.externalPower = true }
    #expect(
      bench.starts(Bench.assignment(1), job)
        == [.start(Bench.assignment(1), job)]
        + WorkerCore.Effect.expiry(key(1), .powerLost, bench.now + .seconds(30)))
  }

  @Test func `a launch that was asked to stop before it came expires at once, and that is known`() {
    var bench = Bench.welcomed()
    let assignment = Bench.assignment(1, expiring: .cancelled(by: "ann"))
    #expect(
      bench.starts(assignment) == [
        .start(assignment, Bench.job()),
        .expire(key(1), .cancelled(by: "ann"), deadline: bench.now + .seconds(30)),
      ])
  }

  @Test func `an expiry that the coordinator may not know of is said again after each welcome`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.connects()
    let expiry = bench.core.drain(at: bench.now)
    #expect(expiry == [.expire(key(1), .draining, deadline: bench.now + .seconds(30))])
    for _ in 1...2 {
      #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [.send(.draining), .send(.expiring(key(1), .draining))])
      _ = bench.connects()
    }
  }

  @Test func `a worker that drains expires everything, and what still comes`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(2))
    bench.starts(Bench.assignment(1))
    let deadline = bench.now + .seconds(30)
    #expect(
      bench.core.drain(at: bench.now)
        == [.send(.draining)] + WorkerCore.Effect.expiry(key(1), .draining, deadline)
        + WorkerCore.Effect.expiry(key(2), .draining, deadline))
    #expect(bench.core.drain(at: bench.now) == [], "once")
    #expect(
      bench.hears(.launch(Bench.assignment(3)))
        == [.start(Bench.assignment(3), Bench.job())] + WorkerCore.Effect.expiry(key(3), .draining, deadline))
  }

  @Test func `a drained worker is quiet once the coordinator has every ending`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    _ = bench.core.drain(at: bench.now)
    for request in 1...Int64(2) {
      _ = bench.core.handlerEnded(key(request), .failed(""))
      #expect(!bench.core.isQuiet)
    }
    #expect(bench.hears(.endingCommitted(key(1))) == [.forget(key(1))])
    #expect(!bench.core.isQuiet)
    #expect(bench.hears(.endingCommitted(key(2))) == [.forget(key(2)), .end(nil)])
    #expect(bench.core.isQuiet)
    #expect(bench.reconnects() == [.send(.draining)])
  }

  @Test func `a drained worker does not wait for a coordinator beyond its lease`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    _ = bench.core.drain(at: bench.now)
    _ = bench.core.handlerEnded(key(1), .failed(""))
    #expect(bench.pass(14.9) == [])
    #expect(bench.pass(0.1) == [.forget(key(1)), .lapsed])
    #expect(bench.core.handlerEnded(key(2), .failed("")) == [.forget(key(2)), .end(nil)])
    #expect(bench.core.isQuiet)
  }

  @Test func `nor does one that is drained after its lease ran out`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.core.handlerEnded(key(1), .finished)
    #expect(bench.pass(15) == [.lapsed], "an ending is kept: the coordinator may come back")
    #expect(bench.core.drain(at: bench.now) == [.send(.draining), .forget(key(1)), .end(nil)])
    #expect(bench.core.isQuiet)
  }

  @Test func `a drained worker waits ten seconds for its endings to be committed, once all of them are said`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    _ = bench.core.drain(at: bench.now)
    _ = bench.core.handlerEnded(key(1), .finished)
    #expect(bench.passConnected(20) == [], "a handler still runs")
    _ = bench.core.handlerEnded(key(2), .finished)
    #expect(bench.passConnected(10) == [])
    #expect(bench.passConnected(0.2) == [.end(nil)])
  }

  @Test func `a worker with nothing to run ends as soon as it drains`() {
    var bench = Bench.welcomed()
    #expect(bench.core.drain(at: bench.now) == [.send(.draining), .end(nil)])
  }
}
