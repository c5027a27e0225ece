import BatonModel
import Testing

@testable import BatonCore

/// What a worker that knows several coordinators does when its coordinator does not answer. The lease's term is 15 s.
@Suite struct SilentCoordinatorTests {
  private static let start = Instant(nanoseconds: 0)

  private static func unanswered(_ patience: Duration) -> WorkerCore.Effect {
    .reconnect("the coordinator did not answer the hello within \(patience.inWords)")
  }

  @Test func `after half of the term, and not before, the worker goes to another coordinator, once`() {
    var bench = Bench.welcomed(knowsOtherCoordinators: true)
    #expect(bench.pass(7.4) == [])
    #expect(bench.pass(0.1) == [.givenUp])
    #expect(bench.pass(7.4) == [])
    #expect(bench.pass(0.1) == [.lapsed])
    #expect(bench.pass(20) == [])
  }

  @Test func `a worker that knows one coordinator stays until its lease ends`() {
    var bench = Bench.welcomed()
    #expect(bench.pass(14.9) == [])
    #expect(bench.pass(0.1) == [.lapsed])
  }

  @Test func `the half is counted from when the last answered heartbeat was sent`() {
    var bench = Bench.welcomed(knowsOtherCoordinators: true)
    _ = bench.pass(5)
    #expect(bench.pass(2.4) == [])
    _ = bench.hears(.heartbeatAnswered(number: 1))
    #expect(bench.pass(5) == [])
    #expect(bench.pass(0.1) == [.givenUp])
    #expect(bench.now == Self.start + .seconds(5) + Bench.term / 2)
  }

  @Test func `a coordinator that answers is never given up`() {
    var bench = Bench.welcomed(knowsOtherCoordinators: true)
    bench.starts()
    #expect(bench.passConnected(600) == [])
  }

  @Test func `launches go on while the worker goes to another coordinator`() {
    var bench = Bench.welcomed(knowsOtherCoordinators: true)
    bench.starts()
    #expect(bench.pass(7.5) == [.givenUp])
    #expect(bench.connects() == [Bench.hello(RunningLaunch(launch: key(1), gpus: []))])
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [])
    #expect(bench.passConnected(60) == [])
    #expect(bench.core.launches[key(1)]?.isRunning == true)
  }

  @Test func `without another coordinator that answers, launches expire when the lease ends`() {
    var bench = Bench.welcomed(knowsOtherCoordinators: true)
    bench.starts()
    #expect(bench.pass(7.5) == [.givenUp])
    #expect(bench.pass(7.4) == [])
    #expect(
      bench.pass(0.1) == WorkerCore.Effect.expiry(key(1), .leaseLost, Self.start + .seconds(17)) + [.lapsed])
  }

  @Test func `while the lease holds, a hello is given up after a quarter of the term`() {
    var bench = Bench.welcomed(knowsOtherCoordinators: true)
    _ = bench.pass(7.5)
    _ = bench.connects()
    #expect(bench.pass(3.7) == [])
    #expect(bench.pass(0.1) == [Self.unanswered(Bench.term / 4)])
    // There is time for another one before the lease ends.
    _ = bench.connects()
    #expect(bench.pass(3.6) == [])
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [])
    #expect(bench.passConnected(60) == [])
  }

  @Test func `without a lease, or with a long one, or with one coordinator, a hello is given up after ten seconds`() {
    var benches = [
      Bench(knowsOtherCoordinators: true), Bench.welcomed(knowsOtherCoordinators: true, term: .seconds(60)),
      Bench.welcomed(),
    ]
    for index in benches.indices {
      _ = benches[index].connects()
      #expect(benches[index].pass(9.9) == [])
      #expect(benches[index].pass(0.1) == [Self.unanswered(WorkerCore.helloPatience)])
    }
  }

  @Test func `after a welcome, the next silence is noticed again`() {
    var bench = Bench.welcomed(knowsOtherCoordinators: true)
    for _ in 1...3 {
      #expect(bench.pass(7.5) == [.givenUp])
      #expect(bench.reconnects() == [])
    }
  }

  @Test func `a worker that was stopped past its lease loses the lease, and says so only once`() {
    var bench = Bench.welcomed(knowsOtherCoordinators: true)
    bench.now = bench.now + .seconds(3600)
    #expect(bench.core.tick(at: bench.now) == [.send(.heartbeat(number: 1)), .lapsed])
  }
}
