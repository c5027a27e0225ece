import BatonModel
import Foundation
import GRDB
import GRDBSQLite
import Testing

@testable import BatonStore

@Suite struct CrashTests {
  /// The files of a running process are what it leaves behind if it dies now.
  @Test func everythingAnsweredIsThereAfterACrash() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder + "/alive")
      let definition = try await store.prepare()
      for index in 0..<50 { try await store.submit("com.\(index)", to: definition) }
      let launch = try await store.start(definition)
      _ = try await store.checkpoint(
        [Checkpoint(launch: launch, batch: 0, cursor: [7], completedUnits: 1)], from: someWorker, at: someTime)
      try FileManager.default.createDirectory(atPath: folder + "/dead", withIntermediateDirectories: true)
      for suffix in ["", "-wal"] {
        let name = "/" + StoreFolder.databaseName + suffix
        try FileManager.default.copyItem(atPath: folder + "/alive" + name, toPath: folder + "/dead" + name)
      }
      let recovered = try SQLiteStore.open(folder: folder + "/dead")
      #expect(try await recovered.counts() == store.counts())
      #expect(try await recovered.request(launch.request)?.progress.cursor == [7])
      var (found, wanted) = (try await recovered.fleet(), try await store.fleet())
      // The start of the other coordinator has its own number, and has taken over the lease.
      #expect(found.epoch == wanted.epoch + 1 && found.hosts[0].leaseNumber == wanted.hosts[0].leaseNumber + 1)
      (found.epoch, found.steward) = (wanted.epoch, wanted.steward)
      (found.hosts[0].leaseNumber, found.hosts[0].owner) = (wanted.hosts[0].leaseNumber, wanted.hosts[0].owner)
      wanted.hosts[0].owner = wanted.epoch
      // Nothing is connected to the other coordinator yet.
      wanted.hosts[0].isLinked = false
      #expect(found == wanted)
      #expect(try await recovered.submit("com.0", to: definition, id: "com.0") == store.submit("com.0", to: definition))
      try await recovered.close()
      try await store.close()
    }
  }

  @Test func aFullDiskChangesNothingAndRoomHelps() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      try await store.limitPages(toSpare: 4)
      let answered = try await fill(store, definition)
      #expect(answered.error?.code == .cannotWrite)
      #expect(answered.error?.message.contains("full") == true)
      #expect(try await store.counts().map(\.count) == [answered.count])
      try await store.limitPages(toSpare: 1_000_000)
      #expect(try await store.submit("com.room", to: definition).number == 1)
      #expect(try await store.counts().map(\.count) == [answered.count + 1])
      try await store.close()
    }
  }

  /// Submits until something is refused.
  private func fill(_ store: SQLiteStore, _ definition: DefinitionID) async throws -> (count: Int, error: StoreError?) {
    for index in 0..<10_000 {
      if let error = await refusal({ try await store.submit("com.\(index)", to: definition) }) { return (index, error) }
    }
    return (10_000, nil)
  }
}

extension SQLiteStore {
  func limitPages(toSpare spare: Int) async throws {
    try await write(.ordinary) { verbs in
      let count = try Int.fetchOne(verbs.db, sql: "PRAGMA page_count") ?? 0
      try verbs.db.execute(sql: "PRAGMA max_page_count = \(count + spare)")
    }
  }
}
