import BatonPostgres
import Foundation
import Synchronization

/// Databases for the figures of the store in PostgreSQL. They are made on the server that `Scripts/with-postgres
/// --fsync` starts, whose address is in `BATON_TEST_POSTGRES`.
struct BenchmarkDatabase: Sendable {
  /// The variable by which the coordinators of a fleet learn the address of their store.
  static let variable = "BATON_BENCHMARK_STORE"

  /// The address, a connection URI.
  let address: String
  private let name: String

  /// Makes an empty database.
  static func make() throws -> BenchmarkDatabase {
    guard let server = server else {
      note("the figures of PostgreSQL need a server: Scripts/with-postgres --fsync \(CommandLine.arguments[0]) ...")
      exit(69)
    }
    let name = "bench_\(UUID().uuidString.prefix(8).lowercased())"
    try run("CREATE DATABASE \(name) ENCODING 'UTF8' TEMPLATE template0", at: server)
    return BenchmarkDatabase(address: server.replacingOccurrences(of: "/postgres?", with: "/\(name)?"), name: name)
  }

  static var server: String? { ProcessInfo.processInfo.environment["BATON_TEST_POSTGRES"] }

  /// Removes the database, and ends the sessions that use it.
  func remove() {
    guard let server = Self.server else { return }
    try? Self.run("DROP DATABASE \(name) WITH (FORCE)", at: server)
  }

  func connect() throws -> PostgresConnection { try Self.connect(to: address) }

  /// Brings the statistics of the planner up to date, as autovacuum does in its time.
  func analyze() throws { try Self.run("VACUUM (ANALYZE)", at: address) }

  private static func connect(to address: String) throws -> PostgresConnection {
    try PostgresConnection.connect(to: PostgresAddress(address), deadline: .now + .seconds(30))
  }

  private static func run(_ sql: String, at address: String) throws {
    let connection = try connect(to: address)
    defer { connection.close() }
    try connection.script(sql, deadline: .now + .seconds(300))
  }
}

/// A session that holds a snapshot, as a backup or a long report does.
///
/// `@unchecked Sendable`: it is used by one task.
final class HeldSnapshot: @unchecked Sendable {
  private let connection: PostgresConnection

  init(_ database: BenchmarkDatabase) throws {
    connection = try database.connect()
    try connection.script(
      "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM store", deadline: .now + .seconds(30))
  }

  func end() { connection.close() }
}
