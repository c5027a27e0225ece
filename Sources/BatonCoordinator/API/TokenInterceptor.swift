import GRPCCore

/// Lets in who sends the coordinator's token, and nobody else (promise P14).
struct TokenInterceptor: ServerInterceptor {
  let token: String

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next: @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    let sent = request.metadata[stringValues: "authorization"].first { _ in true }
    guard let sent else {
      throw RPCError(
        code: .unauthenticated,
        message: "no token was sent: run this as the coordinator's user, or set BATON_TOKEN_FILE to its token file")
    }
    guard Self.isEqual(sent, "Bearer \(token)") else {
      throw RPCError(
        code: .unauthenticated, message: "the token is not this coordinator's: is BATON_TOKEN_FILE another's, or old?")
    }
    return try await next(request, context)
  }

  /// In the same time wherever they differ.
  static func isEqual(_ first: String, _ second: String) -> Bool {
    let (a, b) = (Array(first.utf8), Array(second.utf8))
    guard a.count == b.count else { return false }
    return zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
