import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import GRPCCore
import SwiftProtobuf

/// The calls about hosts, coordinators and the fleet as a whole.
extension OperatorsService {
  func drain(request: Baton_V1_DrainRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.setDraining(try HostName.named(request.host), request.isDraining)
      return Baton_V1_Empty()
    }
  }

  func forgetHost(request: Baton_V1_ForgetHostRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.forget(try HostName.named(request.host))
      return Baton_V1_Empty()
    }
  }

  func fleet(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_FleetReply {
    try await answering { try await api.fleet().proto }
  }

  func inviteHost(
    request: Baton_V1_InviteHostRequest, context: ServerContext
  ) async throws -> Baton_V1_InviteHostReply {
    try await answering {
      try WireLimits.principal.check(name: request.principal)
      let invited = try await api.invite(
        try HostName.named(request.host), for: .nanoseconds(request.lifetime), by: request.principal,
        needsApproval: request.needsApproval)
      return .with {
        $0.token = invited.token.description
        $0.fleet = invited.fleet.proto
        $0.end = invited.end.nanoseconds
      }
    }
  }

  func waitingHosts(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_WaitingHostsReply {
    try await answering {
      let waiting = try await api.waitingHosts()
      return .with { $0.hosts = waiting.map(\.proto) }
    }
  }

  func approveHost(request: Baton_V1_ApproveHostRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try WireLimits.hostNumber.check(name: request.number)
      try await api.approve(try HostName.named(request.host), number: request.number)
      return Baton_V1_Empty()
    }
  }

  func rotateRoot(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_FleetReply {
    try await answering { try await api.rotateRoot().proto }
  }

  func revokeHost(
    request: Baton_V1_RevokeHostRequest, context: ServerContext
  ) async throws -> Baton_V1_RevokeHostReply {
    try await answering {
      let certificates = try await api.revoke(try HostName.named(request.host))
      return .with { $0.certificates = Int32(clamping: certificates) }
    }
  }

  func transfers(
    request: Baton_V1_TransfersRequest, context: ServerContext
  ) async throws -> Baton_V1_TransfersReply {
    try await answering {
      try await api.transfers(on: request.hasHost ? try HostName.named(request.host) : nil).proto
    }
  }

  func cancelTransfer(
    request: Baton_V1_CancelTransferRequest, context: ServerContext
  ) async throws -> Baton_V1_Empty {
    try await answering {
      let index = Int(exactly: request.index) ?? -1
      try await api.cancelTransfer(TransferKey(request: RequestID(request.request), index: index))
      return Baton_V1_Empty()
    }
  }

  func notifications(
    request: Baton_V1_Empty, context: ServerContext
  ) async throws -> Baton_V1_NotificationsReply {
    try await answering { try await api.notifications().proto }
  }

  func testReceiver(
    request: Baton_V1_TestReceiverRequest, context: ServerContext
  ) async throws -> Baton_V1_TestReceiverReply {
    try await answering {
      guard let name = ReceiverName(request.receiver) else {
        throw OperatorError.invalid("the name of a receiver is \(ReceiverName.rule)")
      }
      let answer = try await api.testReceiver(name)
      return .with { ($0.isAccepted, $0.text) = (answer.isAccepted, answer.text) }
    }
  }

  func namespaces(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_NamespacesReply {
    try await answering { try await api.namespaces().proto }
  }

  func coordinators(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_CoordinatorsReply {
    try await answering {
      let coordinators = try await api.coordinators()
      return .with { $0.coordinators = coordinators.map(\.proto) }
    }
  }

  func standing(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_StandingReply {
    try await answering { try await api.standing().proto }
  }

  func hosts(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_HostsReply {
    try await answering {
      let pages = try Pages.of(await api.hostReports().lazy.map(\.proto))
      guard pages.reduce(0, { $0 + $1.bytes }) <= Pages<Baton_V1_HostsReply.Host>.largestMessage else {
        throw OperatorError.invalid(
          "the fleet is too large for one answer: use a client that asks for it in pages, such as this version's 'baton'"
        )
      }
      return .with { $0.hosts = pages.flatMap(\.elements) }
    }
  }

  func hostPages(
    request: Baton_V1_Empty, response: RPCWriter<Baton_V1_HostsReply>, context: ServerContext
  ) async throws {
    try await answering {
      for page in try Pages.of(await api.hostReports().lazy.map(\.proto)) {
        try await response.write(.with { $0.hosts = page.elements })
      }
    }
  }

  func pause(request: Baton_V1_PauseRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.setPaused(request.isPaused)
      return Baton_V1_Empty()
    }
  }

  func evict(request: Baton_V1_EvictRequest, context: ServerContext) async throws -> Baton_V1_EvictReply {
    try await answering {
      let hosts = try await api.setEvicted(
        try IdentifierPattern(wire: request.pattern),
        from: try ((request.hasHost ? [request.host] : []) + request.hosts).map { try HostName.named($0) },
        request.isEvicted)
      return .with { $0.hosts = hosts.map(\.rawValue) }
    }
  }

  func simulateTransfer(
    request: Baton_V1_SimulateTransferRequest, context: ServerContext
  ) async throws -> Baton_V1_Empty {
    try await answering {
      guard let what = TransferSimulation(rawValue: request.what) else {
        throw OperatorError.invalid("'\(request.what)' is nothing that can be simulated of a transfer")
      }
      let index = Int(exactly: request.index) ?? -1
      try await api.simulateTransfer(TransferKey(request: RequestID(request.request), index: index), what)
      return Baton_V1_Empty()
    }
  }

  func simulateConditions(
    request: Baton_V1_SimulateConditionsRequest, context: ServerContext
  ) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.simulateConditions(
        try ConditionOverrides(request.conditions.overrides), on: try HostName.named(request.host),
        lasting: min(max(.nanoseconds(request.conditions.lasting), .zero), .seconds(86_400)))
      return Baton_V1_Empty()
    }
  }
}
