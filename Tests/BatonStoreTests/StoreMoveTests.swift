import BatonModel
import BatonPostgres
import Foundation
import GRDB
import Testing

@testable import BatonStore

/// `baton store move`: nothing is lost, and coordinators can start on one of the two stores at most.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.hint)) struct StoreMoveTests {
  private final class Folder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "baton-move-\(UUID().uuidString)").path
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private let folder = Folder()
  private var old: String { folder.path + "/old" }
  private var new: String { folder.path + "/new" }

  private struct Killed: Error {}

  private func options(killedAfter step: StoreMove.Step? = nil) -> StoreMove.Options {
    var options = StoreMove.Options()
    (options.demandsDurability, options.patience) = (false, .milliseconds(1))
    options.reached = { if $0 == step { throw Killed() } }
    return options
  }

  /// A store on disk with a request that runs, one that waits for it, and one that is ready.
  private func makeStore() async throws {
    let store = try SQLiteStore.open(folder: old, queuesSpans: true)
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    let launch = try await store.start(definition)
    _ = try await store.checkpoint(
      [Checkpoint(launch: launch, batch: 0, completedUnits: 1)], from: someWorker, at: someTime)
    try await store.submit("com.a", to: definition, id: "second")
    try await store.submit("com.b", to: definition)
    try await store.close()
  }

  /// Everything in the store of a folder.
  private func content(of folder: String) async throws -> [String: Set<[Cell]>] {
    let database = try DatabaseQueue(path: folder + "/baton.sqlite", configuration: SQLiteStore.configuration)
    defer { try? database.close() }
    return try await database.read { db in
      var content: [String: Set<[Cell]>] = [:]
      for table in try TableShape.all(in: db) where table.name != "baton_move" {
        let rows = try Prepared(try db.makeStatement(sql: "SELECT * FROM \(table.name)")).rows(of: table.columns.count)
        content[table.name] = Set(rows)
      }
      return content
    }
  }

  private func opens(folder: String) async throws -> Bool {
    do {
      try await SQLiteStore.open(folder: folder).close()
      return true
    } catch let error as StoreError {
      #expect(error.code == .refused && error.message.contains("baton store move"), "\(error)")
      return false
    }
  }

  private func opens(_ address: PostgresAddress) async throws -> Bool {
    do {
      let store = try TestDatabase.open(address)
      try await store.leave()
      try await store.close()
      return true
    } catch let error as StoreError {
      #expect(error.code == .refused && error.message.contains("baton store move"), "\(error)")
      return false
    }
  }

  // MARK: Content

  /// A row in each table that the work above does not fill, with the largest and the smallest values of each type.
  private static let rows = """
    INSERT INTO eviction (host, pattern) SELECT id, 'com.é' FROM host;
    INSERT OR REPLACE INTO clock (id, date, steady, boot, instant)
      VALUES (1, 9223372036854775807, -9223372036854775808, '', 0);
    INSERT INTO payload (request, bytes) SELECT max(id), zeroblob(65536) FROM request;
    INSERT INTO completion (request, launches, state, ended_at) SELECT max(id), 1, 3, 1 FROM request;
    INSERT INTO spread (request, lanes, shards, open, parked, running, launches, failed, cancelled, next_unit, end_unit,
      size) SELECT max(id), 2, 3, 2, 1, 1, 4, 1, 0, 10, 20, 5 FROM request;
    INSERT INTO dependency (request, awaited, ending, state, trace_id, span_id)
      SELECT max(id), 1, 2, 1, zeroblob(16), zeroblob(8) FROM request;
    INSERT INTO result (request, head, shard, bytes) SELECT max(id), 1, 65535, zeroblob(65536) FROM request;
    INSERT INTO notification (subject, position, receiver, id, content, at, since, next_at)
      SELECT max(id), 1, 'ops', 'é-1-1', '{"é": 1}', 1, -5, 9223372036854775807 FROM request;
    INSERT INTO joining (request, position) SELECT max(id), 1 FROM request;
    INSERT INTO item_page (request, start, count, launch, bytes) SELECT max(id), 0, 0, 1, x'' FROM request;
    INSERT INTO output (request, launch, start, bytes) SELECT request, number, 0, x'00ff' FROM launch;
    INSERT INTO poke (submission, request, at, priority, principal) SELECT max(id), 1, 1, 5, char(10) FROM submission;
    INSERT OR IGNORE INTO unsent_span (request, launch, parts) VALUES (7, 1, 1);
    INSERT INTO rejected_span (request, launch, parts, at, message) SELECT request, number, 1, 1, '''"' FROM launch;
    INSERT OR IGNORE INTO event (request, position, at, name) SELECT max(id), 99, 1, 'e' FROM request;
    INSERT INTO invitation (id, host, digest, ends_at, principal) VALUES (zeroblob(8), 'h', zeroblob(32), 1, 'p');
    INSERT INTO certificate (serial, host, key, der, ends_at) VALUES (x'01', 'h', zeroblob(32), x'30', 1);
    INSERT INTO credential (id, name, digest, scopes, patterns, ends_at, created_at, created_by)
      VALUES (zeroblob(8), 'n', zeroblob(32), '', '', 1, 1, 'p');
    INSERT INTO audit (sequence, at, actor, peer, method, object, outcome, detail, previous, hash)
      VALUES (1, 1, 'a', 'p', 'm', 'o', 'ok', '', zeroblob(32), zeroblob(32));
    INSERT INTO waiting_host (invitation, key, number, peer, asked_at) VALUES (x'02', zeroblob(32), '123', 'p', 1);
    INSERT INTO namespace_share (namespace, coordinator, pending, running, slots, gpus, use_day, used, served, served_at)
      SELECT 'com.é', epoch, -1, 1, 9223372036854775807, -9223372036854775808, 20000, 5, 7, -1 FROM coordinator;
    INSERT INTO transfer_place (request, host, launches, last_at) SELECT max(r.id), max(h.id), 2, -5
      FROM request r, host h;
    INSERT INTO transfer (request, number, content, part, state, status, ended_on, is_cancelling, told, first_told,
      is_acknowledged) SELECT max(id), 0, '{"é": 1}', 'default', 1, '{}', 7, 1, 3, 2, 1 FROM request;
    INSERT INTO limit_key (name, running, full_at, due_at, set_limit, set_per, set_burst, last_limit)
      VALUES ('rate:é', 0, 9223372036854775807, -1, 5, 60000000000, 2, 7);
    INSERT INTO limit_line (name, definition, priority) SELECT 'rate:é', max(id), 2 FROM definition;
    UPDATE store SET next_request = 900
    """

  @Test func everyTableAndEveryValueComesOverAndBack() async throws {
    try await makeStore()
    let database = try DatabaseQueue(path: old + "/baton.sqlite", configuration: SQLiteStore.configuration)
    try await database.write { try $0.execute(sql: Self.rows) }
    try database.close()
    var before = try await content(of: old)
    for (table, rows) in before { #expect(!rows.isEmpty, "put a row into the new table \(table) in this test") }
    let address = try TestDatabase.empty()
    let there = try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: "ours", options())
    let back = try await StoreMove.toFolder(new, from: address.redacted, options())
    #expect(there == back && there.requests == 3)
    let after = try await content(of: new)
    // No coordinator of the old store lives.
    let isEnded = 6
    before["coordinator"] = Set(
      (before["coordinator"] ?? []).map { row in
        var row = row
        row[isEnded] = .integer(1)
        return row
      })
    #expect(before.keys.sorted() == after.keys.sorted())
    for (table, rows) in before { #expect(after[table] == rows, "\(table)") }
  }

  @Test func theWorkGoesOnInTheNewStore() async throws {
    try await makeStore()
    let address = try TestDatabase.empty()
    _ = try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: "ours", options())
    let store = try TestDatabase.open(address)
    #expect(throws: StoreError.self) {
      try store.demand(
        fleet: "theirs", folder: "/data", PostgresStore.FleetFiles(hasKey: false, hasAuthority: false))
    }
    let launches = try await store.assignments(on: someHost).map(\.launch)
    #expect(launches.count == 1)
    let lease = try await store.grantLease(someHost, someProcess, report: nil, at: someTime).lease
    let next = Checkpoint(launch: try #require(launches.first), batch: 1, completedUnits: 2)
    #expect(try await store.checkpoint([next], from: someWorker, at: someTime) == [.committed(batch: 1)])
    let definition = try #require(try await store.fleet().definitions.keys.first)
    // Numbers go on.
    guard case .accepted(let receipt, _, _, _) = try await store.submit("com.c", to: definition) else {
      return #expect(Bool(false), "refused")
    }
    #expect(receipt.request == RequestID(4))
    #expect(lease.number > someLease.number)
    try await store.leave()
    try await store.close()
  }

  /// PostgreSQL stores no U+0000 in a text. An earlier version has taken it into a store in a file.
  @Test func aTextWithNULComesOverWithAnotherCharacterInItsPlace() async throws {
    try await makeStore()
    let database = try DatabaseQueue(path: old + "/baton.sqlite", configuration: SQLiteStore.configuration)
    try await database.write { try $0.execute(sql: "UPDATE request SET reason = 'a' || char(0) || 'b'") }
    try database.close()
    let address = try TestDatabase.empty()
    _ = try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: "ours", options())
    let store = try TestDatabase.open(address)
    let reasons = try await store.requests(RequestFilter(), after: nil, limit: 9).map(\.reason)
    #expect(Set(reasons) == ["a\u{FFFD}b"])
    try await store.close()
  }

  @Test func aRehearsalLeavesNothing() async throws {
    try await makeStore()
    let before = try await content(of: old)
    let address = try TestDatabase.empty()
    var rehearsal = options()
    rehearsal.isRehearsal = true
    #expect(try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: nil, rehearsal).requests == 3)
    #expect(try await content(of: old) == before)
    // The database is still empty, or it would be refused.
    _ = try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: nil, options())
    #expect(try await StoreMove.toFolder(new, from: address.redacted, rehearsal).requests == 3)
    #expect(try await opens(address))
  }

  // MARK: Kills

  @Test(arguments: StoreMove.Step.allCases)
  func aKillOnTheWayToPostgresLeavesOneStoreAtMost(step: StoreMove.Step) async throws {
    try await makeStore()
    let address = try TestDatabase.empty()
    await #expect(throws: (any Error).self) {
      try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: nil, options(killedAfter: step))
    }
    let isArriving = step == .arrived || step == .left
    let isBefore = [StoreMove.Step.copied, .verified, .arrived].contains(step)
    #expect(try await opens(folder: old) == isBefore)
    if step == .live || isArriving { #expect(try await opens(address) == (step == .live)) }
    guard step != .live else { return }
    let summary = try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: nil, options())
    #expect(summary.wasFinished == (step == .left))
    #expect(try await !opens(folder: old))
    #expect(try await opens(address))
  }

  @Test(arguments: StoreMove.Step.allCases)
  func aKillOnTheWayBackLeavesOneStoreAtMost(step: StoreMove.Step) async throws {
    try await makeStore()
    let address = try TestDatabase.empty()
    _ = try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: nil, options())
    // Back to the folder that it came from, whose store has moved.
    await #expect(throws: (any Error).self) {
      try await StoreMove.toFolder(old, from: address.redacted, options(killedAfter: step))
    }
    let isLeft = step == .left || step == .live
    #expect(try await opens(folder: old) == (step == .live))
    #expect(try await opens(address) == !isLeft)
    guard step != .live else { return }
    let summary = try await StoreMove.toFolder(old, from: address.redacted, options())
    #expect(summary.wasFinished == isLeft)
    #expect(try await opens(folder: old))
    #expect(try await !opens(address))
  }

  /// A coordinator that had the store open, and stood still during the whole move.
  @Test func aCoordinatorThatWasTakenForDeadCommitsNothingMore() async throws {
    try await makeStore()
    let address = try TestDatabase.empty()
    _ = try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: nil, options())
    let stopped = try TestDatabase.open(address)
    _ = try await StoreMove.toFolder(new, from: address.redacted, options())
    let error = await refusal { _ = try await stopped.prepare() }
    #expect(error != nil)
    #expect(try await opens(folder: new))
    try await stopped.close()
  }

  // MARK: Refusals

  @Test func whatCannotBeMovedIsRefusedAndStays() async throws {
    try await makeStore()
    let (full, foreign) = (try TestDatabase.make(), try TestDatabase.empty())
    try Bystander(full).run("UPDATE baton_schema SET fleet = 'theirs'")
    func refused(_ address: String, from folder: String) async -> StoreError? {
      await refusal { _ = try await StoreMove.toPostgres(from: folder, to: address, fleet: nil, options()) }
    }
    #expect(await refused(full.redacted, from: old)?.message.contains("has a store already") == true)
    #expect(await refused(foreign.redacted, from: new)?.code == .notFound)
    #expect(await refused("postgres://a:b@localhost/c", from: old)?.message.contains(".pgpass") == true)
    #expect(await refused("postgres://a@127.0.0.1:1/c", from: old)?.code == .unavailable)
    let connection = try PostgresConnection.connect(to: foreign, deadline: .now + .seconds(30))
    try connection.script("CREATE TABLE customer (id bigint)", deadline: .now + .seconds(30))
    connection.close()
    #expect(await refused(foreign.redacted, from: old)?.message.contains("another program") == true)
    let store = try SQLiteStore.open(folder: old)
    #expect(await refused(full.redacted, from: old)?.code == .locked)
    try await store.close()
    #expect(
      await refusal { _ = try await StoreMove.toFolder(old, from: full.redacted, options()) }?.message
        .contains("has a store already") == true)
    #expect(try await opens(folder: old))
    #expect(try await opens(full))
  }

  /// The copy may be all that there is of the other store.
  @Test func theArrivingCopyOfAnotherStoreIsNotReplaced() async throws {
    try await makeStore()
    let address = try TestDatabase.empty()
    await #expect(throws: (any Error).self) {
      try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: nil, options(killedAfter: .left))
    }
    try await SQLiteStore.open(folder: new).close()
    let error = await refusal {
      _ = try await StoreMove.toPostgres(from: new, to: address.redacted, fleet: nil, options())
    }
    #expect(error?.message.contains("copy of another store") == true)
    #expect(try await StoreMove.toPostgres(from: old, to: address.redacted, fleet: nil, options()).wasFinished)
  }

  @Test func coordinatorsThatLiveKeepTheirStore() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let connection = try PostgresConnection.connect(to: address, deadline: .now + .seconds(30))
    defer { connection.close() }
    // It beats between the two looks: the test does it in its place, when the first look is done.
    let place = PostgresPlace(address, options())
    let living = try place.living(on: connection)
    _ = try await store.beat(nil)
    try place.end(living, on: connection)
    let error = #expect(throws: StoreError.self) {
      try place.beginCopy(own: nil, on: connection, MoveCourse(options()))
    }
    #expect(error?.message.contains("stop them first") == true)
    try place.rollBack(on: connection)
    try await store.leave()
    try await store.close()
  }
}
