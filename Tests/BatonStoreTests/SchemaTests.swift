import BatonModel
import ContractRows
import GRDB
import Testing

@testable import BatonStore

/// The invariants that the schema enforces, so that no code can break them.
@Suite struct SchemaTests {
  private func running() async throws -> (store: SQLiteStore, launch: LaunchKey) {
    let store = try SQLiteStore.inMemory()
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    let launch = try await store.start(definition)
    try await store.submit("com.a", to: definition, id: "second")
    return (store, launch)
  }

  @Test(arguments: [
    // A second open launch of a request.
    """
    INSERT INTO launch (request, number, host, incarnation, gpus, span_id, started_at, first_batch)
    SELECT request, 2, host, incarnation, gpus, span_id, started_at, 0 FROM launch
    """,
    // A second live request of an identifier, and a second waiting one.
    "UPDATE request SET state = 2, cause = NULL, launches = 1, host = 1, started_at = 1 WHERE number = 2",
    """
    INSERT INTO request (id, identifier, number, definition, priority, state, cause, eligible_at, earliest_at,
      submitted_at, principal, trace_id, span_id, is_sampled)
    SELECT 99, identifier, 3, definition, priority, state, cause, eligible_at, earliest_at, submitted_at, principal,
      trace_id, span_id, is_sampled FROM request WHERE number = 2
    """,
    // States without the facts they need.
    "UPDATE request SET state = 9 WHERE number = 1", "UPDATE request SET state = 3 WHERE number = 1",
    "UPDATE request SET cause = NULL WHERE number = 2", "UPDATE request SET ended_at = 1 WHERE number = 1",
    "UPDATE request SET host = NULL WHERE number = 1", "UPDATE launch SET outcome = 'lost'",
    "UPDATE launch SET ended_at = 1, outcome = 'vanished'",
    // Rows to which other rows refer, and values outside of their domain.
    "DELETE FROM identifier", "DELETE FROM definition", "DELETE FROM host",
    "UPDATE share SET used = -1", "INSERT INTO store (id, incarnation) VALUES (2, 'b')",
    "UPDATE request SET number = 'two'", "UPDATE request SET poke = 7", "UPDATE request SET is_dated = 2",
    "UPDATE identifier SET anchor_at = 1", "UPDATE identifier SET anchor_is_dated = 1",
    "UPDATE identifier SET no_data_in_row = -1", "INSERT INTO poke VALUES (99, 1, 1, 5, '')",
    "INSERT INTO poke SELECT id, request, 1, 7, '' FROM submission", "UPDATE host SET used = -1",
    "UPDATE coordinator SET is_settled = 1",
    "INSERT INTO clock (id, date, steady, boot, instant) VALUES (2, 1, 1, '', 1)",
    "INSERT INTO eviction (host, pattern) VALUES (99, 'com.a')", "UPDATE launch SET is_simulated = 2",
  ])
  func theSchemaRefuses(statement: String) async throws {
    let (store, _) = try await running()
    let error = await refusal { try await store.write(.ordinary) { try $0.db.execute(sql: statement) } }
    #expect(error != nil, "\(statement) was accepted")
  }

  @Test(.contract(6.2)) func theTotalLimitOfPendingRequestsSaysWhichItIs() async throws {
    #expect(StoreLimits().pending == 2_000_000 && StoreLimits().pendingPerDefinition == 100_000)
    let store = try SQLiteStore.inMemory(limits: StoreLimits(pending: 2))
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    try await store.submit("com.b", to: definition)
    let refused = SubmissionAnswer.refused(.tooManyPending(limit: "limits.pending", allowed: 2, pending: 2))
    #expect(try await store.submit("com.c", to: definition) == refused)
    _ = try await store.start(definition)
    #expect(try await store.submit("com.c", to: definition) != refused)
  }

  @Test func lossesAreAnsweredByTheRuleOfTheStore() async throws {
    let store = try SQLiteStore.inMemory(limits: StoreLimits(losses: LossRule(quarantineAfter: 1)))
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    let ending = Ending(launch: try await store.start(definition), outcome: .lost)
    #expect(try await store.end([ending], from: someWorker, at: someTime).map(\.state) == [.failed])
  }

  @Test func aMillionItemsAreKeptAndReadInPages() async throws {
    let (store, launch) = try await running()
    for page in 0..<1000 {
      let items = (0..<1000).map { "item \(page * 1000 + $0)" }
      let answer = try await store.appendItems(
        ItemPage(launch: launch, start: page * 1000, items: items, isLast: page == 999), from: someWorker, at: someTime)
      #expect(answer == .committed(count: (page + 1) * 1000, isFrozen: page == 999))
    }
    #expect(try await store.items(of: launch.request, start: 999_998, count: 9) == ["item 999998", "item 999999"])
    #expect(try await store.items(of: launch.request, start: 499_999, count: 2) == ["item 499999", "item 500000"])
  }

  @Test(arguments: [StoreLimits(items: 5), StoreLimits(itemBytes: 5 * (4 + 3))])
  func aRequestHasABoundOfItemsAndOfTheirBytes(limits: StoreLimits) async throws {
    let store = try SQLiteStore.inMemory(limits: limits)
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    let launch = try await store.start(definition)
    func append(_ start: Int, _ items: String...) async throws -> ItemsAnswer {
      try await store.appendItems(ItemPage(launch: launch, start: start, items: items), from: someWorker, at: someTime)
    }
    #expect(try await append(0, "abc", "def", "ghi") == .committed(count: 3, isFrozen: false))
    #expect(try await append(3, "jkl", "mno") == .committed(count: 5, isFrozen: false))
    guard case .refused(let message) = try await append(5, "x") else {
      Issue.record("one item too many was taken")
      return
    }
    #expect(message.contains("several requests"))
    #expect(try await store.items(of: launch.request, start: 0, count: 9).count == 5)
  }

  /// A host's word that cannot be read, for example of a later version, counts as missing. The host sends it again when
  /// it connects.
  @Test func aHostsWordThatCannotBeReadCountsAsMissing() async throws {
    let (store, _) = try await running()
    try await store.write(.ordinary) { try $0.db.execute(sql: "UPDATE host SET word = '{}'") }
    #expect(try await store.fleet().hosts.map(\.word) == [nil])
  }

  @Test func definitionsWithEqualContentAreOneRowWhateverTheirOrder() throws {
    var definition = Definition(pattern: try #require(IdentifierPattern("a")), kind: .refresh)
    let keys = (0..<20).map { "KEY_\($0)" }
    definition.work = Work(command: ["x"], environment: Dictionary(uniqueKeysWithValues: keys.map { ($0, "1") }))
    let json = try definition.canonicalJSON()
    for _ in 0..<10 {
      definition.work?.environment = Dictionary(uniqueKeysWithValues: keys.shuffled().map { ($0, "1") })
      #expect(try definition.canonicalJSON() == json)
    }
    #expect(try Definition(canonicalJSON: json) == definition)
  }
}
