internal import BatonModel
internal import GRDBSQLite

/// A value that can be bound to a parameter (`?`) of an SQL statement.
protocol Bindable {
  /// Binds the value to a parameter of SQLite, which copies it.
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32
  /// The value as a column has it.
  var cell: Cell { get }
  /// The type of the column, also of a value that is nil.
  static var column: ColumnType { get }
}

/// The types of columns. Truth values are integers.
enum ColumnType { case integer, text, blob }

/// Tells SQLite to copy the bytes that it is given, because they are valid only during the call (`SQLITE_TRANSIENT`).
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension Int64: Bindable {
  static var column: ColumnType { .integer }
  var cell: Cell { .integer(self) }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, self) }
}

extension Int: Bindable {
  static var column: ColumnType { .integer }
  var cell: Cell { .integer(Int64(self)) }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, Int64(self)) }
}

extension Bool: Bindable {
  static var column: ColumnType { .integer }
  var cell: Cell { .integer(self ? 1 : 0) }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    sqlite3_bind_int64(statement, index, self ? 1 : 0)
  }
}

extension Timestamp: Bindable {
  static var column: ColumnType { .integer }
  var cell: Cell { .integer(nanoseconds) }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, nanoseconds) }
}

extension String: Bindable {
  static var column: ColumnType { .text }
  var cell: Cell { .text(self) }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    var text = self
    return text.withUTF8 { bytes in
      guard let start = bytes.baseAddress else { return sqlite3_bind_text(statement, index, "", 0, copied) }
      return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
        sqlite3_bind_text(statement, index, $0, Int32(bytes.count), copied)
      }
    }
  }
}

extension [UInt8]: Bindable {
  static var column: ColumnType { .blob }
  var cell: Cell { .blob(self) }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    guard !isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
    return withUnsafeBytes { sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), copied) }
  }
}

extension TraceID: Bindable {
  static var column: ColumnType { .blob }
  var cell: Cell { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { .blob(Array($0)) } }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) {
      sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), copied)
    }
  }
}

extension SpanID: Bindable {
  static var column: ColumnType { .blob }
  var cell: Cell { withUnsafeBytes(of: number.bigEndian) { .blob(Array($0)) } }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    withUnsafeBytes(of: number.bigEndian) {
      sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), copied)
    }
  }
}

extension Optional: Bindable where Wrapped: Bindable {
  static var column: ColumnType { Wrapped.column }
  var cell: Cell { self?.cell ?? .null }
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    switch self {
    case .some(let value): value.bind(to: statement, at: index)
    case .none: sqlite3_bind_null(statement, index)
    }
  }
}
