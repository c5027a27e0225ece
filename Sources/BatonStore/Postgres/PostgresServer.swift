internal import BatonModel
internal import BatonPostgres

/// How long the coordinator waits for PostgreSQL.
struct PostgresLimits: Hashable, Sendable {
  /// The longest time until a server has answered a connection.
  var connecting = Duration.seconds(5)
  /// The longest time for one exchange with the server. A server that needs longer is given up; the connection is
  /// closed, and a commit that was under way is looked for on another connection.
  var exchange = Duration.seconds(15)
  /// The longest time that a statement waits for a row that another coordinator has locked.
  var locking = Duration.seconds(5)
  /// After this time without a statement the server ends a transaction, so that a coordinator that was stopped does not
  /// keep its locks. The verbs of the largest group run in less.
  var idling = Duration.seconds(4)
  /// Whether a server is refused that may lose commits in a power failure. False is for tests that cut no power.
  var demandsDurability = true
  /// How long a coordinator goes on before a group of writes looks again whether a later version has changed the schema
  /// so that this version may not write any more. Shorter than the time between two beats, so that each beat looks.
  var schemaInterval = Duration.milliseconds(500)
  /// How many connections only read.
  var readers = 3
}

/// What a test leaves out, to prove that it is needed, or watches.
struct PostgresTrial: Sendable {
  /// The locks that groups do not take.
  var ignored: Set<RowLock.Table> = []
  /// The isolation level of groups.
  var isolation = "READ COMMITTED"
  /// Called with the statements of each exchange before they are sent.
  var onStatements: (@Sendable ([PostgresStatement]) -> Void)?
}

package enum PostgresSession {
  /// How statements are planned. They look rows up in indexes, and their plans have to stay right while the tables grow
  /// from empty to large, also with old statistics. A merge join may read a whole index, and a hash join a whole table.
  /// A bitmap loses the order of its index, so a list would read and sort everything for its first row.
  package static let planning = """
    SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_mergejoin = off; SET enable_hashjoin = off;
    SET jit = off; SET plan_cache_mode = force_generic_plan
    """
}

/// Opens connections to a server, and makes sure that it can keep the promises.
struct PostgresServer: Sendable {
  let address: PostgresAddress
  let limits: PostgresLimits
  var trial = PostgresTrial()

  /// Opens a connection.
  /// - Throws: `StoreError`: `.unavailable` if there is no server now, `.refused` if a person has to change something.
  func connect() throws(StoreError) -> PostgresConnection {
    do {
      let deadline = ContinuousClock.now + limits.connecting
      let connection = try PostgresConnection.connect(to: address, deadline: deadline)
      try prepare(connection)
      return connection
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(anything: error)
    }
  }

  func deadline() -> ContinuousClock.Instant { .now + limits.exchange }

  /// Sends the statements in one exchange.
  func run(_ statements: [PostgresStatement], on connection: PostgresConnection) throws -> [PostgresRows] {
    trial.onStatements?(statements)
    return try connection.run(statements, deadline: deadline())
  }

  /// Sets the session up, and refuses a server whose commits may be lost, and a pooler that gives each transaction
  /// another connection.
  private func prepare(_ connection: PostgresConnection) throws {
    let milliseconds = { (duration: Duration) in duration.nanoseconds / 1_000_000 }
    try connection.script(
      """
      SET lock_timeout = \(milliseconds(limits.locking)); SET statement_timeout = 0;
      SET idle_in_transaction_session_timeout = \(milliseconds(limits.idling));
      \(PostgresSession.planning);
      SET standard_conforming_strings = on; SET client_encoding = 'UTF8'; SET baton.session = 'set'
      """, deadline: deadline())
    let rows = try connection.run(
      PostgresStatement(
        """
        SELECT name, setting FROM pg_settings
        WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'server_encoding')
        """), deadline: deadline())
    var settings: [String: String] = [:]
    for row in 0..<rows.count { settings[try rows.text(row, 0)] = try rows.text(row, 1) }
    for name in ["fsync", "full_page_writes"] where limits.demandsDurability && settings[name] != "on" {
      throw StoreError(
        .refused,
        "PostgreSQL has \(name) = \(settings[name] ?? "unknown"), so a power failure could lose what was acknowledged; "
          + "set \(name) = on")
    }
    // Every other setting waits at least until the commit is on the server's disk.
    guard settings["synchronous_commit"] != "off" || !limits.demandsDurability else {
      throw StoreError(
        .refused,
        "PostgreSQL has synchronous_commit = off for this user, so commits that were acknowledged could be lost; set it "
          + "to on (ALTER ROLE … SET synchronous_commit = on)")
    }
    guard settings["server_encoding"] == "UTF8" else {
      throw StoreError(
        .refused, "the database has the encoding \(settings["server_encoding"] ?? "unknown"); make one with UTF8")
    }
    try refusePooler(connection)
  }

