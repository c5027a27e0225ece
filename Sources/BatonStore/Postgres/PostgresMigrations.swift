internal import BatonModel
internal import BatonPostgres

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Makes the tables of a store in a database, or finds out that they are there.
///
/// Coordinators of two versions share a store while a fleet is updated, one coordinator after another. So a later
/// version changes the schema in two steps. First it adds what the earlier version leaves alone, and says in
/// `baton_schema` that the earlier version may go on writing (`oldest_writer`). A version after that, when no earlier
/// one runs any more, takes away what is not needed, and raises `oldest_writer`. A coordinator that is too old and runs
/// nevertheless notices it within about a second and ends (`PostgresRowServer`). Each table is changed in a transaction
/// of its own: several locks on tables could wait for a group of a coordinator that waits for one of them.
struct PostgresMigrations {
  let server: PostgresServer

  /// The number of the lock that lets one coordinator at a time look at the schema: "baton" as ASCII.
  static let lock = 0x6261_746f_6e

  /// - Parameter incarnation: the name of a store that is made here.
  /// - Throws: `.newerVersion` if a newer version of Baton has made the tables, and says that this version must not
  ///   write into them; `.refused` if the database belongs to another program.
  /// - Returns: how the server's history has changed since the last start of a coordinator; `nil` if it has not.
  @discardableResult
  func run(_ incarnation: String) throws(StoreError) -> PostgresHistory? {
    let connection = try server.connect()
    defer { connection.close() }
    do {
      try run(on: connection, incarnation)
      return try PostgresHistory.note(on: connection, deadline: server.deadline())
    } catch {
      throw StoreError(anything: error)
    }
  }

  /// To whom a store belongs.
  enum Owner: Equatable { case unowned, thisFleet, anotherFleet }

  /// - Parameters:
  ///   - fleet: a text that all coordinators of a fleet have, and no others.
  ///   - takesIt: whether the fleet gets a store that belongs to no fleet yet.
  func owner(for fleet: String, takesIt: Bool) throws(StoreError) -> Owner {
    let take = "UPDATE baton_schema SET fleet = coalesce(fleet, $1) RETURNING fleet"
    let rows = try answer(
      takesIt ? PostgresStatement(take, [.text(fleet)]) : PostgresStatement("SELECT fleet FROM baton_schema"))
    do {
      guard rows.count == 1 else { return .anotherFleet }
      guard let found = try rows.textIfAny(0, 0) else { return .unowned }
      return found == fleet ? .thisFleet : .anotherFleet
    } catch {
      throw StoreError(anything: error)
    }
  }

  /// A coordinator that lives: its beat is raised while this looks on. Returns as soon as one is found; `nil` after
  /// `patience` if none is. A coordinator that was killed has not ended either, and does not beat.
  func livingCoordinator(besides epoch: Int64, patience: Duration) throws(StoreError) -> String? {
    let deadline = ContinuousClock.now + patience
    var first: [Int64: Int64] = [:]
    while true {
      let rows = try answer(
        PostgresStatement(
          """
          SELECT epoch, beat, CASE WHEN name <> '' THEN name WHEN address <> '' THEN address
            ELSE 'number ' || epoch END FROM coordinator WHERE is_ended = 0 AND epoch <> $1 ORDER BY epoch
          """, [.integer(epoch)]))
      do {
        for row in 0..<rows.count {
          let (other, beat) = (try rows.integer(row, 0), try rows.integer(row, 1))
          if let before = first[other], before != beat { return try rows.text(row, 2) }
          first[other] = beat
        }
      } catch {
        throw StoreError(anything: error)
      }
      if rows.count == 0 || ContinuousClock.now >= deadline { return nil }
      usleep(200_000)
    }
  }

  /// The rows of a statement on a connection of its own.
  private func answer(_ statement: PostgresStatement) throws(StoreError) -> PostgresRows {
    let connection = try server.connect()
    defer { connection.close() }
    do { return try connection.run(statement, deadline: server.deadline()) } catch { throw StoreError(anything: error) }
  }

