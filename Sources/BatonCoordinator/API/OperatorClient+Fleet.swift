import BatonIdentity
package import BatonModel
import BatonProtobuf
package import BatonStore
import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The calls about hosts, coordinators and the fleet as a whole.
extension OperatorClient {
  package func setDraining(_ host: HostName, _ isDraining: Bool) async throws {
    let request = Baton_V1_DrainRequest.with {
      $0.host = host.rawValue
      $0.isDraining = isDraining
    }
    _ = try await call { try await operators.drain(request, metadata: metadata, options: options) }
  }

  package func forget(_ host: HostName) async throws {
    let request = Baton_V1_ForgetHostRequest.with { $0.host = host.rawValue }
    _ = try await call { try await operators.forgetHost(request, metadata: metadata, options: options) }
  }

  package func fleet() async throws -> FleetDescription {
    try FleetDescription(
      try await call { try await operators.fleet(Baton_V1_Empty(), metadata: metadata, options: options) })
  }

  package func waitingHosts() async throws -> [WaitingHost] {
    try await call { try await operators.waitingHosts(Baton_V1_Empty(), metadata: metadata, options: options) }
      .hosts.map(WaitingHost.init)
  }

  package func approve(_ host: HostName, number: String) async throws {
    let request = Baton_V1_ApproveHostRequest.with { ($0.host, $0.number) = (host.rawValue, number) }
    _ = try await call { try await operators.approveHost(request, metadata: metadata, options: options) }
  }

  package func rotateRoot() async throws -> FleetDescription {
    try FleetDescription(
      try await call { try await operators.rotateRoot(Baton_V1_Empty(), metadata: metadata, options: options) })
  }

  package func invite(
    _ host: HostName, for lifetime: Duration, by principal: String, needsApproval: Bool
  ) async throws -> InvitedHost {
    let request = Baton_V1_InviteHostRequest.with {
      $0.needsApproval = needsApproval
      $0.host = host.rawValue
      $0.lifetime = lifetime.nanoseconds
      $0.principal = principal
    }
    let reply = try await call { try await operators.inviteHost(request, metadata: metadata, options: options) }
    return InvitedHost(
      host: host, token: try JoinToken(parsing: reply.token), fleet: try FleetDescription(reply.fleet),
      end: Timestamp(nanoseconds: reply.end))
  }

  package func revoke(_ host: HostName) async throws -> Int {
    let request = Baton_V1_RevokeHostRequest.with { $0.host = host.rawValue }
    return Int(
      try await call { try await operators.revokeHost(request, metadata: metadata, options: options) }.certificates)
  }

  package func setPaused(_ isPaused: Bool) async throws {
    _ = try await call {
      try await operators.pause(.with { $0.isPaused = isPaused }, metadata: metadata, options: options)
    }
  }

  package func hostReports() async throws -> [HostReport] {
    try await call(within: Self.pages) {
      do {
        return try await operators.hostPages(Baton_V1_Empty(), metadata: metadata, options: options) { response in
          var hosts: [HostReport] = []
          for try await page in response.messages { hosts += try page.hosts.map(HostReport.init) }
          return hosts
        }
      } catch let error as RPCError where error.code == .unimplemented {
        return try await operators.hosts(Baton_V1_Empty(), metadata: metadata, options: options)
          .hosts.map(HostReport.init)
      }
    }
  }

  package func transfers(on host: HostName?) async throws -> FleetTransfers {
    let request = Baton_V1_TransfersRequest.with { if let host { $0.host = host.rawValue } }
    return try FleetTransfers(
      try await call { try await operators.transfers(request, metadata: metadata, options: options) })
  }

  package func cancelTransfer(_ key: TransferKey) async throws {
    let request = Baton_V1_CancelTransferRequest.with {
      $0.request = key.request.rawValue
      $0.index = Int64(key.index)
    }
    _ = try await call { try await operators.cancelTransfer(request, metadata: metadata, options: options) }
  }

  package func notifications() async throws -> NotificationReports {
    try NotificationReports(
      try await call { try await operators.notifications(Baton_V1_Empty(), metadata: metadata, options: options) })
  }

  package func testReceiver(_ name: ReceiverName) async throws -> ReceiverAnswer {
    let request = Baton_V1_TestReceiverRequest.with { $0.receiver = name.rawValue }
    // A receiver may take longer than a coordinator.
    let reply = try await call(within: Self.attempt) {
      try await operators.testReceiver(request, metadata: metadata, options: options)
    }
    return ReceiverAnswer(isAccepted: reply.isAccepted, text: reply.text)
  }

  package func namespaces() async throws -> NamespaceReports {
    NamespaceReports(
      try await call { try await operators.namespaces(Baton_V1_Empty(), metadata: metadata, options: options) })
  }

  package func coordinators() async throws -> [CoordinatorReport] {
    try await call { try await operators.coordinators(Baton_V1_Empty(), metadata: metadata, options: options) }
      .coordinators.map(CoordinatorReport.init)
  }

  package func standing() async throws -> FleetStanding {
    try FleetStanding(
      await call { try await operators.standing(Baton_V1_Empty(), metadata: metadata, options: options) })
  }

  package func setEvicted(
    _ pattern: IdentifierPattern, from hosts: [HostName], _ isEvicted: Bool
  ) async throws -> [HostName] {
    let request = Baton_V1_EvictRequest.with {
      $0.pattern = pattern.rawValue
      // An older coordinator reads only the field with the first host.
      if let first = hosts.first { $0.host = first.rawValue }
      $0.hosts = hosts.dropFirst().map(\.rawValue)
      $0.isEvicted = isEvicted
    }
    return try await call { try await operators.evict(request, metadata: metadata, options: options) }
      .hosts.map { HostName($0) }
  }

  package func simulateConditions(
    _ overrides: ConditionOverrides, on host: HostName, lasting: Duration
  ) async throws {
    let request = Baton_V1_SimulateConditionsRequest.with {
      $0.host = host.rawValue
      $0.conditions = overrides.proto(lasting: lasting)
    }
    _ = try await call { try await operators.simulateConditions(request, metadata: metadata, options: options) }
  }

  package func simulateTransfer(_ key: TransferKey, _ what: TransferSimulation) async throws {
    let request = Baton_V1_SimulateTransferRequest.with {
      $0.request = key.request.rawValue
      $0.index = Int64(key.index)
      $0.what = what.rawValue
    }
    _ = try await call { try await operators.simulateTransfer(request, metadata: metadata, options: options) }
  }
}