  /// Two transactions in a row have to run on the same connection to the server.
  private func refusePooler(_ connection: PostgresConnection) throws {
    let question = PostgresStatement("SELECT pg_backend_pid(), current_setting('baton.session', true)")
    for _ in 0..<2 where try !isOwn(try answer(to: question, on: connection), connection) {
      throw StoreError(
        .refused,
        "between this coordinator and PostgreSQL is a pooler that gives each transaction another connection; use "
          + "PostgreSQL's own port, or a pool in session mode")
    }
  }

  /// - Returns: `nil` if the session does not have the statement that was prepared on it.
  private func answer(to question: PostgresStatement, on connection: PostgresConnection) throws -> PostgresRows? {
    do {
      return try connection.run(question, deadline: deadline())
    } catch  where ["26000", "42P05"].contains(error.sqlState) {
      return nil
    }
  }

  private func isOwn(_ rows: PostgresRows?, _ connection: PostgresConnection) throws -> Bool {
    guard let rows else { return false }
    return try rows.integer(0, 0) == Int64(connection.backendPID) && rows.textIfAny(0, 1) == "set"
  }
}

extension StoreError {
  /// Translates an error of PostgreSQL into the error that callers get. Nothing was changed, unless the error is
  /// `.unknown`.
  init(_ error: PostgresError) {
    switch error.kind {
    case .libraryMissing, .invalidAddress, .loginRefused: self.init(.refused, error.message)
    case .unreachable, .brokenConnection, .deadline, .overloaded, .ended: self.init(.unavailable, error.message)
    case .invalidStatement, .unreadable: self.init(.corrupt, error.message)
    case .server: self.init(server: error)
    }
  }

  private init(server error: PostgresError) {
    switch (error.sqlState ?? "", error.sqlStateClass) {
    case ("53100", _):
      self.init(.cannotWrite, "The disk of PostgreSQL is full; nothing was changed. Free some space, then try again.")
    case ("55P03", _):
      self.init(.overloaded, "Another coordinator holds a row for too long; nothing was changed. Try again.")
    case ("25006", _):
      self.init(.unavailable, "PostgreSQL takes no writes now: it is a standby. \(error.message)")
    case ("XX001", _), ("XX002", _): self.init(.corrupt, "The database is damaged: \(error.message)")
    case (_, "28"), (_, "3D"), (_, "42"):
      self.init(.refused, "PostgreSQL refuses what the store needs: \(error.message)")
    case (_, "08"), (_, "53"), (_, "57"), (_, "40"): self.init(.unavailable, error.message)
    default: self.init(.corrupt, "PostgreSQL refuses what the store needs: \(error.message)")
    }
  }
}

extension Cell {
  func value(_ column: ColumnType) -> PostgresValue {
    switch self {
    case .null: .nullOf(column.type)
    case .integer(let value): .integer(value)
    case .text(let value): .text(value)
    case .blob(let value): .blob(value)
    }
  }
}

extension ColumnType {
  var type: PostgresType {
    switch self {
    case .integer: .integer
    case .text: .text
    case .blob: .blob
    }
  }
}

extension PostgresRows {
  /// The cells of all rows.
  var cells: [[Cell]] { get throws { try cells(in: 0..<columnCount) } }

  /// The cells of these columns of all rows.
  func cells(in columns: Range<Int>) throws -> [[Cell]] {
    let types = (0..<columnCount).map(type)
    return try (0..<count).map { row in try columns.map { try cell(row, $0, types[$0]) } }
  }

  private func cell(_ row: Int, _ column: Int, _ type: PostgresType) throws -> Cell {
    switch type {
    case .text: try textIfAny(row, column).map(Cell.text) ?? .null
    case .blob: try blobIfAny(row, column).map(Cell.blob) ?? .null
    default: try integerIfAny(row, column).map(Cell.integer) ?? .null
    }
  }
}
