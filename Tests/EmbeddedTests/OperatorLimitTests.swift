import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import ContractRows
import Foundation
import GRPCCore
import SwiftProtobuf
import Testing

@testable import BatonCoordinator

/// Calls of operators and of hosts that join, which exceed a limit of the table (`WireLimits`) by one.
@Suite("Limits of calls", .timeLimit(.minutes(10)))
struct OperatorLimitTests {
  private struct Client: Sendable {
    let operators: Baton_V1_Operators.Client<CoordinatorClient.Transport>
    let enrolment: Baton_V1_Enrolment.Client<CoordinatorClient.Transport>
    let metadata: Metadata
  }

  /// A call with so many of what a limit bounds.
  private typealias Call = @Sendable (Client, _ count: Int) async throws -> Void

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  private static func submit(_ client: Client, _ request: Baton_V1_SubmitRequest) async throws {
    _ = try await client.operators.submit(
      request, metadata: client.metadata, options: CoordinatorClient.callOptions)
  }

  private static func item(_ id: String, payload: Int = 0) -> Baton_V1_SubmitRequest.Item {
    .with { ($0.id, $0.identifier, $0.payload) = (id, "com.a", Data(count: payload)) }
  }

  private static let calls: [(limit: WireLimit, call: Call)] = [
    (
      WireLimits.principal,
      { client, count in
        try await submit(
          client,
          .with {
            $0.items = [item("one")]
            $0.principal = text(count)
          })
      }
    ),
    (WireLimits.submissionID, { try await submit($0, .with { [count = $1] in $0.items = [item(text(count))] }) }),
    (WireLimits.payload, { try await submit($0, .with { [count = $1] in $0.items = [item("one", payload: count)] }) }),
    (
      WireLimits.submissions,
      { try await submit($0, .with { [count = $1] in $0.items = (0..<count).map { item("\($0)") } }) }
    ),
    (
      WireLimits.definitions,
      { client, count in
        _ = try await client.operators.apply(
          .with { $0.definitions = Array(repeating: Data("{}".utf8), count: count) }, metadata: client.metadata,
          options: CoordinatorClient.callOptions)
      }
    ),
    (
      WireLimits.states,
      { client, count in
        _ = try await client.operators.list(
          .with { $0.states = Array(repeating: "running", count: count) }, metadata: client.metadata,
          options: CoordinatorClient.callOptions)
      }
    ),
    (
      WireLimits.hostArgument,
      { client, count in
        _ = try await client.operators.drain(
          .with { $0.host = text(count) }, metadata: client.metadata, options: CoordinatorClient.callOptions)
      }
    ),
    (
      WireLimits.hostNumber,
      { client, count in
        _ = try await client.operators.approveHost(
          .with { ($0.host, $0.number) = ("desk", text(count)) }, metadata: client.metadata,
          options: CoordinatorClient.callOptions)
      }
    ),
    (
      WireLimits.certificate,
      { client, count in
        _ = try await client.enrolment.rejoin(
          .with { $0.certificate = Data(count: count) }, options: CoordinatorClient.callOptions)
      }
    ),
  ]

  /// The error of a call; `nil` if it succeeds.
  private static func error(_ client: Client, _ call: Call, _ count: Int) async throws -> RPCError? {
    do {
      try await call(client, count)
      return nil
    } catch let error as RPCError {
      return error
    }
  }

  @Test(
    "A call that exceeds a limit by one is refused with the limit's name, and one at the limit is not", .refuses(25))
  func limits() async throws {
    let bounded = WireLimits.all.filter { $0.consequence == WireLimits.principal.consequence }
    #expect(Set(Self.calls.map(\.limit)) == Set(bounded))
    var rates = CallRates()
    (rates.changes, rates.submissions) = (10_000, 10_000)
    try await ServedFleet.serving(rates: rates) { place in
      try await place.job("com.a")
      let token = try await place.credential("ana", [.admin])
      let login = try FleetLogin(address: "\(place.operators)", root: place.authority.root, token: token)
      try await CoordinatorClient.withSecureClient(place.operators, .login(login)) { transport, _ in
        let client = Client(
          operators: Baton_V1_Operators.Client(wrapping: transport),
          enrolment: Baton_V1_Enrolment.Client(wrapping: transport),
          metadata: ["authorization": "Bearer \(token)"])
        for (limit, call) in Self.calls {
          let (at, over) = (
            try await Self.error(client, call, limit.most), try await Self.error(client, call, limit.most + 1)
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
