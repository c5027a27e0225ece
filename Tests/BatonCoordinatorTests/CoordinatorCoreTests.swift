import BatonCoordinator
import BatonModel
import ContractRows
import Testing

@testable import BatonStore

private let (one, two) = (SessionID(1), SessionID(2))
private let hostA = HostName("a")

/// What the coordinator orders from its store, when it does so, and what follows from the answers. The simulator runs
/// the same code.
@Suite struct CoordinatorCoreTests {
  // MARK: Sessions

  @Test func `a worker is welcome once the store knows of its lease and said what it runs`() {
    var bench = CoreBench()
    bench.hello(as: one)
    #expect(bench.effects() == ["store grantLease"])
    bench.tell(.leaseGranted(one, LeaseGrant(lease: Desk.lease())))
    #expect(bench.effects() == ["store readAssignments"])
    bench.tell(.assignmentsRead(one, [Desk.assignment(1)]))
    #expect(bench.effects() == ["store learn"])
    bench.tell(.learned([DefinitionID(1)], [DefinitionID(1): Desk.job()], for: one))
    #expect(
      bench.effects() == ["receipt 1", "send 1 welcome", "send 1 definition", "send 1 launch", "dispatch"])
  }

  @Test func `an ending is answered after its commit, and what came meanwhile goes to the store then`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    bench.says(.ended(Ending(launch: key(1), outcome: .finished)), in: one)
    #expect(bench.effects() == ["store end"])
    bench.says(.checkpoint(CoreBench.checkpoint(2)), in: one)
    #expect(bench.effects().isEmpty)
    bench.tell(.ended(one, [Ending(launch: key(1), outcome: .finished)], after: [], [CoreBench.ending(1)], of: hostA))
    #expect(bench.effects() == ["send 1 endingCommitted", "receipt 1", "dispatch", "store checkpoint"])
    #expect(bench.core.dispatcher.places[key(1)] == nil)
  }

  @Test func `output goes to the store before the ending of its launch, checkpoints and endings side by side`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    bench.core.received(
      [
        .ended(Ending(launch: key(1), outcome: .finished)), .checkpoint(CoreBench.checkpoint(2)),
        .output(OutputChunk(launch: key(1), bytes: [1])),
      ], from: one, at: bench.now)
    #expect(bench.effects() == ["store appendOutput"])
    // Under overload it is dropped, and the rest goes on.
    bench.fail(.appendOutput(one, [], CoreBench.process), .overloaded)
    #expect(bench.effects() == ["store end", "store checkpoint"])
  }

  @Test func `people who follow the output of a launch hear of it once it is stored`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    bench.says(.output(OutputChunk(launch: key(1), bytes: [1])), in: one)
    #expect(bench.changes().isEmpty)
    bench.tell(.outputAppended(one, of: [RequestID(1)]))
    #expect(bench.changes() == [RequestID(1)])
  }

  @Test func `what the store did not take from a worker is the worker's to say again`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    bench.says(.ended(Ending(launch: key(1), outcome: .finished)), in: one)
    _ = bench.effects()
    bench.fail(.end(one, [], after: [], CoreBench.process), .cannotWrite)
    #expect(bench.effects() == ["close 1"])
    bench.core.closed(one, at: bench.now)
    #expect(bench.effects() == ["close 1", "forget 1"])
    #expect(bench.core.dispatcher.hosts[hostA]?.link == .away)
    #expect(bench.core.dispatcher.places[key(1)] == hostA)
  }

  @Test func `a lease that a full disk refused is asked for again`() {
    var bench = CoreBench()
    bench.hello(as: one)
    _ = bench.effects()
    bench.fail(.grantLease(one, Desk.hello(), secret: nil), .cannotWrite)
    #expect(bench.effects() == ["store grantLease after 0.5 seconds"])
    bench.fail(.grantLease(one, Desk.hello(), secret: nil), .refused)
    #expect(bench.effects() == ["send 1 refused", "close 1", "forget 1"])
    #expect(bench.core.dispatcher.hosts[hostA]?.link == .away)
  }

  @Test func `the end of an old connection does not detach the new one`() {
    var bench = CoreBench()
    bench.attach(as: one)
    bench.hello(as: two)
    bench.tell(.leaseGranted(two, LeaseGrant(lease: Desk.lease())))
    bench.tell(.assignmentsRead(two, []))
    #expect(bench.effects().contains("close 1"))
    bench.core.closed(one, at: bench.now)
    #expect(bench.effects() == ["close 1", "forget 1"])
    #expect(bench.core.dispatcher.hosts[hostA]?.link == .attached)
    bench.says(.heartbeat(number: 7), in: two)
    #expect(bench.effects() == ["send 2 heartbeatAnswered"])
  }

  @Test func `of two hellos of one process only the last is attached, whatever the store answers first`() {
    var bench = CoreBench()
    bench.hello(as: one)
    #expect(bench.effects() == ["store grantLease"])
    bench.hello(as: two)
    #expect(bench.effects() == ["close 1", "forget 1", "store grantLease"])
    bench.tell(.leaseGranted(one, LeaseGrant(lease: Desk.lease())))
    bench.tell(.assignmentsRead(one, []))
    #expect(bench.effects().isEmpty)
    bench.tell(.leaseGranted(two, LeaseGrant(lease: Desk.lease())))
    bench.tell(.assignmentsRead(two, []))
    #expect(bench.effects() == ["store readAssignments", "receipt 2", "send 2 welcome", "dispatch"])
  }

  @Test func `a connection ends once the store has heard everything that came before`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    bench.says(.checkpoint(CoreBench.checkpoint(1)), in: one)
    _ = bench.effects()
    bench.core.closed(one, at: bench.now)
    #expect(bench.effects().isEmpty)
    bench.tell(.checkpointed(one, [CoreBench.checkpoint(1)], [.committed(batch: 0)], of: hostA))
    #expect(bench.effects() == ["send 1 committed", "receipt 1", "close 1", "forget 1"])
  }

  @Test(arguments: [("a", true), ("embedded", false)])
  func `a worker that comes back as another process waits for the end of the lost lease`(
    host: String, countsAsLoss: Bool
  ) throws {
    var bench = CoreBench()
    bench.attach(as: one, Desk.hello(host))
    bench.core.closed(one, at: bench.now)
    _ = bench.effects()
    bench.hello(Desk.hello(host, "a2"), as: two)
    guard case .store(.endLease(Desk.lease(host), let counts), _)? = bench.core.effects.last else {
      Issue.record("\(bench.effects())")
      return
    }
    #expect(counts == countsAsLoss)
    _ = bench.effects()
    bench.tell(.leaseEnded(Desk.lease(host), []))
    #expect(bench.effects() == ["dispatch", "store grantLease"])
  }

  @Test(.refuses(11)) func `what a worker says of another host's launch ends nothing here`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    bench.attach(as: two, Desk.hello("b", "b1"))
    var answer = CoreBench.ending(1)
    answer.wasLive = false
    bench.says(.ended(Ending(launch: key(1), outcome: .finished)), in: two)
    bench.tell(.ended(two, [Ending(launch: key(1), outcome: .finished)], after: [], [answer], of: HostName("b")))
    #expect(bench.core.dispatcher.places[key(1)] == hostA)
  }

  @Test func `the last checkpoint and the ending of a launch are one order, and those of others are not`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    let ending = Ending(launch: key(1), outcome: .finished)
    bench.core.received(
      [.checkpoint(CoreBench.checkpoint(1)), .ended(ending), .checkpoint(CoreBench.checkpoint(2))], from: one,
      at: bench.now)
    let orders = bench.core.effects.compactMap { if case .store(let order, _) = $0 { order } else { nil } }
    guard case .end(one, [ending], let with, _)? = orders.first, case .checkpoint(one, let others, _)? = orders.last
    else {
      Issue.record("\(orders)")
      return
    }
    #expect(with == [CoreBench.checkpoint(1)] && others == [CoreBench.checkpoint(2)] && orders.count == 2)
    var answer = CoreBench.ending(1)
    answer.checkpoint = .committed(batch: 0)
    _ = bench.effects()
    bench.tell(.ended(one, [ending], after: [CoreBench.checkpoint(1)], [answer], of: hostA))
    #expect(bench.effects().contains("send 1 endingCommitted"))
  }

  // MARK: The work queue

  @Test func `a change that a full disk refused is tried again, and what was decided after it waits`() {
    var bench = CoreBench()
    bench.core.decide { _ in [.endLease(), .noteExpiry(key(1), .paused)] }
    #expect(bench.effects() == ["store endLease"])
    bench.fail(.endLease(Desk.lease(), countsAsLoss: true), .cannotWrite)
    #expect(bench.effects() == ["store endLease after 0.5 seconds"])
    bench.tell(.leaseEnded(Desk.lease(), []))
    #expect(bench.effects() == ["dispatch", "store noteExpiry"])
    bench.fail(.noteExpiry(key(1), .paused, from: nil, under: nil), .unknown)
    #expect(bench.effects().isEmpty)
  }

  @Test func `what a host reports reaches the store, at once or with the next order`() {
    var bench = CoreBench()
    bench.attach(as: one)
    bench.says(.conditions(CoreBench.conditions(charge: 90)), in: one)
    #expect(bench.reportedCharges() == [90])
    // The order is open. What is reported meanwhile is stored afterwards, once.
    for charge in [80, 70] { bench.says(.conditions(CoreBench.conditions(charge: charge)), in: one) }
    #expect(bench.reportedCharges().isEmpty)
    bench.tell(.reportsNoted)
    #expect(bench.reportedCharges() == [70])
    bench.tell(.reportsNoted)
    #expect(bench.reportedCharges().isEmpty)
  }

  @Test func `the last use of a definition reaches the store`() {
    var bench = CoreBench()
    bench.core.becameReady(CoreBench.record)
    guard case .store(.noteUses(let uses), _)? = bench.core.effects.first else {
      Issue.record("\(bench.effects())")
      return
    }
    #expect(uses.map(\.key) == [CoreBench.record.pattern])
  }

  @Test func `launches that are asked to stop together are noted together, in their place`() {
    var bench = CoreBench()
    let note = Dispatcher.Effect.note(RequestID(9), event: .suspect, detail: "")
    bench.core.decide { _ in [note] + (1...3).map { .noteExpiry(key($0), .paused) } + [note] }
    #expect(bench.effects() == ["store note"])
    bench.tell(.noted(RequestID(9)))
    #expect(bench.effects() == Array(repeating: "store noteExpiry", count: 3))
    for number in 1...3 {
      #expect(bench.effects().isEmpty)
      bench.tell(.expiryNoted(key(Int64(number)), .paused, nil))
    }
    #expect(bench.effects() == ["store note"])
  }

  @Test func `a launch that overran has expired before its lease ends`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    bench.says(.overran(key(1), .paused), in: one)
    bench.tell(.expiryNoted(key(1), .paused, nil))
    _ = bench.effects()
    bench.core.decide { $0.processDied(hostA, Incarnation("a1"), isBlameless: true) }
    #expect(bench.effects() == ["close 1", "store endOverrun"])
    bench.tell(.overrunEnded([CoreBench.ending(1)]))
    #expect(bench.effects() == ["dispatch", "store endLease"])
  }

  // MARK: What may start

  @Test func `the end of a live request releases the one that waits behind it`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    var answer = CoreBench.ending(1)
    answer.released = ready(7)
    bench.core.ended([answer])
    #expect(bench.core.dispatcher.ready[ready(7)] != nil)
  }

  @Test func `after a cancellation the store is asked what may start now`() {
    var bench = CoreBench()
    bench.core.cancelled([.ended(RequestID(1), JobIdentifier("com.example.a")!, number: 1)], by: "ada")
    #expect(bench.effects() == ["store findReady"])
    bench.tell(.foundReady(ReadyRecord(classes: [ready(7)], nextDue: NextDue())))
    #expect(bench.effects() == ["dispatch"])
    #expect(bench.core.dispatcher.ready[ready(7)] != nil)
  }

  @Test func `who watches a request is told when the connection to its host is lost, and when it is back`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    _ = bench.changes()
    bench.core.closed(one, at: bench.now)
    #expect(bench.changes() == [RequestID(1)])
    let lease = HostLease(host: Desk.hello().host, incarnation: Desk.hello().incarnation, number: 1)
    bench.hello(Desk.hello(), as: two)
    bench.tell(.leaseGranted(two, LeaseGrant(lease: lease)))
    _ = bench.changes()
    bench.tell(.assignmentsRead(two, [Desk.assignment(1)]))
    #expect(bench.changes().contains(RequestID(1)))
  }

  @Test func `a request that is retried may start`() {
    var bench = CoreBench()
    bench.core.becameReady(CoreBench.record)
    #expect(bench.effects() == ["store noteUses", "dispatch"])
    #expect(bench.core.dispatcher.ready[ready(1)] != nil)
  }

  @Test func `a waiting request that was given another definition may start, or be due at another time`() {
    var bench = CoreBench()
    var record = CoreBench.record
    bench.core.redefined(record)
    #expect(bench.effects() == ["store noteUses", "dispatch", "store findReady"])
    record.state = .scheduled
    bench.core.redefined(record)
    #expect(bench.effects() == ["store findReady"])
  }

  @Test func `of two due times the earlier one is kept, and asked for again if the store was busy`() {
    var bench = CoreBench()
    bench.tell(.promoted(Promotion(classes: [:], nextDue: NextDue(steady: bench.now.steady + .seconds(3)))))
    bench.tell(.foundReady(ReadyRecord(classes: [], nextDue: NextDue(steady: bench.now.steady + .seconds(10)))))
    _ = bench.effects()
    bench.tick(after: .seconds(2))
    #expect(!bench.effects().contains("store promote"))
    bench.tick(after: .seconds(1))
    #expect(bench.effects().contains("store promote"))
    bench.tick(after: .seconds(1))
    #expect(!bench.effects().contains("store promote"), "one promotion at a time")
    bench.fail(.promote, .overloaded)
    bench.tick(after: .seconds(1))
    #expect(bench.effects().contains("store promote"))
  }

  @Test(arguments: Overlap.allCases)
  func `after the start of a request that the next one of its schedule replaces, the time of that one is asked for`(
    overlap: Overlap
  ) throws {
    var bench = CoreBench()
    var definition = Desk.job("com.example.a", .processing)
    definition.schedule = JobSchedule(cron: try CronExpression("* * * * *"), overlap: overlap)
    bench.core.definitionsChanged([
      StoredDefinition(id: DefinitionID(1), definition: definition, appliedAt: bench.now.date)
    ])
    bench.core.started([Desk.assignment(1)])
    bench.tick(after: .milliseconds(100))
    #expect(bench.effects().contains("store promote") == (overlap == .replace))
    bench.tell(.promoted(Promotion(classes: [:])))
    bench.core.started([Desk.assignment(1, launch: 2)])
    bench.tick(after: .milliseconds(100))
    #expect(!bench.effects().contains("store promote"), "only the first launch submits a request")
  }

  @Test func `an end that makes room for a key is followed by a promotion at once, and by one more if one is open`() {
    var bench = CoreBench()
    bench.attach(as: one, running: Desk.assignment(1))
    _ = bench.effects()
    var answer = CoreBench.ending(1)
    answer.makesRoom = true
    bench.tell(.ended(one, [Ending(launch: key(1), outcome: .finished)], after: [], [answer], of: hostA))
    #expect(bench.effects().contains("store promote"), "those that wait are called")
    bench.core.limitChanged()
    #expect(!bench.effects().contains("store promote"), "one promotion at a time")
    bench.tell(.promoted(Promotion(classes: [:])))
    #expect(bench.effects().contains("store promote"), "what came meanwhile is looked at")
    bench.tell(.promoted(Promotion(classes: [:])))
    #expect(!bench.effects().contains("store promote"), "and then no more")
  }

  // MARK: Places

  @Test func `places of a submission that the store refused are given back`() {
    var bench = CoreBench()
    bench.attach(as: one)
    bench.define()
    let plans = bench.core.plan([CoreBench.submission], at: bench.now.moment) { SpanID(1) }
    #expect(plans.first?.offer?.host?.lease.host == hostA)
    #expect(bench.core.dispatcher.hosts[hostA]?.host.usedSlots == 1)
    bench.core.notSubmitted(plans)
    #expect(bench.core.dispatcher.hosts[hostA]?.host.usedSlots == 0)
  }

  @Test func `places of a claim that the store refused are given back, and claimed again at the next tick`() throws {
    var bench = CoreBench()
    bench.attach(as: one)
    bench.define()
    bench.tell(.foundReady(ReadyRecord(classes: [ready(1)], nextDue: NextDue())))
    bench.core.dispatch { SpanID(1) }
    guard case .store(.claim(let claims, let reservations), _)? = bench.core.effects.last else {
      Issue.record("\(bench.effects())")
      return
    }
    _ = bench.effects()
    bench.core.wantDispatch()
    #expect(bench.effects().isEmpty, "one claim at a time")
    bench.fail(.claim(claims, for: reservations), .overloaded)
    #expect(bench.core.dispatcher.hosts[hostA]?.host.usedSlots == 0)
    bench.tick(after: .seconds(1))
    #expect(bench.effects() == ["dispatch"])
  }

  @Test(arguments: [true, false])
  func `a claim that gave a host transfers is followed by another one, until the host has no room`(
    isFull: Bool
  ) throws {
    var bench = CoreBench()
    bench.attach(as: one)
    bench.define()
    bench.core.noteRoom(true, on: hostA)
    bench.tell(.foundReady(ReadyRecord(classes: [ready(1)], nextDue: NextDue())))
    bench.core.dispatch { SpanID(1) }
    guard case .store(.claim(let claims, let reservations), _)? = bench.core.effects.last else {
      Issue.record("\(bench.effects())")
      return
    }
    #expect(claims.map(\.isOutOfRoom) == [true], "the host's word is told to the store")
    _ = bench.effects()
    var answer = ClaimAnswer(assignments: [], hasMore: true, hasFitting: !isFull)
    answer.hasPlaced = true
    bench.tell(.claimed(reservations, [answer]))
    #expect(bench.effects() == ["dispatch"])
    bench.core.dispatch { SpanID(2) }
    let again = bench.core.effects.contains { if case .store(.claim, _) = $0 { true } else { false } }
    #expect(again != isFull, "a host that has no room is passed over for a while")
  }
}

