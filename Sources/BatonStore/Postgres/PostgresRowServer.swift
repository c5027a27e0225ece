internal import BatonModel
internal import BatonPostgres
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Locks, loads and stores the rows of groups in PostgreSQL, on one connection. One group is under way at a time: its
/// transaction begins with `load` and ends with `store` or `release`.
///
/// Transactions are READ COMMITTED: a statement after the locks reads what is committed then. With REPEATABLE READ it
/// would read what was there before the locks, and a request that is submitted while the live one ends would wait for
/// ever.
///
/// `@unchecked Sendable`: the queue of `GroupCommitWriter` is serial, and only its blocks call this class, one at a
/// time; `isClosed` has a lock.
final class PostgresRowServer: RowServer, @unchecked Sendable {
  private let server: PostgresServer
  private let catalog: RowCatalog
  private let memory = RowMemory()
  private let numbers: PostgresNumbers
  private var connection: PostgresConnection?
  private let closed = Mutex(false)
  /// How many connections broke since the last group was stored.
  private var losses = 0
  /// When a group last saw that the schema takes writes of this version.
  private var schemaSeenAt: ContinuousClock.Instant?
  private let hold = Mutex<(@Sendable () -> Void)?>(nil)

  /// - Parameter shapes: the tables, as the working set has them.
  init(_ server: PostgresServer, _ shapes: [TableShape]) {
    self.server = server
    catalog = RowCatalog(shapes) { $0.text(list: { "= ANY($\($0))" }, parameter: { "$\($0)" }) }
    numbers = PostgresNumbers()
    numbers.source = { [unowned self] in try draw($0, $1) }
  }

  /// Stops waiting for a server that does not answer.
  func close() { closed.withLock { $0 = true } }

  /// Closes the connection. Call it when no group is under way, and none will be.
  func end() {
    connection?.close()
    connection = nil
  }

  /// Holds the next group that has something to store: calls `body` before it stores, while it has its locks. For
  /// tests. `nil` holds none.
  func holdNext(_ body: (@Sendable () -> Void)?) { hold.withLock { $0 = body } }

  // MARK: RowServer

  func load(_ keys: [RowKey], for epoch: Int64?, by group: Int) throws -> (held: HeldRows, rows: Rows)? {
    do {
      let now = ContinuousClock.now
      let looks = schemaSeenAt.map { now - $0 >= server.limits.schemaInterval } ?? true
      let source = PostgresRowSource(
        connection: try usable(), server: server, catalog: catalog, looksAtSchema: looks)
      let loaded = try RowLoader.load(keys, epoch: epoch, numbers: numbers, from: source, memory)
      try source.begin()
      if looks { schemaSeenAt = now }
      return loaded
    } catch {
      release(group)
      // Another group was in the way. This one begins again.
      if error is RowsChanged { return nil }
      guard let error = error as? PostgresError else { throw StoreError(anything: error) }
      if error.isSerialization || error.isStalePlan { return nil }
      if error.kind == .brokenConnection {
        try beginAgain(after: StoreError(error))
        return nil
      }
      throw StoreError(error)
    }
  }

  func store(_ changes: [RowChange], by group: Int) throws {
    guard let connection else { throw StoreError(.unavailable, "The connection to PostgreSQL is gone.") }
    if let held = hold.withLock({ hold in
      defer { hold = nil }
      return hold
    }) {
      held()
    }
    do {
      try run(PostgresChanges.statements(ofGroup: changes) + [PostgresStatement("COMMIT")], on: connection)
      if let doubt = connection.doubtAboutCommit { try findOut(CommitMark(in: changes), doubt) }
    } catch let error as PostgresError {
      if error.isOutcomeUnknown {
        try findOut(CommitMark(in: changes), error)
      } else if error.isUniqueViolation || error.sqlState == "23P01" || error.isSerialization || error.isStalePlan {
        throw RowConflict()
      } else {
        throw StoreError(error)
      }
    }
    losses = 0
    numbers.endGroup()
    memory.note(changes)
  }

