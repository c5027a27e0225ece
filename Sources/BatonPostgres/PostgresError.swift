/// Why PostgreSQL, or its client library, did not do what was asked. The kind says what a caller can do about it, and
/// the message is for people. No message contains a password.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable, CaseIterable {
    /// libpq is not installed, or it is older than version 14. The message says what to install.
    case libraryMissing
    /// The address of the server is not one that libpq accepts.
    case invalidAddress
    /// No server answered in time, or the one that answered takes no connections now: it starts, stops, follows another
    /// server, or has no connection left. A later try may succeed.
    case unreachable
    /// The server does not let this user in: a wrong password, no such role, no such database, no permission. Another
    /// try fails in the same way until a person changes something.
    case loginRefused
    /// The connection is closed, or broke during the call. `isOutcomeUnknown` says whether the statements may have
    /// been carried out.
    case brokenConnection
    /// The deadline passed. The connection is closed, unless the deadline had passed before anything was sent.
    case deadline
    /// The server refused a statement. `sqlState` says why; the connection is usable.
    case server
    /// A statement that cannot be sent: a null character in its SQL, too many values, or too many bytes. Nothing was
    /// sent.
    case invalidStatement
    /// A value of a result has another type than the one that was asked for, or is null.
    case unreadable
    /// Too many jobs wait for the thread of a connection, or the system can start no thread. Nothing was done.
    case overloaded
    /// The thread of a connection has ended. Nothing was done.
    case ended
  }

  package var kind: Kind
  /// What happened, in one line.
  package var message: String
  /// The SQLSTATE that the server gave, five characters of PostgreSQL's appendix "Error Codes"; `nil` if the server
  /// gave none. A broken connection has one (57P01, 57P02) if the server could say goodbye.
  package var sqlState: String?
  /// Which statement of the call failed, counted from 0; `nil` if none did.
  package var statementIndex: Int?
  /// The name of the constraint that a statement violated.
  package var constraint: String?
  /// Whether statements were sent, and the server's answers did not all arrive: then the server may have carried them
  /// out, or may still do so. A caller whose statements contain COMMIT has to find out on another connection. False
  /// means that the server has answered, or that nothing was sent.
  package var isOutcomeUnknown: Bool

  package init(
    _ kind: Kind, _ message: String, sqlState: String? = nil, statementIndex: Int? = nil, constraint: String? = nil,
    isOutcomeUnknown: Bool = false
  ) {
    self.kind = kind
    self.message = message.onOneLine
    self.sqlState = sqlState
    self.statementIndex = statementIndex
    self.constraint = constraint
    self.isOutcomeUnknown = isOutcomeUnknown
  }

  package var description: String { message }
}

extension PostgresError {
  /// The first two characters of the SQLSTATE, such as "08" for connections and "23" for constraints.
  package var sqlStateClass: String? { sqlState.map { String($0.prefix(2)) } }

  /// Two transactions got in each other's way (40001), or waited for each other (40P01). The same transaction may
  /// succeed when it is run again.
  package var isSerialization: Bool { kind == .server && (sqlState == "40001" || sqlState == "40P01") }

  /// A row with this key exists already (23505); `constraint` names the index.
  package var isUniqueViolation: Bool { kind == .server && sqlState == "23505" }

  /// A table was changed after the statement was prepared (0A000, "cached plan must not change result type"). The
  /// connection has forgotten the statement: the same transaction may succeed when it is run again.
  package var isStalePlan: Bool { kind == .server && sqlState == "0A000" }

  /// A lock was not to be had within `lock_timeout`, or at once with NOWAIT (55P03).
  package var isLockTimeout: Bool { kind == .server && sqlState == "55P03" }
}

extension String {
  /// The text without line breaks and other characters that change how a terminal shows what follows: each run of them
  /// becomes one space.
  var onOneLine: String {
    var line = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if !scalar.isInvisible {
        line.append(scalar)
      } else if let last = line.last, last != " " {
        line.append(" ")
      }
    }
    if line.last == " " { line.removeLast() }
    return String(line)
  }
}

extension Unicode.Scalar {
  /// A control character, a mark of writing direction, or a separator of lines.
  fileprivate var isInvisible: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
