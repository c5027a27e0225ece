import BatonModel
import BatonProtobuf
import GRPCCore

/// Lets in only callers that prove who they are (promise P14), and only to methods that they may call: each method's
/// `access` in `baton.proto` says who may. A method without one is refused.
///
/// Over the Unix socket the caller is the coordinator's own user, who shows the token of the data folder. Over TLS the
/// caller shows the token of a credential (`Bearer bt1_…`), which is checked for each call, and again and again while a
/// stream is open.
struct OperatorInterceptor: ServerInterceptor {
  let gate: Gate

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next: @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    let method = context.descriptor
    let access = Baton_V1_Access.of(method.fullyQualifiedMethod) ?? .unspecified
    if access == .anyone { return try await next(request, context) }
    let caller = try await gate.caller(
      showing: request.metadata[stringValues: "authorization"].first { _ in true }, from: context.remotePeer,
      calling: method.method)
    try await gate.admit(
      caller, to: method.method, isPermitted: caller.isPermitted(access),
      needed: access.needed,
      isChange: access.isChange)
    let response = try await Caller.$current.withValue(caller) { try await next(request, context) }
    guard method.isStreaming else { return response }
    guard let credential = caller.credential, case .credentials(let credentials) = gate.proof else {
      return response.as(caller)
    }
    let clocks = gate.coordinator.clocks
    return response.as(caller) {
      await credentials.untilEnd(of: credential.id, clocks)
      try Task.checkCancellation()
      throw RPCError(code: .unauthenticated, message: Self.ended)
    }
  }

  private static let ended = "the credential has ended or was revoked; ask for another one (baton credential create)"
}

extension Caller {
  func isPermitted(_ access: Baton_V1_Access) -> Bool {
    switch access {
    case .unspecified, .UNRECOGNIZED: false
    case .anyone, .caller: true
    case .host, .owner: credential == nil
    case .read, .logs, .submit, .operate, .define, .admin: access.scope.map(may) ?? false
    }
  }
}

extension Baton_V1_Access {
  /// The scope that a credential needs; `nil` if none is enough, or none is needed.
  var scope: Scope? {
    switch self {
    case .read: .read
    case .logs: .logs
    case .submit: .submit
    case .operate: .operate
    case .define: .define
    case .admin: .admin
    case .unspecified, .anyone, .host, .caller, .owner, .UNRECOGNIZED: nil
    }
  }

  /// What a call needs that was refused, for the message.
  var needed: String {
    if let scope { return "needs the scope '\(scope.rawValue)'" }
    return self == .owner
      ? "is for the coordinator's own user, on its machine (no credential is enough)" : "is not for operators"
  }

  /// Whether the methods may change something.
  var isChange: Bool {
    switch self {
    case .submit, .operate, .define, .admin, .owner: true
    case .unspecified, .anyone, .host, .caller, .read, .logs, .UNRECOGNIZED: false
    }
  }
}

extension MethodDescriptor {
  /// Whether the answer is made after the handler has returned, message by message.
  fileprivate var isStreaming: Bool { type != .unary }
}

extension StreamingServerResponse {
  /// The same answer, whose messages are made while `caller` is the current caller, and at most until `end` throws.
  fileprivate func `as`(
    _ caller: Caller, until end: (@Sendable () async throws -> Void)? = nil
  ) -> StreamingServerResponse {
    guard case .success(let contents) = accepted else { return self }
    var response = self
    var limited = contents
    limited.producer = { writer in
      try await Caller.$current.withValue(caller) {
        guard let end else { return try await contents.producer(writer) }
        return try await withThrowingTaskGroup(of: Metadata?.self) { group in
          group.addTask { try await contents.producer(writer) }
          group.addTask {
            try await end()
            return nil
          }
          defer { group.cancelAll() }
          while let metadata = try await group.next() { if let metadata { return metadata } }
          return [:]
        }
      }
    }
    response.accepted = .success(limited)
    return response
  }
}
