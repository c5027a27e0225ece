import Foundation
import Testing

@testable import BatonPostgres

@Suite(.enabled(if: PostgresLibrary.isInstalled, "libpq is not installed"), .timeLimit(.minutes(10)))
struct UnreachableTests {
  @Test func `a server that is not there is unreachable`() throws {
    let address = try PostgresAddress("postgresql://anna:s3cret@/baton?host=/nonexistent&port=5432")
    let error = try postgresError(.unreachable) { _ = try PostgresConnection.connect(to: address, deadline: soon) }
    #expect(error.message.contains("postgresql://anna@/baton?host=/nonexistent&port=5432"))
    #expect(error.message.contains("No such file"))
    #expect(!error.message.contains("s3cret"))
    #expect(!error.isOutcomeUnknown)
  }

  @Test func `a server that does not answer is unreachable by the deadline`() throws {
    let server = try #require(SilentServer())
    let address = try PostgresAddress("postgresql://anna:s3cret@127.0.0.1:\(server.port)/baton")
    let start = ContinuousClock.now
    let error = try postgresError(.unreachable) {
      _ = try PostgresConnection.connect(to: address, deadline: .now + .milliseconds(100))
    }
    #expect(ContinuousClock.now - start >= .milliseconds(100))
    #expect(error.message.contains("did not answer in time"))
    #expect(!error.message.contains("s3cret"))
  }

  @Test func `each of several servers is tried, and named`() throws {
    let server = try #require(SilentServer())
    let address = try PostgresAddress("postgresql://anna@127.0.0.1:\(server.port),localhost:1/baton")
    let error = try postgresError(.unreachable) {
      _ = try PostgresConnection.connect(to: address, deadline: .now + .milliseconds(200))
    }
    #expect(error.message.contains("did not answer in time; "))
    #expect(error.message.contains("refused"))
  }
}

@Suite(.enabled(if: TestServer.isThere, TestServer.hint), .timeLimit(.minutes(10)))
struct ConnectionTests {
  @Test func `a connection knows its server`() throws {
    let connection = try TestServer.connect()
    #expect(!connection.isBroken)
    #expect(connection.transactionStatus == .idle)
    #expect(connection.serverVersion >= 140_000)
    #expect(connection.parameterStatus("client_encoding") == "UTF8")
    #expect(connection.parameterStatus("no_such_setting") == nil)
    #expect(try connection.integer("SELECT pg_backend_pid()") == Int64(connection.backendPID))
    #expect(try connection.rows("SHOW application_name").text(0, 0) == "baton")
    #expect(connection.serverName.hasSuffix(":5432"))
    #expect(!connection.isEncrypted)
    connection.close()
    connection.close()
    #expect(connection.serverName.isEmpty)
    #expect(connection.isBroken)
    #expect(connection.transactionStatus == .unknown)
    #expect(connection.backendPID == 0)
    #expect(connection.serverVersion == 0)
    let error = try postgresError(.brokenConnection) { _ = try connection.rows("SELECT 1") }
    #expect(!error.isOutcomeUnknown)
  }

  @Test func `the address overrides the parameters, except the encoding`() throws {
    let connection = try TestServer.connect(
      "&application_name=mine&client_encoding=LATIN1",
      parameters: ["application_name": "theirs", "options": "-c lock_timeout=1234"])
    #expect(try connection.rows("SHOW application_name").text(0, 0) == "mine")
    #expect(try connection.rows("SHOW lock_timeout").text(0, 0) == "1234ms")
    #expect(try connection.rows("SHOW client_encoding").text(0, 0) == "UTF8")
  }

  @Test func `a server that is away does not keep the next one from being tried`() throws {
    let server = try #require(SilentServer())
    let uri = try #require(TestServer.uri)
    let query = try #require(uri.split(separator: "host=").last)
    let host = query.prefix { $0 != "&" }
    // The silent server gets a twentieth of the time, and the servers that refuse at once need none.
    let hosts = ["127.0.0.1"] + Array(repeating: "/nonexistent", count: 18) + [String(host)]
    let ports = ["\(server.port)"] + Array(repeating: "5432", count: 19)
    let address = try PostgresAddress(
      "host=\(hosts.joined(separator: ",")) port=\(ports.joined(separator: ",")) user=postgres dbname=postgres")
    let connection = try PostgresConnection.connect(to: address, deadline: .now + .seconds(10))
    #expect(try connection.integer("SELECT 1") == 1)
  }

  // MARK: Logins

