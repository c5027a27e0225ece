import BatonPostgres
import BatonStore
import Foundation

/// What PostgreSQL achieves with Baton's tables and without Baton: the same rows as a job has, through libpq, with
/// statements that take arrays, and pipelines. Each result of B13 to B20 is compared to one of these limits.
///
/// The sessions plan as Baton's do, and each statement looks its rows up by the whole primary key. Otherwise the limit
/// would depend on chance: a statement that is planned while its table is almost empty may read the whole table, and
/// keeps its plan until the server analyzes the table. With such a plan for one statement, the endings of launches by
/// `request = v AND number = 1`, there were a third as many lives.
enum PostgresLimits {
  /// Jobs per second that are inserted, claimed and finished, `perCommit` of them in each commit, by two connections
  /// at the same time.
  static func jobLives(_ count: Int, perCommit: Int) async throws -> Double {
    let database = try await filled()
    defer { database.remove() }
    let start = Date()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<2 {
        group.addTask {
          try await onThread {
            var lives = try JobLives(database, writer: writer)
            try lives.run(count / 2, perCommit: perCommit)
          }
        }
      }
      try await group.waitForAll()
    }
    return Double(count) / -start.timeIntervalSinceNow
  }

  /// Checkpoints of 256 bytes per second, `perCommit` of them in each commit, by one connection.
  static func checkpoints(_ count: Int, perCommit: Int) async throws -> Double {
    let database = try await filled()
    defer { database.remove() }
    return try await onThread {
      var lives = try JobLives(database, writer: 0)
      let jobs = try lives.start(perCommit)
      let start = Date()
      for _ in 0..<count / perCommit { try lives.checkpoint(jobs) }
      return Double(count) / -start.timeIntervalSinceNow
    }
  }

  /// The median time in seconds of a transaction that changes one row, in one exchange.
  static func commit() async throws -> Double {
    let database = try await filled()
    defer { database.remove() }
    return try await onThread {
      var lives = try JobLives(database, writer: 0)
      var times: [Double] = []
      for _ in 0..<500 {
        let start = DispatchTime.now().uptimeNanoseconds
        try lives.count()
        times.append(Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9)
      }
      return times.median
    }
  }

  /// A database with Baton's tables, and the rows that two coordinators need.
  private static func filled() async throws -> BenchmarkDatabase {
    let database = try BenchmarkDatabase.make()
    let folder = Files.temporary()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try PostgresStore.open(
      address: database.address, folder: folder, limits: StoreLimits(), queuesSpans: false, onGroup: nil)
    try await store.close()
    return database
  }

  private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      Thread { continuation.resume(with: Result { try body() }) }.start()
    }
  }
}

/// The lives of jobs on one connection, as one coordinator would store them. Each connection has a definition of its
/// own, so that none waits for another one's rows.
private struct JobLives {
  private let connection: PostgresConnection
  private let epoch: Int64
  private let host: Int64
  private let definition: Int64
  private var commits: Int64 = 0

  init(_ database: BenchmarkDatabase, writer: Int) throws {
    connection = try database.connect()
    try connection.script(PostgresSession.planning, deadline: .now + .seconds(10))
    epoch = 1_000 + Int64(writer)
    host = 1_000 + Int64(writer)
    definition = 1 + Int64(writer)
    try run(
      PostgresStatement(
        "INSERT INTO coordinator (epoch, tenure, address, commits) VALUES ($1, $1, '', 0)", [.integer(epoch)]),
      PostgresStatement(
        "INSERT INTO host (id, name, last_seen_at) VALUES ($1, 'limit-' || $1, 0)", [.integer(host)]),
      PostgresStatement("INSERT INTO share VALUES (1, $1, 0, 0, 0, 0, 0, 0, 0, 0)", [.integer(epoch)]))
  }

  private func run(_ statements: PostgresStatement...) throws { _ = try answers(statements) }

  private func answers(_ statements: [PostgresStatement]) throws -> [PostgresRows] {
    try connection.run(statements, deadline: .now + .seconds(60))
  }

  /// Begins with the lock of the coordinator's row, as every transaction of Baton does.
  private var beginning: [PostgresStatement] {
    [
      PostgresStatement("BEGIN"),
      PostgresStatement("SELECT 1 FROM coordinator WHERE epoch = $1 FOR NO KEY UPDATE", [.integer(epoch)]),
    ]
  }

  private mutating func ending() -> [PostgresStatement] {
    commits += 1
    return [
      PostgresStatement(
        "UPDATE coordinator SET commits = $2 WHERE epoch = $1", [.integer(epoch), .integer(commits)]),
      PostgresStatement(
        "UPDATE share SET ready = ready + 1 WHERE pattern = 1 AND coordinator = $1", [.integer(epoch)]),
      PostgresStatement("COMMIT"),
    ]
  }

