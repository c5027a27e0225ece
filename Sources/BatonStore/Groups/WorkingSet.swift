internal import BatonModel
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// One value of a row.
enum Cell: Hashable, Bindable {
  case null
  case integer(Int64)
  case text(String)
  case blob([UInt8])

  static func == (one: Cell, other: Cell) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.integer(let one), .integer(let other)): one == other
    case (.text(let one), .text(let other)): one.hasBytes(of: other)
    case (.blob(let one), .blob(let other)): one == other
    case (.null, _), (.integer, _), (.text, _), (.blob, _): false
    }
  }

  var cell: Cell { self }
  /// A cell has the type of its value; nothing asks this of a database that has to know the types of nulls.
  static var column: ColumnType { .integer }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    switch self {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let value): value.bind(to: statement, at: index)
    case .text(let value): value.bind(to: statement, at: index)
    case .blob(let value): value.bind(to: statement, at: index)
    }
  }
}

extension Cell {
  /// The number of a column that has one; otherwise 0, as SQLite answers.
  var number: Int64 { if case .integer(let value) = self { value } else { 0 } }
  /// The text of a column that has one; otherwise an empty text.
  var string: String { if case .text(let value) = self { value } else { "" } }
}

/// A table of the schema: its columns, and which of them are its primary key. It is a class because each change of a
/// row names its table, and a reference costs less to copy.
final class TableShape: Hashable, Sendable {
  /// The place of the table in the schema. Shapes of one schema are compared by it alone, because each row is.
  let number: Int
  let name: String
  let columns: [String]
  let types: [ColumnType]
  /// The positions of the columns of the primary key.
  let key: [Int]

  init(number: Int, name: String, columns: [String], types: [ColumnType], key: [Int]) {
    (self.number, self.name, self.columns, self.types, self.key) = (number, name, columns, types, key)
  }

  static func == (one: TableShape, other: TableShape) -> Bool { one.number == other.number }
  func hash(into hasher: inout Hasher) { hasher.combine(number) }

  func key(of row: [Cell]) -> [Cell] { key.map { row[$0] } }

  func id(of row: [Cell]) -> RowID {
    if key.count == 1, case .integer(let number) = row[key[0]] { return .number(number) }
    return .cells(key(of: row))
  }

  /// All tables of Baton's schema, in the order of their names.
  static func all(in db: Database) throws -> [TableShape] {
    let names = try String.fetchAll(
      db,
      sql: """
        SELECT name FROM sqlite_master
        WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%' ORDER BY name
        """)
    return try names.enumerated().map { number, name in
      let columns = try db.columns(in: name)
      let key = columns.indices.filter { columns[$0].primaryKeyIndex > 0 }
      return TableShape(
        number: number, name: name, columns: columns.map(\.name),
        types: columns.map { $0.type == "BLOB" ? .blob : $0.type == "TEXT" ? .text : .integer },
        key: key.sorted { columns[$0].primaryKeyIndex < columns[$1].primaryKeyIndex })
    }
  }
}

/// The primary key of a row. Most are one number.
enum RowID: Hashable {
  case number(Int64)
  case cells([Cell])

  func hash(into hasher: inout Hasher) {
    switch self {
    case .number(let number): hasher.combine(number)
    case .cells(let cells): hasher.combine(cells)
    }
  }

  /// The number; 0 for a key of several columns.
  var number: Int64 { if case .number(let number) = self { number } else { 0 } }

  var cells: [Cell] {
    switch self {
    case .number(let number): [.integer(number)]
    case .cells(let cells): cells
    }
  }
}

/// Rows of several tables, by their primary keys.
typealias Rows = [TableShape: [RowID: [Cell]]]

/// What a group of writes has changed in one row.
struct RowChange: Equatable {
  enum Kind: Equatable {
    case insert([Cell])
    /// The positions of the columns that change, in their order, and their new values.
    case update([Int], [Cell])
    case delete
  }
  var table: TableShape
  var key: [Cell]
  var kind: Kind

