package import BatonPostgres
import Foundation

/// New databases of the PostgreSQL server that the variable `BATON_TEST_POSTGRES` names (`Scripts/with-postgres`).
package enum FreshDatabase {
  private static let variables = ProcessInfo.processInfo.environment
  private static let server = variables["BATON_TEST_POSTGRES"]
  package static var isThere: Bool { server != nil }

  /// Whether coordinators under test keep their stores in PostgreSQL: `BATON_TEST_STORE` is `postgres`, and not
  /// `sqlite` or unset.
  package static let isTheStore: Bool = {
    switch variables["BATON_TEST_STORE"] {
    case nil, "sqlite": return false
    case "postgres" where isThere: return true
    case "postgres": fatalError("BATON_TEST_STORE=postgres needs a server: Scripts/with-postgres --fsync COMMAND")
    case let other?: fatalError("BATON_TEST_STORE is sqlite or postgres, and not \(other)")
    }
  }()

  /// Makes an empty database, and returns its address.
  package static func make() throws(PostgresError) -> String {
    let name = "baton_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
    let deadline = ContinuousClock.now + .seconds(60)
    let connection = try PostgresConnection.connect(to: try PostgresAddress(server ?? ""), deadline: deadline)
    defer { connection.close() }
    try connection.script("CREATE DATABASE \(name)", deadline: deadline)
    return "\(server ?? "")\(server?.contains("?") == true ? "&" : "?")dbname=\(name)"
  }
}
