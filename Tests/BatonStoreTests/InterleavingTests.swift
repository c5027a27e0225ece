import BatonModel
import GRDB
import Synchronization
import Testing

@testable import BatonStore

/// Two coordinators that write at the same time: each ordered pair of writing verbs, of which the first is held between
/// loading its rows and storing them, while the second runs or has to wait for it. The end, with both answers, has to
/// be that of one of the two serial orders. On one connection to SQLite transactions are serial anyway; on loaded rows
/// the locks alone make them so.
@Suite struct InterleavingTests {
  @Test(arguments: Act.all.indices)
  func eachPairEndsAsOneOfItsSerialOrders(index: Int) throws {
    let (whole, loaded) = (try Fleet.onTheWholeStore(), try Fleet.onLoadedRows())
    let first = Act.all[index]
    for second in Act.all {
      let end = try loaded.interleaved(first, second)
      if try whole.ends(first, second, as: end) { continue }
      let serial = [try whole.serial(first, second), try whole.serial(first, second, isReversed: true)]
      Issue.record("\(first.name), while held: \(second.name)\n\(Self.difference(end, serial))")
    }
  }

  /// Proves that each lock is needed, and that the comparison can fail. Without the lock of the identifier, for
  /// example, a request that is submitted while the live one ends is stranded.
  @Test(arguments: [
    Control([.identifier], "submit after a live one", "end the only one"),
    Control([.identifier], "end the only one", "submit after a live one"),
    Control([.coordinator], "submit to an idle definition", "remove"),
    Control([.pattern], "claim with a limit", "claim with a limit"),
    Control([.host], "claim two", "end the lease"),
    // The lock of a launch's host covers what its worker reports.
    Control([.request, .host], "checkpoint", "fail one"),
  ])
  func withoutALockAPairEndsOtherwise(control: Control) throws {
    let (whole, unlocked) = (try Fleet.onTheWholeStore(), try Fleet.onLoadedRows(ignoring: control.ignored))
    let (first, second) = (try #require(Act.named(control.first)), try #require(Act.named(control.second)))
    #expect(try !whole.ends(first, second, as: unlocked.interleaved(first, second)))
  }

  struct Control: Sendable, CustomStringConvertible {
    let ignored: Set<RowLock.Table>
    let first: String
    let second: String

    init(_ ignored: Set<RowLock.Table>, _ first: String, _ second: String) {
      (self.ignored, self.first, self.second) = (ignored, first, second)
    }

    var description: String { "\(first), while held: \(second)" }
  }

  /// A group of a busy coordinator loads its rows at once: the verbs that it has most are known to need them.
  @Test func theVerbsOfABusyCoordinatorLoadOnce() throws {
    let fleet = try Fleet.onLoadedRows()
    let server = try #require(fleet.stores[0].server)
    for (name, needs) in fleet.knownNeeds() {
      let act = try #require(Act.named(name))
      try fleet.reset()
      let before = server.loads
      #expect(fleet.run(act, at: 0, needing: needs) != "")
      #expect(server.loads == before + 1, "\(name)")
    }
  }

  private static func difference(_ end: [String], _ serial: [[String]]) -> String {
    serial.map { order in
      (end.filter { !order.contains($0) }.map { "+ \($0)" } + order.filter { !end.contains($0) }.map { "- \($0)" })
        .joined(separator: "\n")
    }.joined(separator: "\nor\n")
  }
}

/// One writing verb on the rows of `Fleet`.
private struct Act: Sendable {
  let name: String
  let body: @Sendable (Verbs, Seat) throws -> String

  init(_ name: String, _ body: @escaping @Sendable (Verbs, Seat) throws -> String) {
    self.name = name
    self.body = body
  }

  static func named(_ name: String) -> Act? { all.first { $0.name == name } }
}

/// The coordinator that acts, and the host that it serves.
private struct Seat: Sendable {
  var number: Int
  var lease: HostLease
  var later = Moment(date: someTime.date + .seconds(100), steady: someTime.steady + .seconds(100))

  func offer() -> SubmissionOffer.Offer {
    SubmissionOffer.Offer(lease: lease, gpus: [], spanID: SpanID(UInt64(70 + number)))
  }

