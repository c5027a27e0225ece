import BatonModel
import ContractRows
import GRDB
import Testing

@testable import BatonStore

/// The audit log in the hands of a person who can write the database.
@Suite struct AuditTests {
  private func filled() async throws -> SQLiteStore {
    let store = try SQLiteStore.inMemory()
    for number in 1...5 {
      try await store.append(
        AuditEntry(
          at: Timestamp(nanoseconds: Int64(number)), actor: "alice", credential: number == 3 ? [7] : nil, peer: "unix",
          method: "Cancel", object: "com.job\(number)"))
    }
    #expect(try await store.verifyAudit().problem == nil)
    return store
  }

  @Test(
    .refuses(29),
    arguments: [
      "UPDATE audit SET actor = 'bob' WHERE sequence = 3", "DELETE FROM audit WHERE sequence = 3",
      "DELETE FROM audit WHERE sequence = 5", "DELETE FROM audit", "UPDATE audit SET hash = zeroblob(32)",
    ])
  func `no row is changed or deleted`(sql: String) async throws {
    let store = try await filled()
    // What the triggers say comes inside of the error of a write that failed.
    let error = #expect(throws: StoreError.self) { try store.transaction { try $0.db.execute(sql: sql) } }
    #expect(error?.message.contains("a row of the audit log is") == true)
    #expect(try await store.verifyAudit().problem == nil)
  }

  /// Without the triggers, as a program that writes the file of the database would do it.
  @Test(
    .refuses(29),
    arguments: [
      ("UPDATE audit SET actor = 'bob' WHERE sequence = 3", "row 3 was changed"),
      ("UPDATE audit SET at = 9 WHERE sequence = 1", "row 1 was changed"),
      ("UPDATE audit SET credential = NULL WHERE sequence = 3", "row 3 was changed"),
      ("UPDATE audit SET outcome = 'failed' WHERE sequence = 5", "row 5 was changed"),
      ("UPDATE audit SET method = object, object = method WHERE sequence = 2", "row 2 was changed"),
      ("DELETE FROM audit WHERE sequence = 3", "row 3 is missing"),
      ("DELETE FROM audit WHERE sequence = 1", "row 1 is missing"),
      ("DELETE FROM audit WHERE sequence > 3", "the log ends with row 3, but row 5 was written"),
      ("DELETE FROM audit_head", "the head of the log is missing"),
    ])
  func `what is changed without the triggers is found`(sql: String, problem: String) async throws {
    let store = try await filled()
    try store.transaction { verbs in
      try verbs.db.execute(
        sql: "DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted; \(sql)")
    }
    let found = try await store.verifyAudit().problem
    #expect(found?.hasPrefix(problem) == true, "\(found ?? "nothing")")
  }
}
