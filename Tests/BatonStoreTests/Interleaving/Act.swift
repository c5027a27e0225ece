import BatonModel
import Testing

@testable import BatonStore

/// One writing verb on the rows of `Fleet`.
struct Act: Sendable {
  let name: String
  let body: @Sendable (Verbs, Seat) throws -> String

  init(_ name: String, _ body: @escaping @Sendable (Verbs, Seat) throws -> String) {
    self.name = name
    self.body = body
  }

  static func named(_ name: String) -> Act? { all.first { $0.name == name } }
}

/// The coordinator that acts, and the host that it serves.
struct Seat: Sendable {
  var number: Int
  var lease: HostLease
  var later = Moment(date: someTime.date + .seconds(100), steady: someTime.steady + .seconds(100))

  func offer() -> SubmissionOffer.Offer {
    SubmissionOffer.Offer(lease: lease, gpus: [], spanID: SpanID(UInt64(70 + number)))
  }

  func place(_ number: Int) -> Claim.Place {
    Claim.Place(gpus: [], spanID: SpanID(UInt64(80 + self.number * 10 + number)))
  }

  func submission(_ name: String, to wanted: RequirementClass) -> SubmissionOffer {
    var offer = submission(name)
    offer.definition = wanted.definition
    return offer
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
  /// Acts that write to the same identifiers, requests and hosts.
  static let meeting: [Act] = [
    "submit after a live one", "replace the waiting one", "poke", "submit and start", "promote", "claim two",
    "claim with a limit", "claim within a quota", "launch now", "checkpoint", "end one with a waiting one",
    "end the only one", "fail one",
    "commit in a shard", "end a shard", "fail a shard", "claim a shard", "more lanes", "fewer lanes", "cancel shards",
    "cancel a pair", "retry", "redefine", "take the host over", "end the lease", "note a report",
    "claim with a key", "claim with the same key", "end one with a key", "set the limit of a key", "submit a flow",
    "cancel a flow", "end the first of a flow", "pause a schedule", "backfill", "start the calendar's",
  ].map { name in
    guard let act = named(name) else { preconditionFailure("there is no act '\(name)'") }
    return act
  }

  static let all: [Act] = requests + keys + flows + schedules

  /// They write to requests, and to what hosts, definitions and operators have to do with them.
  private static let requests: [Act] = submitting + running + ending + shards + operators + hosts

  /// The acts with which this one is tried: those of its own kind, and those that write to requests of every kind.
  var others: [Act] {
    if family == 0 { return Self.requests + (isGeneral ? Self.keys + Self.flows + Self.schedules : []) }
    return Self.families[family] + Self.requests.filter(\.isGeneral)
  }

  /// The acts with which this one is tried in PostgreSQL.
  var othersInPostgreSQL: [Act] { Self.meeting.filter { $0.family == family } }

  private static let families: [[Act]] = [requests, keys, flows, schedules]

  private var family: Int { Self.families.firstIndex { $0.contains { $0.name == name } } ?? 0 }

  private var isGeneral: Bool {
    ["promote", "retry", "redefine", "take the host over", "end the lease"].contains(name)
  }

  /// They write to the same divided request.
  private static let shards: [Act] = [
    Act("commit in a shard") { verbs, seat in
      let checkpoint = Checkpoint(launch: Fleet.shard0, batch: 0, completedUnits: 1)
      return try "\(verbs.checkpoint([checkpoint], from: someWorker, at: seat.later))"
    },
    Act("end a shard") { try endShard(.finished, $0, $1) },
    Act("fail a shard") { try endShard(.failed("broken"), $0, $1) },
    Act("claim a shard") { verbs, seat in
      let claim = Claim(requirementClass: Fleet.shards, lease: seat.lease, places: [seat.place(0), seat.place(1)])
      return try verbs.claim([claim], at: seat.later).map { answer in
        "\(answer.assignments.map { "\($0.shard.map { "\($0)" } ?? "none")" }) \(answer.isMoved)"
      }.joined()
    },
    Act("more lanes") { verbs, seat in
      let answer = try verbs.setSpread(Fleet.shard0.request, lanes: 3, at: seat.later)
      return "\(answer.madeShards) \(answer.stops.count)"
    },
    Act("fewer lanes") { verbs, seat in
      let answer = try verbs.setSpread(Fleet.shard0.request, lanes: 1, at: seat.later)
      return "\(answer.madeShards) \(answer.stops.count)"
    },
    Act("cancel shards") { verbs, seat in
      try kinds(verbs.cancel(.request(Fleet.shard0.request), by: "seat \(seat.number)", at: seat.later))
    },
  ]

  /// They write to the same keys. Of `full` nothing more may run, and of `half` one launch.
  private static let keys: [Act] = [
    Act("claim with a key") { try claim(Fleet.half, $0, $1) },
    Act("claim with the same key") { try claim(Fleet.other, $0, $1) },
    Act("claim what its key keeps") { try claim(Fleet.full, $0, $1) },
    Act("end one with a key") { try end("full.a", .finished, $0, $1) },
    Act("submit one with a key") { try accepted($0.submit([$1.submission("full.c", to: Fleet.full)], at: $1.later)) },
    Act("cancel one with a key") { verbs, seat in
      try kinds(verbs.cancel(.request(Fleet.request("half.b", verbs)), by: "seat \(seat.number)", at: seat.later))
    },
    Act("set the limit of a key") { verbs, seat in
      let setting = LimitSetting.concurrency(2 + seat.number)
      return try "\(verbs.setLimit(LimitKey(.concurrency, "full"), setting, at: seat.later).running)"
    },
    Act("lower the limit of a key") { verbs, seat in
      let setting = LimitSetting.concurrency(1)
      return try "\(verbs.setLimit(LimitKey(.concurrency, "half"), setting, at: seat.later).running)"
    },
  ]

  private static func claim(_ wanted: RequirementClass, _ verbs: Verbs, _ seat: Seat) throws -> String {
    let claim = Claim(requirementClass: wanted, lease: seat.lease, places: [seat.place(0)])
    return try verbs.claim([claim], at: seat.later).map { "\($0.assignments.map(\.identifier)) \($0.isMoved)" }.joined()
  }

  /// They write to the same flows. Of flow `a` the first request runs, and flow `b` is ready.
  private static let flows: [Act] = [
    Act("submit a flow") { verbs, seat in
      try accepted(
        verbs.submitFlow(
          [seat.submission("first.c", to: Fleet.first), seat.submission("last.c", to: Fleet.last)], at: seat.later))
    },
    Act("submit a flow again") { verbs, seat in
      try accepted(
        verbs.submitFlow(
          [seat.submission("first.a", to: Fleet.first), seat.submission("last.a", to: Fleet.last)], at: seat.later))
    },
    Act("submit the last of a flow") { verbs, seat in
      try accepted(verbs.submit([seat.submission("last.a", to: Fleet.last)], at: seat.later))
    },
    Act("cancel a flow") { verbs, seat in
      try kinds(verbs.cancel(.flow(Fleet.request("first.b", verbs)), by: "seat \(seat.number)", at: seat.later))
    },
    Act("cancel a flow that runs") { verbs, seat in
      try kinds(verbs.cancel(.flow(Fleet.request("first.a", verbs)), by: "seat \(seat.number)", at: seat.later))
    },
    Act("claim the first of a flow") { try claim(Fleet.first, $0, $1) },
    Act("end the first of a flow") { try end("first.a", .finished, $0, $1) },
    Act("fail the first of a flow") { try end("first.a", .failed("broken"), $0, $1) },
  ]

  /// They write to the same two schedules, of which `held` is paused.
  private static let schedules: [Act] = [
    Act("pause a schedule") { verbs, seat in
      try verbs.pauseSchedule(of: Fleet.calendar, by: "seat \(seat.number)", because: "of it", at: seat.later)
      return "paused"
    },
    Act("resume a schedule") { try "\($0.resumeSchedule(of: Fleet.held, at: $1.later) != nil)" },
    Act("backfill") { verbs, seat in
      let now = seat.later.date
      let backfill = Backfill(
        by: "seat \(seat.number)", startedAt: now, from: now + .seconds(-600), until: now + .seconds(-300), total: 5)
      try verbs.startBackfill(of: Fleet.calendar, backfill, seed: someTrace, at: seat.later)
      return "begun"
    },
    Act("stop a backfill") { try "\($0.stopBackfill(of: Fleet.held, at: $1.later) != nil)" },
    Act("submit what a schedule submits") { verbs, seat in
      try accepted(verbs.submit([seat.submission("calendar", to: Fleet.scheduled)], at: seat.later))
    },
    Act("start the calendar's") { verbs, seat in
      let id = try Fleet.request("calendar", verbs)
      return try "\(verbs.launchNow(id, on: seat.offer(), at: seat.later).identifier)"
    },
  ]

  private static func endShard(_ outcome: LaunchOutcome, _ verbs: Verbs, _ seat: Seat) throws -> String {
    let ending = Ending(launch: Fleet.shard1, outcome: outcome)
    return try verbs.end([ending], from: someWorker, at: seat.later).map {
      "\($0.wasLive) \($0.state) \($0.shardState) \($0.madeShards)"
    }.joined()
  }

  private static func accepted(_ answers: [SubmissionAnswer]) -> String {
    answers.map { answer in
      guard case .accepted(let receipt, _, let launch, let isRepeat) = answer else { return "\(answer)" }
      return "\(receipt.identifier) \(receipt.number) \(receipt.state) \(receipt.replaced) \(launch != nil) \(isRepeat)"
    }.joined(separator: ", ")
  }

  private static let submitting: [Act] = [
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
      do {
        let promotion = try verbs.promote(at: seat.later, limit: 10)
        // A dictionary has no order.
        let classes = promotion.classes.sorted { $0.key < $1.key }
        return "\(classes) \(promotion.nextDue) \(promotion.replaced)"
      } catch let error as StoreError {
        return "\(error.code)"
      }
    },
  ]

