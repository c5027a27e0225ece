import BatonBase
import BatonModel
import BatonWire
import HostFixtures
import Testing

@testable import BatonWorker

/// How a worker goes from one address to the next. `EmbeddedTests` has the same with a coordinator that answers.
@Suite("Several addresses", .timeLimit(.minutes(10)))
struct GRPCConnectorTests {
  private static func connector(_ addresses: String, seed: UInt64 = 1) throws -> GRPCConnector {
    var generator = SplitMix64(seed: seed)
    return try GRPCConnector(
      WorkerConfiguration(coordinator: addresses, name: "desk", dataFolder: "/nowhere", slots: 1), using: &generator)
  }

  @Test(
    "A wrong address is an error that names it",
    arguments: [
      ("nowhere", "the coordinator's address is wrong: 'nowhere' is not HOST:PORT"),
      ("127.0.0.1:1,nowhere", "the coordinator's address is wrong: 'nowhere' is not HOST:PORT"),
      ("10.0.0.1:7420", "10.0.0.1:7420 is not on this machine"),
      ("127.0.0.1:1,10.0.0.1:7420", "10.0.0.1:7420 is not on this machine"),
    ])
  func wrong(addresses: String, says: String) throws {
    let error = try #require(throws: WorkerError.self) { _ = try Self.connector(addresses) }
    #expect(error.message.hasPrefix(says))
  }

  @Test("Addresses that refuse connections are tried one after the other, and each error names its address")
  func refused() async throws {
    let closed = (0..<3).map { _ in ClosedPort() }
    let connector = try Self.connector(closed.map(\.address).joined(separator: ","))
    var tried: [String] = []
    for _ in 1...6 {
      let address = connector.address
      tried.append(address)
      let error = await #expect(throws: ConnectionError.self) {
        try await connector.withConnection { _ in Issue.record("nothing listens there") }
      }
      #expect(error?.message.hasPrefix("no coordinator of this user listens at \(address): ") == true)
    }
    #expect(Set(tried.prefix(3)) == Set(closed.map(\.address)))
    #expect(tried.suffix(3) == tried.prefix(3))
  }
}
