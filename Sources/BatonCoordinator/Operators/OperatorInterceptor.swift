import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore

/// Lets in only callers that prove who they are (promise P14), and only to methods that they may call: each method's
/// `access` in `baton.proto` says who may. A method without one is refused.
///
/// Over the Unix socket the caller is the coordinator's own user, who shows the token of the data folder. Over TLS the
/// caller shows the token of a credential (`Bearer bt1_…`), which is checked for each call, and again and again while a
/// stream is open.
struct OperatorInterceptor: ServerInterceptor {
  enum Gate: Sendable {
    /// The coordinator's own user, with the token of the data folder.
    case owner(token: String, name: String)
    case credentials(OperatorCredentials)
  }

  let gate: Gate
  let coordinator: Coordinator
  let door: Door

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next: @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    let method = context.descriptor.fullyQualifiedMethod
    let access = Baton_V1_Access.of(method) ?? .unspecified
    if access == .anyone { return try await next(request, context) }
    let caller = try await caller(request.metadata, context)
    door.proven(context.remotePeer)
    guard caller.isPermitted(access) else { throw await refusal(of: caller, context.descriptor, access) }
    guard let credential = caller.credential else {
      let response = try await Caller.$current.withValue(caller) { try await next(request, context) }
      return context.descriptor.isStreaming ? response.as(caller) : response
    }
    if access.isChange, !coordinator.callMeter.takeChange(of: credential.id) {
      throw RPCError(
        OperatorError.overloaded(
          "the credential '\(credential.name)' makes more changes than rates.changes permits; nothing was changed"))
    }
    coordinator.noteUse(of: credential)
    let response = try await Caller.$current.withValue(caller) { try await next(request, context) }
    guard context.descriptor.isStreaming, case .credentials(let credentials) = gate else { return response }
    return response.as(caller) {
      await credentials.untilEnd(of: credential.id, coordinator.clocks)
      try Task.checkCancellation()
      throw RPCError(code: .unauthenticated, message: Self.ended)
    }
  }

  private static let ended = "the credential has ended or was revoked; ask for another one (baton credential create)"

  /// - Throws: an `RPCError` if nothing was proven.
  private func caller(_ metadata: Metadata, _ context: ServerContext) async throws -> Caller {
    let sent = metadata[stringValues: "authorization"].first { _ in true }
    switch gate {
    case .owner(let token, let name):
      guard let sent else {
        throw RPCError(
          code: .unauthenticated,
          message: "no token was sent: run this as the coordinator's user, or set BATON_TOKEN_FILE to its token file")
      }
      guard Secret.isEqual(sent, "Bearer \(token)") else {
        throw RPCError(
          code: .unauthenticated,
          message: "the token is not this coordinator's: is BATON_TOKEN_FILE another's, or old?")
      }
      return Caller(name: name)
    case .credentials(let credentials):
      let address = context.remotePeer.address
      guard coordinator.callMeter.permitsFailure(from: address) else {
        throw RPCError(
          OperatorError.overloaded("too many wrong credentials came from your address; try again in a minute"))
      }
      guard let sent, sent.hasPrefix("Bearer "), let token = try? CredentialToken(parsing: sent.dropFirst(7)),
        let credential = credentials.credential(token, at: coordinator.now().date)
      else {
        coordinator.callMeter.noteFailure(from: address)
        let entry = AuditEntry(
          at: coordinator.now().date, actor: "", credential: nil, peer: context.remotePeer,
          method: context.descriptor.method, object: "")
        await coordinator.callAudit.noteDenied(entry, "no valid credential")
        throw RPCError(
          code: .unauthenticated,
          message: "this needs a valid credential: it is unknown, has ended or was revoked; log in with another one "
            + "(baton login)")
      }
      return Caller(name: credential.name, credential: credential, peer: context.remotePeer)
    }
  }

  private func refusal(
    of caller: Caller, _ method: MethodDescriptor, _ access: Baton_V1_Access
  ) async -> RPCError {
    let scopes = caller.credential?.scopes.text ?? ""
    let needed = access.scope.map { "needs the scope '\($0.rawValue)'" } ?? "is not for operators"
    let entry = AuditEntry(
      at: coordinator.now().date, actor: caller.name, credential: caller.credential?.id, peer: caller.peer,
      method: method.method, object: "")
    await coordinator.callAudit.noteDenied(entry, needed)
    return RPCError(
      OperatorError.notPermitted(
        "\(method.method) \(needed); the credential '\(caller.name)' has the scopes \(scopes)"))
  }
}

extension Caller {
  func isPermitted(_ access: Baton_V1_Access) -> Bool {
    switch access {
    case .unspecified, .UNRECOGNIZED: false
    case .anyone, .caller: true
    case .host: credential == nil
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
    case .unspecified, .anyone, .host, .caller, .UNRECOGNIZED: nil
    }
  }

  /// Whether the methods may change something.
  var isChange: Bool {
    switch self {
    case .submit, .operate, .define, .admin: true
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
