import BatonModel
import BatonStore
import ContractRows
import Testing

/// Random histories of submit, replace, poke, cancel, expire, lose, fail and time passing, with a wall clock that steps
/// back and forth, against a model in a few lines.
@Suite struct HistoryTests {
  static let histories = 10_000
  /// Histories that share a store, so that its schema is not made anew for each.
  static let batch = 250
  static let steps = 10

  @Test(.contract(7, 9, 10, 11, 12, 13, 15, 17, 29, 31, 34, 41), arguments: 0..<histories / batch)
  func `the contract holds in random histories`(number: Int) throws {
    let store = try SQLiteStore.inMemory()
    var starts = 0
    for index in 0..<Self.batch {
      let seed = UInt64(number * Self.batch + index)
      // Each history has a day of its own, so that what one uses of an allowance is not missing in the next.
      var history = try Self.history(store, seed: seed, day: Int64(20_000 + 30 * index))
      do { try history.run(steps: Self.steps) } catch {
        Issue.record("batch \(number), seed \(seed): \(error)")
        return
      }
      starts += history.starts
    }
    #expect(starts > Self.batch * 3, "only \(starts) launches: the histories prove nothing")
  }

  private static func history(_ store: SQLiteStore, seed: UInt64, day: Int64) throws -> History {
    let date = Timestamp(nanoseconds: day * 86_400_000_000_000)
    let now = Now(instant: Instant(nanoseconds: day * 86_400_000_000_000), date: date, steady: date)
    let applied = try store.transaction { verbs in
      try verbs.apply(definitions, seeds: definitions.map { _ in trace }, at: now.moment)
    }
    var jobs: [JobIdentifier: History.Job] = [:]
    for (definition, stored) in zip(definitions, applied) {
      for instance in 0..<(definition.maxRunning == nil ? 1 : 3) {
        let name = definition.pattern.rawValue.dropLast() + "s\(seed)-\(instance)"
        jobs[JobIdentifier(String(name))!] = History.Job(definition: definition, id: stored.id)
      }
    }
    return History(try CoreFleet(store, at: now), jobs: jobs, seed: seed)
  }

  static let trace = TraceContext(
    traceID: [UInt8](repeating: 7, count: 16), spanID: [UInt8](repeating: 1, count: 8), isSampled: true)

  /// One of each kind, and what is special about them.
  static let definitions: [Definition] = [
    job("test.refresh.*", .refresh) { $0.retry = RetryRule(limit: 1, backoff: .seconds(30)) },
    job("test.chain.*", .refresh) { $0.repeatEvery = .seconds(1800) },
    job("test.slices.*", .processing) { $0.requirements.externalPower = true },
    job("test.limited.*", .processing) { $0.dailyAllowance = .seconds(400) },
    job("test.now.*", .continued) { _ in },
    job("test.few.*", .processing) { $0.maxRunning = 2 },
  ]

  private static func job(
    _ pattern: String, _ kind: JobKind, _ change: (inout Definition) -> Void
  ) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(pattern)!, kind: kind)
    definition.work = Work(command: ["true"])
    definition.retry = RetryRule(limit: 3, backoff: .seconds(30))
    change(&definition)
    return definition
  }
}