  /// A connection broke, and nothing was changed: the group begins again on another connection, once.
  private func beginAgain(after error: StoreError) throws {
    losses += 1
    if losses == 1 { return }
    losses = 0
    throw error
  }

  func release(_ group: Int) {
    numbers.endGroup()
    guard let connection, connection.transactionStatus != .idle else { return }
    do {
      try run([PostgresStatement("ROLLBACK")], on: connection)
    } catch {
      // The server rolls back what a closed connection has left.
      connection.close()
    }
  }

  // MARK: The connection

  private func usable() throws -> PostgresConnection {
    if let connection, !connection.isBroken { return connection }
    let opened = try server.connect()
    connection = opened
    return opened
  }

  @discardableResult
  private func run(_ statements: [PostgresStatement], on connection: PostgresConnection) throws -> [PostgresRows] {
    try server.run(statements, on: connection)
  }

  private func draw(_ table: NumberedTable, _ count: Int) throws -> [Int64] {
    let sequence = PostgresStatement(
      "SELECT nextval($1::regclass) FROM generate_series(1, $2)",
      [.text("\(table.name)_ids"), .integer(Int64(count))])
    do {
      let rows = try run([sequence], on: try usable())[0]
      return try (0..<rows.count).map { try rows.integer($0, 0) }
    } catch {
      throw StoreError(anything: error)
    }
  }

  // MARK: Unknown commits

  /// Finds out whether a commit was made whose answer was lost: on another connection, under the lock of this
  /// coordinator's row. The lock waits for a commit that is still being made; a read without it would take that commit
  /// for one that was not made. Where a standby has to confirm commits, this transaction waits for it too, and so the
  /// commit before it is confirmed as well.
  /// - Throws: `RowConflict` if the commit was not made, and the group may begin again.
  private func findOut(_ mark: CommitMark?, _ cause: PostgresError) throws {
    connection?.close()
    guard let mark else {
      throw StoreError(.unknown, "The connection to PostgreSQL broke in a commit that counts nothing: \(cause.message)")
    }
    while !closed.withLock({ $0 }) {
      do {
        let connection = try usable()
        let lock = "SELECT commits FROM coordinator WHERE epoch = $1 FOR NO KEY UPDATE"
        let rows = try run([PostgresStatement(lock, [.integer(mark.epoch)])], on: connection)[0]
        // The lock is a transaction too. If it waited for the standby, the commit before it is there.
        if connection.doubtAboutCommit != nil {
          pause()
          continue
        }
        let commits = rows.count == 0 ? nil : try rows.integer(0, 0)
        if let commits, commits >= mark.commits { return }
        try beginAgain(
          after: StoreError(
            .unavailable, "PostgreSQL broke the connection, and did not make the change: \(cause.message)"))
        throw RowConflict()
      } catch let error as PostgresError where error.kind != .loginRefused {
        connection?.close()
        pause()
      } catch let error as StoreError where error.code == .unavailable && connection?.isBroken != false {
        pause()
      }
    }
    throw StoreError(.unknown, "The coordinator ended before it could find out whether PostgreSQL made a change.")
  }

  /// Waits before the next try to reach the server. Nothing else can happen on the writer's thread meanwhile.
  private func pause() { usleep(200_000) }
}

extension PostgresConnection {
  /// Why the commit of the last call may be on this server only: its wait for a synchronous standby was cancelled
  /// (WARNING 01000) or ended with the connection (WARNING 57P01). The server answers both with success. `nil` if the
  /// commit is as safe as the server promises.
  fileprivate var doubtAboutCommit: PostgresError? {
    guard let warning = notices.first(where: { $0.isWarning && ["01000", "57P01"].contains($0.sqlState) }) else {
      return nil
    }
    return PostgresError(
      .brokenConnection, "PostgreSQL warned in a commit: \(warning.message)", sqlState: warning.sqlState,
      isOutcomeUnknown: true)
  }
}

