internal import CBatonPostgres

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

extension PostgresConnection {
  /// Sends all statements at once (libpq's pipeline mode), and collects their rows: one round trip, however many
  /// statements there are. Each SQL text is prepared by its first use on the connection.
  ///
  /// Outside of an open transaction, the statements of one call are one transaction. (A statement that cannot run in a
  /// transaction, such as ALTER SYSTEM, needs a call of its own.) After the first statement that the server refuses, it
  /// skips the others, COMMIT and ROLLBACK included: a transaction that was open, or that this call began, stays open
  /// as `.failed` until the caller runs ROLLBACK.
  ///
  /// Answers are read while statements are still being sent, so only memory limits the size of either.
  ///
  /// - Parameter deadline: when it passes, the connection is closed. The server may still carry out what was sent.
  /// - Returns: the rows of each statement, in the order of the statements.
  ///
  /// Throws `.server` with the SQLSTATE and the index of the first statement that was refused; `.brokenConnection` and
  /// `.deadline`, after which the connection is closed; `.invalidStatement` before anything is sent.
  package func run(
    _ statements: [PostgresStatement], deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> [PostgresRows] {
    let handle = try begin(deadline)
    for (index, statement) in statements.enumerated() { try statement.check(index) }
    if statements.isEmpty { return [] }
    try enterPipelineMode(handle)
    var pipeline = Pipeline(statements, on: self, handle, until: deadline)
    return try pipeline.run()
  }

  /// Like `run` with one statement.
  package func run(
    _ statement: PostgresStatement, deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> PostgresRows {
    try run([statement], deadline: deadline)[0]
  }

  private func enterPipelineMode(_ handle: OpaquePointer) throws(PostgresError) {
    if isPipelining { return }
    guard library.call.PQenterPipelineMode(handle) == 1 else { throw broken() }
    isPipelining = true
  }

  /// The error in a result, for the statement of this index. If the connection cannot be used after this error, closes
  /// it and throws the error: after FATAL, and after an error without SQLSTATE, which is libpq's own.
  func error(in result: OpaquePointer, _ index: Int?) throws(PostgresError) -> PostgresError {
    if let fatal = library.fatalError(in: result) {
      close()
      throw fatal.of(statement: index)
    }
    guard let sqlState = library.field(BATON_PQ_SQLSTATE, of: result) else {
      throw broken(library.call.PQresultErrorMessage(result).map { String(cString: $0) }).of(statement: index)
    }
    let message = library.field(BATON_PQ_MESSAGE, of: result) ?? ""
    return PostgresError(
      .server, "PostgreSQL refused a statement: \(sqlState): \(message)", sqlState: sqlState, statementIndex: index,
      constraint: library.field(BATON_PQ_CONSTRAINT, of: result))
  }
}

extension PostgresError {
  fileprivate func of(statement index: Int?) -> PostgresError {
    var error = self
    error.statementIndex = index
    return error
  }
}

extension PostgresStatement {
  /// The protocol counts the values of a statement with 16 bits.
  static let mostValues = 65_535
  /// The server takes messages up to 1 GiB; this leaves room for their headers.
  static let mostBytes = 1_000_000_000

  /// Throws `.invalidStatement` if the statement cannot be sent.
  fileprivate func check(_ index: Int) throws(PostgresError) {
    let problem: String
    if values.count > Self.mostValues {
      problem = "it has \(values.count) values, and \(Self.mostValues) is the limit"
    } else if sql.hasNull {
      problem = "its SQL contains a null character"
    } else {
      let size = values.reduce(sql.utf8.count) { $0 + $1.size }
      if size <= Self.mostBytes { return }
      problem = "it has \(size) bytes, and \(Self.mostBytes) is the limit"
    }
    throw PostgresError(
      .invalidStatement, "a statement cannot be sent to PostgreSQL, because \(problem)", statementIndex: index)
  }
}

extension String {
  /// Whether the text contains U+0000, which would end it for libpq. The text of a statement is searched each time that
  /// the statement is sent, so it is searched with memchr.
  fileprivate var hasNull: Bool {
    let found = utf8.withContiguousStorageIfAvailable { bytes in
      bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
    }
    return found ?? utf8.contains(0)
  }
}

extension PostgresValue {
  /// The number of bytes in which the value is sent.
  fileprivate var size: Int {
    switch self {
    case .null, .nullOf: 0
    case .integer: 8
    case .text(let value): value.utf8.count
    case .blob(let value): value.count
    case .integers(let values): 20 + values.count * 12
    case .texts(let values): values.reduce(20) { $0 + 4 + ($1?.utf8.count ?? 0) }
    case .blobs(let values): values.reduce(20) { $0 + 4 + ($1?.count ?? 0) }
    }
  }
}
