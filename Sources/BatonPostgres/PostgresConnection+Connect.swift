internal import CBatonPostgres

extension PostgresConnection {
  /// Parameters of libpq that find a dead server within half a minute: probes of an idle TCP connection, and a limit
  /// for data that is not acknowledged. Unix sockets ignore them.
  package static let defaultParameters = [
    "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "20000",
    "fallback_application_name": "baton",
  ]

  /// Connects, and returns when the server has let the user in. With several servers in the address, each gets an equal
  /// share of the time that is left, so that one that does not answer does not keep the next one from being tried.
  /// (`target_session_attrs` is looked at for each server alone: `prefer-standby` and `load_balance_hosts` have no
  /// effect.)
  ///
  /// - Parameters:
  ///   - parameters: libpq's parameters by their keywords. What the address says overrides them. The encoding of the
  ///     client is always UTF-8.
  ///   - deadline: bounds everything except the look-up of a host's name, for which libpq waits as long as the system's
  ///     resolver does.
  ///   - preparedStatements: how many statements stay prepared on the connection.
  ///
  /// Throws `.loginRefused` if a server refused the user, and `.unreachable` if no server can be used now.
  package static func connect(
    to address: PostgresAddress, parameters: [String: String] = defaultParameters,
    deadline: ContinuousClock.Instant, preparedStatements: Int = mostPreparedStatements
  ) throws(PostgresError) -> PostgresConnection {
    let library = try PostgresLibrary.load()
    var problems: [PostgresError] = []
    let endpoints: [PostgresAddress.Endpoint?] = address.endpoints.isEmpty ? [nil] : address.endpoints
    for (index, endpoint) in endpoints.enumerated() {
      let share = (deadline - ContinuousClock.now) / (endpoints.count - index)
      let attempt = ConnectionAttempt(address, endpoint, parameters, library)
      switch attempt.run(until: ContinuousClock.now + share) {
      case .success(let connection):
        connection.cache = StatementCache(capacity: preparedStatements)
        return connection
      case .failure(let problem): problems.append(problem)
      }
    }
    throw PostgresError.joined(problems, address)
  }
}

/// One try to connect to one server.
private struct ConnectionAttempt {
  private let library: PostgresLibrary
  private let keywords: [String]
  private let values: [String]

  /// libpq takes the last value of each parameter. So the defaults come first, then the address (as `dbname`, which
  /// libpq expands in its place), then what the address must not change.
  init(
    _ address: PostgresAddress, _ endpoint: PostgresAddress.Endpoint?, _ parameters: [String: String],
    _ library: PostgresLibrary
  ) {
    self.library = library
    let list =
      parameters.map { ($0.key, $0.value) } + [("dbname", address.text), ("client_encoding", "UTF8")]
      + [("host", endpoint?.host), ("hostaddr", endpoint?.hostAddress), ("port", endpoint?.port)].compactMap {
        (keyword, value) in value.map { (keyword, $0) }
      }
    keywords = list.map(\.0)
    values = list.map(\.1)
  }

  func run(until deadline: ContinuousClock.Instant) -> Result<PostgresConnection, PostgresError> {
    let handle = withCStrings(keywords) { keywords in
      withCStrings(values) { values in library.call.PQconnectStartParams(keywords, values, 1) }
    }
    guard let handle else { return .failure(PostgresError(.unreachable, "there is no memory for a connection")) }
    let box = NoticeBox(library)
    box.attach(to: handle)
    // Only the verbose form of a message contains the SQLSTATE; libpq has no other way to tell it here.
    _ = library.call.PQsetErrorVerbosity(handle, BATON_PQ_ERRORS_VERBOSE)
    if let problem = poll(handle, until: deadline) {
      library.call.PQfinish(handle)
      return .failure(problem)
    }
    _ = library.call.PQsetErrorVerbosity(handle, BATON_PQ_ERRORS_DEFAULT)
    _ = library.call.PQsetnonblocking(handle, 1)
    return .success(
      PostgresConnection(
        handle, of: library, notices: box, capacity: PostgresConnection.mostPreparedStatements))
  }

  /// Returns `nil` when the connection is there.
  private func poll(_ handle: OpaquePointer, until deadline: ContinuousClock.Instant) -> PostgresError? {
    guard library.call.PQstatus(handle) != BATON_PQ_CONNECTION_BAD else { return problem(of: handle) }
    var wanted = BATON_PQ_WRITABLE
    while true {
      switch library.wait(for: handle, wanted, until: deadline) {
      case .passed: return PostgresError(.unreachable, "the server did not answer in time")
      case .failed(let problem): return PostgresError(.unreachable, problem)
      case .interrupted: continue
      case .ready: break
      }
      switch library.call.PQconnectPoll(handle) {
      case BATON_PQ_POLLING_OK: return nil
      case BATON_PQ_POLLING_READING: wanted = BATON_PQ_READABLE
      case BATON_PQ_POLLING_WRITING: wanted = BATON_PQ_WRITABLE
      default: return problem(of: handle)
      }
    }
  }

  private func problem(of handle: OpaquePointer) -> PostgresError {
    let text = library.call.PQerrorMessage(handle).map { String(cString: $0) } ?? ""
    return .atLogin(text, needsPassword: library.call.PQconnectionNeedsPassword(handle) != 0)
  }
}

extension PostgresError {
  /// Reads libpq's message about a connection that failed. In its verbose form, it looks like this:
  ///
  ///     connection to server on socket "/tmp/.s.PGSQL.5432" failed: FATAL:  28000: role "x" does not exist
  ///     LOCATION:  InitializeSessionUserId, miscinit.c:769
  static func atLogin(_ text: String, needsPassword: Bool) -> PostgresError {
    let lines = text.split(separator: "\n").map { String($0).onOneLine }.filter { !$0.hasPrefix("LOCATION:") }
    let sqlState = text.firstMatch(of: #/:  ([0-9A-Z]{5}): /#).map { String($0.1) }
    let isRefused = needsPassword || ["28", "3D", "42"].contains(sqlState.map { String($0.prefix(2)) })
    return PostgresError(
      isRefused ? .loginRefused : .unreachable, lines.isEmpty ? "libpq gives no reason" : lines.joined(separator: " "),
      sqlState: sqlState)
  }

  /// The error of a connection that no server gave. A refusal counts more than a server that is away, because a
  /// refusal needs a person.
  fileprivate static func joined(_ problems: [PostgresError], _ address: PostgresAddress) -> PostgresError {
    let reasons = problems.map(\.message).joined(separator: "; ")
    let first = problems.first { $0.kind == .loginRefused } ?? problems.last
    let what = first?.kind == .loginRefused ? "does not let this user in" : "cannot be reached"
    return PostgresError(
      first?.kind ?? .unreachable, "PostgreSQL at \(address.redacted) \(what): \(reasons)", sqlState: first?.sqlState)
  }
}

/// Calls `body` with the texts as a list of C strings that ends with a null pointer. No text contains U+0000.
private func withCStrings<Result>(
  _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
  let bytes = texts.flatMap { Array($0.utf8CString) }
  return bytes.withUnsafeBufferPointer { bytes in
    var pointers: [UnsafePointer<CChar>?] = []
    var start = 0
    for text in texts {
      pointers.append(bytes.baseAddress! + start)
      start += text.utf8.count + 1
    }
    pointers.append(nil)
    return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}
