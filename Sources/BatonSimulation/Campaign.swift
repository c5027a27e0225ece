import BatonModel

/// Many seeds, on as many threads as there are cores.
package struct Campaign: Sendable {
  package var first: UInt64
  package var count: Int
  /// Of so many seeds one is run a second time, and its traces are compared.
  package var repeating = 64
  package var threads: Int
  /// A mistake in the simulated shells.
  package var breakage: Breakage?

  package init(first: UInt64, count: Int, threads: Int) {
    (self.first, self.count, self.threads) = (first, count, max(1, threads))
  }

  package struct Result: Sendable {
    package var seeds = 0
    package var faults = 0
    package var batches = 0
    package var failures: [Failure] = []
    /// Of the traces of the seeds that were run twice, whatever the order in which they were run.
    package var hash: UInt64 = 0
  }

  package struct Failure: Sendable {
    package var seed: UInt64
    package var text: String
    /// Nil if the violation is that two runs were not the same.
    package var rule: Violation.Rule?
  }

  /// Seeds that are run without a word in between.
  private static let chunk = 50

  /// - Parameter report: is told after every few seeds.
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
    let outcome = simulator.run(Schedule(seed: seed), breakage: breakage, tracing: isRepeated ? .hash : .off)
    result.seeds += 1
    result.faults += outcome.faults
    result.batches += outcome.batches
    if let violation = outcome.violation {
      result.failures.append(Failure(seed: seed, text: "\(violation)", rule: violation.rule))
    }
    guard isRepeated else { return }
    result.hash ^= SplitMix64.mixed(outcome.hash &+ seed)
    if simulator.run(Schedule(seed: seed), breakage: breakage, tracing: .hash).hash != outcome.hash {
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
