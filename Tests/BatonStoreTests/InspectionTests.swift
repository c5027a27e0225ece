import Foundation
import GRDB
import Testing

@testable import BatonStore

/// Inspects the database of a store that another process may have open.
@Suite struct InspectionTests {
  private func bytes(_ folder: String) throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    return Dictionary(
      uniqueKeysWithValues: try names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: folder + "/" + $0))) })
  }

  @Test func aStoreOfThisVersionIsCurrentAndIsNotTouched() async throws {
    try await TemporaryFolder.with { folder in
      let found = try await changed(folder, "PRAGMA user_version = 0")
      #expect(found == .current)
      let before = try bytes(folder)
      #expect(StoreInspection(folder: folder).state == .current)
      #expect(try bytes(folder) == before)
    }
  }

  @Test func aStoreThatIsOpenIsSeenAsFarAsItsFileGoesAndIsNotDisturbed() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder)
      let before = try bytes(folder)
      #expect([.inLog, .current].contains(StoreInspection(folder: folder).state))
      #expect(try bytes(folder) == before)
      try await store.close()
    }
  }

  @Test func nothingAndAnEmptyFileAreMissing() async throws {
    try await TemporaryFolder.with { folder in
      #expect(StoreInspection(folder: folder + "/a?b#c%d").state == .missing)
      try FileManager.default.createDirectory(atPath: folder + "/a?b#c%d", withIntermediateDirectories: true)
      try Data().write(to: URL(fileURLWithPath: folder + "/a?b#c%d/baton.sqlite"))
      #expect(StoreInspection(folder: folder + "/a?b#c%d").state == .missing)
    }
  }

  private func changed(_ folder: String, _ sql: String) async throws -> StoreInspection.State {
    try await SQLiteStore.open(folder: folder).close()
    let queue = try DatabaseQueue(path: folder + "/baton.sqlite")
    try await queue.write { try $0.execute(sql: sql) }
    try queue.close()
    return StoreInspection(folder: folder).state
  }

  @Test func newerOlderAndForeignDatabasesAreToldApart() async throws {
    for (sql, state) in [
      ("INSERT INTO grdb_migrations VALUES ('99 what is to come')", .newer),
      (
        "DELETE FROM grdb_migrations WHERE identifier <> '1 initial schema'",
        .older(Migrations.migrator(incarnation: nil).migrations.count - 1)
      ),
      ("PRAGMA application_id = 7", .foreign),
    ] as [(String, StoreInspection.State)] {
      try await TemporaryFolder.with { folder in
        let found = try await changed(folder, sql)
        #expect(found == state)
      }
    }
  }

  @Test func whatIsNoDatabaseIsUnreadable() async throws {
    try await TemporaryFolder.with { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: folder + "/baton.sqlite"))
      guard case .unreadable = StoreInspection(folder: folder).state else {
        Issue.record("taken for a database")
        return
      }
    }
  }

  @Test(arguments: [("/srv/data", "ext4", ["ro", "barrier=0"]), ("/", "xfs", ["rw"])])
  func whatIsMountedIsToldWithItsOptions(path: String, kind: String, options: [String]) {
    let mounts = """
      20 1 8:1 / / rw shared:1 - xfs /dev/sda1 rw
      21 20 8:2 / /srv ro - ext4 /dev/sdb1 ro,barrier=0
      """
    let found = MountedFileSystem(of: path, mounts: mounts)
    #expect(found?.kind == kind && Set(found?.options ?? []) == Set(options))
  }
}
