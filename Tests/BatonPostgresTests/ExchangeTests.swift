import Testing

@testable import BatonPostgres

@Suite struct ExchangeTests {
  private func exchange(_ requests: Exchange<Int>.Request...) -> Exchange<Int> {
    var exchange = Exchange<Int>()
    for request in requests { exchange.expect(request) }
    return exchange
  }

  @Test func `answers belong to statements in their order`() {
    var exchange = exchange(
      .preparation(0, name: "a"), .execution(0, name: "a"), .execution(1, name: "a"), .synchronization)
    #expect(exchange.statementIndex == 0)
    exchange.succeed(-1)
    #expect(exchange.finish() == true)
    exchange.succeed(10)
    #expect(exchange.finish() == true)
    #expect(exchange.statementIndex == 1)
    exchange.succeed(11)
    #expect(exchange.finish() == true)
    #expect(!exchange.isComplete)
    exchange.synchronize()
    #expect(exchange.isComplete)
    #expect(exchange.answers == [10, 11])
    #expect(exchange.failure == nil)
  }

  @Test func `the first error counts, and what is skipped after it does not`() {
    var exchange = exchange(.execution(0, name: "a"), .execution(1, name: "a"), .synchronization)
    exchange.fail(PostgresError(.server, "first"))
    #expect(exchange.finish() == true)
    exchange.fail(nil)
    #expect(exchange.finish() == true)
    exchange.synchronize()
    #expect(exchange.isComplete)
    #expect(exchange.failure?.message == "first")
  }

  @Test func `a removal that fails has no effect`() {
    var exchange = exchange(.removal, .synchronization, .execution(0, name: "a"), .synchronization)
    exchange.fail(PostgresError(.server, "unknown"))
    #expect(exchange.finish() == true)
    exchange.synchronize()
    exchange.succeed(1)
    #expect(exchange.finish() == true)
    exchange.synchronize()
    #expect(exchange.isComplete)
    #expect(exchange.failure == nil)
    #expect(exchange.answers == [1])
  }

  @Test func `the end of an answer that has not arrived is no end`() {
    var exchange = exchange(.execution(0, name: "a"))
    #expect(exchange.finish() == false)
    #expect(exchange.statementIndex == 0)
  }
}
