import Testing

@testable import BatonPostgres

@Suite(.enabled(if: TestServer.isThere, TestServer.hint), .timeLimit(.minutes(10)))
struct PipelineTests {
  @Test func `the rows of each statement come in the order of the statements`() throws {
    let connection = try TestServer.connect()
    let rows = try connection.run(
      (0..<100).map { PostgresStatement("SELECT $1 + \($0 % 3)", [.integer($0)]) }, deadline: soon)
    #expect(try rows.map { try $0.integer(0, 0) } == (0..<100).map { $0 + $0 % 3 })
    #expect(try connection.run([PostgresStatement](), deadline: soon).isEmpty)
  }

  @Test func `an error in the middle names its statement, and undoes the call`() throws {
    let connection = try TestServer.connect()
    try connection.script("CREATE TEMPORARY TABLE t (a bigint CONSTRAINT positive CHECK (a > 0))", deadline: soon)
    let insert = "INSERT INTO t VALUES ($1)"
    let error = try postgresError(.server) {
      _ = try connection.run(
        [1, 2, -3, 4].map { PostgresStatement(insert, [.integer($0)]) } + [PostgresStatement("SELECT 1")],
        deadline: soon)
    }
    #expect(error.statementIndex == 2)
    #expect(error.sqlState == "23514")
    #expect(error.constraint == "positive")
    #expect(!error.isOutcomeUnknown)
    #expect(error.message.contains("positive"))
    #expect(!connection.isBroken)
    #expect(connection.transactionStatus == .idle)
    #expect(try connection.integer("SELECT count(*) FROM t") == 0)
  }

  @Test func `an error in a transaction leaves it failed until ROLLBACK`() throws {
    let connection = try TestServer.connect()
    let error = try postgresError(.server) {
      _ = try connection.run(
        ["BEGIN", "SELECT 1 / 0", "COMMIT"].map { PostgresStatement($0) }, deadline: soon)
    }
    #expect(error.sqlState == "22012")
    #expect(error.statementIndex == 1)
    #expect(connection.transactionStatus == .failed)
    #expect(try postgresError(.server) { _ = try connection.rows("SELECT 1") }.sqlState == "25P02")
    _ = try connection.rows("ROLLBACK")
    #expect(connection.transactionStatus == .idle)
    _ = try connection.rows("BEGIN")
    #expect(connection.transactionStatus == .open)
    _ = try connection.rows("COMMIT")
    #expect(connection.transactionStatus == .idle)
  }

  @Test func `a statement that cannot be prepared is refused each time`() throws {
    let connection = try TestServer.connect()
    for _ in 0..<2 {
      let error = try postgresError(.server) {
        _ = try connection.run(
          [PostgresStatement("SELECT 1"), PostgresStatement("SELEC 2"), PostgresStatement("SELECT 3")],
          deadline: soon)
      }
      #expect(error.statementIndex == 1)
      #expect(error.sqlState == "42601")
      try connection.script("SELECT 1", deadline: soon)
    }
    #expect(connection.preparedCount == 1)
    #expect(try connection.integer("SELECT 3") == 3)
  }

  /// 50 MB in each direction: much more than the buffers of a socket hold, and each statement's answer is as large as
  /// its value. A client that only writes until everything is sent waits for ever for a server that does so too.
  @Test func `a large pipeline with large answers does not stop`() throws {
    let connection = try TestServer.connect()
    let text = String(repeating: "0123456789", count: 1_000)
    let rows = try connection.run(
      (0..<5_000).map { PostgresStatement("SELECT $1, $2", [.integer($0), .text(text)]) }, deadline: soon)
    #expect(rows.count == 5_000)
    #expect(try rows.enumerated().allSatisfy { try $1.integer(0, 0) == $0 && $1.text(0, 1) == text })
  }

  @Test func `a large pipeline stops at its first error`() throws {
    let connection = try TestServer.connect()
    let text = String(repeating: "0123456789", count: 1_000)
    let error = try postgresError(.server) {
      _ = try connection.run(
        (0..<2_000).map { PostgresStatement("SELECT 1 / ($1 - 500), $2", [.integer($0), .text(text)]) },
        deadline: soon)
    }
    #expect(error.statementIndex == 500)
    #expect(try connection.integer("SELECT 1") == 1)
  }

  // MARK: Prepared statements

  private let prepared = "SELECT count(*) FROM pg_prepared_statements"

