import BatonConformance
import ContractRows
import Testing

@testable import BatonStore

@Suite struct StoreConformanceTests {
  @Test(arguments: StoreConformance.cases)
  func inMemory(promise: StoreConformance.Case) async throws {
    try await promise.run { try SQLiteStore.inMemory(limits: StoreConformance.limits, queuesSpans: $0) }
    ContractLog.note(promise.rows, of: "case:\(promise.name)")
  }

  @Test(arguments: StoreConformance.cases)
  func inAFolder(promise: StoreConformance.Case) async throws {
    try await TemporaryFolder.with { folder in
      try await promise.run {
        try SQLiteStore.open(folder: folder, limits: StoreConformance.limits, queuesSpans: $0)
      }
    }
  }

  /// Each group of writes locks and loads the rows that it needs, is decided on these, and stores what has changed.
  @Test(
    .disabled(if: TestDatabase.isThere, "the store in PostgreSQL loads its rows too"), arguments: StoreConformance.cases
  )
  func onLoadedRows(promise: StoreConformance.Case) async throws {
    try await promise.run {
      try SQLiteStore.onLoadedRows(limits: StoreConformance.limits, queuesSpans: $0, isShared: false)
    }
  }

  @Test(.enabled(if: TestDatabase.isThere, TestDatabase.hint), arguments: StoreConformance.cases)
  func onPostgreSQL(promise: StoreConformance.Case) async throws {
    var opened: PostgresStore?
    let result = await Result {
      try await promise.run {
        let store = try TestDatabase.store(storeLimits: StoreConformance.limits, queuesSpans: $0)
        opened = store
        return store
      }
    }
    try await opened?.close()
    try result.get()
  }

  @Test func everyPromiseHasANameOfItsOwn() {
    let names = StoreConformance.cases.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(names.count >= 40)
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
