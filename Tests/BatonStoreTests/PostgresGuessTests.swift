import BatonModel
import BatonPostgres
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
