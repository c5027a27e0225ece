import BatonModel
import ContractRows
import Foundation
import FreshDatabases
import Testing

@testable import BatonStore

/// Random histories of submit, replace, poke, cancel, expire, lose, fail and time passing, with a wall clock that steps
/// back and forth, of flows, schedules and limits by key. They are compared with a short model.
@Suite struct HistoryTests {
  static let histories = ProcessInfo.processInfo.environment["BATON_HISTORIES"].flatMap { Int($0) } ?? 10_000
  /// The number of histories with two coordinators.
  static let shared = max(batch, histories / 4)
  /// The number of histories in PostgreSQL, where each verb takes milliseconds, with one coordinator and with two.
  static let inPostgres = max(20, histories / 160)
  /// The number of histories that share a store, so that its schema is not made again for each history.
  static let batch = 250
  static let steps = 10
  /// One history of this many has only jobs with keys, so that they stand in lines. The others have none of them.
  static let withKeys: UInt64 = 5

  @Test(.contract(7.1), arguments: 0..<histories / batch)
  func `the contract holds in random histories`(number: Int) throws {
    try run(number, on: [SQLiteStore.inMemory()])
  }

  /// The same with two coordinators on one store, and workers that move from one to the other.
  @Test(arguments: 0..<shared / batch)
  func `the contract holds for two coordinators`(number: Int) throws {
    let store = try SQLiteStore.inMemory(isShared: true)
    try run(number, on: [store, store.another()])
  }

  /// The same in PostgreSQL, with one coordinator and with two.
  @Test(.enabled(if: FreshDatabase.isThere, "no server: run the tests with Scripts/with-postgres"), arguments: [1, 2])
  func `the contract holds in PostgreSQL`(coordinators: Int) async throws {
    let address = try FreshDatabase.make()
    let stores = try (0..<coordinators).map { _ in try PostgresStore.open(address) }
    try run(0, on: stores, count: Self.inPostgres)
    for store in stores { try await store.close() }
  }

