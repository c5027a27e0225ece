import BatonSimulation
import Testing

/// The promises hold in simulated fleets under all faults, and the same seed always gives the same fleet.
@Suite struct SimulationTests {
  @Test("every promise holds in three dozen fleets", arguments: 0..<4)
  func promises(part: UInt64) throws {
    let simulator = try Simulator()
    for seed in (1 + part * 9)..<(10 + part * 9) {
      let outcome = simulator.run(Schedule(seed: seed))
      #expect(outcome.violation == nil, "seed \(seed): baton-simulate --seed \(seed) says what happened")
      #expect(simulator.isClean, "seed \(seed) is over, and still in memory")
    }
  }

  @Test("no seed that failed once fails again", arguments: try KeptSeeds.all())
  func kept(seed: UInt64) throws {
    let outcome = try Simulator().run(Schedule(seed: seed))
    #expect(outcome.violation == nil, "seed \(seed): baton-simulate --seed \(seed) says what happened")
  }

  @Test(
    "a seed has at least 3 workers, 20 requests, 200 batches and 10 faults", arguments: 1...200 as ClosedRange<UInt64>)
  func sizes(seed: UInt64) {
    let schedule = Schedule(seed: seed)
    #expect(schedule.hostCount >= 3)
    #expect(schedule.requests.count >= 20)
    #expect(schedule.plannedBatches >= 200)
    #expect(schedule.damageCount >= 10)
  }

  @Test("the same seed has the same trace, also on a store that others have used")
  func traces() throws {
    let used = try Simulator()
    for seed in 40..<46 as Range<UInt64> {
      let first = used.run(Schedule(seed: seed), tracing: .hash)
      let second = try Simulator().run(Schedule(seed: seed), tracing: .hash)
      #expect(first.hash == second.hash, "seed \(seed)")
      #expect(first.events == second.events, "seed \(seed)")
    }
  }

  @Test("another seed has another trace")
  func difference() throws {
    let simulator = try Simulator()
    let hashes = (1...5 as ClosedRange<UInt64>).map { simulator.run(Schedule(seed: $0), tracing: .hash).hash }
    #expect(Set(hashes).count == 5)
  }

  @Test("a mistake in a shell is caught", arguments: Breakage.allCases)
  func breakages(breakage: Breakage) throws {
    let simulator = try Simulator()
    let isCaught = (1...1_000 as ClosedRange<UInt64>).contains { seed in
      let schedule = Schedule(seed: seed, coordinators: breakage.coordinators)
      return simulator.run(schedule, breakage: breakage).violation != nil
    }
    #expect(isCaught, "\(breakage) goes through 1,000 seeds")
  }

  @Test("a schedule that fails is made smaller, and still fails for the same reason")
  func shrinking() throws {
    let simulator = try Simulator()
    let schedules = (1...40 as ClosedRange<UInt64>).lazy.map { Schedule(seed: $0) }
    let schedule = try #require(schedules.first { simulator.run($0, breakage: .answersBeforeCommit).violation != nil })
    let rule = try #require(simulator.run(schedule, breakage: .answersBeforeCommit).violation?.rule)
    var shrinking = Shrinking(simulator, rule: rule, breakage: .answersBeforeCommit, budget: 60)
    let smallest = shrinking.shrink(schedule)
    #expect(smallest.requests.count < schedule.requests.count)
    #expect(simulator.run(smallest, breakage: .answersBeforeCommit).violation?.rule == rule)
  }
}
