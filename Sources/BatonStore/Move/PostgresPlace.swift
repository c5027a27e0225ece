internal import BatonModel
internal import BatonPostgres

/// The database in PostgreSQL that a store moves to or comes from.
struct PostgresPlace {
  private let server: PostgresServer
  private let control: MoveControl
  /// The address without secrets.
  var name: String { server.address.redacted }
  /// The address with which a coordinator finds the database again.
  var place: String { server.address.withoutSecrets }

  init(_ address: PostgresAddress, _ options: StoreMove.Options) {
    var limits = PostgresLimits()
    limits.demandsDurability = options.demandsDurability
    (server, control) = (PostgresServer(address: address, limits: limits), options.control)
  }

  init(_ server: PostgresServer, _ options: StoreMove.Options) { (self.server, control) = (server, options.control) }

  /// A table with a million rows takes longer than the exchange of a coordinator.
  var deadline: ContinuousClock.Instant { .now + .seconds(1_800) }

  /// Opens a connection. It is closed within a quarter of a second after the move was stopped, also if the server does
  /// not answer.
  func connect() throws -> PostgresConnection {
    let connection = try server.connect()
    connection.isGivenUp = { [control] in control.isStopped }
    // Whole tables are read here, and the other side of the copy may be slow.
    try connection.script(
      "SET enable_seqscan = on; SET idle_in_transaction_session_timeout = 0; SET lock_timeout = '30s'",
      deadline: deadline)
    return connection
  }

  @discardableResult
  func run(
    _ sql: String, _ values: [PostgresValue] = [], on connection: PostgresConnection
  ) throws -> PostgresRows {
    try connection.run(PostgresStatement(sql, values), deadline: deadline)
  }

  private func number(_ sql: String, on connection: PostgresConnection) throws -> Int64 {
    try run(sql, on: connection).integer(0, 0)
  }

  // MARK: The mark

  func mark(on connection: PostgresConnection) throws -> StoreMark? {
    try PostgresMark.read(connection, deadline: deadline)
  }

  /// Takes the mark of an arriving copy away: coordinators may start on it.
  /// - Returns: false if there is no copy of this move. True if it has no mark any more.
  func finish(_ move: String, on connection: PostgresConnection) throws -> Bool {
    guard let mark = try mark(on: connection), mark.state == .arriving, mark.move == move else { return false }
    try run("DROP TABLE baton_move", on: connection)
    return true
  }

  // MARK: Arriving

  /// Begins the transaction of the copy, and makes the tables.
  /// - Throws: `.refused` if the database is not empty.
  func begin(
    for mark: StoreMark, fleet: String?, _ shapes: [TableShape], on connection: PostgresConnection
  ) throws {
    try run("BEGIN", on: connection)
    try run("SELECT pg_advisory_xact_lock($1)", [.integer(Int64(PostgresMigrations.lock))], on: connection)
    if try demandRoom(for: mark.store, on: connection) { try drop(shapes, on: connection) }
    try connection.script(
      """
      CREATE TABLE baton_schema (version bigint NOT NULL, made_by text NOT NULL, fleet text, oldest_writer bigint)
      """, deadline: deadline)
    for step in PostgresSchema.steps { try connection.script(step, deadline: deadline) }
    try run(
      "INSERT INTO baton_schema VALUES ($1, $2, $3, $4)",
      [
        .integer(Int64(PostgresSchema.version)), .text(BatonVersion.current), .optional(fleet),
        .integer(Int64(PostgresSchema.oldestWriter)),
      ], on: connection)
    try PostgresMark.write(mark, connection, deadline: deadline)
  }