  private func run(_ number: Int, on stores: [any HistoryStore], count: Int = batch) throws {
    let store = stores[0]
    let applied = try store.transaction { verbs in
      try verbs.apply(
        Self.definitions, seeds: Self.definitions.map { _ in Self.trace }, at: Moment(Self.midnight(of: 19_000)))
    }
    let definitions = zip(applied, Self.definitions).map { ($0.id, $1) }
    var (starts, scheduled, afterOthers, cancelled) = (0, 0, 0, 0)
    var (fromLines, limitChanges) = (0, 0)
    for index in 0..<count {
      let seed = UInt64(number * Self.batch + index)
      // Each history has its own days, so that its use of an allowance is not missing in the next history.
      let date = Self.midnight(of: Int64(20_000 + 30 * index))
      let now = Now(instant: Instant(nanoseconds: date.nanoseconds), date: date, steady: date)
      let fleet = try CoreFleet(stores, definitions, at: now)
      var history = History(fleet, jobs: Self.jobs(definitions, seed: seed), seed: seed)
      do { try history.run(steps: Self.steps) } catch {
        Issue.record("batch \(number), seed \(seed): \(error)")
        return
      }
      starts += history.starts
      scheduled += history.scheduledStarts
      afterOthers += history.flowStarts
      cancelled += history.flowCancellations
      fromLines += history.keyStarts
      limitChanges += history.limitChanges
    }
    #expect(starts > count * 3, "only \(starts) launches: the histories prove nothing")
    #expect(scheduled > count / 4, "only \(scheduled) launches by the calendar: the histories prove nothing of it")
    #expect(afterOthers > count / 4 && cancelled > count / 8, "\(afterOthers) and \(cancelled): flows prove nothing")
    #expect(
      fromLines > count / 5 && limitChanges > count / 20,
      "\(fromLines) and \(limitChanges): limits by key prove nothing")
  }

  private static func midnight(of day: Int64) -> Timestamp { Timestamp(nanoseconds: day * 86_400_000_000_000) }

  /// Identifiers that only this history uses: one for each definition, and three for the definition whose `maxRunning`
  /// is 2 and for those with keys. A history has either jobs with keys or jobs without.
  private static func jobs(_ definitions: [(DefinitionID, Definition)], seed: UInt64) -> [JobIdentifier: History.Job] {
    var jobs: [JobIdentifier: History.Job] = [:]
    for (id, definition) in definitions where definition.hasKeys == (seed % Self.withKeys == 0) {
      for instance in 0..<(definition.maxRunning == nil && !definition.hasKeys ? 1 : 3) {
        let name = definition.pattern.rawValue.dropLast() + "s\(seed)-\(instance)"
        jobs[JobIdentifier(String(name))!] = History.Job(definition: definition, id: id)
      }
    }
    return jobs
  }

  static let trace = TraceContext(
    traceID: TraceID(high: 7, low: 7), spanID: SpanID(1), isSampled: true)

  /// Definitions of each kind, each with something special to test.
  static let definitions: [Definition] = [
    job("test.refresh.*", .refresh) { $0.retry = RetryRule(limit: 1, backoff: .seconds(30)) },
    job("test.chain.*", .refresh) { $0.repeatEvery = .seconds(1800) },
    job("test.slices.*", .processing) { $0.requirements.externalPower = true },
    job("test.limited.*", .processing) { $0.dailyAllowance = .seconds(400) },
    job("test.now.*", .continued) { _ in },
    job("test.few.*", .processing) { $0.maxRunning = 2 },
    job("test.often.*", .processing) { $0.schedule = calendar("*/20 * * * *", .once, .wait) },
    job("test.every.*", .processing) { $0.schedule = calendar("*/30 * * * *", .all, .skip) },
    job("test.exactly.*", .processing) { $0.schedule = calendar("0 * * * *", .skip, .wait) },
    member("fetch", after: []),
    member("left", after: [("fetch", .success)]),
    member("mend", after: [("fetch", .failure)]),
    member("report", after: [("fetch", .any), ("left", .any), ("mend", .any)]),
    keyed("load", within: ("shared", 1)) { $0.requirements.externalPower = true },
    keyed("send", within: ("shared", 2), at: StartRate(limit: 6, per: .seconds(60), burst: 2)) { _ in },
    keyed("call", within: ("customer/${wildcard}", 1), at: StartRate(limit: 2, per: .seconds(60))) { _ in },
    keyed("bill", within: ("customer/${wildcard}", 2)) { _ in },
  ]

  /// A definition whose requests share keys with those of another one.
  private static func keyed(
    _ name: String, within concurrency: (String, Int), at rate: StartRate? = nil, _ change: (inout Definition) -> Void
  ) -> Definition {
    job("test.key.\(name).*", .processing) { definition in
      definition.concurrency = ConcurrencyLimit(key: KeyTemplate(concurrency.0), limit: concurrency.1)
      definition.rate = rate.map { RateLimitByKey(key: KeyTemplate("api"), rule: $0) }
      definition.retry = RetryRule(limit: 1, backoff: .seconds(30))
      change(&definition)
    }
  }

  /// A schedule whose times are the multiples of a number of minutes.
  private static func calendar(_ cron: String, _ missed: MissedRuns, _ overlap: Overlap) -> JobSchedule {
    guard let cron = try? CronExpression(cron) else { preconditionFailure("\(cron) is no cron expression") }
    return JobSchedule(cron: cron, missed: missed, overlap: overlap)
  }

  /// A definition that is in a flow. It fails at its first failure, so that flows fail often.
  private static func member(_ name: String, after: [(String, Dependency.End)]) -> Definition {
    job("test.flow.\(name).*", .processing) { definition in
      definition.retry = RetryRule(limit: 0)
      if after.isEmpty { return }
      definition.after = after.map { awaited, end in
        Dependency(JobReference("test.flow.\(awaited).${wildcard}")!, on: end)
      }
    }
  }

  private static func job(
    _ pattern: String, _ kind: JobKind, _ change: (inout Definition) -> Void
  ) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(pattern)!, kind: kind)
    definition.work = Work(command: ["true"])
    if kind == .continued { definition.title = "Job" }
    definition.retry = RetryRule(limit: 3, backoff: .seconds(30))
    change(&definition)
    return definition
  }
}
