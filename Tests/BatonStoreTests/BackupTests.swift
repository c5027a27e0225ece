import BatonModel
import Foundation
import GRDB
import Synchronization
import Testing

@testable import BatonStore

/// A backup of the store that is made while the store is in use, and the database file after a clean end.
@Suite struct BackupTests {
  /// Calls `body` with two folders beside each other: one with a store that has one request, and one for backups.
  private func withStore(
    _ body: (SQLiteStore, DefinitionID, _ store: String, _ backups: String) async throws -> Void
  )
    async throws
  {
    try await TemporaryFolder.with { folder in
      let (data, backups) = (folder + "/store", Self.real(folder) + "/backups")
      let store = try SQLiteStore.open(folder: data)
      try FileManager.default.createDirectory(
        atPath: backups, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let definition = try await store.prepare()
      try await store.submit("com.a", to: definition)
      try await body(store, definition, data, backups)
      try? await store.close()
    }
  }

  /// The path with its folder's symbolic links resolved: the temporary folder of macOS is behind a link.
  private static func real(_ path: String) -> String {
    URL(filePath: path).deletingLastPathComponent().resolvingSymlinksInPath().path + "/"
      + URL(filePath: path).lastPathComponent
  }

  private func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  @Test func aBackupIsAStoreWithEverythingThatWasAnswered() async throws {
    try await withStore { store, definition, _, backups in
      let file = backups + "/monday.sqlite"
      let reports = Mutex<[BackupProgress]>([])
      let summary = try await store.backUp(to: file) { one in reports.withLock { $0.append(one) } }
      try await store.submit("com.b", to: definition)
      #expect(summary.path == file)
      #expect(summary.receipt.store == store.receipt.store)
      #expect(summary.receipt.sequence == store.receipt.sequence - 1)
      #expect(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int == summary.bytes)
      #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
      #expect(try names(in: backups) == ["monday.sqlite"], "no log and no half file beside it")
      let last = try #require(reports.withLock { $0.last })
      #expect(last.pages == last.totalPages && last.pages > 0)
      try FileManager.default.createDirectory(atPath: backups + "/restored", withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: file, toPath: backups + "/restored/" + StoreFolder.databaseName)
      let restored = try SQLiteStore.open(folder: backups + "/restored")
      #expect(try await restored.counts().map(\.count) == [1])
      let standing = try await restored.standing(of: [store.receipt])
      #expect(
        standing != .covered && standing != .foreign, "a worker's receipt does not notice the restore: \(standing)")
      try await restored.close()
    }
  }

  /// The copy reads one snapshot. Without it, SQLite would begin the copy again at every commit of the writer.
  @Test func writersGoOnAndTheCopyDoesNotBeginAgain() async throws {
    try await withStore { store, definition, _, backups in
      for page in 0..<40 {
        try await store.submit("com.big\(page)", to: definition, id: "big \(page)", payload: 60_000)
      }
      let steps = Mutex<[Int]>([])
      let writing = Mutex<[Task<Void, any Error>]>([])
      let summary = try await store.backUp(to: backups + "/busy.sqlite") { progress in
        let number = steps.withLock { steps in
          steps.append(progress.pages)
          return steps.count
        }
        // The copy waits between two steps until this submission is committed.
        let committed = DispatchSemaphore(value: 0)
        writing.withLock {
          $0.append(
            Task {
              defer { committed.signal() }
              _ = try await store.submit("com.during\(number)", to: definition, id: "during \(number)")
            })
        }
        committed.wait()
      }
      for task in writing.withLock({ $0 }) { try await task.value }
      let pages = steps.withLock { $0 }
      #expect(pages.count >= 2, "one step proves nothing")
      #expect(pages == pages.sorted(), "the copy began again")
      #expect(summary.receipt.sequence + Int64(pages.count) == store.receipt.sequence)
    }
  }

