import BatonModel
import BatonPostgres
import Synchronization
import Testing

@testable import BatonStore

/// What statements cost in PostgreSQL: rows and pages that a plan visits, and never times. PostgreSQL chooses plans by
/// statistics, which may be those of an empty table; the store has to be fast nevertheless.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.hint)) struct PostgresPlanTests {
  /// Every statement that a busy coordinator sends, with a plan that was made when the tables were almost empty, with
  /// one that was made when they were full and had the statistics of almost empty ones, as after a large load, and with
  /// one that was made with the statistics of full tables. So nothing depends on when autovacuum analyzes a table.
  @Test func trap7_everyStatementReadsIndexesWhenTheStoreHasGrown() async throws {
    let recorder = Recorder()
    let fleet = try PostgresFleet(trial: PostgresTrial(onStatements: { recorder.add($0) }))
    for act in Act.all {
      try fleet.reset()
      _ = fleet.run(act, at: 0)
    }
    try fleet.reset()
    try await read(fleet.stores[0])
    let statements = recorder.statements + Self.listsBelowAWildcard
    #expect(statements.count > 60)
    let session = try fleet.anotherOfAStore()
    let planner = try Planner(session, statements)
    for index in statements.indices { _ = try planner.plan(index, isRun: false) }
    try fleet.beside.run(Self.growth)
    for index in statements.indices { check(try planner.plan(index), "made for small tables") }
    try planner.forgetPlans()
    for index in statements.indices { check(try planner.plan(index), "made for large tables with old statistics") }
    try fleet.beside.run("ANALYZE")
    try planner.forgetPlans()
    for index in statements.indices { check(try planner.plan(index), "made for large tables") }
    session.close()
    _ = try await fleet.close()
  }

  /// The lists below a wildcard of many identifiers, of which a small store has none. All requests of `growth` match,
  /// so a list finds its 20 requests soon.
  private static let listsBelowAWildcard: [PostgresStatement] = [
    (ListSource.every, ListOrder.submittedFirst), (.every, .submittedLast), (.scheduled, .submittedFirst),
    (.scheduled, .submittedLast), (.ready, .submittedFirst), (.ready, .submittedLast), (.failed, .submittedFirst),
    (.failed, .submittedLast), (.ended, .endedLast),
  ].map { source, order in
    let isForwards = order == .submittedFirst
    return PostgresStatement(
      Query.list(source, .many, order).elsewhere.withNumberedParameters,
      [
        // What the acts before have left behind has greater numbers.
        .integer(isForwards ? .min : 0), .integer(20), .text("old."), .text("old.~"), .nullOf(.integer),
        .nullOf(.text), .integer(4), .integer(0), .integer(.max),
      ])
  }

  private func check(_ plan: Plan, _ age: String) {
    let problem = plan.problem
    #expect(problem == nil, "\(problem ?? "") in a plan \(age):\n\(plan.sql)\n\(plan.lines.joined(separator: "\n"))")
  }

  /// The check finds a plan that walks a table in the order of its key, and one that reads all of it.
  @Test(arguments: [
    "SELECT id FROM request WHERE reason = $1 ORDER BY id LIMIT 1", "SELECT id FROM request WHERE submitted_as = 1",
    "SELECT count(*) FROM event WHERE name = $1",
  ])
  func trap7_aStatementWithoutAnIndexIsFound(sql: String) async throws {
    let fleet = try PostgresFleet()
    try fleet.beside.run(Self.growth)
    let values = sql.contains("$1") ? [PostgresValue.text("none")] : []
    let session = try fleet.anotherOfAStore()
    #expect(try Planner(session, [PostgresStatement(sql, values)]).plan(0).problem != nil)
    session.close()
    _ = try await fleet.close()
  }

  /// The reads of a coordinator that works.
  private func read(_ store: PostgresStore) async throws {
    _ = try await store.fleet()
    _ = try await store.ready()
    _ = try await store.requests(RequestFilter(), after: nil, limit: 20)
    _ = try await store.requests(RequestFilter(states: [.ready]), after: nil, limit: 20)
    _ = try await store.requests(RequestFilter(states: [.running]), after: nil, limit: 20)
    _ = try await store.requests(RequestFilter(pattern: IdentifierPattern("com.pair")), after: nil, limit: 20)
    _ = try await store.request(JobIdentifier(trusted: "com.pair"), number: nil)
    _ = try await store.request(JobIdentifier(trusted: "com.pair"), number: 1)
    _ = try await store.assignments(on: someHost)
    _ = try await store.unsentSpans(limit: 100)
    _ = try await store.spans(of: RequestID(2))
    _ = try await store.oldestReady(of: [Fleet.ready, Fleet.limited])
    _ = try await store.counts()
  }

  /// Many older requests: 5,000 that are scheduled, 5,000 that are ready in other classes, 500 that run, 10,000 that
  /// have ended. Their numbers are below those of the fleet's requests, so that a walk along the primary key meets them
  /// first. Nothing analyzes the tables meanwhile.
  private static let growth = """
    SET session_replication_role = replica;
    ALTER TABLE request SET (autovacuum_enabled = off); ALTER TABLE identifier SET (autovacuum_enabled = off);
    ALTER TABLE launch SET (autovacuum_enabled = off); ALTER TABLE progress SET (autovacuum_enabled = off);
    ALTER TABLE event SET (autovacuum_enabled = off); ALTER TABLE submission SET (autovacuum_enabled = off);
    ALTER TABLE payload SET (autovacuum_enabled = off); ALTER TABLE unsent_span SET (autovacuum_enabled = off);
    CREATE TEMP TABLE grown AS SELECT -n AS id, CASE WHEN n <= 5000 THEN 0 WHEN n <= 10000 THEN 1 WHEN n <= 10500 THEN 2
      ELSE 3 + n % 3 END AS state FROM generate_series(1, 20500) n;
    INSERT INTO identifier (id, name, last_number) SELECT id, 'old.' || -id, 1 FROM grown;
    INSERT INTO request (id, identifier, number, definition, priority, state, cause, eligible_at, earliest_at,
        submitted_at, principal, launches, host, started_at, ended_at, trace_id, span_id, is_sampled)
      SELECT id, id, 1, CASE WHEN id % 2 = 0 THEN 4 ELSE 3 END, 0, state, CASE state WHEN 0 THEN 0 END,
        CASE state WHEN 0 THEN 9e18 ELSE 1 END, 1, 1, 'p', CASE WHEN state >= 2 THEN 1 ELSE 0 END,
        CASE WHEN state >= 2 THEN 1 END, CASE WHEN state >= 2 THEN 1 END, CASE WHEN state >= 3 THEN 1 - id END,
        decode(repeat('01', 16), 'hex'), decode(repeat('01', 8), 'hex'), 1 FROM grown;
    INSERT INTO launch (request, number, host, incarnation, gpus, span_id, started_at, ended_at, outcome, first_batch)
      SELECT id, 1, 2, 'i', '', decode(repeat('01', 8), 'hex'), 1, CASE WHEN state > 2 THEN 2 END,
        CASE WHEN state > 2 THEN 'finished' END, 0 FROM grown WHERE state >= 2;
    INSERT INTO progress (request, batches, completed_units, reaches_end)
      SELECT id, 1, 1, 0 FROM grown WHERE state >= 2;
    INSERT INTO event (request, position, at, name) SELECT id, p, 1, 'e' FROM grown, generate_series(1, 3) p;
    INSERT INTO submission (id, key, at, request, identifier, number, definition, priority, state, eligible_at, replaced)
      SELECT id, 'old' || id, 1, id, id, 1, 4, 2, 1, 1, 0 FROM grown;
    INSERT INTO payload (request, bytes) SELECT id, '' FROM grown WHERE state < 2;
    INSERT INTO unsent_span (request, launch, parts) SELECT id, 1, 1 FROM grown WHERE state > 2;
    """

  // MARK: 8

  /// Another program holds a snapshot, as pg_dump does: rows that are dead since then cannot be removed. A commit does
  /// not notice it. A claim walks past the entries of what was claimed since then, more than ten on a page.
  @Test func trap8_underAHeldSnapshotCommitsStayCheapAndClaimsPassManyDeadRowsOnAPage() async throws {
    let recorder = Recorder()
    let fleet = try PostgresFleet(trial: PostgresTrial(onStatements: { recorder.add($0) }))
    try fleet.beside.run(Self.growth)
    let dump = try fleet.another()
    try dump.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM request")
    func costs() throws -> [String: Int] {
      let statements = recorder.statements
      let beside = try fleet.anotherOfAStore()
      defer { beside.close() }
      let planner = try Planner(beside, statements)
      return Dictionary(
        uniqueKeysWithValues: try statements.indices.map { (statements[$0].sql, try planner.plan($0).pages) })
    }
    let claim = fleet.claims(of: RequirementClass(definition: Fleet.idle, priority: .background))
    recorder.forget()
    #expect(try claim(10) == 10)
    let before = try costs()
    for _ in 0..<100 { #expect(try claim(20) == 20) }
    recorder.forget()
    #expect(try claim(10) == 10)
    for (sql, cost) in try costs() {
      guard let early = before[sql] else { continue }
      let dead = sql.contains("SKIP LOCKED") ? 2000 / 10 : 0
      #expect(
        cost <= early * 2 + 20 + dead, "\(early) pages before, \(cost) after 2,000 claims in 100 commits:\n\(sql)")
    }
    dump.close()
    _ = try await fleet.close()
  }
}