  /// Throws `.refused` unless the database is empty, or has only the copy of a move of this store that did not end, a
  /// store that has moved away, or one that no fleet has used: a coordinator that was refused has made it.
  /// - Returns: whether there are tables of Baton, which the copy replaces.
  @discardableResult
  func demandRoom(for store: String, on connection: PostgresConnection) throws -> Bool {
    let found = try mark(on: connection)
    let isOurs = try number("SELECT to_regclass('baton_schema') IS NOT NULL", on: connection) == 1
    let foreign = try connection.run(PostgresMigrations.foreignTable, deadline: deadline)
    switch found?.state {
    case .moved: return true
    case .arriving where found?.store == store: return true
    case .arriving:
      throw StoreError(
        .refused, "\(name) has the copy of another store, whose move has not ended: choose another database.")
    case nil where try isOurs && number(Self.isUnused, on: connection) == 1: return true
    case nil where isOurs:
      throw StoreError(.refused, "\(name) has a store already: choose a database without tables.")
    case nil where foreign.count > 0:
      throw StoreError(
        .refused,
        "\(name) has tables of another program (\(try foreign.text(0, 0))): choose a database without tables.")
    case nil: return false
    }
  }

  private static let isUnused = """
    SELECT fleet IS NULL AND NOT EXISTS (SELECT 1 FROM request) AND NOT EXISTS (SELECT 1 FROM definition)
      AND NOT EXISTS (SELECT 1 FROM coordinator WHERE is_ended = 0) FROM baton_schema
    """

  /// Drops the tables of a copy whose move did not end, or of a store that has moved away.
  private func drop(_ shapes: [TableShape], on connection: PostgresConnection) throws {
    let tables = (shapes.map(\.name) + ["baton_schema", "baton_move", "baton_server"]).joined(separator: ", ")
    let sequences = NumberedTable.allCases.map { "\($0.name)_ids" }.joined(separator: ", ")
    try connection.script(
      """
      DROP TABLE IF EXISTS \(tables) CASCADE; DROP SEQUENCE IF EXISTS \(sequences);
      DROP FUNCTION IF EXISTS refuse_change_of_audit, refuse_early_deletion_of_audit,
        delete_belongings_of_requests, delete_pokes_of_submissions, refuse_moved_store
      """, deadline: deadline)
  }

  /// Numbers go on after those that the store has given.
  func setSequences(nextRequest: Int64, on connection: PostgresConnection) throws {
    for table in NumberedTable.allCases {
      let next = table == .request ? nextRequest : 1
      try run(
        "SELECT setval('\(table.name)_ids', greatest((SELECT coalesce(max(id), 0) + 1 FROM \(table.name)), $1), false)",
        [.integer(next)], on: connection)
    }
  }

  func checkInvariants(on connection: PostgresConnection) throws {
    for (what, query) in StoreInvariants.all where try number("SELECT (\(query))::bigint", on: connection) != 0 {
      throw StoreInvariants.error(what)
    }
  }

  /// Without statistics the first plans would be those of empty tables. A table that is empty gets none, because its
  /// plans would stay.
  func analyze(summary shapes: [TableShape], on connection: PostgresConnection) throws {
    for shape in shapes
    where try number("SELECT EXISTS (SELECT 1 FROM \(shape.name) OFFSET 1000)", on: connection) == 1 {
      try run("ANALYZE \(shape.name)", on: connection)
    }
  }

  func commit(on connection: PostgresConnection) throws { try run("COMMIT", on: connection) }
  func rollBack(on connection: PostgresConnection) throws { try run("ROLLBACK", on: connection) }

  // MARK: Leaving

  struct Living: Hashable {
    var epoch: Int64
    var beat: Int64
    var address: String

    var name: String { address.isEmpty ? "number \(epoch)" : address }
  }

  /// The coordinators that have not ended, or that were killed.
  func living(on connection: PostgresConnection) throws -> [Living] {
    guard try number("SELECT to_regclass('baton_schema') IS NOT NULL", on: connection) == 1 else {
      throw StoreError(.notFound, "There is no store in \(name).")
    }
    let rows = try run("SELECT epoch, beat, address FROM coordinator WHERE is_ended = 0 ORDER BY epoch", on: connection)
    return try (0..<rows.count).map {
      Living(epoch: try rows.integer($0, 0), beat: try rows.integer($0, 1), address: try rows.text($0, 2))
    }
  }