  func place(_ number: Int) -> Claim.Place {
    Claim.Place(gpus: [], spanID: SpanID(UInt64(80 + self.number * 10 + number)))
  }

  func submission(_ name: String, poke: PokePriority? = nil, host: SubmissionOffer.Offer? = nil) -> SubmissionOffer {
    var submission = Submission(
      id: "\(name)-\(number)-\(poke == nil ? "" : "poke")", identifier: JobIdentifier(trusted: name),
      payload: [UInt8(number)],
      trace: someTrace)
    submission.poke = poke
    submission.principal = "seat \(number)"
    return SubmissionOffer(submission: submission, definition: Fleet.present, host: host)
  }
}

extension Act {
  static let all: [Act] = submitting + running + ending + operators + hosts

  private static func accepted(_ answers: [SubmissionAnswer]) -> String {
    answers.map { answer in
      guard case .accepted(let receipt, _, let launch, let isRepeat) = answer else { return "\(answer)" }
      return "\(receipt.identifier) \(receipt.number) \(receipt.state) \(receipt.replaced) \(launch != nil) \(isRepeat)"
    }.joined(separator: ", ")
  }

  private static let submitting = [
    Act("submit a new identifier") { try accepted($0.submit([$1.submission("com.new")], at: $1.later)) },
    Act("submit after a live one") { try accepted($0.submit([$1.submission("com.live")], at: $1.later)) },
    Act("replace the waiting one") { try accepted($0.submit([$1.submission("com.pair")], at: $1.later)) },
    Act("poke") { try accepted($0.submit([$1.submission("com.ready", poke: .immediate)], at: $1.later)) },
    Act("submit and start") { verbs, seat in
      try accepted(verbs.submit([seat.submission("com.new", host: seat.offer())], at: seat.later))
    },
    Act("repeat a submission") { verbs, seat in
      var offer = seat.submission("com.ready")
      offer.submission.id = "com.ready 6"
      return try accepted(verbs.submit([offer], at: seat.later))
    },
    Act("promote") { verbs, seat in
      do { return try "\(verbs.promote(at: seat.later, limit: 10))" } catch let error as StoreError {
        return "\(error.code)"
      }
    },
  ]

  private static let running = [
    Act("claim two") { verbs, seat in
      let claim = Claim(
        requirementClass: Fleet.ready, lease: seat.lease, places: [seat.place(0), seat.place(1)])
      return try verbs.claim([claim], at: seat.later).map { answer in
        "\(answer.assignments.map { "\($0.identifier) \($0.launch.number)" }) \(answer.hasMore) \(answer.isMoved)"
      }.joined()
    },
    Act("claim with a limit") { verbs, seat in
      let claim = Claim(requirementClass: Fleet.limited, lease: seat.lease, places: [seat.place(0)])
      return try verbs.claim([claim], at: seat.later).map {
        "\($0.assignments.map { "\($0.identifier)" }) \($0.isMoved)"
      }
      .joined()
    },
    Act("claim a chain") { verbs, seat in
      let claim = Claim(requirementClass: Fleet.chain, lease: seat.lease, places: [seat.place(0)])
      return try verbs.claim([claim], at: seat.later).map {
        "\($0.assignments.map { "\($0.identifier)" }) \($0.isMoved)"
      }
      .joined()
    },
    Act("launch now") { verbs, seat in
      let id = try Fleet.request("com.ready", verbs)
      return try "\(verbs.launchNow(id, on: seat.offer(), at: seat.later).identifier)"
    },
    Act("checkpoint") { verbs, seat in
      let checkpoint = Checkpoint(launch: try Fleet.launch("com.pair", verbs), batch: 1, completedUnits: 2)
      return try "\(verbs.checkpoint([checkpoint], from: someWorker, at: seat.later))"
    },
    Act("append items") { verbs, seat in
      let page = ItemPage(launch: try Fleet.launch("com.pair", verbs), start: 0, items: ["a", "b"], isLast: true)
      return try "\(verbs.appendItems(page, from: someWorker))"
    },
    Act("append output") { verbs, seat in
      let chunk = OutputChunk(launch: try Fleet.launch("com.pair", verbs), bytes: [65])
      try verbs.appendOutput([chunk], from: someWorker)
      return ""
    },
    Act("note an expiry") { verbs, seat in
      let launch = try Fleet.launch("com.pair", verbs)
      return try "\(verbs.noteExpiry(launch, .stalled, under: someLease, at: seat.later) != nil)"
    },
    Act("note an event") { verbs, seat in
      try verbs.note(.suspect, detail: "seat \(seat.number)", of: Fleet.request("com.pair", verbs), at: seat.later)
      return ""
    },
  ]

