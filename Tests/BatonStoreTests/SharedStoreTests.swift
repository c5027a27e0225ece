import BatonModel
import GRDB
import Testing

@testable import BatonStore

/// What two coordinators that share a store may rely on: each of them has opened the store once.
@Suite struct SharedStoreTests {
  private static let other = Incarnation("alpha-2")
  private static let reading = ClockReading(moment: someTime, boot: "b", instant: Instant(nanoseconds: 0))

  /// How the groups of a store are written.
  enum Way: CaseIterable { case onTheWholeStore, onLoadedRows }

  private func two(_ way: Way, _ limits: StoreLimits = StoreLimits()) throws -> (SQLiteStore, SQLiteStore) {
    let first =
      switch way {
      case .onTheWholeStore: try SQLiteStore.inMemory(limits: limits, isShared: true)
      case .onLoadedRows: try SQLiteStore.onLoadedRows(limits: limits)
      }
    return (first, try first.another())
  }

  private func claim(_ definition: DefinitionID, under lease: HostLease, places: Int = 1) -> Claim {
    Claim(
      requirementClass: RequirementClass(definition: definition, priority: .background), lease: lease,
      places: (0..<places).map { _ in Claim.Place(gpus: [], spanID: someSpan) })
  }

  private func end(_ coordinator: SQLiteStore, by other: SQLiteStore) async throws {
    let beat = try #require(try await other.beat(nil).living.first)
    #expect(beat.epoch == coordinator.epoch)
    try await other.end(coordinator: beat.epoch, silentSince: beat.beat)
  }

  // MARK: Namespaces

  private static var limited: StoreLimits {
    var (limits, team) = (StoreLimits(), Namespace("com"))
    (team.quotas.running, team.quotas.pending) = (1, 2)
    limits.namespaces = Namespaces([team])
    return limits
  }

  @Test(arguments: Way.allCases)
  func quotasOfNamespacesAreThoseOfTheFleet(way: Way) async throws {
    let (first, second) = try two(way, Self.limited)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    try await second.submit("com.b", to: definition)
    let refusal = Refusal.tooManyPending(limit: "quotas.pending of the namespace com", allowed: 2, pending: 2)
    for store in [first, second] { #expect(try await store.submit("com.c", to: definition) == .refused(refusal)) }
    let launch = try await first.start(definition)
    let lease = try await second.grantLease(HostName("beta"), Self.other, report: nil, at: someTime).lease
    #expect(try await second.claim([claim(definition, under: lease)], at: someTime)[0].assignments.isEmpty)
    _ = try await first.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: someTime)
    #expect(try await second.claim([claim(definition, under: lease)], at: someTime)[0].assignments.count == 1)
  }

