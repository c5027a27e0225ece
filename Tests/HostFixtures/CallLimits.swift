package import BatonIdentity
import BatonModel
import BatonProtobuf
package import BatonWire
import Foundation
package import GRPCCore
import SwiftProtobuf

/// Calls that exceed a limit of the table (`WireLimits`) by one.
package enum CallLimits {
  package struct Client: Sendable {
    let operators: Baton_V1_Operators.Client<CoordinatorClient.Transport>
    let enrolment: Baton_V1_Enrolment.Client<CoordinatorClient.Transport>
    let metadata: Metadata

    package init(_ transport: GRPCClient<CoordinatorClient.Transport>, _ token: CredentialToken) {
      operators = Baton_V1_Operators.Client(wrapping: transport)
      enrolment = Baton_V1_Enrolment.Client(wrapping: transport)
      metadata = ["authorization": "Bearer \(token)"]
    }
  }

  /// A call with so many of what a limit bounds.
  package typealias Call = @Sendable (Client, _ count: Int) async throws -> Void

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  private static func submit(_ client: Client, _ request: Baton_V1_SubmitRequest) async throws {
    _ = try await client.operators.submit(
      request, metadata: client.metadata, options: CoordinatorClient.callOptions)
  }

  private static func item(_ id: String, payload: Int = 0) -> Baton_V1_SubmitRequest.Item {
    .with { ($0.id, $0.identifier, $0.payload) = (id, "com.a", Data(count: payload)) }
  }

  package static let calls: [(limit: WireLimit, call: Call)] = [
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
      WireLimits.hostTerms,
      { client, count in
        _ = try await client.operators.findHosts(
          .with { $0.labels = Array(repeating: "site=home", count: count) }, metadata: client.metadata,
          options: CoordinatorClient.callOptions)
      }
    ),
    (
      WireLimits.comparedDefinitions,
      { client, count in
        _ = try await client.operators.ableHosts(
          .with { $0.definitions = Array(repeating: Data("{}".utf8), count: count) }, metadata: client.metadata,
          options: CoordinatorClient.callOptions)
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
  package static func error(_ client: Client, _ call: Call, _ count: Int) async throws -> RPCError? {
    do {
      try await call(client, count)
      return nil
    } catch let error as RPCError {
      return error
    }
  }
}
