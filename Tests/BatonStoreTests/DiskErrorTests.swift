import BatonModel
import Foundation
import GRDB
import Testing

@testable import BatonStore

/// A disk fails in the middle of a commit. What is stored is then unknown, and the store says so.
@Suite struct DiskErrorTests {
  private func withDisk(_ body: (String) async throws -> Void) async throws {
    try #require(FailingDisk.isInstalled)
    try await TemporaryFolder.with { folder in
      // The path under which SQLite opens the file.
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let real = try #require(realpath(folder, nil).map { String(cString: $0) })
      try await body(real + "/" + FailingDisk.mark)
    }
  }

  /// A power cut loses what was not synced. With `synchronous=NORMAL` a commit syncs nothing.
  @Test func everyCommitIsSynced() async throws {
    try await withDisk { folder in
      let store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      for index in 0..<20 {
        let before = FailingDisk.logSyncs(folder)
        try await store.submit("com.\(index)", to: definition)
        #expect(FailingDisk.logSyncs(folder) > before)
      }
      try await store.close()
    }
  }

  @Test func aCommitWhoseSyncFailsIsUnknownAndSoIsEverythingAfterIt() async throws {
    try await withDisk { folder in
      let store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      try await store.submit("com.before", to: definition)
      let receipt = store.receipt
      FailingDisk.breakDown(folder)
      let error = await refusal { try await store.submit("com.a", to: definition) }
      #expect(error?.code == .unknown)
      #expect(error?.message.contains("unknown") == true)
      FailingDisk.mend(folder)
      #expect(
        await refusal { try await store.submit("com.b", to: definition) }?.code == .unknown, "the disk works again")
      #expect(store.receipt == receipt, "nobody was told that it is durable")
      var failures = store.failures.makeAsyncIterator()
      #expect(await failures.next()?.code == .unknown)
      try await store.close()
    }
  }

  /// Everything that was answered is there. Whether or not the failed commit is there, the same order is carried
  /// out once.
  @Test func afterRecoveryTheSameOrderIsDoneOnce() async throws {
    try await withDisk { folder in
      var store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      try await store.submit("com.before", to: definition)
      FailingDisk.breakDown(folder)
      #expect(await refusal { try await store.submit("com.a", to: definition, id: "again") }?.code == .unknown)
      FailingDisk.mend(folder)
      try await store.close()
      store = try SQLiteStore.open(folder: folder)
      for _ in 0..<2 { #expect(try await store.submit("com.a", to: definition, id: "again").number == 1) }
      #expect(try await store.counts().map(\.count) == [2])
      #expect(try await store.recount() == store.counts())
      try await store.close()
    }
  }

  @Test func everyWriteOfAGroupThatFailsIsUnknown() async throws {
    try await withDisk { folder in
      let store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      FailingDisk.breakDown(folder)
      await withTaskGroup(of: StoreError.Code?.self) { group in
        for index in 0..<20 {
          group.addTask { await refusal { try await store.submit("com.\(index)", to: definition) }?.code }
        }
        for await code in group { #expect(code == .unknown) }
      }
      FailingDisk.mend(folder)
      try await store.close()
    }
  }

  /// Raising the epoch is a commit like every other.
  @Test func aStoreThatCannotSyncAtItsStartIsNotOpened() async throws {
    try await withDisk { folder in
      try await SQLiteStore.open(folder: folder).close()
      FailingDisk.breakDown(folder)
      #expect(await refusal { _ = try SQLiteStore.open(folder: folder) }?.code == .unknown)
      FailingDisk.mend(folder)
      try await SQLiteStore.open(folder: folder).close()
    }
  }
}
