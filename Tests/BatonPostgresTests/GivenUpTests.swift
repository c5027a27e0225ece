import Testing

@testable import BatonPostgres

/// A call that waits for the server is given up.
@Suite(.enabled(if: TestServer.isThere, TestServer.hint)) struct GivenUpTests {
  @Test func aCallThatIsGivenUpEndsLongBeforeItsDeadline() throws {
    let connection = try TestServer.connect()
    connection.isGivenUp = { true }
    let start = ContinuousClock.now
    let error = #expect(throws: PostgresError.self) {
      _ = try connection.run(PostgresStatement("SELECT pg_sleep(600)"), deadline: start + .seconds(600))
    }
    #expect(error?.kind == .ended && error?.isOutcomeUnknown == true)
    #expect(connection.isBroken && ContinuousClock.now - start < .seconds(60))
  }

  @Test func aCallThatIsNotGivenUpIsAnsweredAfterSeveralLooks() throws {
    let connection = try TestServer.connect()
    connection.isGivenUp = { false }
    _ = try connection.run(PostgresStatement("SELECT pg_sleep(0.6)"), deadline: .now + .seconds(60))
    #expect(!connection.isBroken)
  }
}
