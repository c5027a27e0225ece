import BatonTestKit
import Testing

@Suite("The loader")
struct LoaderTests {
  static let tables = ["https://example.com/orders.csv", "https://example.com/customers.csv"]

  /// The servers of the tables: one connection breaks at three places, and one table is not there.
  static func server() -> TestServer {
    let server = TestServer()
    server.deliver("https://example.com/orders.csv", "1,20\n2,30\n", interruptedAt: [0, 7, 9])
    server.refuse("https://example.com/customers.csv", status: 404)
    server.deliver("https://example.com/details.csv", "1,red\n")
    return server
  }

  @Test("loads what has arrived, notes what has not, and fetches the details")
  func loads() async throws {
    let database = FakeTables()
    let request = TestRequest("com.example.load", transfers: Self.tables, server: Self.server())
    try await request.complete(loader(database))
    #expect(request.launches.count == 2)
    #expect(
      database.tables == [
        "https://example.com/orders.csv": "1,20\n2,30\n", "https://example.com/customers.csv": "refusedByServer",
        "https://example.com/details.csv": "1,red\n",
      ])
  }

  @Test("comes out the same, wherever it is interrupted")
  func survives() async throws {
    let template = TestRequest("com.example.load", transfers: Self.tables, server: Self.server())
    try await template.checkEveryInterruption { request in
      let database = FakeTables()
      try await request.complete(loader(database))
      return database.tables
    }
  }
}