  private func run(on connection: PostgresConnection, _ incarnation: String) throws {
    let (deadline, lock) = (ContinuousClock.now + .seconds(60), PostgresValue.integer(Int64(Self.lock)))
    _ = try connection.run(
      [
        PostgresStatement("BEGIN"), PostgresStatement("SET LOCAL lock_timeout = '30s'"),
        PostgresStatement("SELECT pg_advisory_xact_lock($1)", [lock]),
        PostgresStatement(
          """
          CREATE TABLE IF NOT EXISTS baton_schema
            (version bigint NOT NULL, made_by text NOT NULL, fleet text, oldest_writer bigint)
          """),
      ], deadline: deadline)
    // The first databases were made without this column. The statement would wait for a dump, so it is not run in vain.
    let column = PostgresStatement(
      """
      SELECT count(*) FROM pg_attribute
      WHERE attrelid = 'baton_schema'::regclass AND attname = 'oldest_writer' AND NOT attisdropped
      """)
    if try connection.run(column, deadline: deadline).integer(0, 0) == 0 {
      let addition = PostgresStatement("ALTER TABLE baton_schema ADD COLUMN oldest_writer bigint")
      _ = try connection.run(addition, deadline: deadline)
    }
    let found = try connection.run(
      [
        Self.question, Self.foreignTable,
      ], deadline: deadline)
    if let mark = try PostgresMark.read(connection, deadline: deadline) { throw mark.refusal }
    if found[0].count > 0 {
      let version = try found[0].integer(0, 0)
      try Self.demandWriter(found[0])
      _ = try connection.run(PostgresStatement("COMMIT"), deadline: deadline)
      if version < PostgresSchema.version { try upgrade(connection, from: Int(version), lock, deadline) }
      return
    } else if found[1].count > 0 {
      throw StoreError(
        .refused,
        "the database has tables of another program (\(try found[1].text(0, 0))); give the store a database of its own")
    } else {
      // Nothing else has the new tables, so all versions are made in this transaction.
      for step in PostgresSchema.steps { try connection.script(step, deadline: deadline) }
      _ = try connection.run(
        [
          PostgresStatement(PostgresSchema.rows),
          PostgresStatement("INSERT INTO store (id, incarnation) VALUES (1, $1)", [.text(incarnation)]),
          PostgresStatement(
            "INSERT INTO baton_schema (version, made_by) VALUES ($1, $2)",
            [.integer(1), .text(BatonVersion.current)]),
        ], deadline: deadline)
      try mark(connection, deadline)
    }
    _ = try connection.run(PostgresStatement("COMMIT"), deadline: deadline)
  }

  /// Makes this version of the schema out of an earlier one. Another coordinator may do the same at the same time.
  private func upgrade(
    _ connection: PostgresConnection, from version: Int, _ lock: PostgresValue, _ deadline: ContinuousClock.Instant
  ) throws {
    for step in PostgresSchema.upgrades[(version - 1)...].joined() {
      _ = try connection.run(
        [
          PostgresStatement("BEGIN"), PostgresStatement("SET LOCAL lock_timeout = '30s'"),
          PostgresStatement("SELECT pg_advisory_xact_lock($1)", [lock]),
        ], deadline: deadline)
      try connection.script(step, deadline: deadline)
      _ = try connection.run(PostgresStatement("COMMIT"), deadline: deadline)
    }
    try mark(connection, deadline)
  }

  /// Says that the schema has this version, unless it has a later one.
  private func mark(_ connection: PostgresConnection, _ deadline: ContinuousClock.Instant) throws {
    let text = "UPDATE baton_schema SET version = $1, made_by = $2, oldest_writer = $3 WHERE version < $1"
    let values: [PostgresValue] = [
      .integer(Int64(PostgresSchema.version)), .text(BatonVersion.current),
      .integer(Int64(PostgresSchema.oldestWriter)),
    ]
    _ = try connection.run(PostgresStatement(text, values), deadline: deadline)
  }

  /// The name of a table that Baton did not make, where Baton makes its own. Tables of extensions do not count.
  static let foreignTable = PostgresStatement(
    """
    SELECT c.relname::text FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p')
      AND c.relname <> 'baton_schema' AND NOT EXISTS (
        SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    ORDER BY c.relname LIMIT 1
    """)

  /// What the schema says of itself: its version, the version of Baton that made it, and the oldest version that may
  /// write into it.
  static let question = PostgresStatement(
    "SELECT version, made_by, coalesce(oldest_writer, version) FROM baton_schema")

  /// Throws `.newerVersion` if the schema, as the answer to `question` describes it, takes no writes of this version.
  static func demandWriter(_ rows: PostgresRows) throws {
    guard rows.count > 0 else { throw StoreError(.corrupt, "the table 'baton_schema' is empty") }
    try check(version: rows.integer(0, 0), madeBy: rows.text(0, 1), oldestWriter: rows.integer(0, 2))
  }

  private static func check(version: Int64, madeBy: String, oldestWriter: Int64) throws(StoreError) {
    let own = Int64(PostgresSchema.version)
    if version > own, oldestWriter > own {
      throw StoreError(
        .newerVersion,
        "the database has the schema \(version) of Baton \(madeBy), which takes writes of the schemas \(oldestWriter) to "
          + "\(version), and this version knows \(own); install that version or a later one")
    }
    if version < 1 {
      throw StoreError(.corrupt, "the database has the schema \(version), which no version of Baton has made")
    }
  }
}
