import BatonModel
import BatonPostgres
import Foundation
import Synchronization
import Testing

@testable import BatonStore

/// What groups guess from earlier groups (`RowMemory`), and how they find out that others have changed the rows.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.hint), .timeLimit(.minutes(5))) struct PostgresGuessTests {
  @Test func aGroupOfKnownRowsNeedsTwoExchanges() async throws {
    let exchanges = Exchanges()
    let store = try TestDatabase.open(try TestDatabase.make(), trial: exchanges.trial)
    let definition = try await store.prepare()
    for name in ["com.a", "com.b"] { try await store.submit(name, to: definition) }
    _ = try await store.start(definition)
    try await exchanges.expect(2, "a submission") { try await store.submit("com.c", to: definition) }
    let launch = try await exchanges.expect(3, "a claim, which loads what it has found free") {
      try await store.start(definition)
    }
    try await exchanges.expect(2, "an ending") {
      let ended = try await store.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: someTime)
      #expect(ended[0].wasLive)
    }
    try await store.close()
  }

  @Test func aNameThatAnotherCoordinatorHasTakenIsLookedUp() async throws {
    let address = try TestDatabase.make()
    let (first, second) = (try TestDatabase.open(address), try TestDatabase.open(address))
    let definition = try await first.prepare()
    // The second one learns that names which it does not know are new.
    try await second.submit("com.b", to: definition)
    try await first.submit("com.a", to: definition)
    let answer = try await second.submit("com.a", to: definition, id: "again")
    #expect(isReplaced(answer))
    for store in [first, second] { try await store.close() }
  }

  @Test func aRowThatHasAnotherNumberSinceIsLookedUp() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    let beside = try Bystander(address)
    try beside.run(
      """
      UPDATE request SET identifier = 900 WHERE identifier = (SELECT id FROM identifier WHERE name = 'com.a');
      UPDATE identifier SET id = 900 WHERE name = 'com.a'
      """)
    #expect(isReplaced(try await store.submit("com.a", to: definition, id: "again")))
    let launch = try await store.start(definition)
    try beside.run("UPDATE request SET identifier = 901; UPDATE identifier SET id = 901")
    let ended = try await store.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: someTime)
    #expect(ended[0].wasLive)
    try await store.close()
  }

  /// However many flows go on with one group, the group loads what waits for their members at once, and so do those
  /// that start the members.
  @Test(arguments: [2, 20], [false, true])
  func aGroupOfFlowsNeedsAsManyExchangesAsTwoFlows(count: Int, isOneCall: Bool) async throws {
    let exchanges = Exchanges()
    let store = try TestDatabase.open(try TestDatabase.make(), trial: exchanges.trial)
    let other = try await store.prepare()
    let first = Definition(pattern: try #require(IdentifierPattern("first.*")), kind: .processing)
    var second = Definition(pattern: try #require(IdentifierPattern("second.*")), kind: .processing)
    second.after = [Dependency(try #require(JobReference("first.${wildcard}")))]
    let definitions = try await store.apply([first, second], seeds: [someTrace, someTrace], at: someTime).map(\.id)
    for number in 1...count {
      let offers = zip(["first", "second"], definitions).map { name, definition in
        let identifier = JobIdentifier(trusted: "\(name).\(number)")
        return SubmissionOffer(
          submission: Submission(id: "\(name)-\(number)", identifier: identifier, trace: someTrace),
          definition: definition)
      }
      _ = try await store.submitFlow(offers, at: someTime)
    }
    func start(_ definition: DefinitionID) async throws -> [LaunchKey] {
      let claim = Claim(
        requirementClass: RequirementClass(definition: definition, priority: .background), lease: someLease,
        places: Array(repeating: Claim.Place(gpus: [], spanID: someSpan), count: count))
      return try await store.claim([claim], at: someTime)[0].assignments.map(\.launch)
    }
    let launches = try await start(definitions[0])
    #expect(launches.count == count)
    let end = { @Sendable (launches: [LaunchKey]) in
      let ended = try await store.end(
        launches.map { Ending(launch: $0, outcome: .finished) }, from: someWorker, at: someTime)
      #expect(ended.allSatisfy { $0.flow.released.count == 1 })
    }
    if isOneCall {
      try await exchanges.expect(8, "the ends of the first members") { try await end(launches) }
    } else {
      // A group of as many calls gathers while another group is held.
      let ends = Mutex<[Task<Void, any Error>]>([])
      store.server.holdNext {
        ends.withLock { $0 = launches.map { launch in Task { try await end([launch]) } } }
        while store.writeStatistics.waiting < count { sched_yield() }
      }
      try await exchanges.expect(2 + 8, "a submission, and the ends of the first members") {
        try await store.submit("com.held", to: other)
        for task in ends.withLock({ $0 }) { try await task.value }
      }
    }
    let next = try await exchanges.expect(6, "the starts of the second ones") { try await start(definitions[1]) }
    #expect(next.count == count)
    try await store.close()
  }

  @Test(arguments: [2, 20])
  func submissionsThatReplaceOthersNeedAsManyExchangesAsTwo(count: Int) async throws {
    let exchanges = Exchanges()
    let store = try TestDatabase.open(try TestDatabase.make(), trial: exchanges.trial)
    let definition = try await store.prepare()
    let submit = { (round: Int) in
      let offers = (1...count).map { number in
        let identifier = JobIdentifier(trusted: "com.\(number)")
        let id = "\(round)-\(number)"
        return SubmissionOffer(
          submission: Submission(id: id, identifier: identifier, trace: someTrace), definition: definition)
      }
      return try await store.submit(offers, at: someTime)
    }
    _ = try await submit(1)
    let answers = try await exchanges.expect(5, "the second submissions") { try await submit(2) }
    #expect(answers.allSatisfy(isReplaced))
    try await store.close()
  }

  /// The claim starts the first member before it is stored.
  @Test func aMemberOfAFlowStartsInTheGroupThatSubmitsIt() async throws {
    let exchanges = Exchanges()
    let store = try TestDatabase.open(try TestDatabase.make(), trial: exchanges.trial)
    let first = try await store.prepare()
    var definition = Definition(pattern: try #require(IdentifierPattern("report")), kind: .processing)
    definition.after = [Dependency(try #require(JobReference("com.a")))]
    let held = Definition(pattern: try #require(IdentifierPattern("held")), kind: .processing)
    let applied = try await store.apply([definition, held], seeds: [someTrace, someTrace], at: someTime).map(\.id)
    let second = applied[0]
    let offers = [("com.a", first), ("report", second)].map { name, definition in
      SubmissionOffer(
        submission: Submission(id: name, identifier: JobIdentifier(trusted: name), trace: someTrace),
        definition: definition)
    }
    let flow = Mutex<Task<[SubmissionAnswer], any Error>?>(nil)
    let launch = Mutex<Task<LaunchKey, any Error>?>(nil)
    store.server.holdNext {
      flow.withLock { $0 = Task { try await store.submitFlow(offers, at: someTime) } }
      while store.writeStatistics.waiting < 1 { sched_yield() }
      launch.withLock { $0 = Task { try await store.start(first) } }
      while store.writeStatistics.waiting < 2 { sched_yield() }
    }
    try await exchanges.expect(2 + 4, "the group that is held, and the next one") {
      try await store.submit("held", to: applied[1])
      _ = try await flow.withLock { $0 }?.value
      #expect(try await launch.withLock { $0 }?.value.number == 1)
    }
    try await store.close()
  }

  /// The versions of a pattern that the group has inserted cannot be loaded.
  @Test func aNewPatternThatIsAppliedTwiceAtOnceHasTheLastDefinition() async throws {
    let store = try TestDatabase.open(try TestDatabase.make())
    var definition = Definition(pattern: try #require(IdentifierPattern("com.*")), kind: .processing)
    let first = definition
    definition.maxRunning = 2
    _ = try await store.apply([first, definition], seeds: [someTrace, someTrace], at: someTime)
    #expect(try await store.definitions().map(\.definition.maxRunning) == [2])
    try await store.close()
  }

  /// The last member of the flow waits for all others.
  @Test(arguments: [2, 20])
  func theEndOfAFlowNeedsAsManyExchangesAsThatOfThree(count: Int) async throws {
    let exchanges = Exchanges()
    let store = try TestDatabase.open(try TestDatabase.make(), trial: exchanges.trial)
    let part = try await store.prepare()
    var report = Definition(pattern: try #require(IdentifierPattern("report")), kind: .processing)
    let names = (1...count).map { "com.\($0)" }
    report.after = try names.map { Dependency(try #require(JobReference($0))) }
    let last = try await store.apply([report], seeds: [someTrace], at: someTime)[0].id
    let offers = (names + ["report"]).map { name in
      SubmissionOffer(
        submission: Submission(id: name, identifier: JobIdentifier(trusted: name), trace: someTrace),
        definition: name == "report" ? last : part)
    }
    let answers = try await store.submitFlow(offers, at: someTime)
    guard case .accepted(let receipt, _, _, _)? = answers.first else {
      Issue.record("\(answers)")
      return
    }
    let flow = try #require(receipt.flow)
    let cancelled = try await exchanges.expect(7, "the end of the flow") {
      try await store.cancel(.flow(flow), by: "a person", at: someTime)
    }
    #expect(cancelled.count == count + 1)
    try await store.close()
  }

  private func isReplaced(_ answer: SubmissionAnswer) -> Bool {
    if case .accepted(let receipt, _, _, _) = answer { receipt.replaced } else { false }
  }
}

/// Counts the exchanges of a store with its database.
private final class Exchanges: Sendable {
  private let count = Mutex(0)

  var trial: PostgresTrial { PostgresTrial(onStatements: { [self] _ in count.withLock { $0 += 1 } }) }

  @discardableResult
  func expect<Value>(_ expected: Int, _ what: Comment, _ body: () async throws -> Value) async throws -> Value {
    count.withLock { $0 = 0 }
    let value = try await body()
    #expect(count.withLock { $0 } == expected, what)
    return value
  }
}
