import Foundation
import Testing

@testable import BatonPostgres

/// The server that `Scripts/with-postgres` starts.
enum TestServer {
  static let environment = "BATON_TEST_POSTGRES"
  static let uri = ProcessInfo.processInfo.environment[environment]
  static let isThere = uri != nil
  static let hint: Comment = "no server: run the tests with Scripts/with-postgres"

  static func address(_ addition: String = "") throws -> PostgresAddress {
    try PostgresAddress(#require(uri) + addition)
  }

  static func connect(
    _ addition: String = "", parameters: [String: String] = PostgresConnection.defaultParameters,
    preparedStatements: Int = PostgresConnection.mostPreparedStatements
  ) throws -> PostgresConnection {
    try PostgresConnection.connect(
      to: address(addition), parameters: parameters, deadline: soon, preparedStatements: preparedStatements)
  }
}

/// A deadline that only a call which hangs reaches.
var soon: ContinuousClock.Instant { .now + .seconds(120) }

extension PostgresConnection {
  /// The rows of one statement.
  func rows(_ sql: String, _ values: PostgresValue...) throws -> PostgresRows {
    try run(PostgresStatement(sql, values), deadline: soon)
  }

  /// The number in the first row and column.
  func integer(_ sql: String, _ values: PostgresValue...) throws -> Int64 {
    try run(PostgresStatement(sql, values), deadline: soon).integer(0, 0)
  }
}

/// The error of `body`; a failure of the test if it throws none, or one of another type.
func postgresError(
  _ kind: PostgresError.Kind, sourceLocation: SourceLocation = #_sourceLocation, of body: () throws -> Void
) throws -> PostgresError {
  let error = try #require(throws: PostgresError.self, sourceLocation: sourceLocation) { try body() }
  #expect(error.kind == kind, "\(error)", sourceLocation: sourceLocation)
  #expect(!error.message.contains("\n"), sourceLocation: sourceLocation)
  return error
}

/// Like `postgresError(_:of:)`, for code that waits.
func postgresError(
  _ kind: PostgresError.Kind, sourceLocation: SourceLocation = #_sourceLocation, of body: () async throws -> Void
) async throws -> PostgresError {
  let error = try await #require(throws: PostgresError.self, sourceLocation: sourceLocation) { try await body() }
  #expect(error.kind == kind, "\(error)", sourceLocation: sourceLocation)
  return error
}