  @Test func `a wrong password is a refused login, and is not repeated`() throws {
    try TestServer.connect().script(
      """
      DO $$ BEGIN
        PERFORM pg_advisory_xact_lock(1);
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'baton_password') THEN
          CREATE ROLE baton_password LOGIN PASSWORD 'r1ght-word';
        END IF;
      END $$
      """, deadline: soon)
    let right = try TestServer.connect("&user=baton_password&password=r1ght-word")
    #expect(try right.rows("SELECT current_user").text(0, 0) == "baton_password")
    let wrong = try postgresError(.loginRefused) {
      _ = try TestServer.connect("&user=baton_password&password=wr0ng-word")
    }
    #expect(wrong.sqlState == "28P01")
    #expect(!wrong.message.contains("wr0ng"))
    #expect(wrong.message.contains("baton_password"))
    let none = try postgresError(.loginRefused) { _ = try TestServer.connect("&user=baton_password") }
    #expect(none.message.contains("no password supplied"))
  }

  @Test func `a database or a role that does not exist is a refused login`() throws {
    #expect(try postgresError(.loginRefused) { _ = try TestServer.connect("&dbname=missing") }.sqlState == "3D000")
    #expect(try postgresError(.loginRefused) { _ = try TestServer.connect("&user=missing") }.sqlState == "28000")
  }

  // MARK: Deadlines

  @Test func `a deadline that passes closes the connection`() throws {
    let connection = try TestServer.connect()
    let start = ContinuousClock.now
    let error = try postgresError(.deadline) {
      _ = try connection.run(PostgresStatement("SELECT pg_sleep(600)"), deadline: start + .milliseconds(100))
    }
    #expect(ContinuousClock.now - start >= .milliseconds(100))
    #expect(error.isOutcomeUnknown)
    #expect(connection.isBroken)
    #expect(connection.transactionStatus == .unknown)
    _ = try postgresError(.brokenConnection) { _ = try connection.rows("SELECT 1") }
  }

  @Test func `a deadline counts while the server takes nothing more`() throws {
    let connection = try TestServer.connect()
    let blob = [UInt8](repeating: 1, count: 1 << 20)
    let error = try postgresError(.deadline) {
      _ = try connection.run(
        [PostgresStatement("SELECT pg_sleep(600)")]
          + (0..<64).map { _ in PostgresStatement("SELECT length($1)", [.blob(blob)]) },
        deadline: .now + .milliseconds(300))
    }
    #expect(error.isOutcomeUnknown)
    #expect(connection.isBroken)
  }

  @Test func `a deadline of a script closes the connection`() throws {
    let connection = try TestServer.connect()
    let error = try postgresError(.deadline) {
      try connection.script("SELECT 1; SELECT pg_sleep(600)", deadline: .now + .milliseconds(100))
    }
    #expect(error.isOutcomeUnknown)
    #expect(connection.isBroken)
  }

  @Test func `a deadline that passed before the call leaves the connection alone`() throws {
    let connection = try TestServer.connect()
    let error = try postgresError(.deadline) {
      _ = try connection.run(PostgresStatement("SELECT 1"), deadline: .now - .seconds(1))
    }
    #expect(!error.isOutcomeUnknown)
    #expect(!connection.isBroken)
    #expect(try connection.integer("SELECT 1") == 1)
  }

  // MARK: Connections that the server ends

  @Test func `a connection that the server has ended says so in the next call`() throws {
    let connection = try TestServer.connect()
    let other = try TestServer.connect()
    // It waits until the process is gone, for up to a minute.
    #expect(try other.integer("SELECT pg_terminate_backend(\(connection.backendPID), 60000)") == 1)
    let error = try postgresError(.brokenConnection) { _ = try connection.rows("SELECT 1") }
    #expect(error.sqlState == "57P01")
    #expect(connection.isBroken)
  }

  @Test func `a connection that the server ends during a call says so`() throws {
    let connection = try TestServer.connect()
    let error = try postgresError(.brokenConnection) {
      _ = try connection.run(
        [
          PostgresStatement("SELECT 1"),
          PostgresStatement("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(600)"),
        ],
        deadline: soon)
    }
    #expect(error.sqlState == "57P01")
    #expect(error.statementIndex == 1)
    #expect(error.isOutcomeUnknown)
    #expect(connection.isBroken)
  }

