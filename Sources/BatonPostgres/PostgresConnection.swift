internal import CBatonPostgres

/// One connection to a PostgreSQL server. It is not `Sendable`: one thread uses it, and waits in it. `PostgresThread`
/// gives it a thread of its own, which is what code in Swift's concurrency uses.
///
/// Every call takes a deadline, and returns by then: when the deadline passes, the connection is closed, because any
/// other way to leave a statement has to wait for the server again. No cancel request is ever sent: a COMMIT that is
/// cancelled may be answered with success.
package final class PostgresConnection {
  let library: PostgresLibrary
  /// `nil` after the connection was closed.
  private(set) var handle: OpaquePointer?
  let box: NoticeBox
  var cache: StatementCache
  var parameters = ParameterBuffer()
  /// Whether libpq is in pipeline mode, which is changed only where a call needs the other mode.
  var isPipelining = false
  /// Asked four times a second while a call waits for the server. Once it answers true, the connection is closed, and
  /// the call throws `.ended`. `nil` lets calls wait until their deadlines.
  package var isGivenUp: (@Sendable () -> Bool)?

  /// How many statements stay prepared on a connection, unless a call has more.
  package static let mostPreparedStatements = 512

  init(_ handle: OpaquePointer, of library: PostgresLibrary, notices: NoticeBox, capacity: Int) {
    self.handle = handle
    self.library = library
    box = notices
    cache = StatementCache(capacity: capacity)
  }

  deinit { close() }

  /// Closes the connection: the server rolls an open transaction back. Does nothing if it is closed.
  package func close() {
    guard let handle else { return }
    self.handle = nil
    library.call.PQfinish(handle)
  }

  /// Whether the connection cannot be used any more: it was closed, or it broke, or a deadline passed. This is what the
  /// last call learned; a connection that broke since then is noticed by the next call.
  package var isBroken: Bool { handle == nil }

  /// The messages of the server that arrived during the last call, in their order: at most the 1,000 newest.
  package var notices: [PostgresNotice] { box.notices }

  /// Where the connection stands between two calls.
  package enum TransactionStatus: Hashable, Sendable {
    /// No transaction is open.
    case idle
    case open
    /// A statement failed in the open transaction: the server refuses everything but ROLLBACK.
    case failed
    /// The connection is broken.
    case unknown
  }

  package var transactionStatus: TransactionStatus {
    guard let handle else { return .unknown }
    return switch library.call.PQtransactionStatus(handle) {
    case BATON_PQ_TRANSACTION_IDLE: .idle
    case BATON_PQ_TRANSACTION_OPEN: .open
    case BATON_PQ_TRANSACTION_FAILED: .failed
    default: .unknown
    }
  }

  /// A setting that the server reports by itself, such as "server_version", "in_hot_standby" or "TimeZone"; `nil` if
  /// the server does not report it, or if the connection is broken. Other settings are read with SHOW.
  package func parameterStatus(_ name: String) -> String? {
    guard let handle else { return nil }
    return library.call.PQparameterStatus(handle, name).map { String(cString: $0) }
  }

  /// The server's version, such as 150_018 for 15.18; 0 if the connection is broken.
  package var serverVersion: Int { handle.map { Int(library.call.PQserverVersion($0)) } ?? 0 }

  /// The process of the server that serves this connection, for pg_terminate_backend; 0 if the connection is broken.
  package var backendPID: Int32 { handle.map { library.call.PQbackendPID($0) } ?? 0 }

  /// The server that was chosen, for messages: its host, or the folder of its socket, and its port; empty if the
  /// connection is broken.
  package var serverName: String {
    guard let handle else { return "" }
    return [library.call.PQhost(handle), library.call.PQport(handle)].compactMap { $0.map { String(cString: $0) } }
      .joined(separator: ":")
  }

  /// Whether the connection is encrypted (TLS). `sslmode` in the address decides whether it has to be.
  package var isEncrypted: Bool { handle.map { library.call.PQsslInUse($0) != 0 } ?? false }

  /// How many statements are prepared on this connection.
  var preparedCount: Int { cache.count }
}

@available(*, unavailable)
extension PostgresConnection: Sendable {}

// MARK: What the calls share

extension PostgresConnection {
  /// Begins a call: forgets the notices of the last one.
  ///
  /// Throws `.brokenConnection` if the connection is closed, and `.deadline` if the deadline has passed. Nothing is
  /// sent then, and the connection stays as it is.
  func begin(_ deadline: ContinuousClock.Instant) throws(PostgresError) -> OpaquePointer {
    box.begin()
    guard let handle else { throw PostgresError(.brokenConnection, "the connection to PostgreSQL is closed") }
    guard ContinuousClock.now < deadline else {
      throw PostgresError(.deadline, "the deadline had passed before anything was sent to PostgreSQL")
    }
    return handle
  }

