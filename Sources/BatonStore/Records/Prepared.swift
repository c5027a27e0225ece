internal import GRDB
internal import GRDBSQLite

/// Where the statements of verbs run: a connection to SQLite, or to a database elsewhere, for verbs that only read.
protocol StatementSource: AnyObject {
  func prepared(_ query: Query) throws -> Prepared
}

extension Database: StatementSource {
  func prepared(_ query: Query) throws -> Prepared { Prepared(try cachedStatement(sql: query.sql)) }
}

/// A prepared statement of one connection. GRDB prepares and owns the statements of SQLite. Values are bound and rows
/// are read with SQLite's own functions, which keeps the overhead of a call low: a whole job takes about a dozen
/// statements of about a microsecond each.
///
/// Methods throw GRDB's `DatabaseError` with SQLite's extended error code, or what `Elsewhere` throws.
struct Prepared {
  /// Runs the statement in a database elsewhere, once for each list of parameters and in one exchange, and returns the
  /// rows of each. A parameter that is null has a type too.
  typealias Elsewhere = (_ parameters: [[(Cell, ColumnType)]]) throws -> [[[Cell]]]

  private enum Place {
    case sqlite(Statement, OpaquePointer)
    case elsewhere(Elsewhere)
  }

  private let place: Place

  init(_ statement: Statement) { place = .sqlite(statement, statement.sqliteStatement) }

  init(elsewhere: @escaping Elsewhere) { place = .elsewhere(elsewhere) }

  /// Runs a statement that returns no rows.
  func run<each Value: Bindable>(_ values: repeat each Value) throws {
    guard case .sqlite(_, let handle) = place else {
      _ = try rows(repeat each values)
      return
    }
    defer { sqlite3_reset(handle) }
    var index: Int32 = 0
    repeat try bind(each values, &index, handle)
    while try step(handle) {}
  }

  /// Calls `row` with the first row and returns its result; `nil` if there is no row.
  func first<each Value: Bindable, Result>(
    _ values: repeat each Value, row: (Columns) throws -> Result
  ) throws -> Result? {
    guard case .sqlite(_, let handle) = place else {
      return try rows(repeat each values).first.map { try row(Columns(cells: $0)) }
    }
    defer { sqlite3_reset(handle) }
    var index: Int32 = 0
    repeat try bind(each values, &index, handle)
    return try step(handle) ? row(Columns(statement: handle)) : nil
  }

  /// Calls `row` with every row and returns the results. All rows are read before it returns, so the caller may change
  /// the rows afterwards.
  func all<each Value: Bindable, Result>(
    _ values: repeat each Value, row: (Columns) throws -> Result
  ) throws -> [Result] {
    guard case .sqlite(_, let handle) = place else {
      return try rows(repeat each values).map { try row(Columns(cells: $0)) }
    }
    defer { sqlite3_reset(handle) }
    var index: Int32 = 0
    repeat try bind(each values, &index, handle)
    return try allRows(handle, row)
  }

  /// Runs the statement for each list of values, and calls `row` with the position of the list and each of its rows. A
  /// database elsewhere is asked once, however many lists there are.
  func each<Result>(
    _ lists: [[any Bindable]], row: (Int, Columns) throws -> Result
  ) throws -> [[Result]] {
    guard case .elsewhere(let run) = place else {
      return try lists.enumerated().map { position, values in
        try all(cells: values.map(\.cell)) { try row(position, $0) }
      }
    }
    if lists.isEmpty { return [] }
    let found = try run(lists.map { $0.map { ($0.cell, type(of: $0).column) } })
    return try found.enumerated().map { position, rows in try rows.map { try row(position, Columns(cells: $0)) } }
  }

  /// As `all`, for values whose number is not known before.
  @discardableResult
  func all<Result>(cells: [Cell], row: (Columns) throws -> Result) throws -> [Result] {
    guard case .sqlite(_, let handle) = place else { preconditionFailure("cells are bound in SQLite only") }
    defer { sqlite3_reset(handle) }
    // Most columns of most rows are null, and so is a parameter that is not bound.
    sqlite3_clear_bindings(handle)
    var index: Int32 = 0
    for cell in cells {
      if case .null = cell { index += 1 } else { try bind(cell, &index, handle) }
    }
    return try allRows(handle, row)
  }

  private func allRows<Result>(_ handle: OpaquePointer, _ row: (Columns) throws -> Result) throws -> [Result] {
    var results: [Result] = []
    while try step(handle) { results.append(try row(Columns(statement: handle))) }
    return results
  }

  private func rows<each Value: Bindable>(_ values: repeat each Value) throws -> [[Cell]] {
    guard case .elsewhere(let run) = place else { preconditionFailure("a statement of SQLite has its own rows") }
    var parameters: [(Cell, ColumnType)] = []
    repeat parameters.append(((each values).cell, (each Value).column))
    return try run([parameters])[0]
  }

  private func bind(_ value: some Bindable, _ index: inout Int32, _ handle: OpaquePointer) throws {
    index += 1
    let code = value.bind(to: handle, at: index)
    if code != SQLITE_OK { throw error(code, handle) }
  }

  private func step(_ handle: OpaquePointer) throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw error(code, handle)
    }
  }

  private func error(_ code: Int32, _ handle: OpaquePointer) -> DatabaseError {
    let connection = sqlite3_db_handle(handle)
    let extended = sqlite3_extended_errcode(connection)
    return DatabaseError(
      resultCode: ResultCode(rawValue: extended & 0xFF == code & 0xFF ? extended : code),
      message: String(cString: sqlite3_errmsg(connection)), sql: sqlite3_sql(handle).map { String(cString: $0) })
  }
}