/// A core with a clock in hand; says what workers and the store would say.
private struct CoreBench {
  static let process = WorkerProcess(host: hostA, incarnation: Incarnation("a1"))

  var core = CoordinatorCore(leaseTerm: Desk.term, embeddedHost: HostName("embedded"))
  var now = Now(instant: Instant(nanoseconds: 0), date: Timestamp(nanoseconds: 1_700_000_000_000_000_000))

  init() {
    core.tick(at: now)
    core.dispatch { SpanID(1) }
    core.clearEffects()
  }

  mutating func tell(_ news: StoreNews) { core.stored(news, at: now) }
  mutating func fail(_ order: StoreOrder, _ code: StoreError.Code) {
    core.failed(order, StoreError(code, "test"), at: now)
  }
  mutating func says(_ message: WorkerMessage, in id: SessionID) { core.received([message], from: id, at: now) }

  mutating func tick(after duration: Duration) {
    now = Now(instant: now.instant + duration, date: now.date + duration)
    core.tick(at: now)
  }

  /// A worker that owns its name says hello; the store has everything that the worker was told.
  mutating func hello(_ hello: Hello = Desk.hello(), as id: SessionID) {
    let proof = Proof(secret: nil, signedReceipts: [], nextStore: "next")
    core.hello(hello, proof, from: "test", as: id, at: now)
    tell(.examined(id, Examination(secret: .matches, receipts: .covered)))
  }

