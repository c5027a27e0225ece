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

  private static func launch(
    _ number: Int, _ host: String, _ start: Int, until end: Int?, _ outcome: LaunchOutcome.Kind?, _ reason: String?,
    first: Int,
    batches: Int, isGraceful: Bool = true
  ) -> LaunchRecord {
    LaunchRecord(
      launch: LaunchKey(request: RequestID(4), number: number), host: HostName(host), startedAt: now + .seconds(start),
      endedAt: end.map { now + .seconds($0) }, outcome: outcome, reason: reason, isGraceful: isGraceful,
      firstBatch: first, batches: batches, spanID: SpanID(bytes: [UInt8](repeating: UInt8(number), count: 8))!)
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
