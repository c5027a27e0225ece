import BatonModel
import Testing

@testable import BatonCore

@Suite struct LaunchLifeTests {
  @Test func `a launch starts with its definition`() {
    var bench = Bench.welcomed()
    #expect(bench.starts() == [.start(Bench.assignment(1), Bench.job())])
  }

  @Test func `a launch whose definition is missing starts nothing, and the connection is made anew`() {
    var bench = Bench.welcomed()
    #expect(bench.hears(.launch(Bench.assignment(1))) == [.reconnect("launch 1/1 came before its definition")])
    #expect(bench.starts() == [.start(Bench.assignment(1), Bench.job())])
  }

  @Test func `a launch that comes twice starts once`() {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(bench.hears(.launch(Bench.assignment(1))) == [])
    _ = bench.core.handlerEnded(key(1), .finished)
    #expect(bench.hears(.launch(Bench.assignment(1))) == [], "its ending is on the way")
  }

  @Test func `a launch number that was seen is not run again, nor an earlier one`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1, launch: 3))
    _ = bench.core.handlerEnded(key(1, 3), .finished)
    #expect(bench.hears(.endingCommitted(key(1, 3))) == [.forget(key(1, 3))])
    for number in [3, 2] {
      #expect(bench.hears(.launch(Bench.assignment(1, launch: number))) == [.ended(key(1, number), .lost)])
    }
    #expect(
      bench.hears(.launch(Bench.assignment(1, launch: 4))) == [.start(Bench.assignment(1, launch: 4), Bench.job())])
  }

  @Test func `the launches seen last are remembered, however many there were`() {
    var bench = Bench.welcomed()
    bench.starts()
    for request in 1...Int64(10_000) {
      _ = bench.hears(.launch(Bench.assignment(request)))
      _ = bench.core.handlerEnded(key(request), .finished)
      _ = bench.hears(.endingCommitted(key(request)))
    }
    for request in 8_000...Int64(10_000) {
      #expect(bench.hears(.launch(Bench.assignment(request))) == [.ended(key(request), .lost)])
    }
  }

  @Test(arguments: [
    (HandlerEnd.finished, LaunchOutcome.finished, true), (.failed("why"), .failed("why"), true),
    (.stopped(isGraceful: false), .lost, false),
  ])
  func `an ending is said until it is answered`(end: HandlerEnd, outcome: LaunchOutcome, isGraceful: Bool) {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1, gpus: [1]))
    let ended = WorkerCore.Effect.ended(key(1), outcome, isGraceful: isGraceful)
    #expect(bench.core.handlerEnded(key(1), end) == [ended])
    #expect(bench.core.handlerEnded(key(1), .stopped()) == [], "once")
    for _ in 1...2 {
      #expect(bench.connects() == [Bench.hello(RunningLaunch(launch: key(1)))], "its GPUs are free")
      #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [ended])
    }
    #expect(!bench.core.isQuiet)
    #expect(bench.hears(.endingCommitted(key(1))) == [.forget(key(1))])
    #expect(bench.hears(.endingCommitted(key(1))) == [])
    #expect(bench.core.isQuiet)
    #expect(bench.reconnects() == [])
  }

  @Test func `an ending between hello and welcome is said once`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.connects()
    #expect(bench.core.handlerEnded(key(1), .finished) == [])
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [.ended(key(1), .finished)])
  }

  @Test func `an answer to an ending that was not said ends nothing`() {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(bench.hears(.endingCommitted(key(1))) == [])
    #expect(bench.core.launches[key(1)]?.isRunning == true)
  }

  @Test(arguments: [
    (HandlerEnd.failed("CancellationError()", errorType: "CancellationError"), LaunchOutcome.expired(.paused), true),
    (.finished, .finished, true), (.stopped(isGraceful: false), .expired(.paused), false),
  ])
  func `after an expiry returning is completion, and anything else has expired`(
    end: HandlerEnd, said: LaunchOutcome, isGraceful: Bool
  ) {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.hears(.expire(key(1), .paused))
    #expect(bench.core.handlerEnded(key(1), end) == [.ended(key(1), said, isGraceful: isGraceful)])
  }

  @Test func `a withdrawn launch is told at once, loses its question, and ends without a word`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.commits(1)
    #expect(
      bench.hears(.withdraw(key(1), "gone")) == [
        .refused(key(1), "gone", isSuperseded: true),
        .expire(key(1), .superseded, deadline: bench.now + .seconds(2)),
      ])
    #expect(bench.hears(.withdraw(key(1), "gone")) == [])
    #expect(bench.core.handlerEnded(key(1), .failed("x")) == [.forget(key(1))])
    #expect(bench.core.isQuiet)
  }

  @Test func `a withdrawn launch that has ended is forgotten`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.core.handlerEnded(key(1), .finished)
    #expect(bench.hears(.withdraw(key(1), "gone")) == [.forget(key(1))])
    #expect(bench.hears(.withdraw(key(1), "gone")) == [])
  }

  @Test func `superseded overrides every other reason, and the deadline stays`() {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(
      bench.hears(.expire(key(1), .paused)) == [.expire(key(1), .paused, deadline: bench.now + .seconds(30))])
    let deadline = bench.now + .seconds(30)
    _ = bench.passConnected(3)
    #expect(bench.hears(.withdraw(key(1), "gone")) == [])
    #expect(bench.core.launches[key(1)]?.life == .closing(ClosingWindow(.superseded, until: deadline), Dialogue()))
    #expect(bench.core.handlerEnded(key(1), .finished) == [.forget(key(1))])
  }
}
