import BatonModel
import Foundation
import GRDB
import Testing

@testable import BatonStore

/// Stores of earlier versions go on in this version.
@Suite struct UpgradeTests {
  private static let schemas = URL(filePath: #filePath).deletingLastPathComponent().path + "/Schemas"
  private static let migrator = Migrations.migrator(incarnation: "fixed")

  /// A published migration is never edited, because stores that have run it do not run it again. `BATON_RECORD=1`
  /// records a new migration.
  @Test(arguments: migrator.migrations.indices)
  func aPublishedMigrationMakesWhatItAlwaysMade(index: Int) throws {
    let queue = try DatabaseQueue()
    try Self.migrator.migrate(queue, upTo: Self.migrator.migrations[index])
    let schema = try queue.read { db in
      let sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT LIKE 'grdb%' ORDER BY type, name"
      return try String.fetchAll(db, sql: sql).map { $0 + ";\n" }.joined()
    }
    let path = "\(Self.schemas)/\(index + 1).sql"
    if ProcessInfo.processInfo.environment["BATON_RECORD"] == "1" {
      try Data(schema.utf8).write(to: URL(filePath: path))
    }
    #expect(
      try schema == String(contentsOfFile: path, encoding: .utf8), "\(Self.migrator.migrations[index]) was edited")
  }

  /// Opens the store of a coordinator and a worker that were both killed. It has requests 1 to 9 in every state; the
  /// running one has committed six of its ten batches.
  private func withKilledStore(_ body: (SQLiteStore, Moment) async throws -> Void) async throws {
    try await TemporaryFolder.with { folder in
      let queue = try DatabaseQueue(path: try StoreFolder(folder).databasePath)
      let dump = try String(contentsOfFile: Self.schemas + "/killed-at-3.sql", encoding: .utf8)
      try await queue.writeWithoutTransaction { try $0.execute(sql: dump) }
      try queue.close()
      let store = try SQLiteStore.open(folder: folder, queuesSpans: true)
      let clock = try #require(try await store.fleet().clock)
      try await body(store, clock.moment + .seconds(10))
      #expect(try await store.recount() == store.counts())
      try await store.close()
    }
  }

  private func states(_ store: SQLiteStore) async throws -> [String: RequestState] {
    let requests = try await store.requests(RequestFilter(), after: nil, limit: 99)
    return Dictionary(requests.map { ("\($0.identifier) \($0.number)", $0.state) }) { first, _ in first }
  }

  @Test func everyRequestIsThereAsItWas() async throws {
    try await withKilledStore { store, _ in
      let states = try await states(store)
      #expect(
        states == [
          "com.example.nightly 1": .succeeded, "com.example.nightly 2": .scheduled, "com.example.done 1": .succeeded,
          "com.example.failed 1": .failed, "com.example.backing-off 1": .scheduled, "com.example.no-host 1": .ready,
          "com.example.cancelled 1": .cancelled, "com.example.later 1": .scheduled, "com.example.running 1": .running,
        ])
      #expect(store.receipt.sequence == 1, "its own start")
      #expect(try await store.standing(of: [store.receipt]) == .covered)
      for request in 1...9 { #expect(try await !store.spans(of: RequestID(Int64(request))).isEmpty) }
    }
  }

  @Test func whatRanGoesOnAtItsCheckpointUnderItsLease() async throws {
    try await withKilledStore { store, now in
      let fleet = try await store.fleet()
      let running = try #require(fleet.running.first)
      #expect(fleet.hosts.map(\.incarnation) == [running.incarnation])
      let assignment = try #require(try await store.assignments(on: running.host).first)
      #expect(assignment.progress.batches == 6)
      let worker = WorkerProcess(host: running.host, incarnation: running.incarnation)
      for batch in 6..<10 {
        let checkpoint = Checkpoint(
          launch: running.launch, batch: batch, completedUnits: Int64(batch + 1) * 10, totalUnits: 100,
          reachesEnd: batch == 9)
        #expect(try await store.checkpoint([checkpoint], from: worker, at: now) == [.committed(batch: batch)])
      }
      let ending = try await store.end([Ending(launch: running.launch, outcome: .finished)], from: worker, at: now)[0]
      #expect([ending.state] == [.succeeded])
      #expect(try await store.launches(of: running.launch.request).map(\.batches) == [10])
    }
  }

  @Test func whatWaitsComesInTimeAndWhatFailedCanBeRetried() async throws {
    try await withKilledStore { store, now in
      #expect(try await store.promote(at: now, limit: 9).classes == [:])
      let later = try await store.promote(at: now + .seconds(7200), limit: 9)
      #expect(later.classes.values.reduce(0, +) == 2)
      #expect(try await store.promote(at: now + .seconds(86_400), limit: 9).classes.count == 1)
      let failed = try #require(try await store.request(JobIdentifier("com.example.failed")!, number: nil))
      #expect(try await store.retry(failed.id, skipping: .nothing, at: now).state == .ready)
    }
  }

  @Test func aSubmissionThatIsRepeatedGetsTheAnswerThatItGotThen() async throws {
    try await withKilledStore { store, now in
      let (key, request) = try await store.read { verbs in
        let row = try Row.fetchOne(
          verbs.db, sql: "SELECT key, request, definition FROM submission ORDER BY id DESC LIMIT 1")
        return try (#require(row?["key"] as String?), #require(row?["request"] as Int64?))
      }
      let submission = Submission(id: key, identifier: JobIdentifier("com.example.running")!, trace: someTrace)
      let answer = try await store.submit(
        [SubmissionOffer(submission: submission, definition: DefinitionID(4))], at: now)
      guard case .accepted(let receipt, _, _, let isRepeat)? = answer.first else {
        Issue.record("refused: \(answer)")
        return
      }
      #expect(receipt.request == RequestID(request))
      #expect(isRepeat)
    }
  }
}
