import BatonIdentity
package import BatonModel
import BatonProtobuf
package import BatonStore
import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The calls about people, the audit log and the store.
extension OperatorClient {
  package func backUpStore(
    to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    let request = Baton_V1_BackupRequest.with { $0.path = path }
    let summary = try await call(within: nil) {
      try await operators.backup(request, metadata: metadata, options: options) { response in
        var summary: BackupSummary?
        for try await reply in response.messages {
          if reply.hasSummary { summary = BackupSummary(reply.summary) } else { report(BackupProgress(reply)) }
        }
        return summary
      }
    }
    guard let summary else {
      throw OperatorError.unknown(
        "the coordinator at \(endpoint) did not say whether the backup is whole: look at \(path)")
    }
    return summary
  }

  package func moveStore(
    to place: StorePlace, isRehearsal: Bool, _ report: @escaping @Sendable (StoreMove.Progress) -> Void
  ) async throws -> StoreMove.Summary {
    let request = Baton_V1_MoveStoreRequest.with {
      $0.to = place.text
      $0.isRehearsal = isRehearsal
    }
    let summary = try await call(within: nil) {
      try await operators.moveStore(request, metadata: metadata, options: options) { response in
        var summary: StoreMove.Summary?
        for try await reply in response.messages {
          if reply.hasSummary { summary = StoreMove.Summary(reply.summary) } else { report(StoreMove.Progress(reply)) }
        }
        return summary
      }
    }
    guard let summary else {
      throw OperatorError.unknown("the coordinator at \(endpoint) did not say whether the store has moved.")
    }
    return summary
  }

  package func whoAmI() async throws -> Caller {
    try Caller(
      try await call { try await operators.whoAmI(Baton_V1_Empty(), metadata: metadata, options: options) })
  }

  package func createCredential(_ order: CredentialOrder) async throws -> CreatedCredential {
    let reply = try await call {
      try await operators.createCredential(order.proto, metadata: metadata, options: options)
    }
    return CreatedCredential(
      credential: try Credential(reply.credential), token: try CredentialToken(parsing: reply.token),
      fleet: try FleetDescription(reply.fleet))
  }

  package func credentials() async throws -> [Credential] {
    try await call { try await operators.credentials(Baton_V1_Empty(), metadata: metadata, options: options) }
      .credentials.map(Credential.init)
  }

  package func revokeCredential(_ name: String) async throws -> RevokedCredentials {
    let request = Baton_V1_RevokeCredentialRequest.with { $0.credential = name }
    let reply = try await call { try await operators.revokeCredential(request, metadata: metadata, options: options) }
    return RevokedCredentials(count: Int(reply.credentials), before: Int(reply.revokedBefore))
  }

  package func audit(_ filter: AuditFilter, after sequence: Int64, limit: Int) async throws -> [AuditRow] {
    let request = filter.proto(after: sequence, limit: limit)
    return try await call { try await operators.audit(request, metadata: metadata, options: options) }
      .rows.map(AuditRow.init)
  }

  /// It reads the whole log, so it may take long.
  package func verifyAudit() async throws -> AuditVerdict {
    AuditVerdict(
      try await call(within: nil) {
        try await operators.verifyAudit(Baton_V1_Empty(), metadata: metadata, options: options)
      })
  }
}
