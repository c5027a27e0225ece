import ContractRows
import Foundation
import Testing

/// Two coordinators on one store, as processes (promise P11).
extension EndToEnd {
  @Suite("Two coordinators never both act on one store", .onSQLiteOnly, .timeLimit(.minutes(10)))
  struct SecondCoordinatorTests {
    private func second(_ fleet: ProcessFleet, on folder: String, isDaemon: Bool = false) throws -> Child {
      try Child(
        .baton,
        ["coordinator", "--data", folder, "--listen", "127.0.0.1:0", "--http", "off", "--lease", "1s"],
        environment: fleet.environment, currentDirectory: fleet.folder, isDaemon: isDaemon)
    }

    @Test("A second coordinator is refused on every path to the store")
    func refused() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      let files = FileManager.default
      let data = fleet.folder + "/coordinator"
      try files.createSymbolicLink(atPath: fleet.folder + "/link", withDestinationPath: data)
      for name in ["soft", "hard"] {
        try files.createDirectory(atPath: "\(fleet.folder)/\(name)", withIntermediateDirectories: true)
      }
      try files.createSymbolicLink(
        atPath: fleet.folder + "/soft/baton.sqlite", withDestinationPath: data + "/baton.sqlite")
      try files.linkItem(atPath: data + "/baton.sqlite", toPath: fleet.folder + "/hard/baton.sqlite")
      for way in [data, "coordinator", "link", "soft"] {
        let (status, _, errors) = try await second(fleet, on: way).finished()
        #expect(status == 75, "\(way): \(errors)")
        #expect(errors.contains("in use by process \(try #require(fleet.coordinator).pid)"), "\(way): \(errors)")
      }
      let (status, _, errors) = try await second(fleet, on: "hard").finished()
      #expect(status == 78 && errors.contains("hard links"), "\(status) \(errors)")
      #expect(try await fleet.baton("list").status == 0, "the first goes on")
    }

    @Test("Without its lock file the first one commits nothing more, says why and ends")
    func superseded() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      let first = try #require(fleet.coordinator)
      try FileManager.default.removeItem(atPath: fleet.folder + "/coordinator/baton.lock")
      let other = try second(fleet, on: fleet.folder + "/coordinator", isDaemon: true)
      defer { other.stop() }
      #expect(await other.errorLine(containing: "listens on").isEmpty == false)
      #expect(await first.finished().status == 78)
      #expect(other.process.isRunning)
    }
  }
}