  /// Waits until the server has sent something, or also until it can take more, and reads what it has sent.
  func wait(toWrite: Bool, until deadline: ContinuousClock.Instant) throws(PostgresError) {
    guard let handle else { throw broken() }
    let events = toWrite ? BATON_PQ_READABLE | BATON_PQ_WRITABLE : BATON_PQ_READABLE
    let turn = isGivenUp == nil ? deadline : min(deadline, .now + .milliseconds(250))
    switch library.wait(for: handle, events, until: turn) {
    case .passed where ContinuousClock.now < deadline: return
    case .passed:
      close()
      throw PostgresError(
        .deadline, "PostgreSQL did not answer in time; the connection is closed", isOutcomeUnknown: true)
    case .failed(let problem): throw broken(problem)
    case .interrupted:
      guard isGivenUp?() == true else { return }
      close()
      throw PostgresError(
        .ended, "the wait for PostgreSQL was given up; the connection is closed", isOutcomeUnknown: true)
    case .ready(let events):
      if events & BATON_PQ_READABLE != 0, library.call.PQconsumeInput(handle) == 0 { throw broken() }
    }
  }

  /// Closes the connection. What the server said last is the reason, if it has said anything.
  func broken(_ problem: String? = nil) -> PostgresError {
    let last = handle.flatMap { lastError(of: $0) }
    let text = problem ?? handle.flatMap { library.message(of: $0) } ?? "the connection to PostgreSQL is closed"
    close()
    if let last { return last }
    if let fatal = box.fatal { return .fatal(fatal.severity, fatal.sqlState, fatal.message) }
    // The lines after the first one guess at causes.
    return PostgresError(
      .brokenConnection, "the connection to PostgreSQL broke: \(text.prefix { $0 != "\n" })", isOutcomeUnknown: true)
  }

  /// The error with which the server ended the connection, if it is among what has arrived already. Nothing waits here,
  /// because libpq has closed the socket.
  private func lastError(of handle: OpaquePointer) -> PostgresError? {
    guard library.call.PQstatus(handle) == BATON_PQ_CONNECTION_BAD else { return nil }
    var ends = 0
    // libpq marks the end of each statement's answers once, and the end of everything again and again.
    while ends < 2, library.call.PQisBusy(handle) == 0 {
      guard let result = library.call.PQgetResult(handle) else {
        ends += 1
        continue
      }
      defer { library.call.PQclear(result) }
      ends = 0
      if let error = library.fatalError(in: result) { return error }
      guard mayBeFollowed(result) else { return nil }
    }
    return nil
  }

  /// Whether another answer may follow. libpq's own error, which has no SQLSTATE, is the last one; and the beginning of
  /// COPY is repeated for ever.
  private func mayBeFollowed(_ result: OpaquePointer) -> Bool {
    switch library.call.PQresultStatus(result) {
    case BATON_PQ_EMPTY_QUERY, BATON_PQ_COMMAND_OK, BATON_PQ_TUPLES_OK, BATON_PQ_PIPELINE_SYNC,
      BATON_PQ_PIPELINE_ABORTED:
      true
    case BATON_PQ_FATAL_ERROR: library.field(BATON_PQ_SQLSTATE, of: result) != nil
    default: false
    }
  }

  /// Whether libpq has bytes that the server did not take yet. Sends what the server takes.
  func hasUnsentBytes(_ handle: OpaquePointer) throws(PostgresError) -> Bool {
    let answer = library.call.PQflush(handle)
    guard answer >= 0 else { throw broken() }
    return answer == 1
  }
}

/// How a wait for a socket ended.
enum SocketWait {
  case ready(Int32)
  case passed
  case interrupted
  case failed(String)
}

extension PostgresLibrary {
  func wait(for handle: OpaquePointer, _ events: Int32, until deadline: ContinuousClock.Instant) -> SocketWait {
    let remaining = deadline - ContinuousClock.now
    guard remaining > .zero else { return .passed }
    let answer = baton_pq_wait(call.PQsocket(handle), events, remaining.pollMilliseconds)
    if answer < 0 { return .failed("poll failed with errno \(-answer)") }
    return answer == 0 ? .interrupted : .ready(answer)
  }

  /// What libpq says about a connection; `nil` if it says nothing.
  func message(of handle: OpaquePointer) -> String? {
    let text = call.PQerrorMessage(handle).map { String(cString: $0) } ?? ""
    return text.isEmpty ? nil : text
  }

  /// The error with which the server ends a connection (FATAL or PANIC).
  func fatalError(in result: OpaquePointer) -> PostgresError? {
    guard call.PQresultStatus(result) == BATON_PQ_FATAL_ERROR, let severity = field(BATON_PQ_SEVERITY, of: result),
      severity == "FATAL" || severity == "PANIC"
    else { return nil }
    return .fatal(severity, field(BATON_PQ_SQLSTATE, of: result), field(BATON_PQ_MESSAGE, of: result) ?? "")
  }
}

extension PostgresError {
  /// The server has ended the connection.
  static func fatal(_ severity: String, _ sqlState: String?, _ message: String) -> PostgresError {
    PostgresError(
      .brokenConnection, "PostgreSQL ended the connection: \(severity) \(sqlState ?? ""): \(message)",
      sqlState: sqlState, isOutcomeUnknown: true)
  }
}

extension Duration {
  /// For poll(2): rounded up, so that a wait does not end before its deadline, and at most a day.
  var pollMilliseconds: Int32 {
    let milliseconds =
      components.seconds * 1_000 + (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    return Int32(clamping: min(max(milliseconds, 0), 86_400_000))
  }
}
