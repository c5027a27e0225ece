import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import GRPCCore
import SwiftProtobuf

/// The calls about people, the audit log and the store.
extension OperatorsService {
  func whoAmI(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_WhoAmIReply {
    try await answering { try await api.whoAmI().proto }
  }

  func createCredential(
    request: Baton_V1_CreateCredentialRequest, context: ServerContext
  ) async throws -> Baton_V1_CreateCredentialReply {
    try await answering {
      let created = try await api.createCredential(try CredentialOrder(request))
      return .with {
        $0.token = created.token.description
        ($0.credential, $0.fleet) = (created.credential.proto, created.fleet.proto)
      }
    }
  }

  func credentials(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_CredentialsReply {
    try await answering {
      let credentials = try await api.credentials()
      return .with { $0.credentials = credentials.map(\.proto) }
    }
  }

  func revokeCredential(
    request: Baton_V1_RevokeCredentialRequest, context: ServerContext
  ) async throws -> Baton_V1_RevokeCredentialReply {
    try await answering {
      try WireLimits.hostArgument.check(name: request.credential)
      let revoked = try await api.revokeCredential(request.credential)
      return .with {
        $0.credentials = Int32(clamping: revoked.count)
        $0.revokedBefore = Int32(clamping: revoked.before)
      }
    }
  }

  /// A page has at most 1,000 rows, which fit into one message.
  func audit(request: Baton_V1_AuditRequest, context: ServerContext) async throws -> Baton_V1_AuditReply {
    try await answering {
      let rows = try await api.audit(
        AuditFilter(request), after: request.after, limit: min(max(1, Int(request.limit)), 1000))
      return .with { $0.rows = rows.map(\.proto) }
    }
  }

  func verifyAudit(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_VerifyAuditReply {
    try await answering { try await api.verifyAudit().proto }
  }

  /// Sends progress as fast as the caller reads it, and then the summary.
  func backup(
    request: Baton_V1_BackupRequest, response: RPCWriter<Baton_V1_BackupReply>, context: ServerContext
  ) async throws {
    try await answering {
      let (progress, source) = AsyncStream.makeStream(of: BackupProgress.self, bufferingPolicy: .bufferingNewest(1))
      let written = try await Self.whileCalled {
        defer { source.finish() }
        return try await api.backUpStore(to: request.path) { source.yield($0) }
      } telling: {
        for await one in progress { try await response.write(one.proto) }
      }
      try await response.write(.with { $0.summary = written.proto })
    }
  }

  /// Sends progress as fast as the caller reads it, and then the summary.
  func moveStore(
    request: Baton_V1_MoveStoreRequest, response: RPCWriter<Baton_V1_MoveStoreReply>, context: ServerContext
  ) async throws {
    try await answering {
      try WireLimits.storePlace.check(name: request.to)
      guard !request.to.isEmpty else { throw OperatorError.invalid("a move needs the place where the store goes") }
      let (progress, source) = AsyncStream.makeStream(
        of: StoreMove.Progress.self, bufferingPolicy: .bufferingNewest(1))
      let moved = try await Self.whileCalled {
        defer { source.finish() }
        return try await api.moveStore(to: StorePlace(request.to), isRehearsal: request.isRehearsal) {
          source.yield($0)
        }
      } telling: {
        for await one in progress { try await response.write(one.proto) }
      }
      try await response.write(.with { $0.summary = moved.proto })
    }
  }

  /// Does long work for a caller, and tells of it meanwhile. The work is cancelled when the caller has gone, also while
  /// there is nothing to tell.
  static func whileCalled<Result: Sendable>(
    _ work: @escaping @Sendable () async throws -> Result, telling: () async throws -> Void
  ) async throws -> Result {
    let task = Task { try await work() }
    return try await withRPCCancellationHandler {
      try await withTaskCancellationHandler {
        do { try await telling() } catch {
          task.cancel()
          _ = await task.result
          throw error
        }
        return try await task.value
      } onCancel: {
        task.cancel()
      }
    } onCancelRPC: {
      task.cancel()
    }
  }
}