/// The statements of a store, each text once, with its last values.
private final class Recorder: Sendable {
  private let known = Mutex<[String: PostgresStatement]>([:])

  func add(_ statements: [PostgresStatement]) {
    known.withLock { known in
      for statement in statements where Self.isPlanned(statement.sql) { known[statement.sql] = statement }
    }
  }

  func forget() { known.withLock { $0 = [:] } }

  var statements: [PostgresStatement] { known.withLock { Array($0.values) }.sorted { $0.sql < $1.sql } }

  private static func isPlanned(_ sql: String) -> Bool {
    ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains { sql.hasPrefix($0) }
      && !sql.contains("nextval") && !sql.contains("pg_advisory")
  }
}

/// Asks the server for its plans, in a session with the settings of a store.
private struct Planner {
  let beside: Bystander
  let statements: [PostgresStatement]

  init(_ beside: Bystander, _ statements: [PostgresStatement]) throws {
    (self.beside, self.statements) = (beside, statements)
    for (index, statement) in statements.enumerated() {
      let types = statement.values.map(\.type.sqlName).joined(separator: ", ")
      try beside.run("PREPARE s\(index)\(types.isEmpty ? "" : "(\(types))") AS \(statement.sql)")
    }
  }

  func forgetPlans() throws { try beside.run("DISCARD PLANS") }

