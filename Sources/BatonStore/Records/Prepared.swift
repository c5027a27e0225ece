internal import GRDB
internal import GRDBSQLite

/// A prepared statement of one connection. GRDB prepares and owns the statement. Values are bound and rows are read
/// with SQLite's own functions, which keeps the overhead of a call low: a whole job takes about a dozen statements of
/// about a microsecond each.
///
/// Methods throw GRDB's `DatabaseError` with SQLite's extended error code.
struct Prepared {
  private let owner: Statement
  private let handle: OpaquePointer

  init(_ statement: Statement) {
    owner = statement
    handle = statement.sqliteStatement
  }

  /// Runs a statement that returns no rows.
  func run<each Value: Bindable>(_ values: repeat each Value) throws {
    defer { sqlite3_reset(handle) }
    var index: Int32 = 0
    repeat try bind(each values, &index)
    while try step() {}
  }

  /// Calls `row` with the first row and returns its result; `nil` if there is no row.
  func first<each Value: Bindable, Result>(
    _ values: repeat each Value, row: (Columns) throws -> Result
  ) throws -> Result? {
    defer { sqlite3_reset(handle) }
    var index: Int32 = 0
    repeat try bind(each values, &index)
    return try step() ? row(Columns(statement: handle)) : nil
  }

  /// Calls `row` with every row and returns the results. All rows are read before it returns, so the caller may change
  /// the rows afterwards.
  func all<each Value: Bindable, Result>(
    _ values: repeat each Value, row: (Columns) throws -> Result
  ) throws -> [Result] {
    defer { sqlite3_reset(handle) }
    var index: Int32 = 0
    repeat try bind(each values, &index)
    var results: [Result] = []
    while try step() { results.append(try row(Columns(statement: handle))) }
    return results
  }

  /// As `all`, for values whose number is not known before.
  @discardableResult
  func all<Result>(cells: [Cell], row: (Columns) throws -> Result) throws -> [Result] {
    defer { sqlite3_reset(handle) }
    var index: Int32 = 0
    for cell in cells { try bind(cell, &index) }
    var results: [Result] = []
    while try step() { results.append(try row(Columns(statement: handle))) }
    return results
  }

  private func bind(_ value: some Bindable, _ index: inout Int32) throws {
    index += 1
    let code = value.bind(to: handle, at: index)
    if code != SQLITE_OK { throw error(code) }
  }

  private func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw error(code)
    }
  }

  private func error(_ code: Int32) -> DatabaseError {
    let connection = sqlite3_db_handle(handle)
    let extended = sqlite3_extended_errcode(connection)
    return DatabaseError(
      resultCode: ResultCode(rawValue: extended & 0xFF == code & 0xFF ? extended : code),
      message: String(cString: sqlite3_errmsg(connection)), sql: owner.sql)
  }
}