  @Test(arguments: Way.allCases)
  func whatACoordinatorThatEndedHadCountedForNamespacesGoesOn(way: Way) async throws {
    let (first, second) = try two(way, Self.limited)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    let launch = try await first.start(definition)
    try await first.submit("com.b", to: definition)
    let later = someTime + .seconds(100)
    _ = try await first.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: later)
    _ = try await first.start(definition)
    let before = try await second.namespaces()
    #expect(before["com"]?.running == 1 && (before["com"]?.served.slotSeconds ?? 0) > 90)
    try await end(first, by: second)
    #expect(try await second.namespaces() == before)
    // A coordinator with another list counts by its own.
    let third = try second.another()
    #expect(try await third.namespaces() == before)
  }

  // MARK: Flows

  /// A group that loaded the requests one by one would begin again for each of them.
  @Test func allThatWaitForARequestAreLoadedAtOnceWhenItEnds() async throws {
    let store = try SQLiteStore.onLoadedRows()
    let server = try #require(store.server)
    _ = try await store.grantLease(someHost, someProcess, report: nil, at: someTime)
    func loads(waiting count: Int) async throws -> Int {
      let fetch = Definition(pattern: IdentifierPattern(trusted: "fetch\(count)"), kind: .processing)
      var work = Definition(pattern: IdentifierPattern(trusted: "work\(count).*"), kind: .processing)
      work.after = [Dependency(try #require(JobReference("fetch\(count)")), on: .success)]
      let ids = try await store.apply([fetch, work], seeds: [someTrace, someTrace], at: someTime).map(\.id)
      let names = ["fetch\(count)"] + (0..<count).map { "work\(count).\($0)" }
      let offers = names.enumerated().map { position, name in
        SubmissionOffer(
          submission: Submission(id: name, identifier: JobIdentifier(trusted: name), trace: someTrace),
          definition: ids[min(position, 1)])
      }
      _ = try await store.submitFlow(offers, at: someTime)
      let launch = try await store.start(ids[0])
      let before = server.loads
      let answer = try await store.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: someTime)
      #expect(answer[0].flow.released.count == count)
      return server.loads - before
    }
    let few = try await loads(waiting: 3)
    #expect(try await loads(waiting: 40) == few)
  }

  // MARK: Limits by key

  @Test(arguments: Way.allCases)
  func limitsByKeyAreThoseOfTheFleet(way: Way) async throws {
    let (first, second) = try two(way)
    var definitions: [DefinitionID] = []
    for pattern in ["in.*", "out.*"] {
      var definition = Definition(pattern: IdentifierPattern(trusted: pattern), kind: .processing)
      definition.concurrency = ConcurrencyLimit(key: KeyTemplate("customer/${wildcard}"), limit: 1)
      definitions.append(try #require(try await first.apply([definition], seeds: [someTrace], at: someTime).first).id)
    }
    _ = try await first.grantLease(someHost, someProcess, report: nil, at: someTime)
    let lease = try await second.grantLease(HostName("beta"), Self.other, report: nil, at: someTime).lease
    try await first.submit("in.acme", to: definitions[0])
    try await second.submit("out.acme", to: definitions[1])
    // Both ask at the same time.
    let (mine, theirs) = (claim(definitions[0], under: someLease), claim(definitions[1], under: lease))
    async let own = first.claim([mine], at: someTime)
    async let others = second.claim([theirs], at: someTime)
    let launches = try await [own[0].assignments, others[0].assignments]
    #expect(launches.joined().count == 1, "one of both starts")
    let isOwn = !launches[0].isEmpty
    let launch = try #require(launches.joined().first).launch
    let worker = isOwn ? someWorker : WorkerProcess(host: HostName("beta"), incarnation: Self.other)
    let answer = try await (isOwn ? first : second).end(
      [Ending(launch: launch, outcome: .finished)], from: worker, at: someTime)[0]
    #expect(answer.makesRoom)
    // The first coordinator is the steward.
    let promotion = try await first.promote(at: someTime, limit: 10)
    #expect(promotion.classes.values.reduce(0, +) == 1)
    let again = isOwn ? try await second.claim([theirs], at: someTime) : try await first.claim([mine], at: someTime)
    #expect(again[0].assignments.count == 1)
  }

  // MARK: Several writes in one group

  /// The checkpoint locks the request and loads little of it; the cancellation finds the request by its name.
  @Test(arguments: Way.allCases, [true, false])
  func aCheckpointAndACancellationByNameInOneGroupBothCount(way: Way, isCancelledFirst: Bool) async throws {
    let (first, _) = try two(way)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    let launch = try await first.start(definition)
    let commit = Checkpoint(launch: launch, batch: 0, completedUnits: 1)
    let (saved, cancelled) = try await first.write(.urgent) { verbs in
      let cancel = { try verbs.cancel(.identifier(JobIdentifier("com.a")!), by: "me", at: someTime) }
      let before = isCancelledFirst ? try cancel() : []
      let saved = try verbs.checkpoint([commit], from: someWorker, at: someTime)
      return (saved, try before + (isCancelledFirst ? [] : cancel()))
    }
    #expect(saved == [.committed(batch: 0)])
    #expect(cancelled.count == 1)
  }

  // MARK: Leases

  @Test(arguments: Way.allCases)
  func theSameProcessAtAnotherCoordinatorIsATakeoverThatEndsNothing(way: Way) async throws {
    let (first, second) = try two(way)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    let launch = try await first.start(definition)
    let lease = try await second.grantLease(someHost, someProcess, report: nil, at: someTime).lease
    #expect(lease.number == someLease.number + 1)
    #expect(try await second.assignments(on: someHost).map(\.launch) == [launch])
    #expect(
      await refusal { _ = try await first.endLease(someLease, countsAsLoss: true, at: someTime) }?.code == .moved)
    #expect(
      await refusal {
        _ = try await first.noteExpiry(launch, .stalled, from: nil, under: someLease, at: someTime)
      }?.code == .moved)
    try await first.submit("com.b", to: definition)
    let stale = try await first.claim([claim(definition, under: someLease)], at: someTime)[0]
    #expect(stale.isMoved && stale.assignments.isEmpty && stale.hasMore)
    let commit = Checkpoint(launch: launch, batch: 0, completedUnits: 1)
    #expect(try await first.checkpoint([commit], from: someWorker, at: someTime) == [.committed(batch: 0)])
    #expect(try await second.claim([claim(definition, under: lease)], at: someTime)[0].assignments.count == 1)
  }

  @Test(arguments: Way.allCases)
  func anotherProcessOfTheNameHasToWaitUntilTheFirstIsAway(way: Way) async throws {
    let (first, second) = try two(way)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    let launch = try await first.start(definition)
    let error = await refusal { try await second.grantLease(someHost, Self.other, report: nil, at: someTime) }
    #expect(error?.code == .refused && error?.message.contains("connected and alive") == true)
    // The end of an older connection says nothing of the present one.
    try await first.noteAway(someLease, link: 99)
    #expect(await refusal { try await second.grantLease(someHost, Self.other, report: nil, at: someTime) } != nil)
    try await first.noteAway(someLease, link: 0)
    let grant = try await second.grantLease(someHost, Self.other, report: nil, at: someTime)
    #expect(grant.ended.map(\.launch) == [launch] && grant.ended.map(\.launched?.outcome) == [.lost])
    #expect(
      await refusal { _ = try await first.endLease(someLease, countsAsLoss: true, at: someTime) }?.code == .moved)
  }

  @Test(arguments: Way.allCases)
  func aReportedDeathEndsTheLeaseWhicheverCoordinatorHearsOfIt(way: Way) async throws {
    let (first, second) = try two(way)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    let launch = try await first.start(definition)
    let stranger = WorkerProcess(host: someHost, incarnation: Self.other)
    #expect(try await second.endLease(of: stranger, countsAsLoss: true, at: someTime) == [])
    let ended = try await second.endLease(of: someWorker, countsAsLoss: true, at: someTime)
    #expect(ended.map(\.launch) == [launch])
    #expect(try await first.fleet().hosts.map(\.incarnation) == [nil])
  }

  // MARK: What operators see

  @Test(arguments: Way.allCases)
  func everyCoordinatorListsAllOfThem(way: Way) async throws {
    let (first, second) = try two(way)
    _ = try await first.beat(Self.reading)
    _ = try await first.prepare()
    let place = CoordinatorPlace(name: "base", version: "1", workers: "base:7420", operators: "base:7422")
    try await first.serve(at: place)
    let both = try await second.coordinators(endedSince: someTime.steady)
    #expect(try await first.coordinators(endedSince: someTime.steady) == both)
    #expect(both.map(\.epoch) == [first.epoch, second.epoch])
    #expect(both.map(\.place.workers) == ["base:7420", ""])
    #expect(both[0].place == place && both[0].hosts == 1 && both[0].isSteward && !both[1].isSteward)
    try await end(first, by: second)
    _ = try await second.beat(nil)
    let after = try await second.coordinators(endedSince: someTime.steady)
    #expect(after.map(\.isEnded) == [true, false] && after.map(\.endedAt) == [someTime.steady, nil])
    #expect(after.map(\.hosts) == [0, 1] && after[1].isSteward)
    let later = try await second.coordinators(endedSince: someTime.steady + .seconds(1))
    #expect(later.map(\.epoch) == [second.epoch])
  }

  @Test(arguments: Way.allCases)
  func whatALaunchReportsBetweenCheckpointsIsReadAtAnotherCoordinator(way: Way) async throws {
    let (first, second) = try two(way)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    let launch = try await first.start(definition)
    #expect(try await second.updates(of: [launch.request]) == [])
    var update = LaunchUpdate(launch: launch, title: "Greetings", completedUnits: 3, totalUnits: 10)
    try await first.noteUpdates([update])
    #expect(try await second.updates(of: [launch.request, RequestID(99)]) == [update])
    update = LaunchUpdate(launch: launch, subtitle: "Hedy")
    try await first.noteUpdates([update])
    #expect(try await second.updates(of: [launch.request]) == [update])
    try await first.noteUpdates([LaunchUpdate(launch: launch)])
    #expect(try await second.updates(of: [launch.request]) == [])
    try await first.noteUpdates([update])
    _ = try await first.end([Ending(launch: launch, outcome: .finished)], from: someWorker, at: someTime)
    try await first.noteUpdates([update])
    #expect(try await second.updates(of: [launch.request]) == [], "a launch that has ended")
  }

  @Test(arguments: Way.allCases)
  func aHostThatWaitsAtOneCoordinatorIsApprovedAtAnother(way: Way) async throws {
    let (first, second) = try two(way)
    let invitation = Invitation(
      id: [UInt8](repeating: 7, count: 8), host: someHost, digest: .init(repeating: 1, count: 32),
      end: someTime.date + .seconds(900), principal: "ana", needsApproval: true)
    try await first.invite(invitation, at: someTime)
    let waiting = WaitingHost(host: someHost, number: "082514", peer: "ipv4:192.0.2.1:1", at: someTime.steady)
    try await first.noteWaiting(waiting, invitation: invitation.id, key: .init(repeating: 5, count: 32))
    #expect(try await second.waitingHosts(at: someTime.steady) == [waiting])
    try await second.approve(someHost, number: "082514", at: someTime.steady)
    #expect(try await first.invitation(invitation.id)?.approvedKey == .init(repeating: 5, count: 32))
  }

  // MARK: Tenures

  @Test(arguments: Way.allCases)
  func aCoordinatorWhoseBeatStandsStillIsEndedAndCommitsNothingMore(way: Way) async throws {
    let (first, second) = try two(way)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    let seen = try #require(try await second.beat(nil).living.first)
    _ = try await first.beat(nil)
    try await second.end(coordinator: seen.epoch, silentSince: seen.beat)
    try await first.setPaused(false)
    try await end(first, by: second)
    #expect(await refusal { try await first.setPaused(true) }?.code == .superseded)
    #expect(try await second.fleet().isPaused == false)
    // The next beat takes over the lease under a new number, and what the ended one had counted stays counted.
    #expect(try await second.beat(nil).isSteward)
    let host = try #require(try await second.fleet().hosts.first)
    #expect(host.owner == second.epoch && host.leaseNumber == someLease.number + 1)
    #expect(try await second.counts() == second.recount())
  }

  @Test(arguments: Way.allCases)
  func onlyTheStewardKeepsHouse(way: Way) async throws {
    let (first, second) = try two(way)
    _ = try await first.prepare()
    let duties: [(SQLiteStore) async throws -> Void] = [
      { _ = try await $0.promote(at: someTime, limit: 9) }, { try await $0.saveClock(Self.reading) },
      { _ = try await $0.prune(RetentionLimits(), at: someTime) }, { try await $0.confirmSpans([]) },
      { try await $0.rejectSpans([], because: "", at: someTime) },
      { try await $0.noteAttempts([], at: someTime) },
      { _ = try await $0.failUnusable(limit: 9, at: someTime) },
    ]
    for duty in duties {
      try await duty(first)
      #expect(await refusal { try await duty(second) }?.code == .moved)
    }
    try await first.leave()
    #expect(try await second.beat(nil).isSteward)
    for duty in duties { try await duty(second) }
    #expect(await refusal { _ = try await first.promote(at: someTime, limit: 9) }?.code == .superseded)
  }

  @Test(arguments: Way.allCases)
  func theClockIsKeptOnceTheStewardHasFollowedIt(way: Way) async throws {
    let (first, second) = try two(way)
    _ = try await first.beat(Self.reading)
    #expect(try await second.fleet().clock?.steward == first.epoch)
    _ = try await second.beat(Self.reading)
    #expect(try await second.fleet().clock?.steward == first.epoch, "another coordinator's clock was kept")
    try await first.leave()
    _ = try await second.beat(nil)
    #expect(try await second.fleet().clock?.steward == first.epoch)
    _ = try await second.beat(Self.reading)
    #expect(try await second.fleet().clock?.steward == second.epoch)
  }

  @Test(arguments: Way.allCases)
  func eachCoordinatorCountsItsOwnCommits(way: Way) async throws {
    let (first, second) = try two(way)
    try await first.setPaused(true)
    let receipt = first.receipt
    for _ in 0..<5 { try await second.setPaused(false) }
    #expect(first.receipt == receipt)
    #expect(try await second.standing(of: [receipt, second.receipt]) == .covered)
    var lost = receipt
    lost.sequence += 1
    #expect(try await second.standing(of: [lost, second.receipt]) == .ahead(receipt: lost, known: receipt))
  }

  /// A standby that was behind is promoted, or an old backup is put in place, while the coordinator lives.
  @Test(arguments: Way.allCases)
  func aCoordinatorNoticesAStoreThatWentBackwards(way: Way) async throws {
    let (first, second) = try two(way)
    _ = try await first.prepare()
    let epoch = first.epoch
    try await second.write(.urgent) { try $0.prepare(.loseCommit).run(epoch) }
    let name = try await second.fleet().storeIncarnation
    #expect(await refusal { try await first.submit("com.a", to: DefinitionID(1)) }?.code == .wentBackwards)
    let fleet = try await second.fleet()
    #expect(fleet.isPaused && fleet.storeIncarnation != name)
    #expect(await refusal { try await first.setPaused(false) }?.code == .wentBackwards)
  }

  // MARK: Limits and counts

  @Test(arguments: Way.allCases)
  func maxRunningIsExactForTheFleet(way: Way) async throws {
    let (first, second) = try two(way)
    var limited = Definition(pattern: IdentifierPattern("com.*")!, kind: .processing)
    limited.maxRunning = 2
    let definition = try await first.apply([limited], seeds: [someTrace], at: someTime)[0].id
    let lease = try await first.grantLease(someHost, someProcess, report: nil, at: someTime).lease
    let beta = try await second.grantLease(HostName("beta"), someProcess, report: nil, at: someTime).lease
    for name in ["com.a", "com.b", "com.c", "com.d"] { try await first.submit(name, to: definition) }
    #expect(try await first.claim([claim(definition, under: lease)], at: someTime)[0].assignments.count == 1)
    let answer = try await second.claim([claim(definition, under: beta, places: 3)], at: someTime)[0]
    #expect(answer.assignments.count == 1 && answer.hasMore && answer.hasFitting)
    let place = SubmissionOffer.Offer(lease: beta, gpus: [], spanID: someSpan)
    let submission = Submission(id: "offered", identifier: JobIdentifier("com.e")!, trace: someTrace)
    let offer = SubmissionOffer(submission: submission, definition: definition, host: place)
    guard case .accepted(let receipt, _, nil, _) = try await second.submit([offer], at: someTime)[0] else {
      Issue.record("it started beyond the limit")
      return
    }
    #expect(receipt.state == .ready)
  }

  @Test(arguments: Way.allCases)
  func countsAndLimitsAreThoseOfTheFleet(way: Way) async throws {
    let (first, second) = try two(way)
    var limited = Definition(pattern: IdentifierPattern("com.*")!, kind: .processing)
    limited.pendingLimit = 3
    let definition = try await first.apply([limited], seeds: [someTrace], at: someTime)[0].id
    for (store, name) in [(first, "com.a"), (second, "com.b"), (first, "com.c")] {
      let answer = try await store.submit(name, to: definition)
      guard case .accepted = answer else { throw StoreError(.refused, "\(answer)") }
    }
    let refused = SubmissionAnswer.refused(.tooManyPending(limit: "pendingLimit", allowed: 3, pending: 3))
    #expect(try await second.submit("com.d", to: definition) == refused)
    _ = try await second.cancel(.identifier(JobIdentifier("com.a")!), by: "ada", at: someTime)
    #expect(try await first.submit("com.e", to: definition) != refused)
    #expect(try await first.counts() == second.recount())
    let requests = try await first.requests(RequestFilter(), after: nil, limit: 9)
    #expect(Set(requests.map(\.id)).count == 4, "an id was given twice")
  }

  /// Nothing that a transaction has read of others' rows is kept for the next one.
  @Test(arguments: Way.allCases)
  func aTransactionSeesWhatAnotherCoordinatorHasChanged(way: Way) async throws {
    let (first, second) = try two(way)
    let definition = try await first.prepare()
    try await first.submit("com.a", to: definition)
    _ = try await second.cancel(.all, by: "ada", at: someTime)
    try await second.remove(IdentifierPattern("com.*")!)
    guard case .refused(.notPermitted) = try await first.submit("com.b", to: definition) else {
      Issue.record("a removed definition took a submission")
      return
    }
    try await second.setEvicted(IdentifierPattern("com.*")!, from: someHost, true)
    _ = try await first.prepare()
    try await first.submit("com.c", to: definition)
    #expect(try await first.claim([claim(definition, under: someLease)], at: someTime)[0].assignments.isEmpty)
  }
}

extension Query {
  fileprivate static let loseCommit = Query("UPDATE coordinator SET commits = commits - 1 WHERE epoch = ?")
}
