import BatonModel
import BatonStore

/// One store, two clocks that stand still until they are moved, and short forms of the verbs for the cases of
/// `StoreConformance`.
package struct StoreScenario {
  let store: any Store
  /// The present time. The wall clock is 1,000 seconds ahead of the steady clock, so that a verb that uses the wrong
  /// clock is found.
  var now = Moment(
    date: Timestamp(nanoseconds: 1_700_000_000_000_000_000), steady: Timestamp(nanoseconds: 1_699_999_000_000_000_000))
  private var drawn: UInt64 = 0

  static let host = HostName("alpha")
  static let process = Incarnation("alpha-1")
  /// The worker process that holds the lease of the scenario's host.
  static let worker = WorkerProcess(host: host, incarnation: process)

  /// The lease that each worker process has been granted last.
  private var leases: [WorkerProcess: HostLease] = [:]

  init(_ store: any Store) { self.store = store }

  /// Lets time pass: both clocks advance.
  mutating func advance(_ duration: Duration) { now = now + duration }

  /// Sets the wall clock forward or back; no time passes.
  mutating func stepWallClock(by duration: Duration) { now.date = now.date + duration }

  /// A number that was not drawn before in this scenario.
  mutating func draw() -> UInt64 {
    drawn += 1
    return drawn
  }

  mutating func drawSpan() -> SpanID { SpanID(draw()) }

  mutating func drawTrace() -> TraceContext {
    TraceContext(traceID: TraceID(high: 0xAB, low: draw()), spanID: drawSpan(), isSampled: true)
  }

  // MARK: Definitions

  /// Applies a definition of `pattern`, after `change` has changed its defaults.
  @discardableResult
  mutating func define(
    _ pattern: String = "job", _ kind: JobKind = .processing, _ change: (inout Definition) -> Void = { _ in }
  ) async throws -> AppliedDefinition {
    var definition = Definition(pattern: try Self.pattern(pattern), kind: kind)
    definition.retry = RetryRule(limit: 1, backoff: .seconds(30))
    if kind == .continued { definition.title = "Job" }
    change(&definition)
    return try require(try await store.apply([definition], seeds: [drawTrace()], at: now).first, "apply's answer")
  }

  static func name(_ text: String) throws -> JobIdentifier { try require(JobIdentifier(text), "identifier \(text)") }
  static func pattern(_ text: String) throws -> IdentifierPattern {
    try require(IdentifierPattern(text), "pattern \(text)")
  }

  // MARK: Submitting

  mutating func offer(
    _ name: String = "job", to definition: DefinitionID, id: String? = nil,
    _ change: (inout Submission) -> Void = { _ in }
  ) throws -> SubmissionOffer {
    var submission = Submission(
      id: id ?? "submission-\(draw())", identifier: try Self.name(name), principal: "ada", trace: drawTrace())
    change(&submission)
    return SubmissionOffer(submission: submission, definition: definition)
  }

  func answer(to offer: SubmissionOffer) async throws -> SubmissionAnswer {
    try require(try await store.submit([offer], at: now).first, "submit's answer")
  }

  @discardableResult
  mutating func submit(
    _ name: String = "job", to definition: DefinitionID, id: String? = nil,
    _ change: (inout Submission) -> Void = { _ in }
  ) async throws -> SubmissionReceipt {
    try await answer(to: try offer(name, to: definition, id: id, change)).receipt
  }

  /// A place on the scenario's host, for a submission to start on.
  mutating func place(on host: HostName = host, _ process: Incarnation = process) -> SubmissionOffer.Offer {
    SubmissionOffer.Offer(lease: lease(host, process), gpus: [], spanID: drawSpan())
  }

  // MARK: Dispatching

  mutating func connect(
    _ host: HostName = host, _ process: Incarnation = process, report: HostWord? = nil
  ) async throws {
    let grant = try await store.grantLease(host, process, report: report, at: now)
    leases[WorkerProcess(host: host, incarnation: process)] = grant.lease
  }

  /// The lease that the process was granted last; a lease that never was if it was granted none.
  func lease(_ host: HostName = host, _ process: Incarnation = process) -> HostLease {
    leases[WorkerProcess(host: host, incarnation: process)] ?? HostLease(host: host, incarnation: process, number: 99)
  }

  @discardableResult
  func endLease(
    _ host: HostName = host, _ process: Incarnation = process, countsAsLoss: Bool = true
  ) async throws -> [EndingAnswer] {
    try await store.endLease(lease(host, process), countsAsLoss: countsAsLoss, at: now)
  }

  mutating func claim(
    _ definition: DefinitionID, _ priority: Priority = .background, places: Int = 1, on host: HostName = host,
    _ process: Incarnation = process, history: WaitHistory? = nil, principals: [PrincipalPattern]? = nil,
    isOutOfRoom: Bool = false
  ) async throws -> ClaimAnswer {
    let wanted = (0..<places).map { _ in Claim.Place(gpus: [], spanID: drawSpan()) }
    let claim = Claim(
      requirementClass: RequirementClass(definition: definition, priority: priority), lease: lease(host, process),
      places: wanted, history: history, principals: principals, isOutOfRoom: isOutOfRoom)
    return try require(try await store.claim([claim], at: now).first, "claim's answer")
  }

  /// Starts the oldest ready request of the class. Throws a violation if there is none.
  mutating func start(
    _ definition: DefinitionID, _ priority: Priority = .background, on host: HostName = host,
    _ process: Incarnation = process
  ) async throws -> LaunchKey {
    try require(try await claim(definition, priority, on: host, process).assignments.first, "an assignment").launch
  }

  /// Connects the scenario's host, then defines, submits and starts one job on it.
  mutating func running(
    _ name: String = "job", _ kind: JobKind = .processing, _ change: (inout Definition) -> Void = { _ in }
  ) async throws -> (definition: DefinitionID, launch: LaunchKey) {
    let definition = try await define(name, kind, change).id
    try await connect()
    try await submit(name, to: definition)
    return (definition, try await start(definition, kind.defaultPriority))
  }

  // MARK: Launches

  @discardableResult
  func commit(
    _ launch: LaunchKey, _ batch: Int, from worker: WorkerProcess = worker,
    _ change: (inout Checkpoint) -> Void = { _ in }
  ) async throws -> CheckpointAnswer {
    var checkpoint = Checkpoint(launch: launch, batch: batch, completedUnits: Int64(batch + 1))
    change(&checkpoint)
    return try require(try await store.checkpoint([checkpoint], from: worker, at: now).first, "checkpoint's answer")
  }

  @discardableResult
  func end(
    _ launch: LaunchKey, _ outcome: LaunchOutcome = .finished, isGraceful: Bool = true,
    from worker: WorkerProcess = worker, kind: FailureKind? = nil
  ) async throws -> EndingAnswer {
    let ending = Ending(launch: launch, outcome: outcome, isGraceful: isGraceful, errorType: kind?.rawValue)
    return try require(try await store.end([ending], from: worker, at: now).first, "end's answer")
  }

  func append(_ page: ItemPage, from worker: WorkerProcess = worker) async throws -> ItemsAnswer {
    try await store.appendItems(page, from: worker, at: now)
  }

  func append(_ chunks: [OutputChunk], from worker: WorkerProcess = worker) async throws {
    try await store.appendOutput(chunks, from: worker)
  }

  // MARK: Reading

  func record(_ id: RequestID) async throws -> RequestRecord {
    try require(try await store.request(id), "request \(id)")
  }

  func state(_ id: RequestID) async throws -> RequestState { try await record(id).state }

  func count(_ state: RequestState, of pattern: String = "job") async throws -> Int {
    try await store.counts().filter { $0.pattern.rawValue == pattern && $0.state == state }.reduce(0) { $0 + $1.count }
  }
}

extension SubmissionAnswer {
  /// The receipt of an accepted submission. A refusal throws a violation.
  var receipt: SubmissionReceipt {
    get throws {
      switch self {
      case .accepted(let receipt, _, _, _): receipt
      case .refused(let refusal): throw StoreConformance.Violation(description: "refused: \(refusal)")
      }
    }
  }

  var launch: Assignment? {
    switch self {
    case .accepted(_, _, let launch, _): launch
    case .refused: nil
    }
  }

  var isRepeat: Bool {
    switch self {
    case .accepted(_, _, _, let isRepeat): isRepeat
    case .refused: false
    }
  }
}

extension Moment {
  /// The time on the steady clock that is `delay` after this moment.
  func due(_ delay: Duration) -> NextDue { NextDue(steady: steady + delay) }
}
