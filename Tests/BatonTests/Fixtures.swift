import BatonModel
import BatonStore

@testable import BatonCoordinator

/// The moment at which all tests take place: 2026-03-01T06:30:00.250Z.
let now = Timestamp(nanoseconds: 1_772_346_600_250_000_000)

extension RequestRecord {
  /// A request of `com.example.report` that was submitted an hour ago.
  static func example(
    _ id: Int64 = 1, _ identifier: String = "com.example.report", number: Int = 1, _ state: RequestState,
    _ change: (inout RequestRecord) -> Void = { _ in }
  ) -> RequestRecord {
    var record = RequestRecord(
      id: RequestID(id), identifier: JobIdentifier(trusted: identifier), number: number, definition: DefinitionID(1),
      pattern: IdentifierPattern(trusted: identifier), kind: .processing, state: state, priority: .background,
      submittedAt: now + .seconds(-3600), principal: "ana", eligibleAt: now + .seconds(-3600), launches: 0,
      progress: Progress(), ledger: Ledger(),
      trace: TraceContext(
        traceID: TraceID(bytes: [UInt8](repeating: 0x4B, count: 16))!,
        spanID: SpanID(bytes: [UInt8](repeating: 0xF9, count: 8))!, isSampled: true))
    change(&record)
    return record
  }

  static let scheduled = example(1, "com.example.news", .scheduled) {
    $0.kind = .refresh
    $0.eligibleAt = now + .seconds(900)
    $0.waitsBecause = .rateLimited(until: now + .seconds(900))
  }

  static let held = example(2, "com.example.held", number: 4, .scheduled) {
    $0.eligibleAt = .distantFuture
    $0.waitsBecause = .waitsForLiveRequest(number: 3)
  }

  static let ready = example(3, "com.example.gpu", .ready) {
    $0.launches = 1
    $0.lastOutcome = .expired
    $0.reason = "draining"
    $0.progress = Progress(batches: 3, completedUnits: 30, totalUnits: 90)
  }

  static let running = example(4, "com.example.photos.export.42", number: 3, .running) {
    $0.kind = .continued
    $0.pattern = IdentifierPattern(trusted: "com.example.photos.export.*")
    $0.priority = .userInitiated
    $0.title = "Exporting photos"
    $0.subtitle = "IMG_0120.jpg"
    $0.launches = 2
    $0.host = HostName("alpha")
    $0.startedAt = now + .seconds(-192)
    $0.progress = Progress(batches: 12, completedUnits: 120, totalUnits: 247)
    $0.payload = Array(#"{"album": 42}"#.utf8)
  }

  static let succeeded = example(5, "com.example.report", .succeeded) {
    $0.launches = 1
    $0.host = HostName("beta")
    $0.startedAt = now + .seconds(-3000)
    $0.endedAt = now + .seconds(-60)
    $0.progress = Progress(batches: 10, completedUnits: 100, totalUnits: 100)
  }

  static let failed = example(6, "com.example.broken", .failed) {
    $0.launches = 4
    $0.host = HostName("beta")
    $0.startedAt = now + .seconds(-3000)
    $0.endedAt = now + .seconds(-61)
    $0.reason = "./resize.sh: exit status 2\nno such album"
    $0.progress = Progress(batches: 7, completedUnits: 70)
  }

  static let cancelled = example(7, "com.example.stopped", .cancelled) {
    $0.endedAt = now + .seconds(-90_000)
    $0.reason = "ana"
  }

  /// A request with six shards on two hosts; `ShardRecord.examples` has each of them. Its lanes were six, and are
  /// three.
  static let divided = example(8, "com.example.sums", number: 2, .running) {
    $0.launches = 6
    $0.host = HostName("alpha")
    $0.startedAt = now + .seconds(-300)
    $0.progress = Progress(batches: 25, completedUnits: 250, totalUnits: 1000)
    $0.isSpread = true
    $0.shards = ShardSummary(
      lanes: 3, lanesInUse: 3, total: 6, running: 2, ready: 1, scheduled: 1, succeeded: 1, failed: 1, unitsLeft: 400,
      hosts: 2)
  }

  static let all = [scheduled, held, ready, running, succeeded, failed, cancelled]
}

extension RequestDetails {
  /// A request on its third launch, after an expiry and a loss.
  static let example = RequestDetails(
    record: .running,
    launches: [
      launch(1, "beta", -3000, until: -2000, .expired, "draining", first: 0, batches: 8),
      launch(2, "beta", -1900, until: -400, .lost, nil, first: 8, batches: 3, isGraceful: false),
      launch(3, "alpha", -192, until: nil, nil, nil, first: 11, batches: 1),
    ],
    events: [
      EventRecord(at: now + .seconds(-3500), name: "replaced"),
      EventRecord(at: now + .seconds(-1950), name: "skippedBatch", detail: "7"),
    ])

  /// A request of which two shards run, after a failure, a loss, and an expiry for a lane.
  static let divided = RequestDetails(
    record: .divided,
    launches: [
      launch(1, "alpha", -300, until: -200, .finished, nil, first: 0, batches: 10, shard: 0),
      launch(
        1, "beta", -290, until: -280, .failed, "./sum.sh: exit status 3\nno such table", first: 0, batches: 2, shard: 3),
      launch(1, "beta", -280, until: -150, .lost, nil, first: 0, batches: 1, isGraceful: false, shard: 2),
      launch(1, "alpha", -190, until: nil, nil, nil, first: 0, batches: 6, shard: 1),
      launch(1, "alpha", -180, until: -60, .expired, "laneLost", first: 0, batches: 3, shard: 5),
      launch(2, "beta", -140, until: nil, nil, nil, first: 1, batches: 3, shard: 2),
    ], events: [EventRecord(at: now + .seconds(-61), name: "spreadChanged", detail: "3")])

