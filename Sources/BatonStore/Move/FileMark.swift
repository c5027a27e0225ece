internal import GRDB

/// The mark of a move in a database of SQLite: its application id, so that every version of Baton refuses the file, and
/// a table that says more.
enum FileMark {
  /// "Bata" and "Batm"; a store has "Batn" (`Migrations.applicationID`).
  private static let ids: [StoreMark.State: Int32] = [.arriving: 0x4261_7461, .moved: 0x4261_746D]

  static func isMark(_ id: Int64) -> Bool { ids.values.contains { Int64($0) == id } }

  /// `nil` if the database has no mark.
  static func read(_ db: Database) throws -> StoreMark? {
    let id = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
    guard let state = ids.first(where: { $0.value == id })?.key else { return nil }
    let row = try Row.fetchOne(db, sql: "SELECT move, place, store FROM baton_move")
    return StoreMark(state: state, move: row?["move"] ?? "", place: row?["place"] ?? "", store: row?["store"] ?? "")
  }

  /// Sets the mark in one transaction. Afterwards no coordinator starts on the database.
  static func set(_ mark: StoreMark, in db: Database) throws {
    try db.inTransaction(.immediate) {
      try write(mark, to: db)
      return .commit
    }
  }

  static func write(_ mark: StoreMark, to db: Database) throws {
    try db.execute(sql: "CREATE TABLE baton_move (move TEXT NOT NULL, place TEXT NOT NULL, store TEXT NOT NULL) STRICT")
    try db.execute(
      sql: "INSERT INTO baton_move VALUES (?, ?, ?)", arguments: [mark.move, mark.place, mark.store])
    try db.execute(sql: "PRAGMA application_id = \(ids[mark.state] ?? 0)")
  }

  /// Takes the mark away: a coordinator may start on the database.
  static func remove(from db: Database) throws {
    try db.inTransaction(.immediate) {
      try db.execute(sql: "DROP TABLE baton_move; PRAGMA application_id = \(Migrations.applicationID)")
      return .commit
    }
  }

  static func isCurrent(_ db: Database) throws -> Bool {
    let migrator = Migrations.migrator(incarnation: nil)
    return try !migrator.hasBeenSuperseded(db) && migrator.hasCompletedMigrations(db)
  }

  static func storeName(_ db: Database) throws -> String {
    guard let name = try String.fetchOne(db, sql: "SELECT incarnation FROM store") else { throw StoreError.unnamed }
    return name
  }

  /// Whether the database has a store of this name, or of this former name.
  static func has(store: String, _ db: Database) throws -> Bool {
    try Int32.fetchOne(db, sql: "PRAGMA application_id") == Migrations.applicationID
      && Int.fetchOne(
        db, sql: "SELECT 1 FROM store WHERE incarnation = ?1 OR former_incarnation = ?1", arguments: [store]) == 1
  }

  static func nextRequest(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(db, sql: "SELECT next_request FROM store") ?? 1
  }

  static func checkInvariants(_ db: Database) throws {
    for (what, query) in StoreInvariants.all where try Int.fetchOne(db, sql: query) != 0 {
      throw StoreInvariants.error(what)
    }
  }
}

/// The tables of a store in a file.
struct FileRows: TablesOfMove {
  let db: Database
  private static let rowsAtOnce = 2_000

  func count(_ table: TableShape) throws -> Int { try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.name)") ?? 0 }

  func read(_ table: TableShape, _ body: ([[Cell]]) throws -> Void) throws {
    let columns = table.columns.map { "\"\($0)\"" }.joined(separator: ", ")
    let statement = Prepared(try db.makeStatement(sql: "SELECT \(columns) FROM \(table.name)"))
    var (rows, bytes) = ([[Cell]](), 0)
    try statement.all(cells: []) { row in
      let cells = (0..<Int32(table.columns.count)).map(row.cell)
      rows.append(cells)
      bytes += cells.reduce(0) { $0 + $1.bytes }
      if rows.count == Self.rowsAtOnce || bytes > 4 << 20 {
        try body(rows)
        (rows, bytes) = ([], 0)
      }
    }
    if !rows.isEmpty { try body(rows) }
  }

  func insert(_ rows: [[Cell]], _ table: TableShape) throws {
    let columns = table.columns.map { "\"\($0)\"" }.joined(separator: ", ")
    let places = table.columns.map { _ in "?" }.joined(separator: ", ")
    let insert = Prepared(
      try db.cachedStatement(sql: "INSERT INTO \(table.name) (\(columns)) VALUES (\(places))"))
    for row in rows { try insert.run(cells: row) }
  }

  func empty(_ table: TableShape) throws { try db.execute(sql: "DELETE FROM \(table.name)") }
}

extension Cell {
  fileprivate var bytes: Int {
    switch self {
    case .null, .integer: 8
    case .text(let value): value.utf8.count
    case .blob(let value): value.count
    }
  }
}
