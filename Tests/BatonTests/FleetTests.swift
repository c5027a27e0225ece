import BatonIdentity
import BatonModel
import Testing

@testable import BatonCommands
@testable import BatonCoordinator

/// `baton fleet`, while the root is being replaced.
@Suite struct FleetTests {
  @Test(arguments: [
    ("fleet", 1, 0, false, [String]()), ("fleet-rotated", 1, 0, true, []),
    ("fleet-awaiting", 2, 3, false, ["base", "desk\u{1B}[31m"]), ("fleet-renewed", 2, 0, true, []),
  ])
  func `it says how far the replacement is, and names the hosts that it waits for`(
    golden: String, roots: Int, old: Int, awaitsRestart: Bool, hosts: [String]
  ) async throws {
    let world = World {
      $0.fleet = { fleet in
        fleet.roots = .init(repeating: [1], count: roots)
        (fleet.hostsOfOldRoot, fleet.awaitsRestart) = (old, awaitsRestart)
        fleet.awaitedHosts = hosts.map { HostName($0) }
      }
    }
    try Golden.expect(await world.baton("fleet").transcript, is: golden)
    try Golden.expect(await world.baton("fleet", "-o", "json").transcript, is: golden + "-json")
  }

  @Test func `what a coordinator says about its fleet comes over the wire whole`() throws {
    var fleet = FleetDescription(
      fleet: "0011223344556677", pin: try .init(parsing: "sha256:" + String(repeating: "ab", count: 32)), workers: nil,
      operators: nil)
    (fleet.hostsOfOldRoot, fleet.awaitsRestart, fleet.awaitedHosts) = (120, true, [HostName("base")])
    #expect(try FleetDescription(fleet.proto) == fleet)
    fleet.awaitedHosts = (0..<120).map { HostName("h\($0)") }
    #expect(try FleetDescription(fleet.proto).awaitedHosts.count == FleetDescription.mostAwaitedHosts)
  }
}