  /// The new value of a column; `nil` if it does not change, or if the row is deleted.
  func value(_ column: String) -> Cell? {
    guard let position = table.columns.firstIndex(of: column) else { return nil }
    return switch kind {
    case .insert(let row): row[position]
    case .update(let columns, let values): columns.firstIndex(of: position).map { values[$0] }
    case .delete: nil
    }
  }
}

/// A database in memory that has only the rows which a group of writes has locked and loaded. The verbs of the group
/// run on it as they run on a whole store. Afterwards the rows are compared with those that were loaded, and the
/// differences are stored. So each verb exists once, as a decision on loaded rows, and a group needs few exchanges with
/// a database elsewhere, however many statements its verbs have.
///
/// It has the schema of a store, with three exceptions. It has no foreign keys, because the rows that others refer to
/// may not be loaded. It does not check rows (`CHECK`): the store does, when the group stores them. It lacks the
/// indexes that verbs use rarely or never.
///
/// `@unchecked Sendable`: only the queue of the database calls it, one block at a time.
final class WorkingSet: @unchecked Sendable {
  /// The tables, each at the place that its shape names.
  private let tables: [Table]
  private let places: [String: Int]
  private let begin: Prepared
  private let commit: Prepared
  private let rollback: Prepared

  fileprivate final class Table {
    let shape: TableShape
    private let db: Database
    /// Whether the primary key is one number.
    private let hasNumber: Bool
    let insert: Prepared
    let selectAll: Prepared
    let selectRow: Prepared
    let delete: Prepared
    private var selects: [[Int]: Prepared] = [:]
    private static let mostSelects = 64

    init(_ shape: TableShape, in db: Database) throws {
      func prepared(_ sql: String) throws -> Prepared { Prepared(try db.makeStatement(sql: sql)) }
      (self.shape, self.db) = (shape, db)
      hasNumber = shape.key.count == 1 && shape.types[shape.key[0]] == .integer
      let places = Array(repeating: "?", count: shape.columns.count).joined(separator: ", ")
      let key = shape.key.map { "\"\(shape.columns[$0])\" = ?" }.joined(separator: " AND ")
      insert = try prepared("INSERT INTO \(shape.name) VALUES (\(places))")
      selectAll = try prepared("SELECT * FROM \(shape.name) NOT INDEXED")
      selectRow = try prepared("SELECT * FROM \(shape.name) WHERE \(key)")
      delete = try prepared("DELETE FROM \(shape.name)")
    }

    /// All rows in the order of the table: the columns of the primary key, and then these.
    func select(_ columns: [Int]) throws -> Prepared {
      if let known = selects[columns] { return known }
      // Groups mix queries in ever new ways.
      if selects.count >= Self.mostSelects { selects = [:] }
      let names = (shape.key + columns).map { "\"\(shape.columns[$0])\"" }.joined(separator: ", ")
      let made = Prepared(try db.makeStatement(sql: "SELECT \(names) FROM \(shape.name) NOT INDEXED"))
      selects[columns] = made
      return made
    }

    /// The columns in which rows that were loaded may have other values now. A row that was deleted and inserted again
    /// may have other values in all columns.
    func columns(changedBy queries: [QueryChange]) -> [Int] {
      let kinds = Set(queries.map(\.kind))
      if kinds.isSuperset(of: [.insert, .delete]) { return Array(shape.columns.indices) }
      let names = Set(queries.flatMap(\.columns))
      return shape.columns.indices.filter { names.contains(shape.columns[$0]) }
    }

    /// The primary key of a row of `select`.
    func id(of row: Columns) -> RowID {
      hasNumber ? .number(row.int64(0)) : .cells(shape.key.indices.map { row.cell(Int32($0)) })
    }
  }