  /// The client writes to a socket that the server has closed, and the reason is behind answers that it has not read.
  @Test(arguments: [(5_000, 10_000), (1, 16_000_000)])
  func `a connection that the server ends while the client sends says so`(count: Int, size: Int) throws {
    let connection = try TestServer.connect()
    let blob = PostgresStatement("SELECT length($1)", [.blob([UInt8](repeating: 1, count: size))])
    let error = try postgresError(.brokenConnection) {
      _ = try connection.run(
        Array(repeating: PostgresStatement("SELECT 1"), count: 100)
          + [PostgresStatement("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(600)")]
          + Array(repeating: blob, count: count), deadline: soon)
    }
    #expect(error.sqlState == "57P01")
    #expect(error.isOutcomeUnknown)
    #expect(connection.isBroken)
  }

  @Test func `a connection that the server ends during a script says so`() throws {
    let connection = try TestServer.connect()
    let error = try postgresError(.brokenConnection) {
      try connection.script("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(600)", deadline: soon)
    }
    #expect(error.sqlState == "57P01")
    #expect(connection.isBroken)
  }

  // MARK: Notices

  @Test func `notices belong to the statement that caused them, and to one call`() throws {
    let connection = try TestServer.connect()
    let raise = { (level: String, word: String) in
      PostgresStatement("DO $$ BEGIN RAISE \(level) '\(word)' USING ERRCODE = '01000'; END $$")
    }
    _ = try connection.run(
      [PostgresStatement("SELECT 1"), raise("WARNING", "one"), PostgresStatement("SELECT 2"), raise("NOTICE", "two")],
      deadline: soon)
    #expect(
      connection.notices == [
        PostgresNotice(severity: "WARNING", sqlState: "01000", message: "one", statementIndex: 1),
        PostgresNotice(severity: "NOTICE", sqlState: "01000", message: "two", statementIndex: 3),
      ])
    #expect(connection.notices.map(\.isWarning) == [true, false])
    _ = try connection.rows("SELECT 1")
    #expect(connection.notices.isEmpty)
    _ = try connection.rows("COMMIT")
    #expect(connection.notices.map(\.sqlState) == ["25P01"])
    try connection.script("DO $$ BEGIN RAISE NOTICE 'three'; END $$", deadline: soon)
    #expect(connection.notices.map(\.message) == ["three"])
  }

  @Test func `a flood of notices keeps the newest`() throws {
    let connection = try TestServer.connect()
    try connection.script(
      "DO $$ BEGIN FOR i IN 1..3000 LOOP RAISE NOTICE '%', i; END LOOP; END $$", deadline: soon)
    #expect(connection.notices.map(\.message) == (2_001...3_000).map { "\($0)" })
  }

  // MARK: Scripts and notifications

  @Test func `a script is one transaction, and leaves the pipeline usable`() throws {
    let connection = try TestServer.connect()
    #expect(try connection.integer("SELECT 1") == 1)
    try connection.script("CREATE TEMPORARY TABLE t (a bigint); INSERT INTO t VALUES (1), (2)", deadline: soon)
    #expect(try connection.integer("SELECT count(*) FROM t") == 2)
    let error = try postgresError(.server) {
      try connection.script("INSERT INTO t VALUES (3); SELECT 1 / 0; INSERT INTO t VALUES (4)", deadline: soon)
    }
    #expect(error.sqlState == "22012")
    #expect(error.statementIndex == nil)
    #expect(try connection.integer("SELECT count(*) FROM t") == 2)
    try connection.script("", deadline: soon)
  }

  @Test func `a notification arrives, and a wait without one ends with its deadline`() throws {
    let listener = try TestServer.connect()
    let sender = try TestServer.connect()
    try listener.script("LISTEN baton_test_\(listener.backendPID)", deadline: soon)
    #expect(try listener.notifications(deadline: .now + .milliseconds(1)).isEmpty)
    _ = try sender.run(
      ["one", "two"].map { PostgresStatement("NOTIFY baton_test_\(listener.backendPID), '\($0)'") }, deadline: soon)
    var arrived: [PostgresNotification] = []
    while arrived.count < 2 { arrived += try listener.notifications(deadline: soon) }
    #expect(arrived.map(\.payload) == ["one", "two"])
    #expect(arrived.map(\.channel) == Array(repeating: "baton_test_\(listener.backendPID)", count: 2))
    #expect(arrived.map(\.senderPID) == [sender.backendPID, sender.backendPID])
    #expect(try listener.integer("SELECT 1") == 1)
    _ = try sender.integer("SELECT pg_terminate_backend(\(listener.backendPID), 60000)")
    let error = try postgresError(.brokenConnection) { _ = try listener.notifications(deadline: soon) }
    #expect(error.sqlState == "57P01")
    #expect(!error.isOutcomeUnknown)
  }
}