  private static let running: [Act] = [
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
    Act("claim within a quota") { verbs, seat in
      let claim = Claim(requirementClass: Fleet.quota, lease: seat.lease, places: [seat.place(0)])
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
      return try "\(verbs.appendItems(page, from: someWorker, at: seat.later))"
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

  private static let ending: [Act] = [
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

  private static let operators: [Act] = [
    Act("cancel a pair") { verbs, seat in
      try kinds(
        verbs.cancel(.identifier(JobIdentifier(trusted: "com.pair")), by: "seat \(seat.number)", at: seat.later))
    },
    Act("cancel a ready one") { verbs, seat in
      try kinds(verbs.cancel(.request(Fleet.request("com.ready", verbs)), by: "seat \(seat.number)", at: seat.later))
    },
    Act("cancel all") { try kinds($0.cancel(.all, by: "seat \($1.number)", at: $1.later)) },
    Act("retry") { try "\($0.retry(Fleet.request("com.failed", $0), skipping: .nextBatch, at: $1.later).state)" },
    Act("submit after a failed one") { try accepted($0.submit([$1.submission("com.failed")], at: $1.later)) },
    Act("redefine") { verbs, seat in
      try "\(verbs.redefine(Fleet.request("com.ready", verbs), as: Fleet.present, at: seat.later).definition)"
    },
    Act("set the priority") { verbs, seat in
      try "\(verbs.setPriority(Fleet.request("com.ready", verbs), seat.number == 0 ? .utility : .userInitiated).state)"
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

  private static let hosts: [Act] = [
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
    Act("forget a host that is gone") { verbs, seat in
      do { try verbs.forgetHost(someHost, at: seat.later) } catch let error as StoreError { return "\(error.code)" }
      return "forgotten"
    },
    Act("forget what is old") { verbs, seat in
      do {
        let limits = RetentionLimits(hostsFor: .zero, conditionsFor: .zero)
        let found = Forgettable(hosts: [(someHost, nil)], conditions: [(1, 3)])
        return try "\(verbs.forget(found, limits, at: seat.later).hosts)"
      } catch let error as StoreError { return "\(error.code)" }
    },
    Act("forget the secret") { verbs, seat in
      try verbs.forgetSecret(of: someHost)
      return ""
    },
  ]
}

/// A store on which a test runs verbs one by one.
protocol ActedStore: Sendable {
  func transaction<Value>(needing needs: KnownNeeds, _ body: (Verbs) throws -> Value) throws -> Value
  func exclusively<Value>(_ body: (Verbs) throws -> Value) throws -> Value
}

extension SQLiteStore: ActedStore {}
extension PostgresStore: ActedStore {}

extension ActedStore {
  /// Sets what a coordinator keeps in memory.
  func remember(_ memory: (tenure: Tenure?, shares: [Int64: Share])) throws {
    try exclusively { verbs in
      verbs.forget()
      (verbs.tenure, verbs.shares) = memory
    }
  }
}

extension Act {
  /// The answer of an act that another one held up, where groups do not wait for each other.
  static let hasToWait = "has to wait"

  /// What the coordinator answers; the text of the error if the verb throws.
  /// - Parameter needs: what the verb is known to need.
  func run(on store: some ActedStore, _ seat: Seat, needing needs: KnownNeeds = .nothing) -> String {
    do {
      return try store.transaction(needing: needs) { try body($0, seat) }
    } catch is RowsLocked {
      return Self.hasToWait
    } catch let error as StoreError {
      return error.message.contains("RowsLocked") ? Self.hasToWait : "\(error.code)"
    } catch {
      return "\(error)"
    }
  }
}
