internal import CBatonPostgres

/// One call of `PostgresConnection.run`: sends the statements, and matches the answers to them.
struct Pipeline {
  private let statements: [PostgresStatement]
  private let connection: PostgresConnection
  private let handle: OpaquePointer
  private let deadline: ContinuousClock.Instant
  private var exchange = Exchange<PostgresRows>()

  /// After so many bytes the connection looks whether the server takes them, and reads what it has answered. Otherwise
  /// libpq would keep everything in memory, and a server that cannot send its answers would not read either.
  private static let mostUnsentBytes = 1 << 16

  init(
    _ statements: [PostgresStatement], on connection: PostgresConnection, _ handle: OpaquePointer,
    until deadline: ContinuousClock.Instant
  ) {
    self.statements = statements
    self.connection = connection
    self.handle = handle
    self.deadline = deadline
    exchange.reserve(statements.count)
  }

  private var library: PostgresLibrary { connection.library }

  /// Returns the rows of each statement.
  mutating func run() throws(PostgresError) -> [PostgresRows] {
    try sendRemovals()
    try sendStatements()
    try sendSynchronization()
    try collect()
    if let failure = exchange.failure { throw failure }
    return exchange.answers
  }

  // MARK: Sending

  /// In a pipeline of its own, which leaves with the next one, so that its failure has no effect on the statements.
  private mutating func sendRemovals() throws(PostgresError) {
    guard connection.transactionStatus == .idle else { return }
    let names = connection.cache.trim()
    if names.isEmpty { return }
    for name in names {
      try sent(library.call.PQsendQueryParams(handle, "DEALLOCATE \(name)", 0, nil, nil, nil, nil, 1), .removal)
    }
    try sendSynchronization()
  }

  private mutating func sendStatements() throws(PostgresError) {
    var unsentBytes = 0
    for index in statements.indices {
      unsentBytes += try sendStatement(index)
      if unsentBytes < Self.mostUnsentBytes { continue }
      unsentBytes = 0
      try flush()
    }
  }

  /// Returns about how many bytes it is.
  private mutating func sendStatement(_ index: Int) throws(PostgresError) -> Int {
    let statement = statements[index]
    let name: String
    if let known = connection.cache.name(for: statement) { name = known } else { name = try prepare(index) }
    connection.parameters.fill(statement.values)
    let answer = connection.parameters.withParameters { count, values, lengths, formats in
      library.call.PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
    }
    try sent(answer, .execution(index, name: name))
    return connection.parameters.size + 64
  }

  private mutating func prepare(_ index: Int) throws(PostgresError) -> String {
    let statement = statements[index]
    let name = connection.cache.newName()
    let types = statement.values.map(\.type.oid)
    try sent(
      library.call.PQsendPrepare(handle, name, statement.sql, Int32(types.count), types),
      .preparation(index, name: name))
    connection.cache.insert(statement, as: name)
    return name
  }

  private mutating func sendSynchronization() throws(PostgresError) {
    try sent(library.call.PQpipelineSync(handle), .synchronization)
  }

  /// Expects an answer if libpq has taken the request.
  private mutating func sent(_ answer: Int32, _ request: Exchange<PostgresRows>.Request) throws(PostgresError) {
    guard answer == 1 else { throw connection.broken() }
    exchange.expect(request)
  }

  /// Waits until the server has taken everything, and reads answers meanwhile.
  private mutating func flush() throws(PostgresError) {
    while try connection.hasUnsentBytes(handle) {
      try connection.wait(toWrite: true, until: deadline)
      try readAnswers()
    }
  }

  // MARK: Collecting

  private mutating func collect() throws(PostgresError) {
    while true {
      try readAnswers()
      if exchange.isComplete { return }
      try connection.wait(toWrite: connection.hasUnsentBytes(handle), until: deadline)
    }
  }

  /// Takes the answers that have arrived.
  private mutating func readAnswers() throws(PostgresError) {
    while !exchange.isComplete {
      // libpq gives notices to the box while it looks for the next answer.
      connection.box.statementIndex = exchange.statementIndex
      guard library.call.PQisBusy(handle) == 0 else { return }
      if let result = library.call.PQgetResult(handle) {
        try take(result)
      } else if !exchange.finish() {
        return
      }
    }
    connection.box.statementIndex = nil
  }

  private mutating func take(_ result: OpaquePointer) throws(PostgresError) {
    switch library.call.PQresultStatus(result) {
    case BATON_PQ_COMMAND_OK, BATON_PQ_TUPLES_OK, BATON_PQ_EMPTY_QUERY:
      exchange.succeed(PostgresRows(result, of: library))
    case BATON_PQ_PIPELINE_SYNC:
      library.call.PQclear(result)
      exchange.synchronize()
    case BATON_PQ_PIPELINE_ABORTED:
      library.call.PQclear(result)
      fail(nil)
    default:
      defer { library.call.PQclear(result) }
      fail(try connection.error(in: result, exchange.statementIndex))
    }
  }

  /// The current request was refused, or skipped if `error` is `nil`. Keeps the cache of statements true.
  private mutating func fail(_ error: PostgresError?) {
    switch exchange.current {
    case .preparation(let index, let name):
      connection.cache.remove(statements[index].sql, named: name)
    case .execution(let index, let name) where error?.isStalePlan == true:
      connection.cache.forget(statements[index].sql, named: name)
    case .execution where error?.isUnknownStatement == true: connection.cache.removeAll()
    case .execution, .removal, .synchronization, nil: break
    }
    exchange.fail(error)
  }
}

extension PostgresError {
  /// The server has no prepared statement of this name (26000): a script has said DISCARD ALL or DEALLOCATE ALL.
  fileprivate var isUnknownStatement: Bool { sqlState == "26000" }
}
