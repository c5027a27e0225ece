import BatonProtobuf
import BatonWire
import GRPCCore

/// Lets in only clients that prove that they know the coordinator's token (promise P14). A client sends either the
/// token itself (`Bearer TOKEN`), or the code that belongs to the challenge of its connection (`Baton-HMAC CODE`, see
/// `IdentityService`).
struct TokenInterceptor: ServerInterceptor {
  let token: String
  let door: Door

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next: @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    if [IdentityService.method, EnrolmentService.method].contains(context.descriptor) {
      return try await next(request, context)
    }
    let sent = request.metadata[stringValues: "authorization"].first { _ in true }
    guard let sent else {
      throw RPCError(
        code: .unauthenticated,
        message: "no token was sent: run this as the coordinator's user, or set BATON_TOKEN_FILE to its token file")
    }
    guard isTaken(sent, from: context.remotePeer) else {
      throw RPCError(
        code: .unauthenticated, message: "the token is not this coordinator's: is BATON_TOKEN_FILE another's, or old?")
    }
    door.proven(context.remotePeer)
    return try await next(request, context)
  }

  private func isTaken(_ sent: String, from peer: String) -> Bool {
    guard sent.hasPrefix(TokenProof.scheme + " ") else { return Secret.isEqual(sent, "Bearer \(token)") }
    guard let code = door.expectedCode(peer) else { return false }
    return Secret.isEqual(sent, "\(TokenProof.scheme) \(TokenProof.hexadecimal(code))")
  }
}
