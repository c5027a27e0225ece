import BatonModel

/// Runs the schedules of many seeds, on several threads, and stops after the first failure. `baton-simulate` uses it.
package struct Campaign: Sendable {
  /// The first of `count` consecutive seeds.
  package var first: UInt64
  package var count: Int
  /// One seed in `repeating` is run a second time, to compare the traces of its two runs.
  package var repeating = 64
  package var threads: Int
  /// A bug that is planted in the simulated shells; `nil` for none.
  package var breakage: Breakage?
  /// How many coordinators share the store of each seed.
  package var coordinators = 1

  package init(first: UInt64, count: Int, threads: Int) {
    (self.first, self.count, self.threads) = (first, count, max(1, threads))
  }

  package struct Result: Sendable {
    package var seeds = 0
    package var faults = 0
    package var batches = 0
    package var failures: [Failure] = []
    /// A hash of the traces of the seeds that were run twice. It does not depend on the order in which the seeds were
    /// run.
    package var hash: UInt64 = 0
  }

  package struct Failure: Sendable {
    package var seed: UInt64
    package var text: String
    /// `nil` if the failure is that two runs of the seed had different traces.
    package var rule: Violation.Rule?
  }

  /// The number of seeds that one thread runs between two reports.
  private static let chunk = 50

  /// Runs the seeds. After a failure, threads finish their current chunk of seeds and start no further chunk.
  /// - Parameter report: is called with the sums so far after each chunk of at most 50 seeds.
  /// - Throws: if a store in memory cannot be opened.
  package func run(_ report: @escaping @Sendable (Result) -> Void = { _ in }) async throws -> Result {
    let last = first + UInt64(count)
    return try await withThrowingTaskGroup(of: Result.self) { group in
      var next = first
      var total = Result()
      func add() {
        guard next < last else { return }
        let seeds = next..<min(next + UInt64(Self.chunk), last)
        next = seeds.upperBound
        group.addTask { try run(seeds) }
      }
      for _ in 0..<threads { add() }
      while let result = try await group.next() {
        total.join(result)
        report(total)
        if total.failures.isEmpty { add() }
      }
      return total
    }
  }

  private func run(_ seeds: Range<UInt64>) throws -> Result {
    let simulator = try Simulator.shared.take()
    defer { Simulator.shared.give(simulator) }
    var result = Result()
    for seed in seeds {
      run(seed, simulator, &result)
      if !result.failures.isEmpty { break }
    }
    return result
  }

  private func run(_ seed: UInt64, _ simulator: Simulator, _ result: inout Result) {
    let isRepeated = seed % UInt64(repeating) == 0
    let outcome = simulator.run(
      Schedule(seed: seed, coordinators: coordinators), breakage: breakage, tracing: isRepeated ? .hash : .off)
    result.seeds += 1
    result.faults += outcome.faults
    result.batches += outcome.batches
    if let violation = outcome.violation {
      result.failures.append(Failure(seed: seed, text: "\(violation)", rule: violation.rule))
    }
    guard isRepeated else { return }
    result.hash ^= SplitMix64.mixed(outcome.hash &+ seed)
    if simulator.run(Schedule(seed: seed, coordinators: coordinators), breakage: breakage, tracing: .hash).hash
      != outcome.hash
    {
      result.failures.append(Failure(seed: seed, text: "two runs of one seed have different traces"))
    }
  }
}

extension Campaign.Result {
  fileprivate mutating func join(_ other: Campaign.Result) {
    seeds += other.seeds
    faults += other.faults
    batches += other.batches
    failures += other.failures
    hash ^= other.hash
  }
}
