import BatonPostgres
import Foundation
import Synchronization
import Testing

@testable import BatonStore

/// Databases of a PostgreSQL server that the variable `BATON_TEST_POSTGRES` names (`Scripts/with-postgres`).
enum TestDatabase {
  static let server = ProcessInfo.processInfo.environment["BATON_TEST_POSTGRES"]
  static var isThere: Bool { server != nil }
  static let hint: Comment = "no server: run the tests with Scripts/with-postgres"

  /// The database that has Baton's tables, of which all others are copies.
  private static let template = Mutex<String?>(nil)

  /// The server of the tests writes nothing to the disk in time.
  static var limits: PostgresLimits {
    var limits = PostgresLimits()
    (limits.demandsDurability, limits.readers) = (false, 1)
    return limits
  }

  /// Makes a new database with an empty store in it, and returns its address.
  static func make() throws -> PostgresAddress {
    let name = "baton_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
    let template = try template.withLock { known in
      if let known { return known }
      let made = name + "_template"
      try run("CREATE DATABASE \(made)")
      try PostgresMigrations(server: PostgresServer(address: try address(made), limits: limits)).run(name)
      known = made
      return made
    }
    try run("CREATE DATABASE \(name) TEMPLATE \(template)")
    return try address(name)
  }

  /// Makes a new database without any table.
  static func empty() throws -> PostgresAddress {
    let name = "baton_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
    try run("CREATE DATABASE \(name)")
    return try address(name)
  }

  static func open(_ address: PostgresAddress, queuesSpans: Bool = false) throws -> PostgresStore {
    try PostgresStore.open(address, postgres: limits, queuesSpans: queuesSpans)
  }

  /// Opens a store in a new database.
  static func store(queuesSpans: Bool = false) throws -> PostgresStore {
    try open(try make(), queuesSpans: queuesSpans)
  }

  /// The path of the server's socket.
  static var socket: String? {
    guard let folder = server?.firstMatch(of: /host=([^&]+)/)?.1 else { return nil }
    return "\(folder.removingPercentEncoding ?? String(folder))/.s.PGSQL.5432"
  }

  /// The same database, through a socket in another folder.
  static func address(_ address: PostgresAddress, through folder: String) throws -> PostgresAddress {
    let database = address.redacted.firstMatch(of: /\/(baton_[0-9a-f]+)/).map { String($0.1) } ?? ""
    return try PostgresAddress("postgresql://postgres@/\(database)?host=\(folder)&port=5432")
  }

  private static func address(_ database: String) throws -> PostgresAddress {
    try PostgresAddress("\(server ?? "")\(server?.contains("?") == true ? "&" : "?")dbname=\(database)")
  }

  private static func run(_ sql: String) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    let connection = try PostgresConnection.connect(to: try PostgresAddress(server ?? ""), deadline: deadline)
    defer { connection.close() }
    try connection.script(sql, deadline: deadline)
  }
}