  static func database() throws -> DatabaseQueue {
    var configuration = SQLiteStore.configuration
    configuration.foreignKeysEnabled = false
    // Each row comes from the store, or goes there, and is checked there.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA ignore_check_constraints = ON") }
    let queue = try DatabaseQueue(configuration: configuration)
    try Migrations.run(on: queue, incarnation: nil)
    // Rows are put in and taken out at will here; the store itself has the triggers that guard the audit log. The
    // dropped indexes are those of lists, of the history of hosts, and of questions that groups ask rarely: a group
    // reads all of its rows for these questions, and each change of a row costs less.
    try queue.write {
      try $0.execute(
        sql: """
          DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted;
          DROP INDEX request_host; DROP INDEX request_unsuccessful; DROP INDEX launch_of_host;
          DROP INDEX request_dated; DROP INDEX request_eligible; DROP INDEX request_scheduled;
          DROP INDEX request_ended_steady; DROP INDEX request_tell_at;
          DELETE FROM store; DELETE FROM audit_head
          """)
    }
    return queue
  }

  init(_ db: Database) throws {
    func prepared(_ sql: String) throws -> Prepared { Prepared(try db.makeStatement(sql: sql)) }
    tables = try TableShape.all(in: db).map { try Table($0, in: db) }
    places = Dictionary(uniqueKeysWithValues: tables.map { ($0.shape.name, $0.shape.number) })
    (begin, commit, rollback) = (try prepared("BEGIN"), try prepared("COMMIT"), try prepared("ROLLBACK"))
  }

  /// Puts the rows in.
  func fill(_ rows: Rows) throws {
    try inTransaction {
      for (shape, found) in rows {
        let table = tables[shape.number]
        // In the order of their numbers, rows are appended to their table, which costs less.
        for (_, row) in found.sorted(by: { $0.key.number < $1.key.number }) { try table.insert.run(cells: row) }
      }
    }
  }

  /// The differences to the rows that were loaded, in an order in which they can be stored one by one.
  /// - Parameter queries: what the verbs may have changed. Nothing else is compared: a group changes few columns of few
  ///   tables, and reads many that it does not change.
  func changes(since loaded: Rows, by queries: [QueryChange]) throws -> [RowChange] {
    let changed = Dictionary(grouping: queries) { query in
      guard let place = places[query.table] else { preconditionFailure("a query changes no table of Baton's") }
      return place
    }
    let changes = try differences(to: loaded, in: changed.keys.sorted()) { place in
      tables[place].columns(changedBy: changed[place] ?? [])
    }
    assert(
      (try? differences(to: loaded, in: Array(tables.indices)) { Array(tables[$0].shape.columns.indices) }) == changes,
      "a verb has changed what the texts of its queries do not say")
    return changes
  }

  /// - Parameters:
  ///   - places: the tables that are compared.
  ///   - columns: the columns of a table that are compared. New rows have all columns.
  private func differences(
    to loaded: Rows, in places: [Int], _ columns: (Int) -> [Int]
  ) throws -> [RowChange] {
    var ranks = Array(repeating: [RowChange](), count: RowChange.ranks)
    func add(_ change: RowChange) { ranks[change.rank].append(change) }
    for place in places {
      let (table, shape, columns) = (tables[place], tables[place].shape, columns(place))
      let before = loaded[shape] ?? [:]
      if before.isEmpty {
        for row in try table.selectAll.all(cells: [], row: { $0.cells(shape.columns.count) }) {
          add(RowChange(table: shape, key: shape.key(of: row), kind: .insert(row)))
        }
        continue
      }
      var (kept, new) = (0, [RowID]())
      try table.select(columns).all(cells: []) { row in
        let id = table.id(of: row)
        guard let old = before[id] else { return new.append(id) }
        kept += 1
        let first = shape.key.count
        let changed = columns.indices.filter { !row.has(Int32(first + $0), old[columns[$0]]) }
        if changed.isEmpty { return }
        let values = changed.map { row.cell(Int32(first + $0)) }
        add(RowChange(table: shape, key: id.cells, kind: .update(changed.map { columns[$0] }, values)))
      }
      for id in new {
        let row = try table.selectRow.all(cells: id.cells) { $0.cells(shape.columns.count) }[0]
        add(RowChange(table: shape, key: id.cells, kind: .insert(row)))
      }
      if kept == before.count { continue }
      let left = Set(try table.select([]).all(cells: []) { table.id(of: $0) })
      for id in before.keys where !left.contains(id) {
        add(RowChange(table: shape, key: id.cells, kind: .delete))
      }
    }
    return Array(ranks.joined())
  }