  private static func end(_ name: String, _ outcome: LaunchOutcome, _ verbs: Verbs, _ seat: Seat) throws -> String {
    let ending = Ending(launch: try Fleet.launch(name, verbs), outcome: outcome)
    return try verbs.end([ending], from: someWorker, at: seat.later)
      .map { "\($0.wasLive) \($0.state) \($0.released.map { "\($0)" } ?? "none")" }.joined()
  }

  private static let ending = [
    Act("end one with a waiting one") { try end("com.pair", .finished, $0, $1) },
    Act("end the only one") { try end("com.live", .finished, $0, $1) },
    Act("fail one") { try end("com.pair", .failed("broken"), $0, $1) },
    Act("expire one") { try end("com.live", .expired(.draining), $0, $1) },
  ]

  private static func kinds(_ cancellations: [Cancellation]) -> String {
    cancellations.map { cancellation in
      switch cancellation {
      case .ended(_, let identifier, let number): "ended \(identifier) \(number)"
      case .stopping(_, let identifier, let number, let host): "stopping \(identifier) \(number) on \(host)"
      }
    }.joined(separator: ", ")
  }

  private static let operators = [
    Act("cancel a pair") { verbs, seat in
      try kinds(
        verbs.cancel(.identifier(JobIdentifier(trusted: "com.pair")), by: "seat \(seat.number)", at: seat.later))
    },
    Act("cancel a ready one") { verbs, seat in
      try kinds(verbs.cancel(.request(Fleet.request("com.ready", verbs)), by: "seat \(seat.number)", at: seat.later))
    },
    Act("cancel all") { try kinds($0.cancel(.all, by: "seat \($1.number)", at: $1.later)) },
    Act("retry") { try "\($0.retry(Fleet.request("com.failed", $0), skippingBatch: true, at: $1.later).state)" },
    Act("submit after a failed one") { try accepted($0.submit([$1.submission("com.failed")], at: $1.later)) },
    Act("redefine") { verbs, seat in
      try "\(verbs.redefine(Fleet.request("com.ready", verbs), as: Fleet.present, at: seat.later).definition)"
    },
    Act("apply") { verbs, seat in
      var definition = Fleet.definitions[0]
      definition.priority = seat.number == 0 ? .utility : .userInitiated
      return try verbs.apply([definition], seeds: [someTrace], at: seat.later).map { "\($0.change)" }.joined()
    },
    Act("remove") { verbs, seat in
      try verbs.remove(IdentifierPattern("idle.*")!)
      return "removed"
    },
    Act("submit to an idle definition") { verbs, seat in
      var offer = seat.submission("idle.one")
      offer.definition = Fleet.idle
      return try accepted(verbs.submit([offer], at: seat.later))
    },
    Act("pause") { verbs, seat in
      try verbs.setPaused(seat.number == 0)
      return ""
    },
    Act("note uses") { verbs, seat in
      try verbs.noteUses([IdentifierPattern("com.*")!: seat.later.steady])
      try verbs.notePace([IdentifierPattern("com.*")!: .seconds(seat.number + 1)])
      return ""
    },
    Act("prune") { verbs, seat in
      let limits = RetentionLimits(endedFor: .zero, endedCount: 0, submissionsFor: .zero)
      let found = try Fleet.ended(verbs)
      do { return try "\(verbs.prune(found, limits, at: seat.later))" } catch let error as StoreError {
        return "\(error.code)"
      }
    },
    Act("beat") { verbs, seat in try "\(verbs.beat(nil).isSteward)" },
    Act("leave") { verbs, seat in
      try verbs.leave()
      return ""
    },
  ]

