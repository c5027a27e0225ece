import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The gRPC service by which new hosts join the fleet.
struct EnrolmentService: Baton_V1_Enrolment.SimpleServiceProtocol {
  static let method = Baton_V1_Enrolment.Method.Join.descriptor

  let coordinator: Coordinator

  func join(request: Baton_V1_JoinRequest, context: ServerContext) async throws -> Baton_V1_JoinReply {
    try await answering {
      guard coordinator.callMeter.takeJoin(from: context.remotePeer.address) else {
        throw OperatorError.overloaded("too many attempts to join came from your address; try again in a minute")
      }
      let token: JoinToken
      do { token = try JoinToken(id: Array(request.invitation), secret: Array(request.secret)) } catch {
        throw OperatorError.invalid("\(error)")
      }
      let (certificate, fleet, roots) = try await coordinator.join(
        token, request: Array(request.request), from: context.remotePeer)
      return .with {
        $0.fleet = fleet.fleet
        $0.host = certificate.host.rawValue
        $0.certificate = Data(certificate.der)
        $0.roots = roots.map { Data($0) }
        if let workers = fleet.workers { $0.port = Int32(workers.port) }
      }
    }
  }
}
