internal import BatonModel
internal import GRDBSQLite

/// The columns of the current row of a statement, by position. A value is valid only until the statement is stepped or
/// reset.
struct Columns {
  /// The statement of SQLite; `nil` if the row came from a database elsewhere.
  private let statement: OpaquePointer?
  private let cells: [Cell]

  init(statement: OpaquePointer) { (self.statement, cells) = (statement, []) }

  /// A row that came from a database elsewhere.
  init(cells: [Cell]) { (statement, self.cells) = (nil, cells) }

  func cell(_ index: Int32) -> Cell {
    guard let statement else { return cells[Int(index)] }
    return switch sqlite3_column_type(statement, index) {
    case SQLITE_INTEGER: .integer(int64(index))
    case SQLITE_TEXT: .text(text(index))
    case SQLITE_BLOB: .blob(blob(index))
    default: .null
    }
  }

  func isNull(_ index: Int32) -> Bool {
    guard let statement else { return cells[Int(index)] == .null }
    return sqlite3_column_type(statement, index) == SQLITE_NULL
  }

  func int64(_ index: Int32) -> Int64 {
    guard let statement else { return cells[Int(index)].number }
    return sqlite3_column_int64(statement, index)
  }

  func int(_ index: Int32) -> Int { Int(int64(index)) }
  func bool(_ index: Int32) -> Bool { int64(index) != 0 }
  func time(_ index: Int32) -> Timestamp { Timestamp(nanoseconds: int64(index)) }

  func text(_ index: Int32) -> String {
    guard let statement else { return cells[Int(index)].string }
    guard let start = sqlite3_column_text(statement, index) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, index))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Whether the text of the column is `other`. It is compared where SQLite has it, and copied nowhere.
  func equals(_ index: Int32, _ other: String) -> Bool {
    guard let statement else { return cells[Int(index)] == .text(other) }
    guard let start = sqlite3_column_text(statement, index) else { return false }
    let count = Int(sqlite3_column_bytes(statement, index))
    var other = other
    return other.withUTF8 { UnsafeBufferPointer(start: start, count: count).elementsEqual($0) }
  }

  /// Whether the column has this value. It is compared where SQLite has it.
  func has(_ index: Int32, _ cell: Cell) -> Bool {
    guard let statement else { return cells[Int(index)] == cell }
    return switch (cell, sqlite3_column_type(statement, index)) {
    case (.null, SQLITE_NULL): true
    case (.integer(let value), SQLITE_INTEGER): int64(index) == value
    case (.text(let value), SQLITE_TEXT): equals(index, value)
    case (.blob(let value), SQLITE_BLOB):
      withBytes(index) { bytes in value.withUnsafeBytes { bytes.elementsEqual($0) } }
    default: false
    }
  }

  func blob(_ index: Int32) -> [UInt8] { withBytes(index) { Array($0) } }

  /// Calls `body` with the bytes where SQLite has them. They are copied nowhere, because each launch reads several ids.
  private func withBytes<Result>(_ index: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    guard let statement else {
      guard case .blob(let bytes) = cells[Int(index)] else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
      return bytes.withUnsafeBytes(body)
    }
    return body(
      UnsafeRawBufferPointer(
        start: sqlite3_column_blob(statement, index), count: Int(sqlite3_column_bytes(statement, index))))
  }

  func optionalInt64(_ index: Int32) -> Int64? { isNull(index) ? nil : int64(index) }
  func optionalTime(_ index: Int32) -> Timestamp? { isNull(index) ? nil : time(index) }
  func optionalText(_ index: Int32) -> String? { isNull(index) ? nil : text(index) }
  func optionalBlob(_ index: Int32) -> [UInt8]? { isNull(index) ? nil : blob(index) }

  func duration(_ index: Int32) -> Duration { .nanoseconds(int64(index)) }
  func poke(_ index: Int32) -> PokePriority? { isNull(index) ? nil : PokePriority(rawValue: int(index)) }

  func outcome(_ index: Int32) -> LaunchOutcome.Kind? { optionalText(index).flatMap(LaunchOutcome.Kind.init) }

  /// The schema demands ids of 16 and 8 bytes. The zero id, which means "no id", stands for the value of a column that
  /// is damaged nevertheless.
  func traceID(_ index: Int32) -> TraceID {
    withBytes(index) { bytes in
      guard bytes.count == 16 else { return TraceID(high: 0, low: 0) }
      return TraceID(high: bytes.bigEndianNumber(at: 0), low: bytes.bigEndianNumber(at: 8))
    }
  }
  func spanID(_ index: Int32) -> SpanID {
    withBytes(index) { $0.count == 8 ? SpanID($0.bigEndianNumber(at: 0)) : SpanID(0) }
  }
  func optionalTraceID(_ index: Int32) -> TraceID? { isNull(index) ? nil : traceID(index) }
  func optionalSpanID(_ index: Int32) -> SpanID? { isNull(index) ? nil : spanID(index) }

  /// Reads three columns: trace id, span id, and whether the trace is sampled.
  func trace(_ index: Int32) -> TraceContext {
    TraceContext(traceID: traceID(index), spanID: spanID(index + 1), isSampled: bool(index + 2))
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func bigEndianNumber(at offset: Int) -> UInt64 {
    UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