  mutating func attach(as id: SessionID, _ hello: Hello = Desk.hello(), running assignment: Assignment? = nil) {
    core.decide {
      $0.learn(DefinitionID(1), Desk.job())
      return []
    }
    self.hello(hello, as: id)
    tell(.leaseGranted(id, LeaseGrant(lease: HostLease(host: hello.host, incarnation: hello.incarnation, number: 1))))
    tell(.assignmentsRead(id, assignment.map { [$0] } ?? []))
    core.dispatch { SpanID(1) }
    core.clearEffects()
  }

  mutating func define() {
    let stored = StoredDefinition(id: DefinitionID(1), definition: Desk.job(), appliedAt: now.date)
    core.applied([], [stored])
    core.dispatch { SpanID(1) }
    core.clearEffects()
  }

  /// The charge of the battery in each report of the host that the core orders the store to note.
  mutating func reportedCharges() -> [Int?] {
    defer { core.clearEffects() }
    return core.effects.compactMap {
      if case .store(.noteReports(let reports), _) = $0 { reports[Desk.lease()]?.conditions.battery.value } else { nil }
    }
  }

  /// The requests whose watchers are told that something changed.
  mutating func changes() -> [RequestID] {
    defer { core.clearEffects() }
    return core.effects.compactMap { if case .tell(.changed(let request)) = $0 { request } else { nil } }
  }

