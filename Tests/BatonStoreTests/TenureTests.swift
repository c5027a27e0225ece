import BatonModel
import Foundation
import GRDB
import Testing

@testable import BatonStore

/// Two coordinators never both act on one store (promise P11).
@Suite struct TenureTests {
  private let files = FileManager.default

  /// Opens a store, and lets `second` try to open it in another way. The second attempt must be refused, and the first
  /// coordinator goes on.
  private func expectRefused(
    _ code: StoreError.Code, _ second: (_ folder: String, _ store: String) throws -> String
  ) async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder + "/store")
      let definition = try await store.prepare()
      let other = try second(folder, folder + "/store")
      #expect(await refusal { _ = try SQLiteStore.open(folder: other) }?.code == code)
      #expect(try await store.submit("com.a", to: definition).number == 1)
      try await store.demandTenure()
      try await store.close()
    }
  }

  @Test func aSecondOneByTheSamePathIsRefused() async throws {
    try await expectRefused(.locked) { $1 }
    try await expectRefused(.locked) { folder, store in "\(folder)//./store/" }
  }

  @Test func aSecondOneByARelativePathIsRefused() async throws {
    try await expectRefused(.locked) { _, store in
      let up = files.currentDirectoryPath.split(separator: "/").map { _ in "../" }.joined()
      return up + store.dropFirst()
    }
  }

  @Test func aSecondOneThroughASymbolicLinkIsRefused() async throws {
    try await expectRefused(.locked) { folder, store in
      try files.createSymbolicLink(atPath: folder + "/link", withDestinationPath: store)
      return folder + "/link"
    }
    // A link to the database alone: the folder of the link has a lock file of its own.
    try await expectRefused(.locked) { folder, store in
      try files.createDirectory(atPath: folder + "/other", withIntermediateDirectories: true)
      try files.createSymbolicLink(atPath: folder + "/other/baton.sqlite", withDestinationPath: store + "/baton.sqlite")
      return folder + "/other"
    }
  }

  @Test func aSecondOneThroughAHardLinkIsRefused() async throws {
    try await expectRefused(.refused) { folder, store in
      try files.createDirectory(atPath: folder + "/other", withIntermediateDirectories: true)
      try files.linkItem(atPath: store + "/baton.sqlite", toPath: folder + "/other/baton.sqlite")
      return folder + "/other"
    }
  }

  #if os(Linux)
    /// Mounting needs root. The test makes the system call itself and runs no program, because Foundation's `Process`
    /// sometimes crashed beside the tests that open a thousand files.
    @Test(.enabled(if: geteuid() == 0, "only root mounts"))
    func aSecondOneThroughABindMountIsRefused() async throws {
      try await TemporaryFolder.with { folder in
        let store = try SQLiteStore.open(folder: folder + "/store")
        let mounted = folder + "/mounted"
        try files.createDirectory(atPath: mounted, withIntermediateDirectories: true)
        try #require(mount(folder + "/store", mounted, nil, UInt(MS_BIND), nil) == 0)
        let error = await refusal { _ = try SQLiteStore.open(folder: mounted) }
        #expect(umount(mounted) == 0)
        #expect(error?.code == .locked)
        try await store.close()
      }
    }
  #endif

  /// Cases in which a lock does not help, because the lock file was deleted or replaced.
  @Test(arguments: [true, false])
  func aStoreThatAnotherProcessHasTakenOverCommitsNothingMore(keepsFile: Bool) async throws {
    try await TemporaryFolder.with { folder in
      let first = try SQLiteStore.open(folder: folder)
      let definition = try await first.prepare()
      let lock = folder + "/" + StoreFolder.lockName
      // If the lock file gets its name back, the first store finds all files in place, and only the epoch has changed.
      try files.moveItem(atPath: lock, toPath: lock + ".taken")
      let second = try SQLiteStore.open(folder: folder)
      if keepsFile { try replace(lock, by: lock + ".taken") }
      let error = await refusal { try await first.submit("com.a", to: definition) }
      #expect(error?.code == .superseded)
      #expect(error?.message.contains(keepsFile ? "Another coordinator" : "removed or replaced") == true)
      #expect(await refusal { try await first.setPaused(true) }?.code == .superseded)
      #expect(await refusal { try await first.demandTenure() }?.code == .superseded)
      var failures = first.failures.makeAsyncIterator()
      #expect(await failures.next()?.code == .superseded)
      #expect(try await second.fleet().isPaused == false)
      #expect(try await second.counts() == [])
      if !keepsFile { #expect(try await second.submit("com.a", to: definition).number == 1) }
      try await first.close()
      try await second.close()
    }
  }

  /// An older copy counts on from its own receipt, and soon its receipts are as high as those that were lost.
  @Test func anOlderCopyIsNoticedHoweverMuchItHasDoneSince() async throws {
    try await TemporaryFolder.with { folder in
      let path = folder + "/" + StoreFolder.databaseName
      let store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      let kept = store.receipt
      try await DatabaseQueue(path: path).writeWithoutTransaction { db in
        try db.execute(sql: "VACUUM INTO ?", arguments: [folder + "/copy"])
      }
      _ = try await store.submit("com.lost", to: definition)
      let lost = store.receipt
      try await store.close()

      for suffix in ["", "-wal", "-shm"] { try? files.removeItem(atPath: path + suffix) }
      try files.moveItem(atPath: folder + "/copy", toPath: path)
      let copy = try SQLiteStore.open(folder: folder)
      for name in ["com.a", "com.b", "com.c"] { _ = try await copy.submit(name, to: definition) }
      #expect(copy.receipt.sequence > lost.sequence)
      #expect(try await copy.standing(of: [kept]) == .covered)
      #expect(try await copy.standing(of: [lost]) == .ahead(receipt: lost, known: kept))
      _ = try await copy.renewIncarnation(of: lost.store, as: "renewed")
      #expect(try await copy.standing(of: [lost]) == .ahead(receipt: lost, known: kept), "of the next worker, too")
      try await copy.close()
    }
  }

  private func replace(_ path: String, by other: String) throws {
    try files.removeItem(atPath: path)
    try files.moveItem(atPath: other, toPath: path)
  }

  /// The whole group of a late write is rolled back, and no caller is told that its write was done.
  @Test func everyWriteOfAGroupThatComesTooLateIsRefused() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      try await DatabaseQueue(path: folder + "/" + StoreFolder.databaseName).write { db in
        try db.execute(sql: "UPDATE coordinator SET is_ended = 1")
      }
      await withTaskGroup(of: StoreError.Code?.self) { group in
        for index in 0..<20 {
          group.addTask { await refusal { try await store.submit("com.\(index)", to: definition) }?.code }
        }
        for await code in group { #expect(code == .superseded) }
      }
      #expect(try await store.counts() == [])
      try await store.close()
    }
  }

  @Test(arguments: [StoreFolder.lockName, StoreFolder.databaseName])
  func aFileThatWasTakenAwayEndsTheStore(name: String) async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder)
      _ = try await store.prepare()
      try files.moveItem(atPath: folder + "/" + name, toPath: folder + "/away")
      #expect(await refusal { try await store.demandTenure() }?.message.contains(name) == true)
      let error = await refusal { try await store.setPaused(true) }
      #expect(error?.code == .superseded)
      #expect(error?.message.contains(name) == true)
      try await store.close()
    }
  }

  @Test func everyStartRaisesTheEpoch() async throws {
    try await TemporaryFolder.with { folder in
      for epoch in 1...3 {
        let store = try SQLiteStore.open(folder: folder)
        let found = try await store.read { try Int.fetchOne($0.db, sql: "SELECT max(epoch) FROM coordinator") }
        #expect(found == epoch)
        try await store.demandTenure()
        try await store.close()
      }
    }
  }
}
