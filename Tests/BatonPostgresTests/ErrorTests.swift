import Testing

@testable import BatonPostgres

@Suite struct ErrorTests {
  @Test func `the SQLSTATE says what a caller can do`() {
    func error(_ sqlState: String?) -> PostgresError { PostgresError(.server, "x", sqlState: sqlState) }
    #expect(error("40001").isSerialization)
    #expect(error("40P01").isSerialization)
    #expect(!error("40002").isSerialization)
    #expect(error("23505").isUniqueViolation)
    #expect(error("55P03").isLockTimeout)
    #expect(error("0A000").isStalePlan)
    #expect(error("57P01").sqlStateClass == "57")
    #expect(error(nil).sqlStateClass == nil)
    #expect(!PostgresError(.brokenConnection, "x", sqlState: "40001").isSerialization)
  }

  @Test func `a message is one line, and changes nothing else on a terminal`() {
    #expect(PostgresError(.server, "one\n\ttwo\u{202E}three\u{1B}[2J \n").message == "one two three [2J")
    #expect(PostgresError(.server, "\nGrüße, 世界\r\n").message == "Grüße, 世界")
  }

  @Test func `the message of a refused login is read`() {
    let text = """
      connection to server at "db", port 5432 failed: FATAL:  28P01: password authentication failed for user "anna"
      LOCATION:  auth_failed, auth.c:329
      connection to server at "db", port 5432 failed: FATAL:  28000: no pg_hba.conf entry
      """
    let error = PostgresError.atLogin(text, needsPassword: false)
    #expect(error.kind == .loginRefused)
    #expect(error.sqlState == "28P01")
    #expect(!error.message.contains("auth.c"))
    #expect(error.message.contains("pg_hba.conf"))
  }

  @Test(arguments: [
    ("28000", PostgresError.Kind.loginRefused), ("3D000", .loginRefused), ("42501", .loginRefused),
    ("53300", .unreachable), ("57P03", .unreachable), ("57P01", .unreachable),
  ])
  func `a refusal that a person has to end differs from one that ends by itself`(
    sqlState: String, kind: PostgresError.Kind
  ) {
    let error = PostgresError.atLogin("failed: FATAL:  \(sqlState): sorry", needsPassword: false)
    #expect(error.kind == kind)
    #expect(error.sqlState == sqlState)
  }
}
