import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore

/// Finds out who makes a call, over gRPC and HTTP alike, and refuses callers that prove nothing or may not make it.
struct Gate: Sendable {
  enum Proof: Sendable {
    /// Through a Unix socket the caller is the coordinator's own user, who shows the token of the data folder.
    case owner(token: String, name: String)
    /// Over TLS the caller shows the token of a credential (`Bearer bt1_…`).
    case credentials(OperatorCredentials)
  }

  let proof: Proof
  let coordinator: Coordinator
  let door: Door

  /// Who makes the call.
  /// - Parameters:
  ///   - shown: the header `Authorization`.
  ///   - peer: where the call comes from, as gRPC writes it.
  ///   - method: what is called, for the audit log.
  /// - Throws: an `RPCError` if nothing was proven.
  func caller(showing shown: String?, from peer: String, calling method: String) async throws -> Caller {
    let caller =
      switch proof {
      case .owner(let token, let name): try Self.owner(name, token, showing: shown)
      case .credentials(let credentials): try await holder(credentials, showing: shown, peer, method)
      }
    door.proven(peer)
    return caller
  }

  private static func owner(_ name: String, _ token: String, showing shown: String?) throws -> Caller {
    guard let shown else {
      throw RPCError(
        code: .unauthenticated,
        message: "no token was sent: run this as the coordinator's user, or set BATON_TOKEN_FILE to its token file")
    }
    guard Secret.isEqual(shown, "Bearer \(token)") else {
      throw RPCError(
        code: .unauthenticated,
        message: "the token is not this coordinator's: is BATON_TOKEN_FILE another's, or old?")
    }
    return Caller(name: name)
  }

  private func holder(
    _ credentials: OperatorCredentials, showing shown: String?, _ peer: String, _ method: String
  ) async throws -> Caller {
    guard coordinator.callMeter.permitsFailure(from: peer.address) else {
      await coordinator.callAudit.noteDenied(.failures, from: peer, calling: method)
      throw RPCError(
        OperatorError.overloaded("too many wrong credentials came from your address; try again in a minute"))
    }
    guard let shown, shown.hasPrefix("Bearer "), let token = try? CredentialToken(parsing: shown.dropFirst(7)),
      let credential = credentials.credential(token, at: coordinator.now().date)
    else {
      coordinator.callMeter.noteFailure(from: peer.address)
      let entry = AuditEntry(
        at: coordinator.now().date, actor: "", credential: nil, peer: peer, method: method, object: "")
      await coordinator.callAudit.noteDenied(entry, "no valid credential")
      throw RPCError(
        code: .unauthenticated,
        message: "this needs a valid credential: it is unknown, has ended or was revoked; log in with another one "
          + "(baton login)")
    }
    return Caller(name: credential.name, credential: credential, peer: peer)
  }

  /// Lets a call through that the caller's scopes and rates permit.
  /// - Parameters:
  ///   - isPermitted: whether the caller's scopes permit the call.
  ///   - needed: what it needs, for the message: `needs the scope 'read'`.
  /// - Throws: an `RPCError`.
  func admit(
    _ caller: Caller, to method: String, isPermitted: Bool, needed: String, isChange: Bool
  ) async throws {
    guard isPermitted else {
      let entry = AuditEntry(
        at: coordinator.now().date, actor: caller.name, credential: caller.credential?.id, peer: caller.peer,
        method: method, object: "")
      await coordinator.callAudit.noteDenied(entry, needed)
      throw RPCError(
        OperatorError.notPermitted(
          "\(CommandOfMethod.words(method)) \(needed); the credential '\(caller.name)' has the scopes "
            + (caller.credential?.scopes.text ?? "")
        ))
    }
    guard let credential = caller.credential else { return }
    if isChange, !coordinator.callMeter.takeChange(of: credential.id) {
      await coordinator.callAudit.noteDenied(.changes, caller.name, from: caller.peer, calling: method)
      throw RPCError(
        OperatorError.overloaded(
          "the credential '\(credential.name)' makes more changes than rates.changes permits; nothing was changed"))
    }
    coordinator.noteUse(of: credential)
  }
}
