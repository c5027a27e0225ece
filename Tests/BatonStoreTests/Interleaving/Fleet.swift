import BatonModel
import GRDB
import Synchronization
import Testing

@testable import BatonStore

/// Two coordinators on one database with requests in every state.
struct Fleet: Sendable {
  let stores: [SQLiteStore]
  let leases: [HostLease]
  /// The database as it was made, and what the coordinators kept in memory then.
  let original: DatabaseQueue
  let memories: [(tenure: Tenure?, shares: [Int64: Share])]

  static func onTheWholeStore() throws -> Fleet {
    try Fleet(SQLiteStore.inMemory(limits: limits, queuesSpans: true, isShared: true))
  }

  static func onLoadedRows(ignoring ignored: Set<RowLock.Table> = []) throws -> Fleet {
    try Fleet(SQLiteStore.onLoadedRows(limits: limits, queuesSpans: true, ignoring: ignored))
  }

  /// The usual limits, and a namespace of which one launch runs and one more may.
  static let limits: StoreLimits = {
    var (limits, namespace) = (StoreLimits(), Namespace("quota"))
    namespace.quotas.running = 2
    limits.namespaces = Namespaces([namespace])
    return limits
  }()

  /// Makes everything as it was.
  func reset() throws {
    try original.backup(to: stores[0].database)
    try stores[0].server?.count()
    for (store, memory) in zip(stores, memories) { try store.remember(memory) }
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
      if said != Act.hasToWait { answer.withLock { $0 = said } }
    }
    let answers = [run(first, at: 0)]
    stores[0].server?.holdNext(nil)
    let other = answer.withLock { $0 } ?? run(second, at: 1)
    return try answers + [other] + dump()
  }

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
    memories = try stores.map { store in try store.exclusively { ($0.tenure, $0.shares) } }
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
    // A request that is divided: two of its shards run, and no unit is left that no shard has.
    var spread = Definition(pattern: IdentifierPattern("spread")!, kind: .processing)
    spread.work = Work(command: ["true"], items: .range(1...16))
    spread.spread = Spread(lanes: 2, shardSize: 8)
    _ = try verbs.apply([spread], seeds: [someTrace], at: someTime)
    try submit("spread", to: shards.definition)
    for _ in 0..<2 { _ = try start(shards, 1) }
    let quota = Definition(pattern: IdentifierPattern("quota.*")!, kind: .processing)
    _ = try verbs.apply([quota], seeds: [someTrace], at: someTime)
    for name in ["quota.a", "quota.b", "quota.c", "quota.d"] { try submit(name, to: Self.quota.definition) }
    _ = try start(Self.quota, 1)
    _ = try verbs.apply(later, seeds: later.map { _ in someTrace }, at: someTime)
    for name in ["full.a", "full.b"] { try submit(name, to: full.definition) }
    for name in ["half.a", "half.b"] { try submit(name, to: half.definition) }
    try submit("other.a", to: other.definition)
    for wanted in [full, half] { _ = try start(wanted, 1) }
    for instance in ["a", "b"] {
      let members = [("first", first), ("last", last)].map { name, wanted in
        SubmissionOffer(
          submission: Submission(
            id: "\(name) \(instance)", identifier: JobIdentifier(trusted: "\(name).\(instance)"), trace: someTrace),
          definition: wanted.definition)
      }
      _ = try verbs.submitFlow(members, at: someTime)
    }
    _ = try start(first, 1)
    try verbs.pauseSchedule(of: held, by: "ada", because: "of it", at: someTime)
    let range = Backfill(
      by: "ada", startedAt: someTime.date, from: someTime.date + .seconds(-600), until: someTime.date, total: 10)
    try verbs.startBackfill(of: held, range, seed: someTrace, at: someTime)
  }

  /// Definitions with keys, of flows and with schedules.
  private static let later: [Definition] = {
    let keyed = [("full", "full", 1), ("half", "half", 2), ("other", "half", 2)].map { name, key, limit in
      var definition = Definition(pattern: IdentifierPattern("\(name).*")!, kind: .processing)
      definition.concurrency = ConcurrencyLimit(key: KeyTemplate(key), limit: limit)
      return definition
    }
    let first = Definition(pattern: IdentifierPattern("first.*")!, kind: .processing)
    var last = Definition(pattern: IdentifierPattern("last.*")!, kind: .processing)
    last.after = [Dependency(JobReference("first.${wildcard}")!, on: .success)]
    let scheduled = ["calendar", "held"].map { name in
      var definition = Definition(pattern: IdentifierPattern(name)!, kind: .processing)
      definition.schedule = (try? CronExpression("* * * * *")).map { JobSchedule(cron: $0) }
      return definition
    }
    return keyed + [first, last] + scheduled
  }()
  static let full = RequirementClass(definition: DefinitionID(8), priority: .background)
  static let half = RequirementClass(definition: DefinitionID(9), priority: .background)
  static let other = RequirementClass(definition: DefinitionID(10), priority: .background)
  static let first = RequirementClass(definition: DefinitionID(11), priority: .background)
  static let last = RequirementClass(definition: DefinitionID(12), priority: .background)
  static let scheduled = RequirementClass(definition: DefinitionID(13), priority: .background)
  static let calendar = JobIdentifier(trusted: "calendar")
  static let held = JobIdentifier(trusted: "held")

  static let quota = RequirementClass(definition: DefinitionID(7), priority: .background)

  static let shards = RequirementClass(definition: DefinitionID(6), priority: .background)
  /// The launches of both shards.
  static let shard0 = LaunchKey(request: RequestID(15), number: 1)
  static let shard1 = LaunchKey(request: RequestID(16), number: 1)

  /// What the coordinator answers; the text of the error if the verb throws.
  /// - Parameter needs: what the verb is known to need.
  func run(_ act: Act, at number: Int, needing needs: KnownNeeds = .nothing) -> String {
    act.run(on: stores[number], Seat(number: number, lease: leases[number]), needing: needs)
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
    "calendar": 21, "full.a": 23, "half.b": 26, "first.a": 28, "first.b": 30,
  ]

  static func ended(_ verbs: Verbs) throws -> Prunable {
    Prunable(requests: [(id: 5, definition: earlier, state: .succeeded)])
  }

  /// Everything that the store says, without the numbers of rows, whose order depends on who came first.
  func dump() throws -> [String] {
    try stores[0].database.read { db in
      try Self.dump { sql in
        let statement = try db.cachedStatement(sql: sql)
        return try Prepared(statement).rows(of: statement.columnCount)
      }
    }
  }

  /// - Parameter rows: the rows of a query.
  static func dump(_ rows: (String) throws -> [[Cell]]) throws -> [String] {
    try tables.flatMap { name, sql in try rows(sql).map { name + ": " + text($0) }.sorted() }
  }

  /// The cells of a row, about as SQL writes them. The text that Swift makes of an array takes many times as long, and
  /// the tests make it of every row for each pair of acts.
  private static func text(_ row: [Cell]) -> String {
    var text = ""
    for cell in row {
      switch cell {
      case .null: text += "null"
      case .integer(let value): text += String(value)
      case .text(let value): text += "'" + value + "'"
      case .blob(let bytes): text += "x'" + bytes.map { String($0, radix: 16) }.joined(separator: " ") + "'"
      }
      text += ", "
    }
    return text
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
    (
      "identifier",
      """
      SELECT name, last_number, last_first_launch_at, no_data_in_row, anchor_at, paused_at, paused_by, backfill
      FROM identifier
      """
    ),
    (
      "request",
      """
      SELECT i.name, r.number, r.definition, r.priority, r.state, r.cause, r.eligible_at, r.launches, h.name, r.ended_at,
        r.outcome, r.reason, r.failures, r.losses, r.strikes, r.cancelled_by, r.frozen_items, r.ready_at, r.held_by,
        r.submitted_as, r.principal, r.poke, r.earliest_at, r.shard, r.first_unit, r.end_unit, r.shard_state,
        r.scheduled_at, r.backfill, r.waits_for, r.is_awaited, r.waits_on, r.flow IS NOT NULL
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
    (
      "dependency",
      """
      SELECT i.name, r.number, j.name, a.number, x.ending, x.state
      FROM dependency x JOIN request a ON a.id = x.awaited JOIN identifier j ON j.id = a.identifier \(of)
      """
    ),
    ("key", "SELECT name, running, full_at, due_at, set_limit, last_limit FROM limit_key"),
    ("line", "SELECT name, definition, priority FROM limit_line"),
    ("progress", "SELECT i.name, r.number, x.batches, x.completed_units, x.skipped FROM progress x \(of)"),
    (
      "spread",
      """
      SELECT x.lanes, x.shards, x.open, x.parked, x.running, x.launches, x.failed, x.cancelled, x.next_unit, x.end_unit,
        x.is_stopping
      FROM spread x
      """
    ),
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
      SELECT pattern, CAST(sum(scheduled) AS bigint), CAST(sum(ready) AS bigint), CAST(sum(running) AS bigint),
        CAST(sum(succeeded) AS bigint), CAST(sum(failed) AS bigint), CAST(sum(cancelled) AS bigint),
        CAST(sum(used) AS bigint)
      FROM share GROUP BY pattern
      """
    ),
    (
      "namespaces",
      """
      SELECT namespace, CAST(sum(pending) AS bigint), CAST(sum(running) AS bigint), CAST(sum(slots) AS bigint),
        CAST(sum(gpus) AS bigint), CAST(sum(used) AS bigint)
      FROM namespace_share GROUP BY namespace ORDER BY namespace
      """
    ),
    ("coordinators", "SELECT epoch, beat, is_ended, is_settled FROM coordinator"),
    ("pending", "SELECT CAST(sum(pending) AS bigint) FROM coordinator"),
    ("store", "SELECT is_paused, steward, definitions_version FROM store"),
  ]
}
