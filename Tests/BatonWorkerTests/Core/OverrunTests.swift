import BatonModel
import ContractRows
import Testing

@testable import BatonCore

/// A Swift handler that ignores its deadline ends the process, also while other launches run in it.
@Suite struct OverrunTests {
  /// Returns a bench with the launches 1 and 2 at the deadline of launch 1, whose handler has not ended.
  /// - Parameter before: is called 0.1 s before the deadline.
  private func overrunning(_ before: (inout Bench) -> Void = { _ in }) -> Bench {
    var bench = Bench.welcomed(endsProcessOnOverrun: true)
    bench.starts(Bench.assignment(2))
    bench.starts(Bench.assignment(1), Bench.job(.refresh))
    _ = bench.hears(.expire(key(1), .paused))
    #expect(bench.passConnected(4.9) == [])
    before(&bench)
    #expect(bench.passConnected(0.1) == [.overrun(key(1)), .send(.overran(key(1), .paused))])
    return bench
  }

  @Test(.contract(28.2)) func `a process that has to end says so at once, and ends within a second of the deadline`() {
    var bench = overrunning()
    let deadline = bench.now
    #expect(bench.passConnected(0.2) == [])
    #expect(bench.passConnected(0.1) == [.endProcess])
    #expect(bench.now - deadline < .seconds(1))
  }

  @Test func `a sibling that commits all the time changes nothing about that`() {
    var bench = overrunning { _ = $0.commits(2) }
    let deadline = bench.now
    #expect(
      bench.hears(.committed(key(2), batch: 0)) == [.done(key(2))],
      "what was asked before is answered")
    #expect(bench.commits(2) == [], "and nothing is asked any more")
    #expect(bench.passConnected(0.3) == [.endProcess])
    #expect(bench.now - deadline < .seconds(1))
  }

  @Test func `a sibling that waits for an answer changes nothing about that`() {
    var bench = overrunning { _ = $0.commits(2) }
    #expect(bench.passConnected(0.3) == [.endProcess])
  }

  @Test func `a handler that waits at its deadline and then returns nothing is gone within a second, too`() {
    var bench = Bench.welcomed(endsProcessOnOverrun: true)
    bench.starts(Bench.assignment(1), Bench.job(.refresh))
    _ = bench.commits(1)
    _ = bench.hears(.expire(key(1), .paused))
    let deadline = bench.now + .seconds(5)
    _ = bench.passConnected(5.4)
    #expect(bench.passConnected(0.1) == [.overrun(key(1)), .send(.overran(key(1), .paused))])
    #expect(bench.passConnected(0.3) == [.endProcess])
    #expect(bench.now - deadline < .seconds(1))
  }

  @Test func `a launch that arrives is not started, and is not blamed`() {
    var bench = overrunning()
    #expect(bench.starts(Bench.assignment(3)) == [.ended(key(3), .expired(.draining))])
    #expect(bench.core.launches[key(3)] == nil)
  }

  @Test func `a second handler that overruns does not put the end off`() {
    var bench = Bench.welcomed(endsProcessOnOverrun: true)
    bench.starts(Bench.assignment(1), Bench.job(.refresh))
    bench.starts(Bench.assignment(2), Bench.job(.refresh))
    _ = bench.hears(.expire(key(1), .paused))
    _ = bench.passConnected(0.2)
    _ = bench.hears(.expire(key(2), .paused))
    #expect(bench.passConnected(4.8) == [.overrun(key(1)), .send(.overran(key(1), .paused))])
    #expect(bench.passConnected(0.2) == [.overrun(key(2)), .send(.overran(key(2), .paused))])
    #expect(bench.passConnected(0.1) == [.endProcess])
  }

  @Test func `a handler that returns after its deadline was not graceful, and the process ends all the same`() {
    var bench = overrunning()
    #expect(
      bench.core.handlerEnded(key(1), .failed("late"))
        == [.ended(key(1), .expired(.paused), isGraceful: false)])
    #expect(bench.passConnected(0.3) == [.endProcess])
  }

  @Test func `the word is said again where its connection was lost`() {
    var bench = overrunning()
    #expect(bench.reconnects() == [.send(.overran(key(1), .paused))])
  }

  @Test func `on a machine that was stopped beyond the deadline the word still gets out`() {
    var bench = Bench.welcomed(endsProcessOnOverrun: true)
    bench.starts(Bench.assignment(1), Bench.job(.refresh))
    _ = bench.hears(.expire(key(1), .paused))
    bench.now = bench.now + .seconds(12)
    let effects = bench.core.tick(at: bench.now)
    #expect(effects.contains(.overrun(key(1))) && effects.contains(.send(.overran(key(1), .paused))))
    #expect(!effects.contains(.endProcess))
    #expect(bench.core.tick(at: bench.now).contains(.endProcess) == false)
    #expect(bench.passConnected(0.1) == [.endProcess])
  }

  @Test func `a command that is killed at its deadline ends no process, and nothing does where that is not wanted`() {
    for (isCommand, endsProcess) in [(true, true), (false, false)] {
      var bench = Bench.welcomed(endsProcessOnOverrun: endsProcess)
      bench.starts(Bench.assignment(1), Bench.job(.refresh) { if isCommand { $0.work = Work(command: ["true"]) } })
      _ = bench.hears(.expire(key(1), .paused))
      #expect(bench.passConnected(5) == [.overrun(key(1))])
      #expect(bench.passConnected(9) == [])
    }
  }
}