  @Test func `each text is prepared once`() throws {
    let connection = try TestServer.connect()
    for value in 0..<10 { _ = try connection.rows("SELECT $1", .integer(Int64(value))) }
    _ = try connection.run(Array(repeating: PostgresStatement("SELECT 2"), count: 10), deadline: soon)
    #expect(try connection.integer(prepared) == 3)
    #expect(connection.preparedCount == 3)
  }

  @Test func `the number of prepared statements has a bound, here and on the server`() throws {
    let connection = try TestServer.connect(preparedStatements: 8)
    for value in 0..<100 { #expect(try connection.integer("SELECT \(value)") == Int64(value)) }
    #expect(connection.preparedCount <= 9)
    #expect(try connection.integer(prepared) <= 9)
    // One call may have more statements than stay prepared.
    let rows = try connection.run((0..<100).map { PostgresStatement("SELECT \($0) + 1") }, deadline: soon)
    #expect(try rows.map { try $0.integer(0, 0) } == (1...100).map { Int64($0) })
    #expect(try connection.integer(prepared) <= 9)
  }

  @Test func `nothing is removed within a transaction`() throws {
    let connection = try TestServer.connect(preparedStatements: 2)
    _ = try connection.rows("BEGIN")
    for value in 0..<20 { _ = try connection.rows("SELECT \(value)") }
    #expect(connection.preparedCount == 21)
    _ = try postgresError(.server) { _ = try connection.rows("SELECT 1 / 0") }
    _ = try connection.rows("ROLLBACK")
    _ = try connection.rows("SELECT 1")
    #expect(connection.preparedCount <= 3)
    #expect(try connection.integer(prepared) <= 3)
  }

  @Test func `statements that a script has removed are prepared again`() throws {
    let connection = try TestServer.connect()
    #expect(try connection.integer("SELECT 1") == 1)
    try connection.script("DEALLOCATE ALL", deadline: soon)
    #expect(try postgresError(.server) { _ = try connection.rows("SELECT 1") }.sqlState == "26000")
    #expect(try connection.integer("SELECT 1") == 1)
  }

  @Test func `a statement whose table has changed is prepared again`() throws {
    let connection = try TestServer.connect()
    try connection.script("CREATE TEMPORARY TABLE t (a bigint); INSERT INTO t VALUES (1)", deadline: soon)
    #expect(try connection.rows("SELECT * FROM t").columnCount == 1)
    try connection.script("ALTER TABLE t ADD b bigint", deadline: soon)
    #expect(try postgresError(.server) { _ = try connection.rows("SELECT * FROM t") }.isStalePlan)
    #expect(try connection.rows("SELECT * FROM t").columnCount == 2)
    #expect(try connection.integer(prepared) == Int64(connection.preparedCount))
  }

  // MARK: What cannot be sent

  @Test func `a statement that cannot be sent is refused before anything is sent`() throws {
    let connection = try TestServer.connect()
    let insert = PostgresStatement("CREATE TEMPORARY TABLE t (a bigint)")
    let many = PostgresStatement("SELECT 1", Array(repeating: .integer(1), count: 65_536))
    for wrong in [many, PostgresStatement("SELECT 1\0, 2")] {
      let error = try postgresError(.invalidStatement) { _ = try connection.run([insert, wrong], deadline: soon) }
      #expect(error.statementIndex == 1)
      #expect(!error.isOutcomeUnknown)
    }
    _ = try postgresError(.invalidStatement) { try connection.script("SELECT 1\0", deadline: soon) }
    #expect(
      try connection.rows(
        "SELECT 1 FROM pg_class WHERE relname = 't' AND relpersistence = 't' AND pg_table_is_visible(oid)"
      ).count == 0)
  }

  @Test func `the most values of a statement arrive`() throws {
    let list = (1...65_535).map { "$\($0)" }.joined(separator: ",")
    let values = (1...65_535).map { PostgresValue.integer($0) }
    let rows = try TestServer.connect().run(
      PostgresStatement("SELECT sum(x)::bigint FROM unnest(ARRAY[\(list)]) AS t(x)", values), deadline: soon)
    #expect(try rows.integer(0, 0) == 65_535 * 65_536 / 2)
  }

  @Test func `copying data is not possible, and closes the connection`() throws {
    let connection = try TestServer.connect()
    let error = try postgresError(.brokenConnection) {
      try connection.script("COPY (SELECT 1) TO STDOUT", deadline: soon)
    }
    #expect(error.message.contains("copy"))
    #expect(connection.isBroken)
    let second = try TestServer.connect()
    _ = try postgresError(.brokenConnection) { _ = try second.rows("COPY (SELECT 1) TO STDOUT") }
    #expect(second.isBroken)
  }
}
