import BatonProtobuf
import BatonWire
import GRPCCore
import SwiftProtobuf

/// Proves to a client that this is the coordinator, before the client sends anything else. It is the only method that
/// needs no token.
struct IdentityService: Baton_V1_Identity.SimpleServiceProtocol {
  static let method = Baton_V1_Identity.Method.Prove.descriptor

  let token: String
  let door: Door

  func prove(request: Baton_V1_ProveRequest, context: ServerContext) async throws -> Baton_V1_ProveReply {
    let nonce = TokenProof.nonce()
    guard let proof = TokenProof(client: Array(request.nonce), coordinator: nonce) else {
      throw RPCError(code: .invalidArgument, message: "a nonce has \(TokenProof.nonceBytes) bytes")
    }
    door.challenged(context.remotePeer, expecting: proof.clientCode(token))
    return .with {
      $0.nonce = .init(nonce)
      $0.code = .init(proof.coordinatorCode(token))
    }
  }
}