/// What a group's commit is recognised by.
struct CommitMark {
  var epoch: Int64
  var commits: Int64

  /// `nil` if the changes do not count a commit.
  init?(in changes: [RowChange]) {
    for change in changes where change.table.name == "coordinator" {
      guard case .integer(let epoch)? = change.key.first, case .integer(let commits)? = change.value("commits") else {
        continue
      }
      (self.epoch, self.commits) = (epoch, commits)
      return
    }
    return nil
  }
}

/// Draws the numbers of new rows from sequences of PostgreSQL. A group's numbers are drawn while it runs, so that the
/// requests of all coordinators start in about the order in which they were submitted. Numbers that are not used are
/// lost.
///
/// `@unchecked Sendable`: only the writer's queue calls it, one block at a time.
final class PostgresNumbers: RowNumbers, @unchecked Sendable {
  /// Draws as many numbers of a table as are asked for, in their order.
  var source: ((NumberedTable, Int) throws -> [Int64])?
  /// The numbers that were drawn and not used, the next one last.
  private var drawn: [NumberedTable: [Int64]] = [:]
  /// How many numbers the group draws next, because it has used up fewer.
  private var sizes: [NumberedTable: Int] = [:]

  /// The most numbers that are drawn at once, unless the group knows how many it needs.
  private static let largest = 512

  func draw(_ table: NumberedTable) throws -> Int64 {
    if let next = drawn[table]?.popLast() { return next }
    guard let source else { preconditionFailure("numbers have no source") }
    let size = sizes[table] ?? 1
    keep(try source(table, size), of: table)
    guard let first = drawn[table]?.popLast() else {
      throw StoreError(.corrupt, "PostgreSQL gave no number for a new row of \(table.name).")
    }
    sizes[table] = min(size * 4, Self.largest)
    return first
  }

  func question(for count: Int, of table: NumberedTable) -> RowQuestion? {
    RowQuestion("SELECT nextval('\(table.name)_ids') FROM generate_series(1, ?1)", .integer(count))
  }

  func keep(_ numbers: [Int64], of table: NumberedTable) { drawn[table] = numbers.reversed() }

  func giveBack(_ drawn: [Int64], of table: NumberedTable) {}

  /// Forgets the numbers that the group has not used: later numbers of other coordinators may be used already.
  func endGroup() {
    drawn = [:]
    sizes = [:]
  }
}

/// The database, as the loader of one group asks it. The first exchange begins the transaction.
final class PostgresRowSource: RowSource {
  private let connection: PostgresConnection
  private let server: PostgresServer
  let catalog: RowCatalog
  /// What is sent before the statements of the next exchange.
  private var beginning: [PostgresStatement]
  private var looksAtSchema: Bool

  /// - Parameter looksAtSchema: whether the first exchange demands that the schema takes writes of this version.
  init(connection: PostgresConnection, server: PostgresServer, catalog: RowCatalog, looksAtSchema: Bool) {
    (self.connection, self.server, self.catalog) = (connection, server, catalog)
    self.looksAtSchema = looksAtSchema
    beginning = [PostgresStatement("BEGIN ISOLATION LEVEL \(server.trial.isolation)")]
  }

  /// Begins the transaction, unless an exchange has begun it.
  func begin() throws { if !beginning.isEmpty { _ = try run([]) } }

  func beginAgain() {
    beginning = [
      PostgresStatement("ROLLBACK"), PostgresStatement("BEGIN ISOLATION LEVEL \(server.trial.isolation)"),
    ]
  }