  @Test func whatIsThereIsNotReplacedNorFollowed() async throws {
    try await withStore { store, _, data, backups in
      try Data("mine".utf8).write(to: URL(filePath: backups + "/there.sqlite"))
      let manager = FileManager.default
      try manager.createSymbolicLink(atPath: backups + "/link.sqlite", withDestinationPath: backups + "/victim")
      try manager.createSymbolicLink(atPath: backups + "/folder", withDestinationPath: data)
      for (name, mode) in [("open", 0o777), ("group", 0o770)] {
        try manager.createDirectory(atPath: "\(backups)/\(name)", withIntermediateDirectories: true)
        try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(backups)/\(name)")
      }
      for (file, word) in [
        (backups + "/there.sqlite", "already exists"), (backups + "/link.sqlite", "already exists"),
        (backups + "/folder/a.sqlite", "symbolic link"), (Self.real(data) + "/a.sqlite", "store's own folder"),
        (backups + "/open/a.sqlite", "Other users may write to"),
        (backups + "/group/a.sqlite", "Other users may write to"), ("a.sqlite", "absolute"),
        (backups + "/../a.sqlite", "'..'"), (backups + "//a.sqlite", "empty part"), (backups + "/a.conf", ".sqlite"),
        (backups + "/.sqlite", ".sqlite"), (backups + "/.a.sqlite", "dot"), (backups + "/a\n.sqlite", "control"),
        (backups + "/" + String(repeating: "a", count: 1024) + ".sqlite", "1,024"), ("", "absolute"),
        ("/", "empty part"),
      ] {
        let error = await refusal { _ = try await store.backUp(to: file) { _ in } }
        #expect(
          error?.code == .refused && error?.message.contains(word) == true, "\(file): \(String(describing: error))")
      }
      let missing = await refusal { _ = try await store.backUp(to: backups + "/no/a.sqlite") { _ in } }
      #expect(missing?.code == .cannotWrite && missing?.message.contains("make the folder first") == true)
      #expect(try String(contentsOfFile: backups + "/there.sqlite", encoding: .utf8) == "mine")
      #expect(!manager.fileExists(atPath: backups + "/victim"))
      #expect(try names(in: backups) == ["folder", "group", "link.sqlite", "open", "there.sqlite"])
    }
  }

  @Test func whatAKilledBackupLeftIsReplaced() async throws {
    try await withStore { store, _, _, backups in
      try Data("half".utf8).write(to: URL(filePath: backups + "/a.sqlite.part"))
      _ = try await store.backUp(to: backups + "/a.sqlite") { _ in }
      #expect(try names(in: backups) == ["a.sqlite"])
      try FileManager.default.createSymbolicLink(
        atPath: backups + "/b.sqlite.part", withDestinationPath: backups + "/a.sqlite")
      let error = await refusal { _ = try await store.backUp(to: backups + "/b.sqlite") { _ in } }
      #expect(error?.code == .refused && error?.message.contains("b.sqlite.part already exists") == true)
    }
  }

  @Test func aBackupThatIsStoppedLeavesNothing() async throws {
    try await withStore { store, _, _, backups in
      do {
        let control = BackupControl()
        let target = try BackupTarget(backups + "/stopped.sqlite", store: nil)
        control.stop()
        let copy = BackupCopy(target: target, control: control) { _ in }
        await #expect(throws: CancellationError.self) { _ = try await store.readAll { try copy.run(from: $0) } }
      }
      #expect(try names(in: backups) == [])
    }
  }

  @Test func twoAtOnceAreRefused() async throws {
    try await withStore { store, _, _, backups in
      try store.claimBackup(BackupControl())
      let error = await refusal { _ = try await store.backUp(to: backups + "/second.sqlite") { _ in } }
      #expect(error?.code == .refused && error?.message.contains("already") == true)
      store.releaseBackup()
      _ = try await store.backUp(to: backups + "/second.sqlite") { _ in }
    }
  }

  @Test func anUnfinishedBackupIsRemovedAndAFinishedOneStays() throws {
    let folder = Self.real(FileManager.default.temporaryDirectory.appending(path: "baton-\(UUID().uuidString)").path)
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func target() throws -> BackupTarget { try BackupTarget(folder + "/a.sqlite", store: nil) }
    do { _ = try target() }
    #expect(try names(in: folder) == [])
    do {
      let first = try target()
      #expect(try names(in: folder) == ["a.sqlite.part"])
      #expect(throws: StoreError.self) { _ = try target() }
      try first.finish()
    }
    #expect(try names(in: folder) == ["a.sqlite"])
  }

  @Test func aFileThatAppearsMeanwhileIsNotReplaced() throws {
    let folder = Self.real(FileManager.default.temporaryDirectory.appending(path: "baton-\(UUID().uuidString)").path)
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    do {
      let target = try BackupTarget(folder + "/a.sqlite", store: nil)
      try Data("mine".utf8).write(to: URL(filePath: folder + "/a.sqlite"))
      #expect(throws: StoreError.self) { try target.finish() }
    }
    #expect(try names(in: folder) == ["a.sqlite"])
    #expect(try String(contentsOfFile: folder + "/a.sqlite", encoding: .utf8) == "mine")
  }

  @Test func moreThanTheDiskHasIsRefusedBeforeItBegins() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "baton-\(UUID().uuidString).sqlite").path
    let target = try BackupTarget(Self.real(path), store: nil)
    try target.demandRoom(for: 1)
    let error = #expect(throws: StoreError.self) { try target.demandRoom(for: 1 << 60) }
    #expect(error?.code == .cannotWrite && error?.message.contains("make room") == true)
  }

  @Test func aDamagedCopyIsNotKept() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "baton-\(UUID().uuidString).sqlite").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    for content in [Data("no database".utf8), Data(repeating: 0xA5, count: 8192), Data()] {
      try content.write(to: URL(filePath: path))
      let error = #expect(throws: StoreError.self) { _ = try BackupCheck(path: path, control: BackupControl()).run() }
      #expect(error?.code == .corrupt)
    }
  }

  @Test func aStoppedStoreIsCopiedAsItIs() async throws {
    try await withStore { store, _, data, backups in
      let file = backups + "/stopped.sqlite"
      let busy = await refusal { _ = try await SQLiteStore.backUp(folder: data, to: file) { _ in } }
      #expect(busy?.code == .locked)
      let receipt = store.receipt
      try await store.close()
      let before = try Data(contentsOf: URL(filePath: data + "/" + StoreFolder.databaseName))
      let summary = try await SQLiteStore.backUp(folder: data, to: file) { _ in }
      #expect(summary.receipt.sequence == receipt.sequence)
      #expect(try Data(contentsOf: URL(filePath: data + "/" + StoreFolder.databaseName)) == before)
      let nowhere = await refusal { _ = try await SQLiteStore.backUp(folder: backups, to: file) { _ in } }
      #expect(nowhere?.code == .notFound)
      #expect(try names(in: backups) == ["stopped.sqlite"], "no store is made where there is none")
    }
  }

  /// A backup that is made before an upgrade must not perform the upgrade.
  @Test func aStoreOfAnOlderVersionIsCopiedWithItsSchema() async throws {
    try await TemporaryFolder.with { folder in
      let queue = try DatabaseQueue(path: try StoreFolder(folder + "/store").databasePath)
      try Migrations.migrator(incarnation: "old").migrate(queue, upTo: "1 initial schema")
      try queue.close()
      let file = Self.real(folder) + "/old.sqlite"
      let summary = try await SQLiteStore.backUp(folder: folder + "/store", to: file) { _ in }
      #expect(summary.receipt == Receipt(store: "old", tenure: 0, sequence: 0))
      let applied = try await DatabaseQueue(path: file).read { db in
        try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
      }
      #expect(applied == ["1 initial schema"])
    }
  }

  @Test func afterACleanEndTheDatabaseFileAloneIsTheStore() async throws {
    try await withStore { store, definition, data, _ in
      for number in 0..<50 { try await store.submit("com.many\(number)", to: definition) }
      let log = data + "/" + StoreFolder.databaseName + "-wal"
      #expect(try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int ?? 0 > 0, "nothing was in the log")
      try await store.close()
      #expect((try? FileManager.default.attributesOfItem(atPath: log)[.size] as? Int) ?? 0 == 0)
      try FileManager.default.createDirectory(atPath: data + "/alone", withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        atPath: data + "/" + StoreFolder.databaseName, toPath: data + "/alone/" + StoreFolder.databaseName)
      let alone = try SQLiteStore.open(folder: data + "/alone")
      #expect(try await alone.counts().map(\.count) == [51])
      try await alone.close()
    }
  }

  /// A checkpoint that may take no time is not finished: the store closes all the same, and nothing is lost.
  @Test func aCheckpointThatTakesTooLongIsLeftToTheNextStart() async throws {
    try await withStore { store, definition, data, _ in
      try await store.submit("com.b", to: definition)
      try await store.close(checkpointLimit: .zero)
      let again = try SQLiteStore.open(folder: data)
      #expect(try await again.counts().map(\.count) == [2])
      try await again.close()
    }
  }
}

extension SQLiteStore {
  fileprivate func submit(_ name: String, to definition: DefinitionID, id: String, payload: Int) async throws {
    var submission = Submission(id: id, identifier: try #require(JobIdentifier(name)), trace: someTrace)
    submission.payload = [UInt8](repeating: 7, count: payload)
    _ = try await submit([SubmissionOffer(submission: submission, definition: definition)], at: someTime)
  }
}
