import BatonModel
import GRDB
import Testing

@testable import BatonStore

/// A store of an earlier version, with requests in every state, is migrated and goes on.
@Suite struct MigrationTests {
  private static let start = someTime.steady.nanoseconds
  private static let definitions: [Definition] = {
    var nightly = Definition(pattern: IdentifierPattern(trusted: "nightly"), kind: .processing)
    nightly.repeatEvery = .seconds(86_400)
    return [
      Definition(pattern: IdentifierPattern(trusted: "com.*"), kind: .processing),
      Definition(pattern: IdentifierPattern(trusted: "news"), kind: .refresh), nightly,
    ]
  }()

  /// Opens a database that was made with the first schema. It has requests of `com.*`: one is ready, one waits for a
  /// date, one runs and another waits behind it, one backs off, and one has ended. It also has a refresh that is
  /// spaced, and a repeating job that waits.
  private func open(in folder: String) async throws -> SQLiteStore {
    let path = try StoreFolder(folder).databasePath
    let queue = try DatabaseQueue(path: path)
    try Migrations.migrator(incarnation: "old").migrate(queue, upTo: "1 initial schema")
    try await queue.write { db in
      try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
      for (index, definition) in Self.definitions.enumerated() {
        try db.execute(
          sql: "INSERT INTO definition (pattern, content) VALUES (?, ?)",
          arguments: [index + 1, try definition.canonicalJSON()])
      }
      try db.execute(sql: Self.rows)
    }
    try queue.close()
    return try SQLiteStore.open(folder: folder)
  }

  @Test func everythingIsThereAsItWas() async throws {
    try await TemporaryFolder.with { folder in
      let store = try await open(in: folder)
      #expect(try await store.recount() == store.counts())
      let fleet = try await store.fleet()
      #expect(fleet.storeIncarnation == "old")
      #expect(fleet.clock == nil)
      #expect(fleet.hosts.map(\.name) == [someHost])
      #expect(fleet.running.map(\.startedSteady) == [someTime.steady])
      #expect(fleet.readyClasses.count == 1)
      #expect(fleet.nextDue == NextDue(steady: someTime.steady + .seconds(30)))
      let ended = try #require(try await store.request(RequestID(6)))
      #expect(ended.state == .succeeded)
      #expect(try await store.submit("com.ready", to: DefinitionID(1), id: "kept").request == RequestID(1))
      try await store.close()
    }
  }

  @Test func whatWaitsGoesOnInTime() async throws {
    try await TemporaryFolder.with { folder in
      let store = try await open(in: folder)
      #expect(try await store.start(DefinitionID(1)).request == RequestID(1))
      for (seconds, request) in [(30, 5), (60, 2), (900, 7), (3600, 8)] as [(Int64, Int64)] {
        #expect(try await store.promote(at: someTime + .seconds(seconds - 1), limit: 9).classes == [:])
        #expect(try await store.promote(at: someTime + .seconds(seconds), limit: 9).classes.count == 1)
        #expect(try await store.request(RequestID(request))?.state == .ready, "request \(request)")
      }
      #expect(try await store.recount() == store.counts())
      try await store.close()
    }
  }

