internal import CBatonPostgres

/// The answer to one statement: its rows, and how many rows it changed.
///
/// Integers are read from boolean (false is 0, true is 1), smallint, integer and bigint; texts from text, varchar, name
/// and character; blobs from bytea. Other types are refused with an error that names the column: cast them in the
/// statement. The sum of bigint is numeric, for example, and has to be written `sum(x)::bigint`.
///
/// `@unchecked`: libpq's results do not change after they are made, and "can be passed around freely between threads"
/// (libpq, "Behavior in Threaded Programs").
package final class PostgresRows: @unchecked Sendable {
  private let library: PostgresLibrary
  private let result: OpaquePointer
  /// The number of rows.
  package let count: Int
  /// The number of columns; 0 for a statement that gives no rows.
  package let columnCount: Int
  /// The type of each column.
  private let types: [UInt32]

  /// Takes the result over, and clears it at the end.
  init(_ result: OpaquePointer, of library: PostgresLibrary) {
    self.library = library
    self.result = result
    count = Int(library.call.PQntuples(result))
    columnCount = Int(library.call.PQnfields(result))
    types = (0..<Int32(columnCount)).map { library.call.PQftype(result, $0) }
  }

  deinit { library.call.PQclear(result) }

  /// How many rows the statement inserted, updated, deleted, selected or merged; 0 for other statements.
  package var affectedCount: Int {
    library.call.PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
  }

  package func name(ofColumn column: Int) -> String {
    library.call.PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
  }

  package func type(ofColumn column: Int) -> PostgresType {
    PostgresType(oid: types[column])
  }

  package func isNull(_ row: Int, _ column: Int) -> Bool {
    check(row, column)
    return library.call.PQgetisnull(result, Int32(row), Int32(column)) != 0
  }

  // MARK: Values

  /// Throws `.unreadable` if the value is null, or is not a whole number or a boolean.
  package func integer(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
    guard let value = try integerIfAny(row, column) else { throw isNullError(column) }
    return value
  }

  /// `nil` if the value is null.
  package func integerIfAny(_ row: Int, _ column: Int) throws(PostgresError) -> Int64? {
    guard let bytes = bytes(row, column) else { return nil }
    switch (types[column], bytes.count) {
    case (20, 8): return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    case (23, 4): return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case (21, 2): return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    case (16, 1): return bytes[0] == 0 ? 0 : 1
    default: throw wrongTypeError(column, "an integer", "bigint")
    }
  }

  /// Throws `.unreadable` if the value is null or is not a text.
  package func text(_ row: Int, _ column: Int) throws(PostgresError) -> String {
    guard let value = try textIfAny(row, column) else { throw isNullError(column) }
    return value
  }

  /// `nil` if the value is null.
  package func textIfAny(_ row: Int, _ column: Int) throws(PostgresError) -> String? {
    guard let bytes = bytes(row, column) else { return nil }
    switch types[column] {
    case 25, 1_043, 19, 1_042: return String(decoding: bytes, as: UTF8.self)
    default: throw wrongTypeError(column, "a text", "text")
    }
  }

  /// Throws `.unreadable` if the value is null or is not bytea.
  package func blob(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
    guard let value = try blobIfAny(row, column) else { throw isNullError(column) }
    return value
  }

  /// `nil` if the value is null.
  package func blobIfAny(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8]? {
    guard let bytes = bytes(row, column) else { return nil }
    guard types[column] == 17 else { throw wrongTypeError(column, "a blob", "bytea") }
    return Array(bytes)
  }

  // MARK: Helpers

  /// The bytes of a value; `nil` if it is null. They are valid as long as these rows.
  private func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
    check(row, column)
    let length = Int(library.call.PQgetlength(result, Int32(row), Int32(column)))
    // libpq gives a null no bytes.
    if length == 0, library.call.PQgetisnull(result, Int32(row), Int32(column)) != 0 { return nil }
    return UnsafeRawBufferPointer(
      start: library.call.PQgetvalue(result, Int32(row), Int32(column)), count: length)
  }

  private func check(_ row: Int, _ column: Int) {
    precondition(
      (0..<count).contains(row) && (0..<columnCount).contains(column),
      "row \(row), column \(column) of a result with \(count) rows and \(columnCount) columns")
  }

  private func isNullError(_ column: Int) -> PostgresError {
    PostgresError(.unreadable, "the column \"\(name(ofColumn: column))\" is null")
  }

  private func wrongTypeError(_ column: Int, _ wanted: String, _ cast: String) -> PostgresError {
    PostgresError(
      .unreadable,
      "the column \"\(name(ofColumn: column))\" cannot be read as \(wanted), because its type is "
        + "\(type(ofColumn: column)): cast it with ::\(cast)")
  }
}