  /// What the core wants, in words and without what it only tells.
  mutating func effects() -> [String] {
    defer { core.clearEffects() }
    return core.effects.compactMap { effect in
      switch effect {
      case .send(let id, let message): "send \(id.number) \(Self.name(message))"
      case .sendReceipt(let id): "receipt \(id.number)"
      case .close(let id): "close \(id.number)"
      case .forget(let id): "forget \(id.number)"
      case .dispatch: "dispatch"
      case .store(.examine, _): nil
      case .store(let order, .zero): "store \(Self.name(order))"
      case .store(let order, let delay): "store \(Self.name(order)) after \(delay)"
      case .tell: nil
      }
    }
  }

  private static func name(_ value: some Any) -> Substring { "\(value)".prefix { $0 != "(" } }

  static func conditions(charge: Int) -> Conditions {
    var conditions = Conditions.assumed
    conditions.battery = Reading(charge, source: "test")
    return conditions
  }

  static func checkpoint(_ request: Int64) -> Checkpoint {
    Checkpoint(launch: key(request), batch: 0, cursor: nil, completedUnits: 1)
  }

  static func ending(_ request: Int64) -> EndingAnswer {
    EndingAnswer(
      launch: key(request), wasLive: true, request: RequestID(request), identifier: JobIdentifier("com.example.a")!,
      state: .succeeded, requirementClass: ready(1), shardState: .succeeded)
  }

  static var submission: Submission {
    Submission(id: "1", identifier: JobIdentifier("com.example.a")!, principal: "ada", trace: Desk.trace)
  }

  static var record: RequestRecord {
    RequestRecord(
      id: RequestID(1), identifier: JobIdentifier("com.example.a")!, number: 1, definition: DefinitionID(1),
      pattern: IdentifierPattern("com.example.a")!, kind: .continued, state: .ready, priority: .userInitiated,
      submittedAt: Timestamp(nanoseconds: 0), principal: "ada", eligibleAt: Timestamp(nanoseconds: 0), launches: 1,
      progress: Progress(), ledger: Ledger(), trace: Desk.trace)
  }
}
