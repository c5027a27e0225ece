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
  /// Where the server listens for TLS, if it does: `localhost:PORT`.
  static let secureServer = ProcessInfo.processInfo.environment["BATON_TEST_POSTGRES_TLS"]

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

  static func open(
    _ address: PostgresAddress, limits: PostgresLimits = limits, storeLimits: StoreLimits = StoreLimits(),
    queuesSpans: Bool = false, trial: PostgresTrial = PostgresTrial()
  ) throws -> PostgresStore {
    try PostgresStore.open(
      address, limits: storeLimits, postgres: limits, queuesSpans: queuesSpans, trial: trial)
  }

  /// Opens a store in a new database.
  static func store(
    storeLimits: StoreLimits = StoreLimits(), queuesSpans: Bool = false
  ) throws -> PostgresStore {
    try open(try make(), storeLimits: storeLimits, queuesSpans: queuesSpans)
  }

  /// The path of the server's socket.
  static var socket: String? {
    guard let folder = server?.firstMatch(of: /host=([^&]+)/)?.1 else { return nil }
    return "\(folder.removingPercentEncoding ?? String(folder))/.s.PGSQL.5432"
  }

  /// The same database, through a socket in another folder.
  static func address(_ address: PostgresAddress, through folder: String) throws -> PostgresAddress {
    let database = try name(of: address)
    return try PostgresAddress("postgresql://postgres@/\(database)?host=\(folder)&port=5432")
  }

  /// The name of the database.
  static func name(of address: PostgresAddress) throws -> String {
    address.redacted.firstMatch(of: /\/(baton_[0-9a-f]+)/).map { String($0.1) } ?? ""
  }

  private static func address(_ database: String) throws -> PostgresAddress {
    try PostgresAddress("\(server ?? "")\(server?.contains("?") == true ? "&" : "?")dbname=\(database)")
  }

  /// Runs a script in the server's own database.
  static func run(_ sql: String) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    let connection = try PostgresConnection.connect(to: try PostgresAddress(server ?? ""), deadline: deadline)
    defer { connection.close() }
    try connection.script(sql, deadline: deadline)
  }
}
