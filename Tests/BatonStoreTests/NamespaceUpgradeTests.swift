import BatonModel
import BatonPostgres
import Foundation
import GRDB
import Testing

@testable import BatonStore

/// A store of the version before namespaces goes on in this version, with the shards of a request that run.
@Suite struct NamespaceUpgradeTests {
  private static let limits: StoreLimits = {
    var (limits, team) = (StoreLimits(), Namespace("com.team"))
    (team.quotas.running, team.quotas.slots) = (4, 6)
    limits.namespaces = Namespaces([team])
    return limits
  }()

  /// A request of which two shards run, each with two slots.
  private func fill(_ store: some Store) async throws -> (DefinitionID, [LaunchKey]) {
    var definition = Definition(pattern: IdentifierPattern("com.team.*")!, kind: .processing)
    definition.work = Work(command: ["true"], items: .range(1...400), batchSize: 1)
    definition.spread = Spread(lanes: 4, shardSize: 100)
    definition.requirements.slots = 2
    let lease = try await store.grantLease(someHost, someProcess, report: nil, at: someTime).lease
    let id = try await store.apply([definition], seeds: [someTrace], at: someTime)[0].id
    try await store.submit("com.team.a", to: id)
    let launches = try await [
      claim(id, in: store, under: lease, places: 1), claim(id, in: store, under: lease, places: 1),
    ]
    return (id, launches.flatMap { $0 })
  }

  private func claim(
    _ id: DefinitionID, in store: some Store, under lease: HostLease, places: Int
  ) async throws -> [LaunchKey] {
    let places = (0..<places).map { _ in Claim.Place(gpus: [], spanID: someSpan) }
    let wanted = RequirementClass(definition: id, priority: .background)
    return try await store.claim([Claim(requirementClass: wanted, lease: lease, places: places)], at: someTime)[0]
      .assignments.map(\.launch)
  }