  /// Ends the coordinators whose beat is still the same.
  func end(_ silent: [Living], on connection: PostgresConnection) throws {
    for other in silent {
      try run(
        "UPDATE coordinator SET is_ended = 1 WHERE epoch = $1 AND beat = $2 AND is_ended = 0",
        [.integer(other.epoch), .integer(other.beat)], on: connection)
    }
  }

  /// What does not change as long as nothing is written to a store.
  struct Standing: Hashable {
    /// The name of the store.
    var store: String
    /// How many coordinators have started, and how many commits all of them have made.
    var starts: Int64
    var commits: Int64
  }

  /// Begins the transaction of the copy, which reads one snapshot.
  /// - Parameter own: the coordinator that carries the move out; `nil` if none does.
  /// - Throws: `.refused` if another coordinator uses the store, unless this is a rehearsal.
  func beginCopy(own: Int64?, on connection: PostgresConnection, _ course: MoveCourse) throws -> Standing {
    try run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", on: connection)
    if !course.isRehearsal { try demandNoOther(than: own, on: connection) }
    return try standing(on: connection)
  }

  /// Begins the transaction in which the store leaves. Nothing can be written to the store until it ends: every commit
  /// and every start of a coordinator changes the table that is locked here.
  /// - Throws: `.refused` if anything was written since the copy was made.
  func beginLeaving(_ standing: Standing, own: Int64?, on connection: PostgresConnection) throws {
    try run("BEGIN", on: connection)
    try run("LOCK TABLE coordinator IN SHARE ROW EXCLUSIVE MODE", on: connection)
    try demandNoOther(than: own, on: connection)
    guard try self.standing(on: connection) == standing else {
      throw StoreError(
        .refused, "A coordinator has written to the store in \(name) since it was copied: end it, then try again.")
    }
    if let own, try number("SELECT is_ended FROM coordinator WHERE epoch = \(own)", on: connection) != 0 {
      throw StoreError.takenOver
    }
  }

  private func standing(on connection: PostgresConnection) throws -> Standing {
    let version = try number("SELECT version FROM baton_schema", on: connection)
    guard version == PostgresSchema.version else {
      throw StoreError(
        .newerVersion, "\(name) has the schema \(version); this version knows \(PostgresSchema.version).")
    }
    let rows = try run(
      """
      SELECT incarnation, (SELECT coalesce(max(epoch), 0) FROM coordinator),
        (SELECT coalesce(sum(commits), 0)::bigint FROM coordinator) FROM store
      """, on: connection)
    guard rows.count == 1 else { throw StoreError.unnamed }
    return Standing(
      store: try rows.text(0, 0), starts: try rows.integer(0, 1), commits: try rows.integer(0, 2))
  }

  private func demandNoOther(than own: Int64?, on connection: PostgresConnection) throws {
    let others = try living(on: connection).filter { $0.epoch != own }
    if !others.isEmpty { throw inUse(by: others) }
  }

  func inUse(by others: [Living]) -> StoreError {
    StoreError(
      .refused,
      "Coordinators use the store in \(name): stop them first (\(others.map(\.name).joined(separator: ", "))).")
  }

  /// Whether a store of this name, or of this former name, is in the database.
  func has(store: String, on connection: PostgresConnection) throws -> Bool {
    guard try number("SELECT to_regclass('baton_schema') IS NOT NULL", on: connection) == 1 else { return false }
    return try run(
      "SELECT 1::bigint FROM store WHERE incarnation = $1 OR former_incarnation = $1", [.text(store)], on: connection
    ).count == 1
  }

  func nextRequest(on connection: PostgresConnection) throws -> Int64 {
    try number("SELECT last_value + CASE WHEN is_called THEN 1 ELSE 0 END FROM request_ids", on: connection)
  }