  /// Takes all rows out: those that were loaded, and those that verbs may have added.
  func clear(_ loaded: Rows, and queries: [QueryChange]) throws {
    try inTransaction {
      for place in Set(loaded.keys.map(\.number) + queries.compactMap { places[$0.table] }) {
        try tables[place].delete.run()
      }
    }
  }

  /// One transaction costs less than one for each statement.
  private func inTransaction(_ body: () throws -> Void) throws {
    try begin.run()
    do {
      try body()
      try commit.run()
    } catch {
      try rollback.run()
      throw error
    }
  }
}

extension TableShape {
  /// What becomes of a row with the key of a new row, if the group has not loaded it.
  enum Existing { case conflicts, isReplaced, isKept }

  var existing: Existing {
    switch name {
    // The shares of a coordinator are kept in its memory and are not loaded (`Verbs.shares`).
    case "share": .isReplaced
    // The same spans may wait to be sent already, or were rejected, and an end before the same launch may be kept.
    case "unsent_span", "rejected_span", "completion": .isKept
    default: .conflicts
    }
  }
}

extension Columns {
  fileprivate func cells(_ count: Int) -> [Cell] { (0..<Int32(count)).map(cell) }
}

extension RowChange {
  /// Rows leave unique indexes before others enter them: a request ends before the next one of its identifier is live,
  /// and that one is live before another one waits.
  var rank: Int {
    // The head of the audit log says which rows of it may be deleted.
    if table.name == "audit_head" { return 0 }
    let isRequest = table.name == "request"
    switch kind {
    case .delete: return 1
    case .insert: return isRequest ? 5 : 3
    case .update:
      guard isRequest else { return 2 }
      if case .integer(let state)? = value("state"), state >= 3 { return 2 }
      return value("launches") == nil ? 4 : 3
    }
  }

  static let ranks = 6
}

extension Prepared {
  func run(cells: [Cell]) throws {
    try all(cells: cells) { _ in }
  }

  func rows(of count: Int) throws -> [[Cell]] {
    try all(cells: []) { row in (0..<Int32(count)).map(row.cell) }
  }
}

/// Draws the numbers of new rows. All groups of a database draw from the same numbers, so no two rows get the same one.
protocol RowNumbers: Sendable {
  func draw(_ table: NumberedTable) throws -> Int64
  /// The question by which numbers are drawn in the exchange that loads the rows; `nil` if drawing needs no exchange.
  func question(for count: Int, of table: NumberedTable) -> RowQuestion?
  /// Keeps numbers that the database has drawn, for the rows that the group inserts.
  func keep(_ drawn: [Int64], of table: NumberedTable)
  /// Takes numbers back that no row has got.
  func giveBack(_ drawn: [Int64], of table: NumberedTable)
}

/// Numbers without gaps, for a database in memory.
final class SharedNumbers: RowNumbers {
  private let next = Mutex<[NumberedTable: Int64]>([:])

  func begin(with numbers: [NumberedTable: Int64]) { next.withLock { $0 = numbers } }

  func draw(_ table: NumberedTable) -> Int64 {
    next.withLock { next in
      let number = next[table] ?? 1
      next[table] = number + 1
      return number
    }
  }

  func question(for count: Int, of table: NumberedTable) -> RowQuestion? { nil }
  func keep(_ drawn: [Int64], of table: NumberedTable) {}

  /// Numbers after which others were drawn since stay drawn.
  func giveBack(_ drawn: [Int64], of table: NumberedTable) {
    next.withLock { next in
      for number in drawn.reversed() where next[table] == number + 1 { next[table] = number }
    }
  }

  /// The number that the next row of the table gets.
  func upcoming(_ table: NumberedTable) -> Int64 { next.withLock { $0[table] ?? 1 } }
}
