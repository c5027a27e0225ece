internal import CBatonSQLite
internal import GRDB
internal import GRDBSQLite

/// Examines a store's database from another process: it takes no lock, changes nothing, and does not disturb a process
/// that has the store open. `baton doctor` uses it.
///
/// Only the database file is read (`immutable`, https://www.sqlite.org/uri.html). Changes that are still in the
/// write-ahead log are not seen. For that reason the inspection says which version wrote the database, and nothing
/// about requests.
package struct StoreInspection: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    /// There is no database file, or it is empty.
    case missing
    /// The database file has no tables yet: everything is still in the write-ahead log.
    case inLog
    /// The schema is that of this version.
    case current
    /// The schema is older than this version; this many migrations are missing.
    case older(Int)
    /// A newer version of Baton wrote the database.
    case newer
    /// The store has moved to this place, or is the copy of a move that has not ended: no coordinator starts on it.
    case moved(String)
    /// It is the database of another program.
    case foreign
    /// The file cannot be read as a database, with SQLite's message.
    case unreadable(String)
  }

  /// The path of the database file.
  package let path: String
  package let state: State

  package init(path: String, state: State) {
    self.path = path
    self.state = state
  }

  /// - Parameter folder: the folder of the store.
  package init(folder: String) {
    path = folder + "/" + StoreFolder.databaseName
    state = Self.state(of: path)
  }

  /// The version of SQLite that this process runs with.
  package static var engine: String { String(cString: sqlite3_libversion()) }

  /// The path of the file that a process locks while it has the store open. The file contains that process's id.
  package static func lockFile(of folder: String) -> String { folder + "/" + StoreFolder.lockName }

  private static func state(of path: String) -> State {
    var connection: OpaquePointer?
    defer { sqlite3_close_v2(connection) }
    let code = sqlite3_open_v2(uri(path), &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil)
    guard code == SQLITE_OK, let connection else { return code == SQLITE_CANTOPEN ? .missing : unreadable(connection) }
    guard let ids = numbers(connection, "PRAGMA application_id"), let tables = numbers(connection, count) else {
      return unreadable(connection)
    }
    if tables == [0] { return numbers(connection, "PRAGMA page_count") == [0] ? .missing : .inLog }
    if let id = ids.first, FileMark.isMark(id) {
      return .moved(texts(connection, "SELECT place FROM baton_move")?.first ?? "")
    }
    guard ids == [Int64(Migrations.applicationID)] else { return .foreign }
    return migrationState(connection)
  }

  private static let count = "SELECT count(*) FROM sqlite_master"

  private static func migrationState(_ connection: OpaquePointer) -> State {
    guard let applied = texts(connection, "SELECT identifier FROM grdb_migrations") else {
      return unreadable(connection)
    }
    let known = Migrations.migrator(incarnation: nil).migrations
    if !Set(applied).isSubset(of: known) { return .newer }
    let missing = known.filter { !applied.contains($0) }.count
    return missing == 0 ? .current : .older(missing)
  }

  private static func unreadable(_ connection: OpaquePointer?) -> State {
    .unreadable(connection.map { String(cString: sqlite3_errmsg($0)) } ?? "no memory")
  }

  /// The URI under which SQLite opens `path` without taking locks. The characters `%`, `?` and `#` have a meaning in a
  /// URI and are escaped.
  static func uri(_ path: String) -> String {
    let escaped = path.utf8.map { byte -> String? in
      switch byte {
      case UInt8(ascii: "%"): "%25"
      case UInt8(ascii: "?"): "%3f"
      case UInt8(ascii: "#"): "%23"
      default: nil
      }
    }
    let bytes = zip(path.utf8, escaped).flatMap { byte, escape in escape.map { Array($0.utf8) } ?? [byte] }
    return "file:" + String(decoding: bytes, as: UTF8.self) + "?immutable=1"
  }

  /// The first column of every row as a number; `nil` if the statement fails.
  private static func numbers(_ connection: OpaquePointer, _ sql: String) -> [Int64]? {
    rows(connection, sql) { sqlite3_column_int64($0, 0) }
  }

  /// The first column of every row as text; `nil` if the statement fails.
  static func texts(_ connection: OpaquePointer, _ sql: String) -> [String]? {
    rows(connection, sql) { sqlite3_column_text($0, 0).map { String(cString: $0) } ?? "" }
  }

  private static func rows<Value>(
    _ connection: OpaquePointer, _ sql: String, _ value: (OpaquePointer) -> Value
  ) -> [Value]? {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK, let statement else { return nil }
    defer { sqlite3_finalize(statement) }
    var rows: [Value] = []
    var code = sqlite3_step(statement)
    while code == SQLITE_ROW {
      rows.append(value(statement))
      code = sqlite3_step(statement)
    }
    return code == SQLITE_DONE ? rows : nil
  }
}