  /// Commits the mark that the store has moved. Every version of Baton is refused from now on, also a coordinator that
  /// has looked for the mark before: each commit and each start of a coordinator meets the trigger.
  func leave(_ mark: StoreMark, on connection: PostgresConnection) throws {
    try PostgresMark.write(mark, connection, deadline: deadline)
    try connection.script(
      """
      CREATE FUNCTION refuse_moved_store() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'the store has moved (see the table baton_move)' USING ERRCODE = 'insufficient_privilege';
      END $$;
      CREATE TRIGGER store_has_moved BEFORE INSERT OR UPDATE ON coordinator
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_moved_store();
      """, deadline: deadline)
    do {
      try commit(on: connection)
    } catch let error as PostgresError where error.isOutcomeUnknown {
      throw StoreError(
        .unknown, "The connection to PostgreSQL broke while the store left it, so it is unknown whether it has left.")
    }
  }
}

/// The mark of a move in PostgreSQL: a table, which a store without a mark does not have.
enum PostgresMark {
  static func read(_ connection: PostgresConnection, deadline: ContinuousClock.Instant) throws -> StoreMark? {
    let question = PostgresStatement("SELECT to_regclass('baton_move') IS NOT NULL")
    guard try connection.run(question, deadline: deadline).integer(0, 0) == 1 else { return nil }
    let rows = try connection.run(
      PostgresStatement("SELECT state, move, place, store FROM baton_move"), deadline: deadline)
    guard rows.count == 1, let state = StoreMark.State(rawValue: try rows.text(0, 0)) else {
      throw StoreError(.corrupt, "The table baton_move does not say whether the store is here.")
    }
    return StoreMark(state: state, move: try rows.text(0, 1), place: try rows.text(0, 2), store: try rows.text(0, 3))
  }

  static func write(
    _ mark: StoreMark, _ connection: PostgresConnection, deadline: ContinuousClock.Instant
  ) throws {
    try connection.script(
      "CREATE TABLE baton_move (state text NOT NULL, move text NOT NULL, place text NOT NULL, store text NOT NULL)",
      deadline: deadline)
    _ = try connection.run(
      PostgresStatement(
        "INSERT INTO baton_move VALUES ($1, $2, $3, $4)",
        [.text(mark.state.rawValue), .text(mark.move), .text(mark.place), .text(mark.store)]), deadline: deadline)
  }
}

/// The tables of a store in PostgreSQL, within the transaction of a move.
struct PostgresRowsOfMove: TablesOfMove {
  let connection: PostgresConnection
  private let place: PostgresPlace
  /// What the column `store.next_request` would be, which PostgreSQL counts in a sequence; `nil` leaves it as it is.
  private let nextRequest: Int64?

  init(connection: PostgresConnection, _ place: PostgresPlace, nextRequest: Int64? = nil) {
    (self.connection, self.place, self.nextRequest) = (connection, place, nextRequest)
  }

  func count(_ table: TableShape) throws -> Int {
    Int(try place.run("SELECT count(*) FROM \(table.name)", on: connection).integer(0, 0))
  }

  func read(_ table: TableShape, _ body: ([[Cell]]) throws -> Void) throws {
    let cursor = "move_\(table.name)"
    let columns = table.columns.map { "\"\($0)\"" }.joined(separator: ", ")
    try place.run("DECLARE \(cursor) NO SCROLL CURSOR FOR SELECT \(columns) FROM \(table.name)", on: connection)
    while true {
      var rows = try place.run("FETCH 2000 FROM \(cursor)", on: connection).cells
      if rows.isEmpty { break }
      if let nextRequest, table.name == "store", let column = table.columns.firstIndex(of: "next_request") {
        for row in rows.indices { rows[row][column] = .integer(nextRequest) }
      }
      try body(rows)
    }
    try place.run("CLOSE \(cursor)", on: connection)
  }

  func insert(_ rows: [[Cell]], _ table: TableShape) throws {
    let changes = rows.map { RowChange(table: table, key: table.key(of: $0), kind: .insert($0)) }
    _ = try connection.run(PostgresChanges.statements(for: changes), deadline: place.deadline)
  }

  /// The tables were made for this copy and have no rows.
  func empty(_ table: TableShape) {}
}
