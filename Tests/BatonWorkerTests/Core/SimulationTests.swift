import BatonModel
import ContractRows
import Testing

@testable import BatonCore

/// A worker performs what `baton simulate` asks of it (contract, row 43).
@Suite struct SimulationTests {
  static let powered = Bench.job { $0.requirements.externalPower = true }
  static let unplugged = ConditionOverrides(power: .battery).applied(to: .assumed)

  @Test func `simulated conditions stop what they forbid, and are reported as simulated`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Self.powered)
    let effects = bench.hears(.simulate(ConditionOverrides(power: .battery), lasting: .seconds(60)))
    let expiry = WorkerCore.Effect.expiry(key(1), .simulated(as: .powerLost), bench.now + .seconds(30))
    #expect(effects == [.send(.conditions(Self.unplugged))] + expiry)
    #expect(bench.reconnectsWith().conditions == Self.unplugged)
  }

  @Test func `they end by themselves, and what was measured meanwhile counts again`() {
    var bench = Bench.welcomed()
    _ = bench.hears(.simulate(ConditionOverrides(power: .external), lasting: .seconds(5)))
    bench.starts(Bench.assignment(1), Self.powered)
    #expect(bench.core.conditionsChanged(Bench.onBattery, at: bench.now) == [], "nobody sees the real ones")
    #expect(bench.passConnected(4.9) == [])
    let effects = bench.passConnected(0.1)
    #expect(
      effects == [.send(.conditions(Bench.onBattery))]
        + WorkerCore.Effect.expiry(key(1), .powerLost, bench.now + .seconds(30)))
  }

  @Test func `no overrides at all takes them back`() {
    var bench = Bench.welcomed()
    _ = bench.hears(.simulate(ConditionOverrides(power: .battery), lasting: .seconds(60)))
    #expect(bench.hears(.simulate(ConditionOverrides(), lasting: .zero)) == [.send(.conditions(.assumed))])
    #expect(bench.passConnected(61) == [])
  }

  @Test func `conditions stop no simulated launch, before it starts or while it runs`() {
    var bench = Bench.welcomed()
    _ = bench.core.conditionsChanged(Bench.onBattery, at: bench.now)
    var assignment = Bench.assignment(1)
    assignment.isSimulated = true
    #expect(bench.starts(assignment, Self.powered) == [.start(assignment, Self.powered)])
    var conditions = Bench.onBattery
    conditions.thermal.value = .critical
    #expect(bench.core.conditionsChanged(conditions, at: bench.now) == [.send(.conditions(conditions))])
    conditions.owner = .paused(by: "alex", until: nil)
    #expect(
      bench.core.conditionsChanged(conditions, at: bench.now) == [.send(.conditions(conditions))]
        + WorkerCore.Effect.expiry(key(1), .pausedByOwner, bench.now + .seconds(30)))
  }

  @Test func `what a refresh found goes with its ending`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Bench.job(.refresh))
    for result in [RefreshResult.newData, .noData] { bench.core.conclude(key(1), result) }
    let effects = bench.core.handlerEnded(key(1), .finished)
    #expect(effects == [.send(.ended(Ending(launch: key(1), outcome: .finished, result: .noData)))])
  }
}

extension Bench {
  /// Connects again, and returns the hello.
  fileprivate mutating func reconnectsWith() -> Hello {
    guard case .send(.hello(let hello))? = connects().first else { preconditionFailure("no hello") }
    return hello
  }
}
