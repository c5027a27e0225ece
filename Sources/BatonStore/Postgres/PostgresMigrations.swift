internal import BatonModel
internal import BatonPostgres

/// Makes the tables of a store in a database, or finds out that they are there.
struct PostgresMigrations {
  let server: PostgresServer

  /// The number of the lock that lets one coordinator at a time look at the schema: "baton" as ASCII.
  private static let lock = 0x6261_746f_6e

  /// - Parameter incarnation: the name of a store that is made here.
  /// - Throws: `.newerVersion` if a newer version of Baton has made the tables; `.refused` if the database belongs to
  ///   another program.
  func run(_ incarnation: String) throws(StoreError) {
    let connection = try server.connect()
    defer { connection.close() }
    do {
      try run(on: connection, incarnation)
    } catch {
      throw StoreError(anything: error)
    }
  }

  /// Whether the store belongs to this fleet. The first fleet that asks gets it.
  /// - Parameter fleet: a text that all coordinators of a fleet have, and no others.
  func belongs(to fleet: String) throws(StoreError) -> Bool {
    let connection = try server.connect()
    defer { connection.close() }
    do {
      let text = "UPDATE baton_schema SET fleet = coalesce(fleet, $1) RETURNING fleet"
      let rows = try connection.run(PostgresStatement(text, [.text(fleet)]), deadline: server.deadline())
      return try rows.count == 1 && rows.text(0, 0) == fleet
    } catch {
      throw StoreError(anything: error)
    }
  }

  private func run(on connection: PostgresConnection, _ incarnation: String) throws {
    let (deadline, lock) = (ContinuousClock.now + .seconds(60), PostgresValue.integer(Int64(Self.lock)))
    _ = try connection.run(
      [
        PostgresStatement("BEGIN"), PostgresStatement("SET LOCAL lock_timeout = '30s'"),
        PostgresStatement("SELECT pg_advisory_xact_lock($1)", [lock]),
        PostgresStatement(
          """
          CREATE TABLE IF NOT EXISTS baton_schema (version bigint NOT NULL, made_by text NOT NULL, fleet text)
          """),
      ], deadline: deadline)
    let found = try connection.run(
      [
        PostgresStatement("SELECT version, made_by FROM baton_schema"),
        PostgresStatement("SELECT to_regclass('request') IS NOT NULL OR to_regclass('store') IS NOT NULL"),
      ], deadline: deadline)
    if found[0].count > 0 {
      try check(version: try found[0].integer(0, 0), madeBy: try found[0].text(0, 1))
    } else if try found[1].integer(0, 0) == 1 {
      throw StoreError(
        .refused,
        "the database has tables of another program ('request' or 'store'); give the store a database of its own")
    } else {
      try connection.script(PostgresSchema.text, deadline: deadline)
      _ = try connection.run(
        [
          PostgresStatement(PostgresSchema.rows),
          PostgresStatement("INSERT INTO store (id, incarnation) VALUES (1, $1)", [.text(incarnation)]),
          PostgresStatement(
            "INSERT INTO baton_schema (version, made_by) VALUES ($1, $2)",
            [.integer(Int64(PostgresSchema.version)), .text(BatonVersion.current)]),
        ], deadline: deadline)
    }
    _ = try connection.run(PostgresStatement("COMMIT"), deadline: deadline)
  }

  private func check(version: Int64, madeBy: String) throws(StoreError) {
    guard version != PostgresSchema.version else { return }
    throw StoreError(
      .newerVersion,
      "the database has the schema \(version) of Baton \(madeBy), and this version knows \(PostgresSchema.version); "
        + "install that version or a later one")
  }
}
