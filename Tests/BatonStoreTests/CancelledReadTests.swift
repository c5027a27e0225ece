import GRDB
import Testing

@testable import BatonStore

/// The caller of a read goes away in the middle of a statement: a worker that leaves while its host is being attached,
/// or an operator who presses Ctrl-C.
@Suite struct CancelledReadTests {
  /// Runs a statement, as verbs do, that cancels its own task at its first row, and would go on for a million rows.
  private static func countWhileCancelled(_ verbs: Verbs) throws -> Int? {
    verbs.db.add(
      function: DatabaseFunction("cancel_caller", argumentCount: 0) { _ in
        withUnsafeCurrentTask { $0?.cancel() }
        return 1
      })
    let sql = """
      WITH RECURSIVE n (i) AS (SELECT cancel_caller() UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
      SELECT count(*) FROM n
      """
    return try Prepared(try verbs.db.makeStatement(sql: sql)).first { $0.int(0) }
  }

  @Test func aReadWhoseCallerGoesAwayIsNoFailureOfTheDisk() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder)
      await #expect(throws: CancellationError.self) {
        try await Task { try await store.read(Self.countWhileCancelled) }.value
      }
      // The connections are still good.
      for _ in 0..<10 { #expect(try await store.fleet().isPaused == false) }
      try await store.setPaused(true)
      #expect(try await store.fleet().isPaused)
      try await store.close()
    }
  }
}
