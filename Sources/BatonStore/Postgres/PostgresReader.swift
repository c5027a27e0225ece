internal import BatonModel
internal import BatonPostgres
internal import Synchronization

/// The connections that only read. Each read is a transaction with one snapshot.
final class PostgresReaders: Sendable {
  private let server: PostgresServer
  private let threads: [PostgresThread]
  private let next = Mutex(0)

  /// - Throws: `StoreError` if no thread can be started.
  init(_ server: PostgresServer) throws {
    self.server = server
    do {
      threads = try (0..<max(1, server.limits.readers)).map { try PostgresThread(name: "baton-read-\($0)") }
    } catch {
      throw StoreError(anything: error)
    }
  }

  func end() async { for thread in threads { await thread.end() } }

  /// Runs `body` on a connection. A connection that broke is replaced, and `body` runs again, once.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (any StatementSource) throws -> Value
  ) async throws -> Value {
    let turn = next.withLock { next in
      next += 1
      return next
    }
    let thread = threads[turn % threads.count]
    do {
      return try await attempt(thread, body)
    } catch let error as PostgresError where [.brokenConnection, .deadline].contains(error.kind) || error.isStalePlan {
      do {
        try await thread.connect { [server] in try server.connect() }
        return try await attempt(thread, body)
      } catch {
        throw StoreError(anything: error)
      }
    } catch {
      throw StoreError(anything: error)
    }
  }

  private func attempt<Value: Sendable>(
    _ thread: PostgresThread, _ body: @escaping @Sendable (any StatementSource) throws -> Value
  ) async throws -> Value {
    try await thread.run { [server] in try Self.snapshot(on: $0, of: server, body) }
  }

  /// Runs `body` in a transaction that only reads, with one snapshot.
  static func snapshot<Value>(
    on connection: PostgresConnection, of server: PostgresServer, _ body: (any StatementSource) throws -> Value
  ) throws -> Value {
    let result = Result { try body(PostgresStatements(connection, server)) }
    if !connection.isBroken, connection.transactionStatus != .idle {
      _ = try server.run([PostgresStatement("ROLLBACK")], on: connection)
    }
    return try result.get()
  }
}

/// Runs the queries of verbs that only read. The first one begins the transaction.
private final class PostgresStatements: StatementSource {
  private let connection: PostgresConnection
  private let server: PostgresServer

  init(_ connection: PostgresConnection, _ server: PostgresServer) {
    (self.connection, self.server) = (connection, server)
  }

  func prepared(_ query: Query) throws -> Prepared {
    let text = query.elsewhere.withNumberedParameters
    return Prepared(elsewhere: { [connection, server] lists in
      let statements = lists.map { parameters in
        PostgresStatement(text, parameters.map { cell, type in cell.value(type) })
      }
      let begin =
        connection.transactionStatus == .idle
        ? [PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")] : []
      return try server.run(begin + statements, on: connection).dropFirst(begin.count).map { try $0.cells }
    })
  }
}

extension String {
  /// The text with `$1` in the place of `?1`, and of the first `?`. No text of a query has both forms, or a question
  /// mark in a literal.
  var withNumberedParameters: String {
    var (text, rest, count) = ("", self[...], 0)
    while let mark = rest.firstIndex(of: "?") {
      let digits = rest[rest.index(after: mark)...].prefix(while: \.isNumber)
      count += 1
      text += rest[..<mark] + "$" + (digits.isEmpty ? "\(count)" : digits)
      rest = rest[digits.endIndex...]
    }
    return text + rest
  }
}