  @Test func whatRunsEndsAndReleasesWhatWaitedForIt() async throws {
    try await TemporaryFolder.with { folder in
      let store = try await open(in: folder)
      let launch = LaunchKey(request: RequestID(3), number: 1)
      let later = someTime + .seconds(10)
      #expect(
        try await store.checkpoint(
          [Checkpoint(launch: launch, batch: 0, completedUnits: 1)], from: someWorker, at: later)
          == [.committed(batch: 0)])
      let answer = try await store.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: later)[0]
      #expect([answer.state] == [.succeeded])
      #expect(answer.released != nil)
      #expect(try await store.request(RequestID(4))?.state == .ready)
      #expect(try await store.fleet().use[IdentifierPattern(trusted: "com.*")]?.used == .seconds(10))
      try await store.close()
    }
  }

  @Test func aChainStaysWhereItWas() async throws {
    try await TemporaryFolder.with { folder in
      let store = try await open(in: folder)
      try await store.submit("nightly", to: DefinitionID(3))
      let launch = try await store.start(DefinitionID(3))
      #expect(launch.request == RequestID(8))
      let answer = try await store.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: someTime)[0]
      #expect(answer.nextDue == NextDue(steady: someTime.steady + .seconds(3600)))
      try await store.close()
    }
  }

  private static let rows = """
    INSERT INTO host (id, name, incarnation, last_seen_at) VALUES (1, 'alpha', 'alpha-1', \(start));
    INSERT INTO pattern (id, name, definition, applied_at, scheduled, ready, running, succeeded) VALUES
      (1, 'com.*', 1, \(start), 3, 1, 1, 1), (2, 'news', 2, \(start), 1, 0, 0, 0),
      (3, 'nightly', 3, \(start), 1, 0, 0, 0);
    INSERT INTO identifier (id, name, last_number, last_first_launch_at) VALUES
      (1, 'com.ready', 1, NULL), (2, 'com.later', 1, NULL), (3, 'com.running', 2, NULL), (4, 'com.failed', 1, NULL),
      (5, 'com.ended', 1, NULL), (6, 'news', 1, \(start)), (7, 'nightly', 1, NULL);
    INSERT INTO request (id, identifier, number, definition, priority, state, cause, eligible_at, earliest_at,
      submitted_at, principal, launches, host, started_at, ended_at, outcome, failures, trace_id, span_id, is_sampled)
    SELECT column1, column2, column3, column4, column5, column6, column7, column8, column9, \(start), 'ada', column10,
      column11, column12, column13, column14, column15, randomblob(16), randomblob(8), 1
    FROM (VALUES
      (1, 1, 1, 1, 0, 1, NULL, \(start), \(start), 0, NULL, NULL, NULL, NULL, 0),
      (2, 2, 1, 1, 0, 0, 0, \(after(60)), \(after(60)), 0, NULL, NULL, NULL, NULL, 0),
      (3, 3, 1, 1, 0, 2, NULL, \(start), \(start), 1, 1, \(start), NULL, NULL, 0),
      (4, 3, 2, 1, 0, 0, 3, \(Int64.max), \(start), 0, NULL, NULL, NULL, NULL, 0),
      (5, 4, 1, 1, 0, 0, 2, \(after(30)), \(start), 1, 1, \(start), NULL, 'failed', 1),
      (6, 5, 1, 1, 0, 3, NULL, \(start), \(start), 1, 1, \(start), \(start), 'succeeded', 0),
      (7, 6, 1, 2, 1, 0, 1, \(after(900)), \(start), 0, NULL, NULL, NULL, NULL, 0),
      (8, 7, 1, 3, 0, 0, 0, \(after(3600)), \(after(3600)), 0, NULL, NULL, NULL, NULL, 0));
    INSERT INTO launch (request, number, host, incarnation, gpus, span_id, started_at, ended_at, outcome, first_batch)
    VALUES (3, 1, 1, 'alpha-1', '', randomblob(8), \(start), NULL, NULL, 0),
      (5, 1, 1, 'alpha-1', '', randomblob(8), \(start), \(start), 'failed', 0),
      (6, 1, 1, 'alpha-1', '', randomblob(8), \(start), \(start), 'finished', 0);
    INSERT INTO submission (key, at, request, identifier, number, definition, priority, state, eligible_at, replaced)
    VALUES ('kept', \(start), 1, 1, 1, 1, 0, 1, \(start), 0);
    UPDATE store SET next_request = 9;
    """

  private static func after(_ seconds: Int64) -> Int64 { start + seconds * 1_000_000_000 }
}

extension SubmissionAnswer {
  fileprivate var request: RequestID? {
    switch self {
    case .accepted(let receipt, _, _, _): receipt.request
    case .refused: nil
    }
  }
}
