internal import CBatonPostgres

extension PostgresConnection {
  /// Sends a text with any number of statements, such as a migration, as one simple query: no values, no rows. Without
  /// BEGIN in the text, all of it is one transaction. COPY is not possible.
  ///
  /// Throws `.server` for the first statement that is refused (the server skips the rest); `.brokenConnection` and
  /// `.deadline`, after which the connection is closed; `.invalidStatement` if the text contains a null character.
  package func script(_ sql: String, deadline: ContinuousClock.Instant) throws(PostgresError) {
    let handle = try begin(deadline)
    guard !sql.utf8.contains(0) else {
      throw PostgresError(.invalidStatement, "a script cannot be sent to PostgreSQL: it contains a null character")
    }
    try leavePipelineMode(handle)
    guard library.call.PQsendQuery(handle, sql) == 1 else { throw broken() }
    if let failure = try collect(handle, deadline) { throw failure }
  }

  private func leavePipelineMode(_ handle: OpaquePointer) throws(PostgresError) {
    guard isPipelining else { return }
    guard library.call.PQexitPipelineMode(handle) == 1 else { throw broken() }
    isPipelining = false
  }

  /// Reads answers until libpq says that there are no more. Returns the first error.
  private func collect(
    _ handle: OpaquePointer, _ deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> PostgresError? {
    var failure: PostgresError?
    while true {
      while library.call.PQisBusy(handle) == 1 {
        try wait(toWrite: hasUnsentBytes(handle), until: deadline)
      }
      guard let result = library.call.PQgetResult(handle) else { return failure }
      let error = try problem(in: result)
      failure = failure ?? error
    }
  }

  private func problem(in result: OpaquePointer) throws(PostgresError) -> PostgresError? {
    defer { library.call.PQclear(result) }
    switch library.call.PQresultStatus(result) {
    case BATON_PQ_COMMAND_OK, BATON_PQ_TUPLES_OK, BATON_PQ_EMPTY_QUERY: return nil
    case BATON_PQ_FATAL_ERROR: return try error(in: result, nil)
    default: throw broken("a script began to copy data, which is not possible here")
    }
  }
}
