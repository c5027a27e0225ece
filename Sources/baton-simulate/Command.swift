import BatonBase
import BatonSimulation

/// The commands of `baton-simulate`. Each returns an exit status.
enum Command {
  /// Runs one seed and prints everything that happens.
  static func replay(_ seed: UInt64, coordinators: Int, _ breakage: Breakage?) throws -> Int32 {
    let schedule = Schedule(seed: seed, coordinators: coordinators)
    print(schedule)
    let outcome = try Simulator().run(schedule, breakage: breakage, tracing: .print)
    print(
      "\(outcome.batches) batches, \(outcome.events) events, \(outcome.duration), trace \(hexadecimal(outcome.hash))")
    print(outcome.violation.map { "seed \(seed): \($0)" } ?? "0 violations")
    return outcome.violation == nil ? 0 : 1
  }

  /// Runs a campaign and prints every violation. The exit status is 1 if there was one.
  static func run(_ campaign: Campaign, shrinks: Bool) async throws -> Int32 {
    let clock = ContinuousClock()
    let start = clock.now
    let result = try await campaign.run { progress in
      if progress.seeds % 1_000 == 0 { print("\(progress.seeds) seeds, \(progress.faults) faults") }
    }
    for failure in result.failures { try explain(failure, campaign, shrinks: shrinks) }
    let rate = Double(result.seeds) / seconds(clock.now - start)
    print(
      "\(Int(rate)) seeds a second on \(campaign.threads) threads, \(result.batches) batches, "
        + "traces \(hexadecimal(result.hash))")
    print("\(result.seeds) seeds, \(result.faults) faults, \(result.failures.count) violations")
    return result.failures.isEmpty ? 0 : 1
  }

  /// Runs `count` seeds from `first` on one thread, and prints how often each kind of thing happened.
  static func cover(_ count: Int, first: UInt64, coordinators: Int) throws -> Int32 {
    let simulator = try Simulator()
    var sum = Coverage()
    for seed in first..<first + UInt64(count) {
      let outcome = simulator.run(Schedule(seed: seed, coordinators: coordinators), counting: true)
      if let coverage = outcome.coverage { sum.join(coverage) }
      if let violation = outcome.violation { print("seed \(seed): \(violation)") }
    }
    for line in sum.lines { print(line) }
    return 0
  }

  /// Prints a violation and, if `shrinks` is true, the smallest schedule that still causes it.
  private static func explain(
    _ failure: Campaign.Failure, _ campaign: Campaign, shrinks: Bool
  ) throws {
    print("seed \(failure.seed): \(failure.text)")
    guard shrinks, let rule = failure.rule else { return }
    var shrinking = Shrinking(try Simulator(), rule: rule, breakage: campaign.breakage)
    let schedule = Schedule(seed: failure.seed, coordinators: campaign.coordinators)
    print("the smallest schedule that causes it:\n\(shrinking.shrink(schedule))")
    let option = campaign.coordinators == 1 ? "" : " --coordinators \(campaign.coordinators)"
    print("to see it happen: baton-simulate --seed \(failure.seed)\(option)")
  }

  private static func seconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
  }

  private static func hexadecimal(_ number: UInt64) -> String { String(number, radix: 16) }
}

/// Ends the process after its output has been flushed.
func end(_ status: Int32) {
  fflush(nil)
  exit(status)
}