  private static let hosts = [
    Act("take the host over") { verbs, seat in
      let grant = try verbs.grantLease(someHost, someProcess, link: Int64(seat.number), at: seat.later)
      return "\(grant.lease.number) \(grant.ended.count)"
    },
    Act("end the lease") { verbs, seat in
      try verbs.endLease(someLease, countsAsLoss: true, at: seat.later).map { "\($0.identifier) \($0.state)" }.joined()
    },
    Act("end the lease of a dead process") { verbs, seat in
      try verbs.endLease(of: someWorker, countsAsLoss: false, at: seat.later).map { "\($0.identifier) \($0.state)" }
        .joined()
    },
    Act("note a report") { verbs, seat in
      let word = HostWord(
        version: "\(seat.number)", capabilities: Capabilities(slots: 2, kinds: [.processing]), conditions: .assumed)
      try verbs.noteReports([someLease: word], at: seat.later)
      return ""
    },
    Act("note that it is away") { verbs, seat in
      try verbs.noteAway(someLease, link: 0)
      return ""
    },
    Act("drain") { verbs, seat in
      try verbs.setDraining(someHost, seat.number == 0, at: seat.later)
      return ""
    },
    Act("evict") { verbs, seat in
      try verbs.setEvicted(IdentifierPattern("com.ready")!, from: seat.lease.host, true)
      return ""
    },
    Act("invite a host") { verbs, seat in
      let id = [UInt8](repeating: UInt8(seat.number), count: 8)
      try verbs.invite(
        Invitation(
          id: id, host: HostName("new"), digest: .init(repeating: 1, count: 32), end: seat.later.date,
          principal: "somebody"), at: seat.later)
      return ""
    },
    Act("note a waiting host") { verbs, seat in
      let waiting = WaitingHost(host: HostName("invited"), number: "\(seat.number)", peer: "", at: seat.later.steady)
      try verbs.noteWaiting(
        waiting, invitation: .init(repeating: 9, count: 8), key: .init(repeating: UInt8(seat.number), count: 32))
      return "waits"
    },
    Act("say where it serves") { verbs, seat in
      try verbs.serve(at: CoordinatorPlace(name: "seat \(seat.number)", version: "1", workers: "a:1"))
      return ""
    },
    Act("admit a host") { verbs, seat in
      let certificate = HostCertificate(
        serial: [1, UInt8(seat.number)], host: HostName("invited"),
        key: .init(repeating: UInt8(seat.number), count: 32),
        der: [1], end: seat.later.date + .seconds(3600))
      return try verbs.admit(
        certificate, by: .init(repeating: 9, count: 8), digest: .init(repeating: 9, count: 32), at: seat.later
      ).serial.description
    },
    Act("renew a certificate") { verbs, seat in
      let certificate = HostCertificate(
        serial: [2, UInt8(seat.number)], host: HostName("joined"), key: .init(repeating: 3, count: 32), der: [2],
        end: seat.later.date + .seconds(3600))
      try verbs.renew(certificate, after: [9], at: seat.later)
      return ""
    },
    Act("issue a credential") { verbs, seat in
      try verbs.issue(
        Credential(
          id: .init(repeating: UInt8(seat.number), count: 8), name: "alice", digest: .init(repeating: 1, count: 32),
          scopes: [.read], end: seat.later.date, createdAt: someTime.date, createdBy: "somebody"))
      return "issued"
    },
    Act("revoke credentials") { verbs, _ in
      try verbs.revoke(credentials: [.init(repeating: 0, count: 8), .init(repeating: 1, count: 8)])
      return "revoked"
    },
    Act("append to the audit log") { verbs, seat in
      try verbs.append(
        AuditEntry(
          at: someTime.date, actor: "seat \(seat.number)", credential: nil, peer: "unix", method: "Pause", object: ""))
      return "appended"
    },
    Act("revoke a host") { verbs, seat in
      try verbs.revoke(HostName("joined"))
      return ""
    },
    Act("forget the secret") { verbs, seat in
      try verbs.forgetSecret(of: someHost)
      return ""
    },
  ]
}

/// Two coordinators on one database with requests in every state.
private struct Fleet: Sendable {
  let stores: [SQLiteStore]
  let leases: [HostLease]
  /// The database as it was made, and what the coordinators kept in memory then.
  private let original: DatabaseQueue
  private let tenures: [(Tenure?, [Int64: Share])]

