import BatonBase
import BatonCoordinator
import BatonIdentity
import BatonModel
import BatonWire
import BatonWorker
import Foundation
import HostFixtures
import Testing

/// A worker that knows two addresses: nothing listens on one of them, and a coordinator of this process listens on the
/// other.
@Suite("Several addresses, of which one answers", .timeLimit(.minutes(10)))
struct AddressTests {
  /// What a test needs to connect.
  private struct Place {
    let coordinator: Coordinator
    let closed = ClosedPort()
    let open: String
    /// The worker's data folder, with its identity.
    let folder: String

    var configuration: WorkerConfiguration {
      WorkerConfiguration(coordinator: "\(closed.address),\(open)", name: "a", dataFolder: folder, slots: 1)
    }

    /// A connector that tries the closed address first.
    func connector() throws -> GRPCConnector {
      var generator = SplitMix64(seed: 1)
      while true {
        let connector = try GRPCConnector(configuration, using: &generator)
        if connector.address == closed.address { return connector }
      }
    }
  }

  private func serving(_ body: @escaping @Sendable (Place) async throws -> Void) async throws {
    try await ServedFleet.serving { fleet in
      let folder = fleet.folder + "/worker"
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try await fleet.joined("a").write(dataFolder: folder)
      try await body(Place(coordinator: fleet.coordinator, open: "\(fleet.workers)", folder: folder))
    }
  }

  /// Says hello on a connection, and returns after the welcome.
  private static func join(_ connection: Connection, secret: [UInt8]? = nil) async {
    var hello = Hello(
      host: HostName("a"), incarnation: Incarnation("a-1"), version: "1", capabilities: Capabilities(slots: 1),
      conditions: .assumed)
    hello.secret = secret
    connection.up.send(.hello(hello))
    while let messages = await connection.down.receive() {
      if messages.contains(where: \.isWelcome) { return }
    }
    Issue.record("the connection ended before the welcome")
  }

  @Test(
    "The worker goes from the address that refuses to the one that welcomes it, and stays there until it gives it up")
  func stays() async throws {
    try await serving { place in
      let connector = try place.connector()
      await #expect(throws: ConnectionError.self) { try await connector.withConnection { _ in } }
      for _ in 1...2 {
        #expect(connector.address == place.open)
        try await connector.withConnection { connection in
          await Self.join(connection)
          connection.close()
        }
      }
      #expect(connector.address == place.open)
      try await connector.withConnection { connection in
        await Self.join(connection)
        connection.giveUp()
      }
      #expect(connector.address == place.closed.address)
    }
  }

  @Test("The report of a worker's death reaches the coordinator that answers")
  func death() async throws {
    try await serving { place in
      let (secret, _) = try SecretFile.own(place.folder + "/secret")
      let connector = try place.connector()
      await #expect(throws: ConnectionError.self) { try await connector.withConnection { _ in } }
      try await connector.withConnection { connection in
        await Self.join(connection, secret: secret)
        let before = try await place.coordinator.hostReports().map(\.state)
        await DeathReport(
          configuration: place.configuration, incarnation: Incarnation("a-1"), isBlameless: false
        ).send()
        let after = try await place.coordinator.hostReports().map(\.state)
        #expect(before == [.ready] && after == [.gone])
        connection.close()
      }
    }
  }
}
