import BatonIdentity
import BatonModel
import BatonStore

/// The calls about hosts, the store, and other operators. Only `admin` may make most of them, which no pattern limits.
extension PermittedAPI {
  func fleet() async throws -> FleetDescription { try await api.fleet() }

  func forget(_ host: HostName) async throws {
    try await changing("ForgetHost", host.rawValue) { try await api.forget(host) }
  }

  func invite(
    _ host: HostName, for lifetime: Duration, by principal: String, needsApproval: Bool
  ) async throws -> InvitedHost {
    try await changing("InviteHost", host.rawValue, claiming: principal) {
      try await api.invite(
        host, for: lifetime, by: caller.principal(claiming: principal), needsApproval: needsApproval)
    }
  }

  func waitingHosts() async throws -> [WaitingHost] { try await api.waitingHosts() }

  func approve(_ host: HostName, number: String) async throws {
    try await changing("ApproveHost", "\(host.rawValue) \(number)") { try await api.approve(host, number: number) }
  }

  func rotateRoot() async throws -> FleetDescription {
    try await changing("RotateRoot", "") { try await api.rotateRoot() }
  }

  func revoke(_ host: HostName) async throws -> Int {
    try await changing("RevokeHost", host.rawValue) { try await api.revoke(host) }
  }

  func backUpStore(
    to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    try await changing("Backup", path) { try await api.backUpStore(to: path, report) }
  }

  func moveStore(
    to place: StorePlace, isRehearsal: Bool, _ report: @escaping @Sendable (StoreMove.Progress) -> Void
  ) async throws -> StoreMove.Summary {
    try await changing("MoveStore", place.text, detail: isRehearsal ? "dryRun" : nil) {
      try await api.moveStore(to: place, isRehearsal: isRehearsal, report)
    }
  }

  // MARK: Operators

  func whoAmI() async throws -> Caller { caller }

  func createCredential(_ order: CredentialOrder) async throws -> CreatedCredential {
    try await changing("CreateCredential", order.name, detail: order.words) { try await api.createCredential(order) }
  }

  func credentials() async throws -> [Credential] { try await api.credentials() }

  func revokeCredential(_ name: String) async throws -> RevokedCredentials {
    try await changing("RevokeCredential", name) { try await api.revokeCredential(name) }
  }

  func audit(_ filter: AuditFilter, after sequence: Int64, limit: Int) async throws -> [AuditRow] {
    try await api.audit(filter, after: sequence, limit: limit)
  }

  func verifyAudit() async throws -> AuditVerdict { try await api.verifyAudit() }
}