  /// - Parameter shard: the shard of the launch. Each shard of a divided request has launches of its own.
  private static func launch(
    _ number: Int, _ host: String, _ start: Int, until end: Int?, _ outcome: LaunchOutcome.Kind?, _ reason: String?,
    first: Int, batches: Int, isGraceful: Bool = true, shard: Int? = nil
  ) -> LaunchRecord {
    var launch = LaunchRecord(
      launch: LaunchKey(request: RequestID(shard.map { 8 + Int64($0) } ?? 4), number: number), host: HostName(host),
      startedAt: now + .seconds(start), endedAt: end.map { now + .seconds($0) }, outcome: outcome, reason: reason,
      isGraceful: isGraceful, firstBatch: first, batches: batches,
      spanID: SpanID(bytes: [UInt8](repeating: UInt8(number), count: 8))!)
    launch.shard = shard ?? 0
    return launch
  }
}

extension ShardRecord {
  /// The shards of `RequestRecord.divided`: one that has succeeded, two that run, one that has failed, one that waits
  /// for a host, and one that waits for a lane.
  static let examples = [
    example(0, .succeeded, "alpha", launches: 1, batches: 10) {
      ($0.resultBytes, $0.result) = (2, JobResult(trusted: Array("42".utf8)))
    },
    example(1, .running, "alpha", launches: 1, batches: 6),
    example(2, .running, "beta", launches: 2, batches: 4),
    example(3, .failed, "beta", launches: 1, batches: 2) { $0.reason = "./sum.sh: exit status 3\nno such table" },
    example(4, .ready, nil, launches: 0, batches: 0),
    example(5, .scheduled, "alpha", launches: 1, batches: 3) { ($0.reason, $0.isParked) = ("laneLost", true) },
  ]

  /// A shard with ten batches of ten units.
  /// - Parameter batches: how many of them are done.
  private static func example(
    _ index: Int, _ state: RequestState, _ host: String?, launches: Int, batches: Int,
    _ change: (inout ShardRecord) -> Void = { _ in }
  ) -> ShardRecord {
    let first = Int64(index) * 100
    var shard = ShardRecord(
      id: RequestID(8 + Int64(index)), index: index, state: state, first: first, end: first + 100, launches: launches,
      host: host.map { HostName($0) }, batches: batches, completedUnits: Int64(batches) * 10, totalUnits: 100)
    change(&shard)
    return shard
  }
}

extension HostReport {
  static let alpha = HostReport(
    name: HostName("alpha"), state: .ready, version: "0.1.0", capabilities: Capabilities(slots: 8),
    conditions: .assumed, usedSlots: 1, running: [RequestRecord.running.identifier], lastSeenAt: now + .seconds(-2))

  static let beta = HostReport(
    name: HostName("beta"), state: .draining, version: "0.1.0",
    capabilities: Capabilities(
      slots: 2, kinds: [.processing], handlers: [IdentifierPattern(trusted: "com.example.db.*")], runsCommands: false,
      permittedIdentifiers: [IdentifierPattern(trusted: "com.example.*")]),
    conditions: Conditions(
      power: Reading(.battery, source: "sysfs", raw: "AC0/online=0"),
      battery: Reading(62, source: "sysfs", raw: "BAT0"),
      lowPowerMode: Reading(false, source: "platform profile", raw: "balanced"),
      thermal: Reading(.fair, source: "hwmon", raw: "71 °C"),
      network: Reading(.metered, source: "routes", raw: "wwan0"),
      isIdle: Reading(nil, source: "logind", raw: "no session"),
      gpus: Reading([GPU(name: "RTX 4000", memoryBytes: 8 << 30)], source: "nvml", raw: "1 device"),
      owner: .paused(by: "alex", until: nil)),
    usedSlots: 0, running: [], lastSeenAt: now + .seconds(-4000))
}

extension CoordinatorReport {
  /// One that has ended, one that answers, the steward, and one that starts.
  static let examples = [
    CoordinatorReport(
      number: 3, place: CoordinatorPlace(name: "anna", version: "0.1.0", workers: "anna:7420"), hosts: 0,
      isSteward: false, answers: false, isEnded: true, endedFor: .seconds(95)),
    CoordinatorReport(
      number: 4,
      place: CoordinatorPlace(
        name: "base", version: "0.1.0", workers: "base:7420", operators: "base:7422", https: "base:7443"), hosts: 12,
      isSteward: false, answers: true, beatAge: .milliseconds(320)),
    CoordinatorReport(
      number: 5, place: CoordinatorPlace(name: "dora", version: "0.1.0", workers: "127.0.0.1:7420"), hosts: 1,
      isSteward: true, answers: false, beatAge: .milliseconds(3400)),
    CoordinatorReport(
      number: 6, place: CoordinatorPlace(name: "", version: "", workers: ""), hosts: 0, isSteward: false,
      answers: false),
  ]
}
