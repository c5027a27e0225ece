import BatonModel
import BatonPostgres
import Foundation
import GRDB
import Synchronization
import Testing

@testable import BatonStore

/// What holds for a store in PostgreSQL beside the promises of `StoreConformance`.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.hint), .timeLimit(.minutes(5))) struct PostgresStoreTests {
  private static let deadline = ContinuousClock.Duration.seconds(30)

  private func connect(_ address: PostgresAddress) throws -> PostgresConnection {
    try PostgresConnection.connect(to: address, deadline: .now + Self.deadline)
  }

  private func run(_ sql: String, on address: PostgresAddress) throws {
    let connection = try connect(address)
    defer { connection.close() }
    try connection.script(sql, deadline: .now + Self.deadline)
  }

  @Test func theTablesHaveTheColumnsOfSQLite() async throws {
    let database = try WorkingSet.database()
    let shapes = try await database.read { try TableShape.all(in: $0) }
    let connection = try connect(try TestDatabase.make())
    defer { connection.close() }
    for shape in shapes {
      let question = PostgresStatement(
        """
        SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_name = $1
        ORDER BY ordinal_position
        """, [.text(shape.name)])
      let rows = try connection.run(question, deadline: .now + Self.deadline)
      #expect(try (0..<rows.count).map { try rows.text($0, 0) } == shape.columns, "\(shape.name)")
      let types = try (0..<rows.count).map { try rows.text($0, 1) }
      #expect(types == shape.types.map(\.name), "\(shape.name)")
    }
  }

  @Test func aSecondCoordinatorOpensTheSameStore() async throws {
    let address = try TestDatabase.make()
    let (first, second) = (try TestDatabase.open(address), try TestDatabase.open(address))
    #expect(second.epoch == first.epoch + 1)
    #expect(first.receipt.store == second.receipt.store)
    let definition = try await first.prepare()
    try await second.submit("com.a", to: definition)
    #expect(try await first.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue) == ["com.a"])
    try await first.close()
    try await second.close()
  }

  /// The writes of a group are stored together, and the server does not say whose rows it refuses.
  @Test func aRowThatTheServerRefusesConcernsItsOwnWriteOnly() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    try run("ALTER TABLE submission ADD CHECK (key <> 'com.7')", on: address)
    let refused = try await withThrowingTaskGroup { group in
      for number in 0..<20 {
        group.addTask { await refusal { try await store.submit("com.\(number)", to: definition) } == nil ? 0 : 1 }
      }
      return try await group.reduce(0, +)
    }
    #expect(refused == 1)
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 30).count == 19)
    try await store.close()
  }

  @Test(arguments: ["request", "customer"]) func aDatabaseOfAnotherProgramIsRefused(table: String) throws {
    let address = try TestDatabase.empty()
    // Elsewhere, and in a view, it harms nothing.
    try run("CREATE SCHEMA other; CREATE TABLE other.t (id bigint); CREATE VIEW v AS SELECT 1", on: address)
    try run("CREATE TABLE \(table) (id bigint)", on: address)
    let error = #expect(throws: StoreError.self) { try TestDatabase.open(address) }
    #expect(error?.code == .refused && error?.message.contains("tables of another program (\(table))") == true)
    try run("DROP TABLE \(table)", on: address)
    #expect(throws: Never.self) { try TestDatabase.open(address) }
  }

  private let none = PostgresStore.FleetFiles(hasKey: false, hasAuthority: false)
  private let keyOnly = PostgresStore.FleetFiles(hasKey: true, hasAuthority: false)
  private let both = PostgresStore.FleetFiles(hasKey: true, hasAuthority: true)

  @Test func aCoordinatorOfAnotherFleetIsRefused() async throws {
    let store = try TestDatabase.store()
    try store.demand(fleet: "ours", folder: "/data", none)
    try store.demand(fleet: "ours", folder: "/data", both)
    let error = #expect(throws: StoreError.self) { try store.demand(fleet: "theirs", folder: "/data", none) }
    #expect(error?.code == .refused && error?.message.contains("receipt.key") == true)
    try await store.close()
  }

  /// The address is wrong, or the store was not moved.
  @Test func aCoordinatorThatHasServedRefusesANewStore() async throws {
    let store = try TestDatabase.store()
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try store.demand(fleet: "ours", folder: "/data", both) }
      #expect(error?.code == .refused && error?.message.contains("is the address right?") == true)
    }
    // A first start that was interrupted had made the key.
    try store.demand(fleet: "ours", folder: "/data", keyOnly)
    try store.demand(fleet: "ours", folder: "/data", both)
    try await store.close()
  }

  @Test func aCoordinatorMakesNoAuthorityWhileAnotherOneLives() async throws {
    let address = try TestDatabase.make()
    let (first, second) = (try TestDatabase.open(address), try TestDatabase.open(address))
    try first.demand(fleet: "ours", folder: "/data", none, patience: .zero)
    try await first.serve(at: CoordinatorPlace(name: "anna", version: "1", workers: "a:1"))
    let beats = Task { while !Task.isCancelled { _ = try await first.beat(nil) } }
    let keyOnly = keyOnly
    let error: StoreError? = await withCheckedContinuation { caller in
      Thread {
        let result = Result { try second.demand(fleet: "ours", folder: "/data", keyOnly, patience: .seconds(60)) }
        if case .failure(let error as StoreError) = result {
          caller.resume(returning: error)
        } else {
          caller.resume(returning: nil)
        }
      }.start()
    }
    #expect(error?.code == .refused && error?.message.contains("(anna): copy its authority.pem") == true)
    try second.demand(fleet: "ours", folder: "/data", both)
    beats.cancel()
    _ = await beats.result
    // It was killed: it has not ended, and does not beat.
    try second.demand(fleet: "ours", folder: "/data", keyOnly, patience: .milliseconds(1))
    try await first.close()
    try second.demand(fleet: "ours", folder: "/data", keyOnly)
    try await second.close()
  }

  @Test func aCoordinatorThatClosesItsStoreEndsItsTenure() async throws {
    let address = try TestDatabase.make()
    let (first, second) = (try TestDatabase.open(address), try TestDatabase.open(address))
    try await first.serve(at: CoordinatorPlace(name: "anna", version: "1", workers: "a:1"))
    #expect(try await second.beat(nil).living.map(\.epoch) == [1])
    try await first.close()
    let beat = try await second.beat(nil)
    #expect(beat.living.isEmpty && beat.isSteward)
    try await second.close()
  }

  /// It is no coordinator that a person would look for.
  @Test func aCoordinatorThatCouldNotStartLeavesNothing() async throws {
    let address = try TestDatabase.make()
    let (first, second) = (try TestDatabase.open(address), try TestDatabase.open(address))
    // An end is dated by the clock of the steward.
    try await first.saveClock(ClockReading(moment: someTime, boot: "boot", instant: Instant(nanoseconds: 0)))
    second.abandon()
    #expect(try await first.beat(nil).living.isEmpty)
    #expect(try await first.coordinators(endedSince: Timestamp(nanoseconds: 0)).map(\.epoch) == [1])
    try await first.close()
    try await second.close()
  }

  @Test func aNewerSchemaIsRefused() throws {
    let address = try TestDatabase.make()
    try run("UPDATE baton_schema SET version = 999, oldest_writer = 999, made_by = '9.9'", on: address)
    let error = #expect(throws: StoreError.self) { try TestDatabase.open(address) }
    #expect(error?.code == .newerVersion && error?.message.contains("Baton 9.9") == true)
  }

  /// A later version adds tables and columns first, so that coordinators of this version go on until they are updated.
  @Test func aSchemaThatALaterVersionHasExpandedIsOpened() async throws {
    let address = try TestDatabase.make()
    let before = try TestDatabase.open(address)
    let definition = try await before.prepare()
    try await before.submit("com.a", to: definition)
    let version = PostgresSchema.version
    try run("ALTER TABLE request ADD COLUMN later bigint NOT NULL DEFAULT 7", on: address)
    try run("ALTER TABLE coordinator ADD COLUMN later text", on: address)
    try run("CREATE TABLE later (id bigint PRIMARY KEY)", on: address)
    try run(
      "UPDATE baton_schema SET version = \(version + 1), made_by = '9.9', oldest_writer = \(version)", on: address)
    try await before.submit("com.b", to: definition)
    let after = try TestDatabase.open(address)
    try await after.submit("com.c", to: definition)
    let names = try await before.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue)
    #expect(names == ["com.a", "com.b", "com.c"])
    try run("UPDATE baton_schema SET oldest_writer = \(version + 1)", on: address)
    let error = #expect(throws: StoreError.self) { try TestDatabase.open(address) }
    #expect(error?.code == .newerVersion && error?.message.contains("Baton 9.9") == true)
    try await before.close()
    try await after.close()
  }

  /// A coordinator that runs while a later version takes away what this version needs must write nothing more.
  @Test func aCoordinatorThatBecomesTooOldForTheSchemaWritesNothingMore() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(
      address, limits: PostgresLimits(demandsDurability: false, schemaInterval: .zero))
    let definition = try await store.prepare()
    let version = PostgresSchema.version
    try run("UPDATE baton_schema SET version = \(version + 1), made_by = '9.9', oldest_writer = 1", on: address)
    try await store.submit("com.a", to: definition)
    try run("UPDATE baton_schema SET oldest_writer = \(version + 1)", on: address)
    let error = await #expect(throws: StoreError.self) { try await store.beat(nil) }
    #expect(error?.code == .newerVersion && error?.message.contains("Baton 9.9") == true)
    // The process ends, and until then each write is refused, whatever the schema says later.
    #expect(await store.failures.first { _ in true }?.code == .newerVersion)
    try run("UPDATE baton_schema SET oldest_writer = 1", on: address)
    let later = await #expect(throws: StoreError.self) { try await store.submit("com.b", to: definition) }
    #expect(later?.code == .newerVersion)
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue) == ["com.a"])
    try await store.close()
  }

  /// A store of the second version, in which requests have ended, with the index of that version.
  @Test func aStoreOfTheSecondVersionKeepsItsEndedRequests() async throws {
    let address = try TestDatabase.empty()
    for step in [PostgresSchema.text] + PostgresSchema.upgrades[0] { try run(step, on: address) }
    try run(PostgresSchema.rows, on: address)
    try run(
      """
      INSERT INTO store (id, incarnation) VALUES (1, 'old');
      CREATE TABLE baton_schema (version bigint NOT NULL, made_by text NOT NULL, fleet text, oldest_writer bigint);
      INSERT INTO baton_schema VALUES (2, '0.1.0', 'ours', 1)
      """, on: address)
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    for name in ["com.a", "com.b"] {
      try await store.submit(name, to: definition)
      let launch = try await store.start(definition)
      _ = try await store.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: someTime)
    }
    // As a coordinator of the second version, which runs beside this one, ends a request.
    try run("UPDATE request SET ended_steady = NULL, ended_at = ended_at + 1 WHERE id = 2", on: address)
    #expect(try await !store.prune(RetentionLimits(endedCount: 1), at: someTime))
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue) == ["com.b"])
    #expect(try await !store.prune(RetentionLimits(endedFor: .seconds(9)), at: someTime + .seconds(10)))
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).isEmpty)
    try await store.close()
  }

  /// A dump holds locks on all tables, which let everything pass but a change of the schema.
  @Test func aStoreIsOpenedBesideADump() async throws {
    let address = try TestDatabase.make()
    try await TestDatabase.open(address).close()
    let dump = try connect(address)
    defer { dump.close() }
    try dump.script(
      "BEGIN; LOCK TABLE baton_schema, store, coordinator IN ACCESS SHARE MODE", deadline: .now + Self.deadline)
    try await TestDatabase.open(address).close()
  }

  @Test func aDatabaseWithoutTheOldestWriterIsOpened() async throws {
    let address = try TestDatabase.make()
    try run("ALTER TABLE baton_schema DROP COLUMN oldest_writer", on: address)
    try await TestDatabase.open(address).close()
  }

  @Test func aStoreOfTheFirstVersionIsUpgraded() async throws {
    let (address, recent) = (try TestDatabase.empty(), try TestDatabase.make())
    try run(PostgresSchema.text + ";" + PostgresSchema.rows, on: address)
    try run(
      """
      INSERT INTO store (id, incarnation) VALUES (1, 'old');
      CREATE TABLE baton_schema (version bigint NOT NULL, made_by text NOT NULL, fleet text);
      INSERT INTO baton_schema VALUES (1, '0.1.0', 'ours')
      """, on: address)
    let store = try TestDatabase.open(address)
    #expect(store.receipt.store == "old")
    try store.demand(fleet: "ours", folder: "/data", both)
    #expect(try await store.coordinators(endedSince: someTime.steady).map(\.epoch) == [1])
    try await store.close()
    #expect(try columns(address) == columns(recent))
    // A second start finds nothing to do.
    try await TestDatabase.open(address).close()
  }

  /// Every column of Baton's tables, with its type.
  private func columns(_ address: PostgresAddress) throws -> [String] {
    let connection = try connect(address)
    defer { connection.close() }
    let question = PostgresStatement(
      """
      SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || ordinal_position FROM
      information_schema.columns WHERE table_schema = current_schema() ORDER BY 1
      """)
    let rows = try connection.run(question, deadline: .now + Self.deadline)
    return try (0..<rows.count).map { try rows.text($0, 0) }
  }

  @Test func aServerThatMayLoseCommitsIsRefused() throws {
    let address = try TestDatabase.make()
    let error = #expect(throws: StoreError.self) { try PostgresStore.open(address) }
    #expect(error?.code == .refused && error?.message.contains("fsync = on") == true)
  }

  /// A pooler in transaction mode runs the statements of a session on several sessions of the server, whose settings
  /// and prepared statements differ.
  @Test func aPoolerInTransactionModeIsRefused() async throws {
    let socket = try #require(TestDatabase.socket)
    let address = try TestDatabase.make()
    let pooler = try PoolingProxy(socket, isPerTransaction: true)
    defer { pooler.stop() }
    let error = #expect(throws: StoreError.self) {
      try TestDatabase.open(try TestDatabase.address(address, through: pooler.folder))
    }
    #expect(error?.code == .refused && error?.message.contains("is a pooler") == true, "\(error?.message ?? "")")
  }

  @Test func aPoolerInSessionModeIsAccepted() async throws {
    let pooler = try PoolingProxy(try #require(TestDatabase.socket), isPerTransaction: false)
    defer { pooler.stop() }
    let address = try TestDatabase.address(try TestDatabase.make(), through: pooler.folder)
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    try await store.close()
  }

  /// A read of many rows asks as often as a read of a few.
  @Test func aReadAsksOnceForAllItsRows() async throws {
    let count = Mutex(0)
    let store = try TestDatabase.open(
      try TestDatabase.make(), queuesSpans: true,
      trial: PostgresTrial(onStatements: { _ in count.withLock { $0 += 1 } }))
    func exchanges(_ body: () async throws -> Void) async throws -> Int {
      count.withLock { $0 = 0 }
      try await body()
      return count.withLock { $0 }
    }
    func reads() async throws -> [Int] {
      [
        try await exchanges { _ = try await store.unsentSpans(limit: 1000) },
        try await exchanges { _ = try await store.assignments(on: someHost) },
        try await exchanges { _ = try await store.ready() },
        try await exchanges {
          _ = try await store.oldestReady(
            of: (1...20).map { RequirementClass(definition: DefinitionID($0), priority: .background) })
        },
      ]
    }
    var definitions = [try await store.prepare()]
    for number in 0..<10 {
      let pattern = try #require(IdentifierPattern("org.\(number).*"))
      let applied = try await store.apply(
        [Definition(pattern: pattern, kind: .processing)], seeds: [someTrace], at: someTime)
      definitions.append(applied[0].id)
    }
    try await store.submit("com.a0", to: definitions[0])
    try await store.submit("com.a1", to: definitions[0])
    _ = try await store.start(definitions[0])
    // The definitions are read once, and are then known.
    _ = try await reads()
    let few = try await reads()
    for number in 2..<40 {
      try await store.submit("com.a\(number)", to: definitions[0])
      if number < 20 { _ = try await store.start(definitions[0]) }
    }
    for (number, definition) in definitions.enumerated().dropFirst() {
      try await store.submit("org.\(number - 1).a", to: definition)
    }
    _ = try await reads()
    #expect(try await reads() == few)
    #expect(few.allSatisfy { $0 <= 8 }, "\(few)")
    try await store.close()
  }

  /// A connection that broke between two groups costs nothing but a new connection.
  @Test func aBrokenConnectionIsReplaced() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    try run(Self.killOthers, on: address)
    try await store.submit("com.a", to: definition)
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).count == 1)
    try await store.close()
  }

  private static let killOthers = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    """

  /// An answer that is lost in a commit is looked for under the lock of the coordinator's row.
  @Test func aCommitWhoseAnswerWasLostIsNotMadeAgain() async throws {
    let address = try TestDatabase.make()
    let proxy = try CuttingProxy(try #require(TestDatabase.socket))
    defer { proxy.stop() }
    let store = try TestDatabase.open(try TestDatabase.address(address, through: proxy.folder))
    let definition = try await store.prepare()
    let before = store.receipt.sequence
    proxy.arm()
    _ = try await store.submit("com.a", to: definition)
    #expect(proxy.count == 1)
    #expect(store.receipt.sequence == before + 1)
    _ = try await store.submit("com.b", to: definition)
    let names = try await store.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue)
    #expect(names == ["com.a", "com.b"])
    try await store.close()
  }

  /// A coordinator that is stopped does not look for ever for a commit, while the server stays away.
  @Test func aStoreIsClosedWhileTheServerStaysAway() async throws {
    let address = try TestDatabase.make()
    let proxy = try CuttingProxy(try #require(TestDatabase.socket))
    defer { proxy.stop() }
    var limits = TestDatabase.limits
    limits.exchange = .milliseconds(500)
    let store = try PostgresStore.open(try TestDatabase.address(address, through: proxy.folder), postgres: limits)
    let definition = try await store.prepare()
    proxy.arm(closes: true)
    async let refused = refusal { _ = try await store.submit("com.a", to: definition) }
    while proxy.count == 0 { await Task.yield() }
    try await store.close()
    #expect(await refused?.code == .unknown)
    let names = try await TestDatabase.open(address).requests(RequestFilter(), after: nil, limit: 9).map(\.identifier)
    #expect(names.map(\.rawValue) == ["com.a"])
  }

  /// A connection that ends in a commit which was not made: the group runs again.
  @Test func aCommitThatWasNotMadeIsMadeAgain() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    try run(Self.cutsCommits(where: "nextval('cuts') = 1"), on: address)
    let before = store.receipt.sequence
    guard case .accepted(_, _, _, let isRepeat) = try await store.submit("com.a", to: definition) else {
      Issue.record("the submission was not accepted")
      return
    }
    #expect(!isRepeat)
    #expect(store.receipt.sequence == before + 1)
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).count == 1)
    try await store.close()
  }

  /// A deferred trigger runs in COMMIT; this one ends its own connection.
  private static func cutsCommits(where condition: String) -> String {
    """
    CREATE SEQUENCE cuts;
    CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF \(condition) THEN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); END IF;
      RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON submission DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION cut();
    """
  }

  @Test func aCommitThatIsNeverMadeIsAnsweredAsUnavailable() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    try run(Self.cutsCommits(where: "true"), on: address)
    let before = store.receipt.sequence
    let error = await refusal { _ = try await store.submit("com.a", to: definition) }
    #expect(error?.code == .unavailable)
    #expect(store.receipt.sequence == before)
    try run("DROP TRIGGER cut ON submission", on: address)
    _ = try await store.submit("com.a", to: definition)
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).count == 1)
    try await store.close()
  }

  /// The server answers so if the wait for a synchronous standby was cancelled: the commit is there, and perhaps not on
  /// the standby. It is looked for on another connection, whose own wait says that the standby has it.
  @Test func aCommitWithAWarningCountsAsUnknown() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    try run(
      """
      CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE WARNING 'canceling wait for synchronous replication due to user request'; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON submission DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION warn();
      """, on: address)
    let writers = try connections(to: address, whoseLast: "COMMIT")
    #expect(writers.count == 1)
    let sequence = store.receipt.sequence
    _ = try await store.submit("com.a", to: definition)
    #expect(store.receipt.sequence == sequence + 1)
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).count == 1)
    // The server may need a moment to end the session of a connection that was closed.
    var tries = 0
    while try !writers.isDisjoint(with: connections(to: address)), tries < 500 { tries += 1 }
    #expect(tries < 500, "the connection was trusted")
    try await store.close()
  }

  /// The sessions of the database, or those whose last statement is this one.
  private func connections(to address: PostgresAddress, whoseLast query: String = "%") throws -> Set<Int64> {
    let connection = try connect(address)
    defer { connection.close() }
    let question = PostgresStatement(
      """
      SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend' AND query LIKE $1
      """, [.text(query)])
    let rows = try connection.run(question, deadline: .now + Self.deadline)
    return Set(try (0..<rows.count).map { try rows.integer($0, 0) })
  }

  /// A server that was set back is noticed by the next write.
  @Test func aServerThatLostCommitsIsNoticed() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    _ = try await store.submit("com.a", to: definition)
    try run("UPDATE coordinator SET commits = commits - 1", on: address)
    let error = await refusal { _ = try await store.submit("com.b", to: definition) }
    #expect(error?.code == .wentBackwards)
    #expect(try await store.fleet().isPaused)
    try await store.close()
  }

  /// Two coordinators write for one identifier at the same time, many times: nothing is lost, and nothing hangs.
  @Test func twoCoordinatorsWriteForOneIdentifier() async throws {
    let address = try TestDatabase.make()
    let (first, second) = (try TestDatabase.open(address), try TestDatabase.open(address))
    let definition = try await first.prepare()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, store) in [first, second].enumerated() {
        group.addTask {
          for round in 0..<50 {
            _ = try await store.submit("com.a", to: definition, id: "\(number)-\(round)")
            _ = try await store.cancel(.identifier(JobIdentifier(trusted: "com.a")), by: "ada", at: someTime)
          }
        }
      }
      try await group.waitForAll()
    }
    let unfinished = try await first.requests(RequestFilter(states: [.scheduled, .ready]), after: nil, limit: 9)
    #expect(unfinished.count <= 1)
    let all = try await first.requests(RequestFilter(), after: nil, limit: 200)
    #expect(all.map(\.number) == Array(1...all.count))
    #expect(try await second.counts().map(\.count).reduce(0, +) == all.count)
    try await first.close()
    try await second.close()
  }
}

extension ColumnType {
  fileprivate var name: String {
    switch self {
    case .integer: "bigint"
    case .text: "text"
    case .blob: "bytea"
    }
  }
}