  static func onTheWholeStore() throws -> Fleet {
    try Fleet(SQLiteStore.inMemory(queuesSpans: true, isShared: true))
  }

  static func onLoadedRows(ignoring ignored: Set<RowLock.Table> = []) throws -> Fleet {
    try Fleet(SQLiteStore.onLoadedRows(queuesSpans: true, ignoring: ignored))
  }

  /// Makes everything as it was.
  func reset() throws {
    try original.backup(to: stores[0].database)
    try stores[0].server?.count()
    for (store, (tenure, shares)) in zip(stores, tenures) {
      try store.exclusively { verbs in
        verbs.forget()
        (verbs.tenure, verbs.shares) = (tenure, shares)
      }
    }
  }

  /// Whether one of the serial orders ends in this way.
  func ends(_ first: Act, _ second: Act, as end: [String]) throws -> Bool {
    if try serial(first, second) == end { return true }
    return try serial(first, second, isReversed: true) == end
  }

  /// The end of a serial order: both answers, and what the store says then.
  func serial(_ first: Act, _ second: Act, isReversed: Bool = false) throws -> [String] {
    try reset()
    let early = isReversed ? run(second, at: 1) : run(first, at: 0)
    let late = isReversed ? run(first, at: 0) : run(second, at: 1)
    return try (isReversed ? [late, early] : [early, late]) + dump()
  }

  /// The end if the second act comes while the first one is held between loading and storing.
  func interleaved(_ first: Act, _ second: Act) throws -> [String] {
    try reset()
    let answer = Mutex<String?>(nil)
    stores[0].server?.holdNext {
      let said = run(second, at: 1)
      if said != Self.hasToWait { answer.withLock { $0 = said } }
    }
    let answers = [run(first, at: 0)]
    stores[0].server?.holdNext(nil)
    let other = answer.withLock { $0 } ?? run(second, at: 1)
    return try answers + [other] + dump()
  }

  static let hasToWait = "has to wait"
  /// `com.*` was applied twice: requests have the first definition, and new ones get the second.
  static let definitions: [Definition] = {
    var chain = Definition(pattern: IdentifierPattern("chain")!, kind: .refresh)
    chain.repeatEvery = .seconds(10)
    chain.allowFrequent = true
    var limited = Definition(pattern: IdentifierPattern("limited.*")!, kind: .processing)
    limited.maxRunning = 2
    var plain = Definition(pattern: IdentifierPattern("com.*")!, kind: .processing)
    plain.retry.limit = 0
    return [
      plain, chain, limited,
      Definition(pattern: IdentifierPattern("idle.*")!, kind: .processing),
    ]
  }()
  static let earlier = DefinitionID(1)
  static let present = DefinitionID(5)
  static let idle = DefinitionID(4)
  static let ready = RequirementClass(definition: earlier, priority: .background)
  static let chain = RequirementClass(definition: DefinitionID(2), priority: .background)
  static let limited = RequirementClass(definition: DefinitionID(3), priority: .background)

  init(_ first: SQLiteStore) throws {
    stores = [first, try first.another()]
    leases = try zip(stores, [someHost, HostName("beta")]).map { store, host in
      try store.transaction { try $0.grantLease(host, someProcess, link: 0, at: someTime).lease }
    }
    let lease = leases[0]
    try stores[0].transaction { verbs in try Self.fill(verbs, lease) }
    original = try DatabaseQueue()
    try first.database.backup(to: original)
    tenures = try stores.map { store in try store.exclusively { ($0.tenure, $0.shares) } }
  }

