import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The gRPC service by which new hosts join the fleet, and hosts return whose certificate has ended.
struct EnrolmentService: Baton_V1_Enrolment.SimpleServiceProtocol {
  static let methods = [Baton_V1_Enrolment.Method.Join.descriptor, Baton_V1_Enrolment.Method.Rejoin.descriptor]

  /// The names of the methods in the audit log.
  static let joining = "Join"
  static let rejoining = "Rejoin"
  /// A method of the workers' service.
  static let renewing = "Renew"

  let coordinator: Coordinator

  func join(request: Baton_V1_JoinRequest, context: ServerContext) async throws -> Baton_V1_JoinReply {
    try await answering {
      try await permit(
        context, coordinator.callMeter.permitsJoin(from: context.remotePeer.address), .joins, "join")
      let token: JoinToken
      do { token = try JoinToken(id: Array(request.invitation), secret: Array(request.secret)) } catch {
        throw OperatorError.invalid("\(error)")
      }
      let answer = try await coordinator.join(token, request: Array(request.request), from: context.remotePeer)
      guard case .joined(let host, let certificates, let fleet) = answer else { return .with { $0.isWaiting = true } }
      let others = await coordinator.otherCoordinators().map(\.workers)
      return .with {
        $0.fleet = fleet.fleet
        $0.host = host.rawValue
        $0.certificate = Data(certificates.certificate)
        $0.serverCertificate = Data(certificates.serverCertificate)
        $0.roots = certificates.roots.map { Data($0) }
        if let workers = fleet.workers { $0.port = Int32(workers.port) }
        $0.otherWorkers = others
      }
    }
  }

  func rejoin(request: Baton_V1_RejoinRequest, context: ServerContext) async throws -> Baton_V1_RenewReply {
    try await answering {
      try await permit(
        context, coordinator.callMeter.permitsRejoin(from: context.remotePeer.address), .rejoins,
        "get another certificate")
      try WireLimits.certificate.check(request.certificate.count)
      return Baton_V1_RenewReply(
        try await coordinator.rejoin(
          Array(request.certificate), request: Array(request.request), signature: Array(request.signature),
          from: context.remotePeer))
    }
  }

  /// Throws unless the meter permits the call.
  /// - Parameter what: what the caller attempts, as an infinitive without "to".
  private func permit(
    _ context: ServerContext, _ isPermitted: Bool, _ kind: DeniedCalls.Kind, _ what: String
  ) async throws {
    guard !isPermitted else { return }
    await coordinator.callAudit.noteDenied(kind, from: context.remotePeer, calling: context.descriptor.method)
    throw OperatorError.overloaded("too many attempts to \(what) came from your address; try again in a minute")
  }
}

extension Baton_V1_RenewReply {
  init(_ answer: HostIdentity.Answer) {
    self = .with {
      $0.certificate = Data(answer.certificate)
      $0.serverCertificate = Data(answer.serverCertificate)
      $0.roots = answer.roots.map { Data($0) }
    }
  }
}
