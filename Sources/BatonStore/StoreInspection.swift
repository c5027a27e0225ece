internal import CBatonSQLite
internal import GRDB
internal import GRDBSQLite

/// A look at a store's database from outside: it takes no lock, changes nothing, and disturbs nobody who has it open.
///
/// Only the database file itself is read (`immutable`, https://www.sqlite.org/uri.html): what its owner has not moved
/// there from the log yet is not seen, so it says which version wrote the database, and nothing about requests.
package struct StoreInspection: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    /// There is no file, or an empty one.
    case missing
    /// All of it is in the log yet.
    case inLog
    case current
    /// So many migrations are to come.
    case older(Int)
    case newer
    /// Somebody else's database.
    case foreign
    case unreadable(String)
  }

  /// Of the database.
  package let path: String
  package let state: State

  package init(path: String, state: State) {
    self.path = path
    self.state = state
  }

  /// - Parameter folder: of the store.
  package init(folder: String) {
    path = folder + "/" + StoreFolder.databaseName
    state = Self.state(of: path)
  }

  /// The version of SQLite that this process runs with.
  package static var engine: String { String(cString: sqlite3_libversion()) }

  /// The file that whoever has the store open holds a lock on, and has its process id in.
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

  /// `%`, `?` and `#` mean something in a URI.
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

  private static func numbers(_ connection: OpaquePointer, _ sql: String) -> [Int64]? {
    rows(connection, sql) { sqlite3_column_int64($0, 0) }
  }

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