  private static func fill(_ verbs: Verbs, _ lease: HostLease) throws {
    _ = try verbs.apply(definitions, seeds: definitions.map { _ in someTrace }, at: someTime)
    for (id, host) in [(UInt8(8), "joined"), (9, "invited")] {
      try verbs.invite(
        Invitation(
          id: .init(repeating: id, count: 8), host: HostName(host), digest: .init(repeating: id, count: 32),
          end: someTime.date + .seconds(3600), principal: "somebody"), at: someTime)
    }
    let joined = HostCertificate(
      serial: [9], host: HostName("joined"), key: .init(repeating: 8, count: 32), der: [9],
      end: someTime.date + .seconds(3600))
    _ = try verbs.admit(
      joined, by: .init(repeating: 8, count: 8), digest: .init(repeating: 8, count: 32), at: someTime)
    var count = 0
    func submit(_ name: String, to definition: DefinitionID, after delay: Duration? = nil) throws {
      count += 1
      let id = "\(name) \(count)"
      var submission = Submission(id: id, identifier: JobIdentifier(trusted: name), trace: someTrace)
      submission.earliestBeginDate = delay.map { .afterSubmission($0) }
      _ = try verbs.submit([SubmissionOffer(submission: submission, definition: definition)], at: someTime)
    }
    func start(_ wanted: RequirementClass, _ count: Int) throws -> [LaunchKey] {
      let places = (0..<count).map { Claim.Place(gpus: [], spanID: SpanID(UInt64(1 + $0))) }
      let claim = Claim(requirementClass: wanted, lease: lease, places: places)
      return try verbs.claim([claim], at: someTime)[0].assignments.map(\.launch)
    }
    for name in ["com.pair", "com.live", "com.failed", "com.done"] { try submit(name, to: earlier) }
    let launches = try start(ready, 4)
    _ = try verbs.checkpoint(
      [Checkpoint(launch: launches[0], batch: 0, completedUnits: 1)], from: someWorker, at: someTime)
    for (launch, outcome) in [(launches[2], LaunchOutcome.failed("once")), (launches[3], .finished)] {
      _ = try verbs.end([Ending(launch: launch, outcome: outcome)], from: someWorker, at: someTime)
    }
    for name in ["com.pair", "com.ready", "com.other"] { try submit(name, to: earlier) }
    try submit("com.due", to: earlier, after: .seconds(50))
    try submit("com.later", to: earlier, after: .seconds(500))
    for name in ["limited.a", "limited.b", "limited.c", "limited.d"] { try submit(name, to: limited.definition) }
    _ = try start(limited, 1)
    var changed = definitions[0]
    changed.title = "changed"
    _ = try verbs.apply([changed], seeds: [someTrace], at: someTime)
  }

  /// What the coordinator answers; the text of the error if the verb throws.
  /// - Parameter needs: what the verb is known to need.
  func run(_ act: Act, at number: Int, needing needs: KnownNeeds = .nothing) -> String {
    do {
      return try stores[number].transaction(needing: needs) {
        try act.body($0, Seat(number: number, lease: leases[number]))
      }
    } catch is RowsLocked {
      return Self.hasToWait
    } catch let error as StoreError {
      return error.message.contains("RowsLocked") ? Self.hasToWait : "\(error.code)"
    } catch {
      return "\(error)"
    }
  }