  /// - Parameter isRun: whether a statement that only reads is carried out too.
  func plan(_ index: Int, isRun: Bool = true) throws -> Plan {
    let statement = statements[index]
    let reads = ["SELECT", "WITH"].contains { statement.sql.hasPrefix($0) } && !statement.sql.contains("INSERT")
    let options = isRun && reads ? "ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF" : "COSTS OFF"
    let values = statement.values.map(\.literal).joined(separator: ", ")
    let rows = try beside.cells("EXPLAIN (\(options)) EXECUTE s\(index)\(values.isEmpty ? "" : "(\(values))")")
    return Plan(sql: statement.sql, lines: rows.map { $0[0].string })
  }
}

/// A plan, as EXPLAIN shows it.
private struct Plan {
  let sql: String
  let lines: [String]

  /// The tables that grow with the number of requests.
  private static let growing: Set = [
    "identifier", "request", "launch", "progress", "payload", "event", "completion", "joining", "item_page", "output",
    "submission", "poke", "unsent_span", "rejected_span", "audit", "transfer", "transfer_place",
  ]

  /// The number of pages that were visited; 0 if the statement was not carried out.
  var pages: Int {
    guard let line = lines.first(where: { $0.contains("Buffers: shared") }) else { return 0 }
    return line.matches(of: /(?:hit|read)=(\d+)/).compactMap { Int($0.1) }.reduce(0, +)
  }

  /// The number of rows that the statement returned.
  private var rows: Int { lines.first?.firstMatch(of: /rows=(\d+)/).flatMap { Int($0.1) } ?? 0 }

  /// What is wrong with the plan; `nil` if nothing is.
  var problem: String? {
    var isOfOpenLaunches = false
    for (index, line) in lines.enumerated() {
      if line.contains(" on ") { isOfOpenLaunches = line.contains(/using launch_open(_on_host)?\b/) }
      guard let scan = line.firstMatch(of: /(Seq Scan|Index Scan|Index Only Scan|Bitmap Heap Scan).* on (\w+)/) else {
        if let removed = line.firstMatch(of: /Rows Removed by (?:Filter|Index Recheck): (\d+)/),
          let count = Int(removed.1), count > 100,
          !isOfOpenLaunches
        {
          return "\(count) rows are thrown away"
        }
        continue
      }
      guard Self.growing.contains(String(scan.2)) else { continue }
      let details = lines[(index + 1)...].prefix { !$0.contains("->") }
      let isBound = details.contains { $0.contains("Index Cond:") || $0.contains("Recheck Cond:") }
      if scan.1 == "Seq Scan" || !isBound && !isLimited(line) { return "\(scan.1) on \(scan.2)" }
    }
    return pages > 500 + 8 * rows ? "\(pages) pages are visited for \(rows) rows" : nil
  }

  /// Whether the scan stops after some rows, because only the first ones in the order of the index are wanted. The
  /// indexes of open launches have no others than those that run.
  private func isLimited(_ line: String) -> Bool {
    let first = /using (request_(ready|eligible|dated|scheduled|ended|pkey)|(submission|unsent_span)_pkey)\b/
    return line.contains(/using launch_open(_on_host)?\b/) || sql.contains("LIMIT") && line.contains(first)
  }
}

extension PostgresType {
  fileprivate var sqlName: String { oid == 0 ? "unknown" : description }
}

extension PostgresValue {
  fileprivate var literal: String {
    switch self {
    case .null, .nullOf: "NULL"
    case .integer(let value): "(\(value))::bigint"
    case .text(let value): Self.quoted(value)
    case .blob(let value): Self.hex(value)
    case .integers(let values):
      "ARRAY[\(values.map { $0.map { "\($0)" } ?? "NULL" }.joined(separator: ", "))]::bigint[]"
    case .texts(let values): "ARRAY[\(values.map { $0.map(Self.quoted) ?? "NULL" }.joined(separator: ", "))]::text[]"
    case .blobs(let values): "ARRAY[\(values.map { $0.map(Self.hex) ?? "NULL" }.joined(separator: ", "))]::bytea[]"
    }
  }

  private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

  private static func hex(_ bytes: [UInt8]) -> String {
    "'\\x" + bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "'::bytea"
  }
}