  /// What ran is counted, the quotas hold, and the shards go on at their checkpoints.
  private func goesOn(_ store: some Store, _ id: DefinitionID, _ launches: [LaunchKey]) async throws {
    let fleet = try await store.fleet()
    #expect(fleet.running.map(\.launch) == launches.sorted())
    let counts = try #require(try await store.namespaces()["com.team"])
    #expect(counts.pending == 0 && counts.running == 2 && counts.slots == 4)
    let lease = try #require(
      fleet.hosts.first.flatMap { host in
        host.incarnation.map { HostLease(host: host.name, incarnation: $0, number: host.leaseNumber) }
      })
    #expect(try await claim(id, in: store, under: lease, places: 4).count == 1, "two more slots are left of six")
    let checkpoint = Checkpoint(launch: launches[0], batch: 1, completedUnits: 2)
    let answer = try await store.checkpoint([checkpoint], from: someWorker, at: someTime)
    #expect(answer == [.committed(batch: 1, end: 100)], "the shard has the first 100 units")
    let ending = Ending(launch: launches[1], outcome: .expired(.draining))
    #expect(try await store.end([ending], from: someWorker, at: someTime + .seconds(10))[0].wasLive)
    let after = try #require(try await store.namespaces()["com.team"])
    #expect(after.running == 2 && after.slots == 4)
    #expect(abs(after.served.slotSeconds - 20) < 0.1, "two slots for ten seconds")
  }

  private static func first(_ launch: LaunchKey) -> Checkpoint {
    Checkpoint(launch: launch, batch: 0, completedUnits: 1)
  }

  @Test func aStoreInAFolderGoesOn() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder)
      let (id, launches) = try await fill(store)
      _ = try await store.checkpoint([Self.first(launches[0])], from: someWorker, at: someTime)
      try await store.close()
      let queue = try DatabaseQueue(path: try StoreFolder(folder).databasePath)
      try await queue.writeWithoutTransaction { db in
        try db.execute(
          sql: """
            DROP TABLE limit_key; DROP TABLE limit_line; DROP INDEX request_waits_on;
            ALTER TABLE request DROP COLUMN waits_on;
            DROP INDEX identifier_standing; ALTER TABLE identifier DROP COLUMN backfill;
            ALTER TABLE identifier DROP COLUMN paused_because; ALTER TABLE identifier DROP COLUMN paused_by;
            ALTER TABLE identifier DROP COLUMN paused_at;
            ALTER TABLE request DROP COLUMN scheduled_at; ALTER TABLE request DROP COLUMN backfill;
            DROP TABLE transfer; DROP TABLE transfer_place; ALTER TABLE request DROP COLUMN files_on;
            ALTER TABLE request DROP COLUMN barren_failures; ALTER TABLE request DROP COLUMN followed;
            DROP TABLE notification; DROP INDEX request_tell_at; ALTER TABLE request DROP COLUMN notified;
            ALTER TABLE request DROP COLUMN tell_at;
            DROP TABLE result; DROP TABLE dependency; DROP INDEX request_flow; ALTER TABLE request DROP COLUMN flow;
            ALTER TABLE request DROP COLUMN waits_for; ALTER TABLE request DROP COLUMN is_awaited;
            DROP TABLE namespace_share; ALTER TABLE coordinator DROP COLUMN namespaces;
            DELETE FROM grdb_migrations WHERE identifier IN (
              '18 namespaces', '19 transfers', '20 what follows a failure', '21 flows', '22 paused schedules',
              '23 notifications', '24 limits by key', '25 results')
            """)
        let schema = try String.fetchAll(
          db,
          sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT LIKE 'grdb%' ORDER BY type, name")
        let path = URL(filePath: #filePath).deletingLastPathComponent().path + "/Schemas/17.sql"
        let wanted = try String(contentsOfFile: path, encoding: .utf8)
        #expect(schema.map { $0 + ";\n" }.joined() == wanted, "this is no store of the version before")
      }
      try queue.close()
      let upgraded = try SQLiteStore.open(folder: folder, limits: Self.limits)
      try await goesOn(upgraded, id, launches)
      #expect(try await upgraded.recount() == upgraded.counts())
      try await upgraded.close()
    }
  }

  @Test(.enabled(if: TestDatabase.isThere, TestDatabase.hint))
  func aStoreInPostgreSQLGoesOn() async throws {
    let address = try TestDatabase.make()
    let store = try TestDatabase.open(address)
    let (id, launches) = try await fill(store)
    _ = try await store.checkpoint([Self.first(launches[0])], from: someWorker, at: someTime)
    try await store.close()
    let beside = try Bystander(address)
    try beside.run(
      """
      DROP TABLE limit_key; DROP TABLE limit_line; DROP INDEX request_waits_on;
      ALTER TABLE request DROP COLUMN waits_on;
      ALTER TABLE identifier DROP COLUMN backfill, DROP COLUMN paused_because, DROP COLUMN paused_by,
        DROP COLUMN paused_at;
      ALTER TABLE request DROP COLUMN scheduled_at, DROP COLUMN backfill;
      DROP TABLE transfer; DROP TABLE transfer_place; ALTER TABLE request DROP COLUMN files_on;
      ALTER TABLE request DROP COLUMN barren_failures; ALTER TABLE request DROP COLUMN followed;
      DROP TABLE notification; ALTER TABLE request DROP COLUMN notified; ALTER TABLE request DROP COLUMN tell_at;
      DROP TABLE result; DROP TABLE dependency; DROP INDEX request_flow; ALTER TABLE request DROP COLUMN flow;
      ALTER TABLE request DROP COLUMN waits_for; ALTER TABLE request DROP COLUMN is_awaited;
      DROP TABLE namespace_share; ALTER TABLE coordinator DROP COLUMN namespaces;
      UPDATE baton_schema SET version = \(PostgresSchema.version - 8)
      """)
    let upgraded = try TestDatabase.open(address, storeLimits: Self.limits)
    try await goesOn(upgraded, id, launches)
    try await upgraded.close()
  }

  /// While a fleet is updated, a coordinator without namespaces writes beside one that has them.
  @Test func whatACoordinatorWithoutNamespacesStartedIsCountedWhenItEnds() async throws {
    let old = try SQLiteStore.inMemory(isShared: true)
    let (_, launches) = try await fill(old)
    let new = try SQLiteStore.another(of: old, limits: Self.limits)
    #expect(try await new.namespaces()["com.team"]?.running == 2, "counted at its start")
    _ = try await old.end([Ending(launch: launches[1], outcome: .finished)], from: someWorker, at: someTime)
    #expect(try await new.namespaces()["com.team"]?.running == 2, "the other one counts nothing")
    let beat = try #require(try await new.beat(nil).living.first)
    try await new.end(coordinator: beat.epoch, silentSince: beat.beat)
    #expect(try await new.namespaces()["com.team"]?.running == 1, "the launch that runs is not counted")
  }
}