  /// The request of the identifier that was made first.
  static func request(_ name: String, _ verbs: Verbs) throws -> RequestID {
    RequestID(try #require(numbers[name]))
  }

  static func launch(_ name: String, _ verbs: Verbs) throws -> LaunchKey {
    LaunchKey(request: try request(name, verbs), number: 1)
  }

  /// The chain's first request is made by `apply`.
  private static let numbers: [String: Int64] = [
    "chain": 1, "com.pair": 2, "com.live": 3, "com.failed": 4, "com.done": 5, "com.ready": 7,
  ]

  static func ended(_ verbs: Verbs) throws -> Prunable {
    Prunable(requests: [(id: 5, definition: earlier, state: .succeeded)])
  }

  /// Everything that the store says, without the numbers of rows, whose order depends on who came first.
  func dump() throws -> [String] {
    try Self.tables.flatMap { name, sql in
      try dump(sql).map { "\(name): \($0)" }
    }
  }

  /// The rows of a query as text, in the order of the texts.
  private func dump(_ sql: String) throws -> [String] {
    try stores[0].database.read { db in
      try Row.fetchAll(db, sql: sql).map { "\(Array($0.databaseValues))" }.sorted()
    }
  }

  /// What the verbs of a busy coordinator are known to need before they run.
  func knownNeeds() -> [(String, KnownNeeds)] {
    let seat = Seat(number: 0, lease: leases[0])
    let pair = LaunchKey(request: RequestID(2), number: 1)
    let claim = Claim(requirementClass: Self.ready, lease: leases[0], places: [seat.place(0), seat.place(1)])
    return [
      ("submit a new identifier", .submit([seat.submission("com.new")])),
      ("submit and start", .submit([seat.submission("com.new", host: seat.offer())])),
      ("claim two", .claim([claim])),
      ("checkpoint", .checkpoint([Checkpoint(launch: pair, batch: 1, completedUnits: 2)], someWorker)),
      ("end one with a waiting one", .end([Ending(launch: pair, outcome: .finished)], someWorker)),
    ]
  }

  private static let of = "JOIN request r ON r.id = x.request JOIN identifier i ON i.id = r.identifier"
  private static let tables: [(String, String)] = [
    ("identifier", "SELECT name, last_number, last_first_launch_at, no_data_in_row, anchor_at FROM identifier"),
    (
      "request",
      """
      SELECT i.name, r.number, r.definition, r.priority, r.state, r.cause, r.eligible_at, r.launches, h.name, r.ended_at,
        r.outcome, r.reason, r.failures, r.losses, r.strikes, r.cancelled_by, r.frozen_items, r.ready_at, r.held_by,
        r.submitted_as, r.principal, r.poke, r.earliest_at
      FROM request r JOIN identifier i ON i.id = r.identifier LEFT JOIN host h ON h.id = r.host
      """
    ),
    (
      "launch",
      """
      SELECT i.name, r.number, x.number, h.name, x.incarnation, x.span_id, x.ended_at, x.outcome, x.reason, x.batches,
        x.expiring_reason, x.is_simulated, x.definition
      FROM launch x JOIN host h ON h.id = x.host \(of)
      """
    ),
    ("progress", "SELECT i.name, r.number, x.batches, x.completed_units, x.skipped FROM progress x \(of)"),
    ("payload", "SELECT i.name, r.number, x.bytes FROM payload x \(of)"),
    ("event", "SELECT i.name, r.number, x.position, x.name, x.detail, x.phase FROM event x \(of)"),
    ("joining", "SELECT i.name, r.number, x.position, x.poke FROM joining x \(of)"),
    ("completion", "SELECT i.name, r.number, x.launches, x.state FROM completion x \(of)"),
    ("items", "SELECT i.name, r.number, x.start, x.count FROM item_page x \(of)"),
    ("output", "SELECT i.name, r.number, x.launch, x.bytes FROM output x \(of)"),
    ("spans", "SELECT i.name, r.number, x.launch, x.parts FROM unsent_span x \(of)"),
    (
      "submission",
      """
      SELECT x.key, i.name, x.number, x.state, x.replaced, p.priority
      FROM submission x JOIN identifier i ON i.id = x.identifier LEFT JOIN poke p ON p.submission = x.id
      """
    ),
    (
      "host",
      "SELECT name, incarnation, owner, lease, link, is_draining, use_day, used, word, last_seen_at FROM host"
    ),
    ("secret", "SELECT name, secret FROM host"), ("invitation", "SELECT * FROM invitation"),
    ("certificate", "SELECT * FROM certificate"),
    ("eviction", "SELECT h.name, e.pattern FROM eviction e JOIN host h ON h.id = e.host"),
    (
      "pattern",
      "SELECT p.name, d.content, p.applied_at, p.used_at, p.usual_batch FROM pattern p LEFT JOIN definition d ON d.id = p.definition"
    ),
    (
      "counts",
      """
      SELECT pattern, sum(scheduled), sum(ready), sum(running), sum(succeeded), sum(failed), sum(cancelled), sum(used)
      FROM share GROUP BY pattern
      """
    ),
    ("coordinators", "SELECT epoch, beat, is_ended, is_settled FROM coordinator"),
    ("pending", "SELECT sum(pending) FROM coordinator"),
    ("store", "SELECT is_paused, steward, definitions_version FROM store"),
  ]
}
