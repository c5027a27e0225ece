import Foundation
import Testing

/// A worker that knows the addresses of two coordinators, as processes. Coordinators cannot share a store yet, so each
/// of the two has a store of its own.
extension EndToEnd {
  @Suite("A worker goes from a coordinator that does not answer to another one", .timeLimit(.minutes(10)))
  struct SeveralAddressesTests {
    @Test("A coordinator that is stopped is given up, although it does not close the connection")
    func stopped() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(lease: "15s")
      let first = try #require(fleet.coordinator)
      let other = "127.0.0.1:\(ProcessFleet.freePort())"
      // Nothing listens on the other address yet, so the worker is certainly connected to the first coordinator.
      let worker = try Child(
        .worker,
        [
          "--coordinator", "\(other),\(fleet.address)", "--name", "a", "--data", fleet.folder + "/a", "--slots", "1",
        ], environment: fleet.environment, isDaemon: true)
      defer { worker.stop() }
      while try await !fleet.baton("hosts", "-o", "jsonl").output.contains(#""state":"ready""#) {}
      let second = try Child(
        .baton, ["coordinator", "--data", fleet.folder + "/second", "--listen", other, "--http", "off"],
        environment: fleet.environment, isDaemon: true)
      defer { second.stop() }
      #expect(await second.errorLine(containing: "listens on").isEmpty == false)
      first.signal(SIGSTOP)
      defer { first.signal(SIGCONT) }
      #expect(await worker.errorLine(containing: "address=\(other) [BatonWorker] connected").isEmpty == false)
    }
  }
}
