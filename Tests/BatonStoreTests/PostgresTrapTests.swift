import BatonModel
import BatonPostgres
import Foundation
import GRDB
import Synchronization
import Testing

@testable import BatonStore

/// Eight ways in which a store goes wrong whose SQL was written for one writer and is run by several, on a server that
/// can be lost. Each was seen on PostgreSQL 15 before the store was written:
///
/// 1. lost wake-up: a request is submitted while the one that it waits for ends, and waits for ever;
/// 2. deadlock: a claim and a submission lock the same two rows in different orders;
/// 3. unknown commit: an answer is lost, and a plain read takes the commit that is still being made for none;
/// 4. a stopped coordinator keeps its locks;
/// 5. a COMMIT is answered with success and a warning, and no standby has it;
/// 6. the server goes back: an older copy, or a standby that lagged behind, takes its place;
/// 7. the planner chooses by statistics, which may be those of an empty table (`PostgresPlanTests`);
/// 8. a snapshot that is held for long makes work dearer and dearer (`PostgresPlanTests`).
///
/// Beside each promise stands what happens without its protection, where a test can leave that out.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.hint)) struct PostgresTrapTests {
  // MARK: 1

  private static let pair = ["submit after a live one", "end the only one"]

  /// The state of the request that `com.live` has submitted while its first request ended.
  ///
  /// There are no namespaces: a lock of the same namespace would keep the two apart.
  private func stateAfter(_ trial: PostgresTrial, endsFirst: Bool) async throws -> RequestState {
    let fleet = try PostgresFleet(trial: trial, limits: StoreLimits())
    let acts = try (endsFirst ? Self.pair.reversed() : Self.pair).map { try #require(Act.named($0)) }
    _ = try fleet.interleaved(acts[0], acts[1])
    let state = try fleet.beside.number(
      "SELECT r.state FROM request r JOIN identifier i ON i.id = r.identifier WHERE i.name = 'com.live' AND r.number = 2"
    )
    #expect(try await fleet.close() == 0)
    return RequestState(code: Int(state))
  }

  @Test(arguments: [false, true])
  func trap1_aRequestIsWokenThatIsSubmittedWhileTheOneBeforeEnds(endsFirst: Bool) async throws {
    #expect(try await stateAfter(PostgresTrial(), endsFirst: endsFirst) == .ready)
  }

  @Test(arguments: [false, true])
  func trap1_withoutTheLockOfTheIdentifierItWaitsForEver(endsFirst: Bool) async throws {
    #expect(try await stateAfter(PostgresTrial(ignored: [.identifier]), endsFirst: endsFirst) == .scheduled)
  }

  /// The snapshot is older than the lock.
  @Test func trap1_withRepeatableReadItWaitsForEverInSpiteOfTheLock() async throws {
    #expect(try await stateAfter(PostgresTrial(isolation: "REPEATABLE READ"), endsFirst: true) == .scheduled)
  }

  // MARK: 2

  /// A claim looks past requests that another group has locked.
  @Test func trap2_aClaimDoesNotWaitForASubmission() async throws {
    let fleet = try PostgresFleet()
    let (submission, claim) = (try #require(Act.named("poke")), try #require(Act.named("claim two")))
    let end = try fleet.interleaved(submission, claim)
    #expect(!fleet.secondWaited)
    #expect(end[1] == "[\"com.other 1\"] false false", "com.ready was locked: \(end[1])")
    #expect(try await fleet.close() == 0)
  }

  /// A transaction that is not Baton's locks the request before the identifier, as a claim without SKIP LOCKED would.
  /// The server ends one of the two, and the store runs its group again.
  @Test func trap2_aDeadlockWithAnotherProgramCostsOneTry() async throws {
    let fleet = try PostgresFleet()
    let other = fleet.beside
    let request = try other.number(
      "SELECT r.id FROM request r JOIN identifier i ON i.id = r.identifier WHERE i.name = 'com.ready'")
    let submission = try #require(Act.named("poke"))
    var deadlocks: Int64 = 0
    var hasLost = false
    while !hasLost {
      try other.run("SET deadlock_timeout = '20s'; BEGIN; SELECT 1 FROM request WHERE id = \(request) FOR UPDATE")
      let late = Late { fleet.run(submission, at: 0) }
      try other.waitUntilBlocked()
      // The store's session waits for the request, and this one waits for the identifier. A session looks for a
      // deadlock once, after it has waited for its time: the store's after a second. If this one began to wait later
      // than that, the server ends it in place of the store's, and everything begins again.
      do {
        try other.run("SELECT 1 FROM identifier WHERE name = 'com.ready' FOR UPDATE")
        hasLost = true
      } catch let error as PostgresError where error.sqlState == "40P01" {}
      try other.run("ROLLBACK")
      deadlocks += 1
      #expect(late.answer().hasPrefix("com.ready 1 "))
      if !hasLost { try fleet.reset() }
    }
    #expect(try await fleet.close() == deadlocks)
  }

  /// Every call of an operator that changes something adds to the audit log. The second group finishes while the first
  /// one holds what it has locked, and the chain of the log has both rows.
  @Test func trap2_groupsThatAddToTheAuditLogDoNotWaitForEachOther() async throws {
    let fleet = try PostgresFleet()
    let act = try #require(Act.named("append to the audit log"))
    #expect(try fleet.interleaved(act, act).prefix(2) == ["appended", "appended"])
    #expect(!fleet.secondWaited)
    let newest = try await fleet.stores[0].audit(AuditFilter(isNewestFirst: true), after: 0, limit: 2)
    #expect(newest.map(\.entry.actor) == ["seat 0", "seat 1"])
    let verdict = try await fleet.stores[1].verifyAudit()
    #expect(verdict.problem == nil && verdict.last == newest[0].sequence)
    #expect(try await fleet.close() == 0)
  }

  /// Two groups that insert the same new names insert them in the same order, so neither has one for which the other
  /// waits.
  @Test(arguments: [("identifier", "name"), ("submission", "key"), ("pattern", "name")])
  func trap2_newNamesAreInsertedInTheirOrder(table: String, column: String) throws {
    let shape = try #require(try WorkingSet.database().read { try TableShape.all(in: $0) }.first { $0.name == table })
    let position = try #require(shape.columns.firstIndex(of: column))
    let rows = ["b", "a", "c"].enumerated().map { number, name in
      var row = shape.columns.map { _ in Cell.null }
      row[shape.key[0]] = .integer(Int64(number))
      row[position] = .text(name)
      return RowChange(table: shape, key: shape.key(of: row), kind: .insert(row))
    }
    let values = PostgresChanges.statements(for: rows)[0].values
    #expect(values[position] == .texts(["a", "b", "c"]))
    #expect(values[shape.key[0]] == .integers([1, 0, 2]))
  }

  // MARK: 3

  /// The server is still making the commit when its answer cannot be heard any more.
  @Test func trap3_anUnknownCommitIsDecidedUnderTheLockOfItsRow() async throws {
    let address = try TestDatabase.make()
    let proxy = try CuttingProxy(try #require(TestDatabase.socket))
    defer { proxy.stop() }
    let store = try TestDatabase.open(try TestDatabase.address(address, through: proxy.folder))
    let definition = try await store.prepare()
    let beside = try Bystander(address)
    // A deferred trigger runs in COMMIT.
    try beside.run(
      """
      CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER pause AFTER INSERT ON submission DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION pause();
      SELECT pg_advisory_lock(1)
      """)
    let before = store.receipt.sequence
    async let answer = store.submit("com.a", to: definition)
    try await until { try beside.waiting() == 1 }
    proxy.cutAll()
    // The store asks on another connection, and waits there.
    try await until { try beside.waiting() == 2 }
    #expect(try beside.number("SELECT commits FROM coordinator") == before, "a plain read says that it was not made")
    try beside.run("SELECT pg_advisory_unlock(1)")
    guard case .accepted(_, _, _, let isRepeat) = try await answer else {
      Issue.record("the submission was not accepted")
      return
    }
    #expect(!isRepeat, "the group ran once")
    #expect(try beside.number("SELECT commits FROM coordinator") == before + 1)
    #expect(store.receipt.sequence == before + 1)
    try await store.close()
  }

  /// Lets other tasks run until `condition` holds.
  private func until(_ condition: () throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try !condition() {
      try #require(ContinuousClock.now < end)
      await Task.yield()
    }
  }

  // MARK: 4

  /// A coordinator that is stopped between its locks and its commit, as with SIGSTOP, and another one that needs a row
  /// of it.
  /// - Parameter idling: after how long the server ends a transaction without statements; zero for never.
  /// - Returns: what the other one was answered, and what the stopped one was answered after it went on.
  private func withAStoppedCoordinator(idling: Duration) async throws -> (other: StoreError?, stopped: StoreError?) {
    let address = try TestDatabase.make()
    var limits = TestDatabase.limits
    (limits.idling, limits.locking) = (idling, .seconds(idling == .zero ? 1 : 30))
    let stores = try (0..<2).map { _ in try TestDatabase.open(address, limits: limits) }
    let definition = try await stores[0].prepare()
    try await stores[0].submit("com.a", to: definition)
    let other = Other()
    let second = stores[1]
    stores[0].server.holdNext {
      let task = Task {
        let error = await refusal { try await second.submit("com.a", to: definition, id: "second") }
        other.isDone.withLock { $0 = true }
        return error
      }
      other.task.withLock { $0 = task }
      while !other.isDone.withLock({ $0 }) { sched_yield() }
    }
    let stopped = await refusal { try await stores[0].submit("com.a", to: definition, id: "first") }
    let error = await other.task.withLock { $0 }?.value
    for store in stores { try await store.close() }
    return (error, stopped)
  }

  /// The other coordinator's write.
  private final class Other: Sendable {
    let task = Mutex<Task<StoreError?, Never>?>(nil)
    let isDone = Mutex(false)
  }

  @Test func trap4_aStoppedCoordinatorLosesItsLocks() async throws {
    let (other, stopped) = try await withAStoppedCoordinator(idling: .milliseconds(300))
    #expect(other == nil)
    #expect(stopped == nil, "its group runs again on another connection")
  }

  @Test func trap4_withoutALimitItKeepsThem() async throws {
    let (other, stopped) = try await withAStoppedCoordinator(idling: .zero)
    #expect(other?.code == .overloaded)
    #expect(stopped == nil)
  }

  // MARK: 5

  /// The server says so when an operator cancels the wait for the standby (01000), or ends the session (57P01).
  @Test(arguments: [CuttingProxy.Fault.warn("01000"), .warn("57P01"), .warnAndCut("57P01")])
  func trap5_aCommitWithAWarningIsLookedForOnAnotherConnection(fault: CuttingProxy.Fault) async throws {
    let address = try TestDatabase.make()
    let proxy = try CuttingProxy(try #require(TestDatabase.socket))
    defer { proxy.stop() }
    let store = try TestDatabase.open(try TestDatabase.address(address, through: proxy.folder))
    let definition = try await store.prepare()
    let (before, connections) = (store.receipt.sequence, proxy.connections)
    proxy.arm(fault)
    guard case .accepted(_, _, _, let isRepeat) = try await store.submit("com.a", to: definition) else {
      Issue.record("the submission was not accepted")
      return
    }
    #expect(!isRepeat)
    #expect(proxy.count == 1)
    // The transaction on the other connection waits for the standby too.
    #expect(proxy.connections == connections + 1)
    #expect(store.receipt.sequence == before + 1)
    try await store.close()
  }

  // MARK: 6

  /// A copy of the database that lacks one commit takes its place, as a standby does that is promoted too early.
  @Test func trap6_anOlderCopyIsNoticedByTheNextWrite() async throws {
    let address = try TestDatabase.make()
    let name = try TestDatabase.name(of: address)
    let store = try TestDatabase.open(address)
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    let close = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'"
    try TestDatabase.run(close)
    try TestDatabase.run("CREATE DATABASE \(name)_older TEMPLATE \(name)")
    try await store.submit("com.b", to: definition)
    try TestDatabase.run(close)
    try TestDatabase.run("ALTER DATABASE \(name) RENAME TO \(name)_lost")
    try TestDatabase.run("ALTER DATABASE \(name)_older RENAME TO \(name)")
    let error = await refusal { try await store.submit("com.c", to: definition) }
    #expect(error?.code == .wentBackwards)
    #expect(try await store.fleet().isPaused, "nothing starts until a person has looked")
    let names = try await store.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue)
    #expect(names == ["com.a"])
    try await store.close()
  }
}
