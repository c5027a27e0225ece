import BatonPostgres
import Foundation
import Testing

@testable import BatonStore

/// A server that is reached over TLS with a password, as one on another machine is (`Scripts/with-postgres --tls`).
@Suite(
  .serialized,
  .enabled(
    if: TestDatabase.secureServer != nil, "the server has no TLS: run the tests with Scripts/with-postgres --tls"))
struct PostgresTLSTests {
  private static let authority = ProcessInfo.processInfo.environment["BATON_TEST_POSTGRES_CA"] ?? ""

  /// Makes a database of the role, and a file with its password.
  private func withDatabase(
    _ password: String = "r1ght-word", mode: Int = 0o600, _ body: (_ parameters: [String: String]) async throws -> Void
  ) async throws {
    let name = "baton_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
    try TestDatabase.run(
      """
      DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'baton_password') THEN
        CREATE ROLE baton_password LOGIN PASSWORD 'r1ght-word'; END IF; END $$
      """)
    try TestDatabase.run("CREATE DATABASE \(name) OWNER baton_password")
    try await TemporaryFolder.with { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = folder + "/passfile"
      try Data("localhost:*:\(name):baton_password:\(password)\n".utf8).write(to: URL(fileURLWithPath: file))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
      try await body([
        "dbname": name, "passfile": file, "sslmode": "verify-full", "sslrootcert": Self.authority,
        "hostaddr": "127.0.0.1",
      ])
    }
  }

  private func address(_ parameters: [String: String], host: String = "localhost") throws -> PostgresAddress {
    let port = try #require(TestDatabase.secureServer?.split(separator: ":").last)
    let query = parameters.map { "\($0)=\($1)" }.sorted().joined(separator: "&")
    return try PostgresAddress("postgresql://baton_password@\(host):\(port)/?\(query)")
  }

  private func refusal(_ parameters: [String: String], host: String = "localhost") throws -> StoreError? {
    #expect(throws: StoreError.self) { try TestDatabase.open(try address(parameters, host: host)) }
  }

  @Test func aStoreOpensOverTLSWithThePasswordOfAFile() async throws {
    try await withDatabase { parameters in
      let address = try address(parameters)
      let connection = try PostgresConnection.connect(to: address, deadline: .now + .seconds(30))
      #expect(connection.isEncrypted)
      connection.close()
      let store = try TestDatabase.open(address)
      let definition = try await store.prepare()
      try await store.submit("com.a", to: definition)
      #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).count == 1)
      try await store.close()
    }
  }

  @Test func aServerWithACertificateOfAnotherAuthorityIsNotBelieved() async throws {
    try await withDatabase { parameters in
      // The machine's own roots have not signed it.
      let other = try #require(
        ["/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem", "/etc/pki/tls/certs/ca-bundle.crt"].first {
          FileManager.default.fileExists(atPath: $0)
        })
      let error = try refusal(parameters.merging(["sslrootcert": other]) { $1 })
      #expect(error?.message.contains("certificate verify failed") == true, "\(error?.message ?? "")")
    }
  }

  @Test func aServerWithACertificateForAnotherNameIsNotBelieved() async throws {
    try await withDatabase { parameters in
      let error = try refusal(parameters, host: "db.example.com")
      #expect(error?.message.contains("does not match host name") == true, "\(error?.message ?? "")")
    }
  }

  @Test func aWrongPasswordIsRefused() async throws {
    try await withDatabase("wr0ng-word") { parameters in
      let error = try refusal(parameters)
      #expect(error?.code == .refused)
      #expect(error?.message.contains("password authentication failed") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("wr0ng") == false)
    }
  }

  /// libpq does not read it.
  @Test func aPasswordFileThatOthersCanReadIsNotUsed() async throws {
    try await withDatabase(mode: 0o644) { parameters in
      let error = try refusal(parameters)
      #expect(error?.code == .refused && error?.message.contains("no password supplied") == true)
    }
  }

  @Test func aConnectionWithoutTLSIsRefusedByTheServer() async throws {
    try await withDatabase { parameters in
      let error = try refusal(parameters.merging(["sslmode": "disable"]) { $1 })
      #expect(error?.message.contains("no encryption") == true, "\(error?.message ?? "")")
    }
  }
}
