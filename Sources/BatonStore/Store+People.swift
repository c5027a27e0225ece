package import BatonModel

/// What a store keeps of the people who use a fleet: their credentials, and the audit log.
package protocol PeopleStore: Sendable {
  /// Stores a new credential, and drops those that have ended.
  func issue(_ credential: Credential) async throws
  /// Revokes credentials for ever. Nothing happens for an id that is not known.
  func revoke(credentials ids: [[UInt8]]) async throws
  /// Records when a credential was last used.
  func noteUse(ofCredential id: [UInt8], at now: Timestamp) async throws
  /// All credentials that have not ended long ago, in the order in which they were created.
  func credentials() async throws -> [Credential]
  /// Adds a row to the audit log. The rows of changes are added together with them (`AuditedCall`).
  func append(_ entry: AuditEntry) async throws
  /// The rows after a number, in their order, at most `limit`.
  func audit(_ filter: AuditFilter, after sequence: Int64, limit: Int) async throws -> [AuditRow]
  /// The number and the hash of the last row of the audit log; the number 0 if there is no row.
  func auditHead() async throws -> AuditHead
  /// Checks that no row of the audit log was changed or removed. It reads the whole log.
  func verifyAudit() async throws -> AuditVerdict
  /// The oldest rows that are from before `time`, at most `limit`.
  func oldAudit(before time: Timestamp, limit: Int) async throws -> [AuditRow]
  /// Deletes the rows up to this one, which must have been saved elsewhere.
  func dropAudit(upTo last: AuditRow) async throws
}
