import BatonBase
import BatonIdentity
import BatonModel
import BatonWire
import ContractRows
import GRPCCore
import HostFixtures
import Testing

@testable import BatonCoordinator

/// Calls of operators and of hosts that join, which exceed a limit of the table (`WireLimits`) by one.
@Suite("Limits of calls", .timeLimit(.minutes(10)))
struct OperatorLimitTests {
  @Test(
    "A call that exceeds a limit by one is refused with the limit's name, and one at the limit is not", .refuses(25))
  func limits() async throws {
    let bounded = WireLimits.all.filter { $0.consequence == WireLimits.principal.consequence }
    #expect(Set(CallLimits.calls.map(\.limit)) == Set(bounded))
    var rates = CallRates()
    (rates.changes, rates.submissions) = (10_000, 10_000)
    try await ServedFleet.serving(rates: rates) { place in
      try await place.job("com.a")
      let token = try await place.credential("ana", [.admin])
      let login = try FleetLogin(address: "\(place.operators)", root: place.authority.root, token: token)
      try await CoordinatorClient.withSecureClient(place.operators, .login(login)) { transport, _ in
        let client = CallLimits.Client(transport, token)
        for (limit, call) in CallLimits.calls {
          let (at, over) = (
            try await CallLimits.error(client, call, limit.most),
            try await CallLimits.error(client, call, limit.most + 1)
          )
          #expect(over?.code == .invalidArgument, "\(limit.name): \(over as Any)")
          #expect(over?.message.contains("\(limit.most)") == true, "\(limit.name): \(over as Any)")
          #expect(at?.message.contains("\(limit.most)") != true, "\(limit.name): \(at as Any)")
        }
        let hosts = try await place.coordinator.hostReports()
        #expect(hosts.isEmpty)
      }
    }
  }
}