  mutating func count() throws { _ = try answers(beginning + ending()) }

  mutating func run(_ count: Int, perCommit: Int) throws {
    for first in stride(from: 0, to: count, by: perCommit) {
      try end(try start(min(perCommit, count - first)))
    }
  }

  /// Submits requests, and claims as many.
  mutating func start(_ count: Int) throws -> [Int64] {
    let ids = try numbers(count)
    let list = PostgresValue.integers(ids)
    _ = try answers(
      beginning + [
        PostgresStatement(
          """
          INSERT INTO identifier (id, name, last_number)
          SELECT id, 'com.example.bench.noop.limit-' || id, 1 FROM unnest($1::bigint[]) AS id
          """, [list]),
        PostgresStatement(
          """
          INSERT INTO request (id, identifier, number, definition, priority, state, eligible_at, earliest_at,
            submitted_at, principal, trace_id, span_id, is_sampled, ready_at)
          SELECT id, id, 1, $2, 1, 1, 0, 0, 0, 'bench', decode(repeat('07', 16), 'hex'), decode(repeat('07', 8), 'hex'),
            1, 0 FROM unnest($1::bigint[]) AS id
          """, [list, .integer(definition)]),
        PostgresStatement(
          """
          INSERT INTO submission SELECT id, 'limit-' || id, 0, id, id, 1, 1, 1, 1, 0, 0 FROM unnest($1::bigint[]) AS id
          """, [list]),
      ] + ending())
    return try claim(count)
  }

  private func numbers(_ count: Int) throws -> [Int64?] {
    let drawn = try answers([
      PostgresStatement("SELECT nextval('request_ids') FROM generate_series(1, $1)", [.integer(Int64(count))])
    ])[0]
    return try (0..<drawn.count).map { try drawn.integer($0, 0) }
  }

  private mutating func claim(_ count: Int) throws -> [Int64] {
    let found = try answers(
      beginning + [
        PostgresStatement(
          """
          SELECT r.id FROM request r JOIN identifier i ON i.id = r.identifier
          WHERE r.state = 1 AND r.definition = ANY($2) AND r.priority = 1 ORDER BY r.definition, r.id LIMIT $1
          FOR NO KEY UPDATE OF i, r SKIP LOCKED
          """, [.integer(Int64(count)), .integers([definition])])
      ])[2]
    let ids = try (0..<found.count).map { try found.integer($0, 0) }
    let list = PostgresValue.integers(ids)
    _ = try answers(
      [
        PostgresStatement(
          """
          UPDATE request SET state = 2, launches = 1, host = $2, started_at = 1, ready_at = NULL
          FROM unnest($1::bigint[]) AS v WHERE id = v
          """, [list, .integer(host)]),
        PostgresStatement(
          """
          INSERT INTO launch (request, number, host, incarnation, gpus, span_id, started_at, first_batch)
          SELECT id, 1, $2, 'limit', '', decode(repeat('07', 8), 'hex'), 1, 0 FROM unnest($1::bigint[]) AS id
          """, [list, .integer(host)]),
      ] + ending())
    return ids
  }

  mutating func end(_ ids: [Int64]) throws {
    let list = PostgresValue.integers(ids)
    _ = try answers(
      beginning + [
        PostgresStatement("SELECT id FROM identifier WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE", [list]),
        PostgresStatement("SELECT id FROM request WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE", [list]),
        PostgresStatement(
          """
          UPDATE request SET state = 3, ended_at = 2, outcome = 'finished' FROM unnest($1::bigint[]) AS v WHERE id = v
          """, [list]),
        PostgresStatement(
          """
          UPDATE launch AS t SET ended_at = 2, outcome = 'finished'
          FROM unnest($1::bigint[], $2::bigint[]) AS v (id, number) WHERE t.request = v.id AND t.number = v.number
          """, [list, .integers(ids.map { _ in 1 })]),
      ] + ending())
  }

  mutating func checkpoint(_ ids: [Int64]) throws {
    let list = PostgresValue.integers(ids)
    let cursor = [UInt8](repeating: UInt8(truncatingIfNeeded: commits), count: 256)
    _ = try answers(
      beginning + [
        PostgresStatement("SELECT id FROM request WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE", [list]),
        PostgresStatement(
          """
          INSERT INTO progress (request, batches, completed_units, reaches_end, cursor)
          SELECT v.id, $3, $3, 0, v.cursor FROM unnest($1::bigint[], $2::bytea[]) AS v (id, cursor)
          ON CONFLICT (request) DO UPDATE
          SET batches = excluded.batches, completed_units = excluded.completed_units, cursor = excluded.cursor
          """, [list, .blobs(ids.map { _ in cursor }), .integer(commits)]),
      ] + ending())
  }
}
