internal import BatonModel
internal import GRDBSQLite

/// The columns of the current row of a statement, by position. A value is valid only until the statement is stepped or
/// reset.
struct Columns {
  let statement: OpaquePointer

  func isNull(_ index: Int32) -> Bool { sqlite3_column_type(statement, index) == SQLITE_NULL }
  func int64(_ index: Int32) -> Int64 { sqlite3_column_int64(statement, index) }
  func int(_ index: Int32) -> Int { Int(sqlite3_column_int64(statement, index)) }
  func bool(_ index: Int32) -> Bool { sqlite3_column_int64(statement, index) != 0 }
  func time(_ index: Int32) -> Timestamp { Timestamp(nanoseconds: int64(index)) }

  func text(_ index: Int32) -> String {
    guard let start = sqlite3_column_text(statement, index) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, index))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Whether the text of the column is `other`. It is compared where SQLite has it, and copied nowhere.
  func equals(_ index: Int32, _ other: String) -> Bool {
    guard let start = sqlite3_column_text(statement, index) else { return false }
    let count = Int(sqlite3_column_bytes(statement, index))
    var other = other
    return other.withUTF8 { UnsafeBufferPointer(start: start, count: count).elementsEqual($0) }
  }

  func blob(_ index: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(statement, index) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index))))
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
    let bytes = rawBytes(index)
    guard bytes.count == 16 else { return TraceID(high: 0, low: 0) }
    return TraceID(high: bytes.bigEndianNumber(at: 0), low: bytes.bigEndianNumber(at: 8))
  }
  func spanID(_ index: Int32) -> SpanID {
    let bytes = rawBytes(index)
    return bytes.count == 8 ? SpanID(bytes.bigEndianNumber(at: 0)) : SpanID(0)
  }

  /// The bytes where SQLite has them. They are copied nowhere, because each launch reads several ids.
  private func rawBytes(_ index: Int32) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: sqlite3_column_blob(statement, index), count: Int(sqlite3_column_bytes(statement, index)))
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
