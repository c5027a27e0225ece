import BatonModel
import Foundation
import GRDB
import Testing

@testable import BatonStore

@Suite struct OpeningTests {
  @Test func everyStartDemandsFullSynchronisation() async throws {
    try await TemporaryFolder.with { folder in
      for _ in 0..<2 {
        let store = try SQLiteStore.open(folder: folder)
        let settings = try await store.write(.ordinary) { verbs in
          (
            try Int.fetchOne(verbs.db, sql: "PRAGMA synchronous"),
            try String.fetchOne(verbs.db, sql: "PRAGMA journal_mode")
          )
        }
        #expect(settings.0 == 2)
        #expect(settings.1 == "wal")
        try await store.close()
      }
    }
  }

  @Test func folderAndFilesAreTheOwnersOnly() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder + "/deep/store")
      _ = try await store.prepare()
      func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      }
      #expect(try mode(folder + "/deep/store") == 0o700)
      for file in try FileManager.default.contentsOfDirectory(atPath: folder + "/deep/store") {
        #expect(try mode(folder + "/deep/store/" + file) == 0o600, "\(file)")
      }
      try await store.close()
    }
  }

  @Test func aSecondOpenerIsRefusedWithTheProcessThatHoldsIt() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder)
      let error = await refusal { _ = try SQLiteStore.open(folder: folder) }
      #expect(error?.code == .locked)
      #expect(error?.message.contains("\(ProcessInfo.processInfo.processIdentifier)") == true)
      #expect(error?.message.contains("--data") == true)
      try await store.close()
    }
  }

  /// Holds the lock as another process does. `SecondCoordinatorTests` has two real processes.
  @Test func aStoreThatAnotherProcessHoldsIsRefused() async throws {
    try await TemporaryFolder.with { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let lock = open(folder + "/" + StoreFolder.lockName, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      try #require(lock >= 0 && flock(lock, LOCK_EX) == 0 && write(lock, "4711\n", 5) == 5)
      let error = await refusal { _ = try SQLiteStore.open(folder: folder) }
      #expect(error?.code == .locked)
      #expect(error?.message.contains("process 4711") == true)
      close(lock)
      try await SQLiteStore.open(folder: folder).close()
    }
  }

  @Test func aClosedStoreIsFreeAgainAndHasWhatWasWritten() async throws {
    try await TemporaryFolder.with { folder in
      var store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      try await store.submit("com.a", to: definition)
      let incarnation = try await store.fleet().storeIncarnation
      try await store.close()
      store = try SQLiteStore.open(folder: folder)
      #expect(try await store.fleet().storeIncarnation == incarnation)
      #expect(try await store.submit("com.b", to: definition).number == 1)
      #expect(try await store.counts().map(\.count) == [2])
      try await store.close()
    }
  }

  @Test func aNewerDatabaseIsRefusedUnchanged() async throws {
    try await TemporaryFolder.with { folder in
      try await SQLiteStore.open(folder: folder).close()
      let path = folder + "/" + StoreFolder.databaseName
      try await DatabaseQueue(path: path).write { db in
        try db.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('99 of the future')")
      }
      let error = await refusal { _ = try SQLiteStore.open(folder: folder) }
      #expect(error?.code == .newerVersion)
      #expect(error?.message.contains(path) == true)
    }
  }

  @Test(arguments: [Data("not a database at all, by no means".utf8), Data(repeating: 0xA5, count: 8192)])
  func whatIsNoDatabaseIsCorrupt(content: Data) async throws {
    try await TemporaryFolder.with { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try content.write(to: URL(filePath: folder + "/" + StoreFolder.databaseName))
      let error = await refusal { _ = try SQLiteStore.open(folder: folder) }
      #expect(error?.code == .corrupt, "\(String(describing: error))")
      #expect(try Data(contentsOf: URL(filePath: folder + "/" + StoreFolder.databaseName)) == content)
    }
  }

  @Test func aDatabaseOfAnotherProgramIsNotChanged() async throws {
    try await TemporaryFolder.with { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/" + StoreFolder.databaseName
      try await DatabaseQueue(path: path).write { db in try db.execute(sql: "CREATE TABLE mine (a)") }
      #expect(await refusal { _ = try SQLiteStore.open(folder: folder) }?.code == .corrupt)
      #expect(try await DatabaseQueue(path: path).read { try $0.tableExists("request") } == false)
    }
  }

  @Test func aFolderThatCannotBeMadeIsNamed() async throws {
    try await TemporaryFolder.with { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data().write(to: URL(filePath: folder + "/file"))
      let error = await refusal { _ = try SQLiteStore.open(folder: folder + "/file/store") }
      #expect(error?.code == .cannotWrite)
      #expect(error?.message.contains(folder + "/file") == true)
      #expect(error?.message.contains("--data") == true)
    }
  }

  /// Root may write everywhere, so the folder lies on a file system that is read-only for root too.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/sys/kernel"), "there is no /sys/kernel"))
  func aReadOnlyPlaceIsRefused() async throws {
    let error = await refusal { _ = try SQLiteStore.open(folder: "/sys/kernel/baton-store") }
    #expect(error?.code == .cannotWrite)
    #expect(error?.message.contains("/sys/kernel/baton-store") == true)
  }

  @Test(arguments: [
    ("/srv/data", "nfs4"), ("/srv/data/deeper", "nfs4"), ("/srv/database", nil), ("/home/ada", "fuse.sshfs"),
    ("/srv/data/local", nil), ("/", nil), ("/windows", "9p"),
  ])
  func networkFileSystemsAreKnownByTheirMount(path: String, kind: String?) {
    let mounts = """
      20 1 8:1 / / rw,relatime - ext4 /dev/root rw
      21 20 0:40 / /srv/data rw shared:1 - nfs4 server:/export rw
      22 21 8:2 / /srv/data/local rw - xfs /dev/sdb rw
      23 20 0:41 / /home rw - fuse.sshfs ada@server: rw
      24 20 0:42 / /windows rw - 9p drvfs rw
      """
    #expect(NetworkFileSystem.kind(of: path, mounts: mounts) == kind)
  }
}

extension SubmissionAnswer {
  var number: Int? {
    switch self {
    case .accepted(let receipt, _, _, _): receipt.number
    case .refused: nil
    }
  }
}