  /// Waits for other groups, so there is always an answer.
  func answer(_ exchange: RowExchange) throws -> RowExchange.Answer? {
    // The rows of a table are read, also where a test does not lock them.
    let wanted = exchange.locks.filter { lock in
      // The audit log is locked when the group stores its rows (`PostgresAudit`).
      lock.table.tableName != nil || lock.table != .audit && !server.trial.ignored.contains(lock.table)
    }
    let byTable = Dictionary(grouping: wanted, by: \.table)
    let tables = byTable.keys.sorted { $0.rawValue < $1.rawValue }
    let locks = tables.map { lock($0, (byTable[$0] ?? []).map(\.id).sorted()) }
    let answers = try run(locks + exchange.free.map(statement) + exchange.questions.map(statement))
    var answer = RowExchange.Answer()
    for (table, rows) in zip(tables, answers) where table.tableName != nil { answer.locked[table] = try rows.cells }
    let width = catalog["request"].columns.count
    answer.free = try answers.dropFirst(locks.count).prefix(exchange.free.count).map { rows in
      try zip(rows.cells(in: 0..<width), rows.cells(in: width..<rows.columnCount)).map(RowExchange.Free.init)
    }
    answer.rows = try answers.dropFirst(locks.count + exchange.free.count).map { try $0.cells }
    return answer
  }

  /// Locks these rows of the table, the lowest number first, and reads them as they are then. `NO KEY` lets the checks
  /// of foreign keys pass, which change nothing.
  private func lock(_ table: RowLock.Table, _ ids: [Int64]) -> PostgresStatement {
    switch table {
    // These stand for all rows of their tables, also for rows that are inserted. No row could be locked for that.
    case .namespace, .limitKey:
      let text =
        "SELECT pg_advisory_xact_lock(n.number) FROM (SELECT number FROM unnest($1::bigint[]) AS number ORDER BY number) AS n"
      return PostgresStatement(text, [.integers(ids)])
    case .identities: return PostgresStatement("SELECT pg_advisory_xact_lock('invitation'::regclass::bigint)")
    case .credentials: return PostgresStatement("SELECT pg_advisory_xact_lock('credential'::regclass::bigint)")
    case .audit: preconditionFailure("the audit log is not locked before it is written")
    case .coordinator, .identifier, .request, .pattern, .host:
      let name = table.tableName ?? ""
      let text = catalog.text(named: RowCatalog.Name(subject: "lock", text: name)) {
        let isIgnored = server.trial.ignored.contains(table)
        return """
          SELECT \(catalog.columns(of: name)) FROM \(name) WHERE \(table.key) = ANY($1)
          ORDER BY \(table.key)\(isIgnored ? "" : " FOR NO KEY UPDATE")
          """
      }
      return PostgresStatement(text, [.integers(ids)])
    }
  }

  private func statement(_ question: RowQuestion, limit: Int) -> PostgresStatement {
    let text = catalog.text(named: RowCatalog.Name(subject: "free", text: question.sql)) {
      let columns =
        "\(catalog.columns(of: "request", prefix: "r.")), \(catalog.columns(of: "identifier", prefix: "i."))"
      // In this order a request whose identifier is locked stays free.
      return """
        SELECT \(columns) FROM request r JOIN identifier i ON i.id = r.identifier WHERE \(catalog.translate(question))
        LIMIT $\(question.parameters.count + 1) FOR NO KEY UPDATE OF i, r SKIP LOCKED
        """
    }
    return PostgresStatement(text, (question.parameters + [.integer(limit)]).map(\.value))
  }

  private func statement(_ question: RowQuestion) -> PostgresStatement {
    PostgresStatement(catalog.text(of: question), question.parameters.map(\.value))
  }

  private func run(_ statements: [PostgresStatement]) throws -> [PostgresRows] {
    let looks = looksAtSchema
    let before = beginning + (looks ? [PostgresMigrations.question] : [])
    (beginning, looksAtSchema) = ([], false)
    let answers = try server.run(before + statements, on: connection)
    if looks { try PostgresMigrations.demandWriter(answers[before.count - 1]) }
    return Array(answers.dropFirst(before.count))
  }
}

extension RowParameter {
  fileprivate var value: PostgresValue {
    switch self {
    case .one(let cell): cell.value(.integer)
    case .integers(let values): .integers(values)
    case .texts(let values): .texts(values)
    }
  }
}
