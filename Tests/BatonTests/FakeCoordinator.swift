import BatonBase
import BatonIdentity
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Synchronization

@testable import BatonCoordinator

/// A coordinator that gives the answers of a test and records the calls.
final class FakeCoordinator: OperatorAPI {
  struct State {
    var requests: [RequestRecord] = []
    var details: [RequestDetails] = []
    var hosts: [HostReport] = []
    var coordinators: [CoordinatorReport] = []
    var namespaces = NamespaceReports()
    var transfers = FleetTransfers()
    var notifications = NotificationReports()
    var limits: [LimitRecord] = []
    var receiverAnswer = ReceiverAnswer(isAccepted: true, text: "HTTP 200")
    var explanation = Explanation.waiting
    var trace: RequestTrace?
    /// What `changes` tells.
    var topics: [Set<ChangeTopic>] = []
    var applied: [AppliedDefinition]?
    /// The answers to submissions, one for each. After them, every submission is accepted.
    var submissions: [SubmissionResult] = []
    var cancellations: [Cancellation] = []
    var standing = FleetStanding()
    var shards: [ShardRecord] = []
    /// Whether the definition of each request is the one that is applied.
    var isApplied = false
    /// What is answered about batches; `nil` for a request without items.
    var batches: BatchList?
    /// The hosts that the eviction, or its end, is about.
    var evicted: [HostName] = []
    var overrides: [ConditionOverrides] = []
    /// The states that a watched request goes through after its current one.
    var changes: [RequestID: [RequestRecord]] = [:]
    /// Whether `watch` goes on until it is cancelled, after everything in `changes` was shown.
    var hangs = false
    var isHanging = false
    var output: [(launch: Int, text: String)] = []
    /// More output, with shards and times.
    var logPieces: [LogPiece] = []
    /// The errors that the next calls throw, one for each.
    var errors: [any Error] = []
    /// The error that a call with this text throws.
    var failing: [String: any Error] = [:]
    var calls: [String] = []
    var orders: [SubmissionOrder] = []
    var definitions: [Definition] = []
    var reports: [DefinitionReport] = []
    var schedules: [ChangedSchedule] = []
    var plan = BackfillPlan(count: 31, first: now, last: now + .seconds(30 * 86_400))
    var backfill: Backfill?
    var versions: [DefinitionVersion] = []
    var history = HostHistory()
    var queue = QueueReport(classes: [])
    var pruned = PruneAnswer()
    /// Where a narrowed list goes on after a page without requests.
    var goesOn: RequestID?
    /// What `ableHosts` answers for each definition.
    var able = AbleHosts.Count(now: 2, ever: 3)
    var caller = Caller(name: "ana")
    var waiting: [WaitingHost] = []
    /// What the fleet is besides its names and addresses.
    var fleet: @Sendable (inout FleetDescription) -> Void = { _ in }
    var revoked = RevokedCredentials(count: 1)
    var credentials: [Credential] = []
    var audit: [AuditRow] = []
    var verdict = AuditVerdict(rows: 0, last: 0, head: .init(repeating: 0, count: 32), problem: nil)
  }

  let state: Mutex<State>

  init(_ requests: [RequestRecord] = [], _ change: (inout State) -> Void = { _ in }) {
    var state = State(requests: requests)
    change(&state)
    self.state = Mutex(state)
  }

  var calls: [String] { state.withLock { $0.calls } }
  var orders: [SubmissionOrder] { state.withLock { $0.orders } }

  private func call(_ text: String) throws {
    let error = state.withLock { state -> (any Error)? in
      state.calls.append(text)
      if let error = state.failing[text] { return error }
      return state.errors.isEmpty ? nil : state.errors.removeFirst()
    }
    if let error { throw error }
  }

  func apply(_ definitions: [Definition]) async throws -> [AppliedDefinition] {
    try call("apply \(definitions.map(\.pattern.rawValue).joined(separator: " "))")
    return state.withLock { state in
      state.definitions = definitions
      return state.applied
        ?? definitions.map { AppliedDefinition(id: DefinitionID(1), pattern: $0.pattern, change: .created) }
    }
  }

  func definitions(named patterns: [IdentifierPattern]) async throws -> [DefinitionReport] {
    try call("definitions named \(patterns.map(\.rawValue).joined(separator: " "))")
    return state.withLock { $0.reports }.filter { report in
      patterns.isEmpty || patterns.contains { $0.names(report.definition.pattern) }
    }
  }

  func definition(of identifier: JobIdentifier, number: Int?) async throws -> RequestDefinition {
    try call("definition of \(identifier)" + (number.map { " \($0)" } ?? ""))
    guard let report = state.withLock({ $0.reports.first { $0.definition.pattern.matches(identifier) } }) else {
      throw OperatorError.notFound("\(identifier) has no definition any more")
    }
    return RequestDefinition(definition: report.definition, isApplied: state.withLock { $0.isApplied })
  }

  func remove(_ pattern: IdentifierPattern) async throws { try call("remove \(pattern)") }

  func submit(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    state.withLock { $0.orders += orders }
    try call("submit \(orders.map(\.identifier.rawValue).joined(separator: " ")) by \(principal)")
    return state.withLock { state in orders.map { state.accept($0) } }
  }

  func submitFlow(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    state.withLock { $0.orders += orders }
    try call("submit as flow \(orders.map(\.identifier.rawValue).joined(separator: " ")) by \(principal)")
    return state.withLock { state in orders.map { state.accept($0) } }
  }

  func details(
    _ identifier: JobIdentifier, number: Int?, choosing choice: RequestChoice
  ) async throws -> RequestDetails {
    let meant = choice == .current ? "" : " choosing \(choice)"
    try call("details \(identifier)" + (number.map { " \($0)" } ?? "") + meant)
    let found = state.withLock { state in
      state.details.first { $0.record.matches(identifier, number) }
        ?? state.requests.last { $0.matches(identifier, number) }
        .map { RequestDetails(record: $0, launches: [], events: []) }
    }
    guard let found else { throw OperatorError.notFound("there is no job '\(identifier)': look at 'baton list'") }
    return found
  }

  func standing() async throws -> FleetStanding {
    try call("standing")
    return state.withLock { $0.standing }
  }

  func page(of filter: RequestFilter, after: RequestID?, limit: Int) async throws -> ListedRequests {
    try call("requests after \(after?.rawValue ?? 0) limit \(limit)")
    let all = state.withLock { state in
      state.requests.map { record in
        var record = record
        record.endedSteady = record.endedAt
        return record
      }
    }
    let position = after.flatMap { id in all.first { $0.id == id } }
    if filter.isNarrowed, after == nil, let next = state.withLock({ $0.goesOn }) {
      return ListedRequests(records: [], next: next)
    }
    return ListedRequests(
      first: limit,
      of: all.filter { record in
        (filter.states.isEmpty || filter.states.contains(record.state))
          && filter.host.map { $0 == record.host } ?? true && filter.pattern?.matches(record.identifier) ?? true
          && filter.kind.map { $0 == record.kind } ?? true && filter.submitter.map { $0 == record.principal } ?? true
          && filter.flow.map { $0 == record.flow } ?? true
          && position.map { filter.order.precedes($0, record) } ?? true
      }.sorted(by: filter.order.precedes))
  }

  func watch(
    _ identifier: JobIdentifier, number: Int?, _ body: @escaping @Sendable (RequestDetails) async throws -> Void
  ) async throws {
    var details = try await details(identifier, number: number)
    try call("watch \(identifier)")
    try await body(details)
    for change in state.withLock({ $0.changes.removeValue(forKey: details.record.id) ?? [] }) {
      details.record = change
      state.withLock { state in
        state.requests.removeAll { $0.id == change.id }
        state.requests.append(change)
      }
      try await body(details)
    }
    if state.withLock({ $0.hangs }) { try await hang() }
  }

  private func hang() async throws {
    state.withLock { $0.isHanging = true }
    await World.never()
    throw CancellationError()
  }

  /// Returns when a command watches a request that does not end.
  func hanging() async {
    while !state.withLock({ $0.isHanging }) { await Task.yield() }
  }

  func logs(
    _ identifier: JobIdentifier, number: Int?, _ selection: LogSelection,
    _ body: @escaping @Sendable (LogPiece) async throws -> Void
  ) async throws {
    try call("logs \(identifier)\(selection.words)")
    let (output, pieces) = state.withLock { ($0.output, $0.logPieces) }
    for one in output where selection.launch == nil || selection.launch == one.launch {
      try await body(LogPiece(launch: one.launch, bytes: Array(one.text.utf8)))
    }
    for piece in pieces { try await body(piece) }
  }

  func cancel(_ selection: CancelSelection, by principal: String) async throws -> [Cancellation] {
    try call("cancel \(selection) by \(principal)")
    return state.withLock { $0.cancellations }
  }

  func retry(
    _ identifier: JobIdentifier, number: Int?, skipping: SkippedBatch, withNewDefinition: Bool
  ) async throws -> RequestRecord {
    let skipped =
      switch skipping {
      case .nothing: ""
      case .nextBatch: " skipping"
      case .nextBatchOfShard(let shard): " skipping in shard \(shard)"
      }
    try call("retry \(identifier)\(skipped)\(withNewDefinition ? " with new definition" : "")")
    var record = try await details(identifier, number: number).record
    record.state = .ready
    return record
  }

  func redefine(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord {
    try call("redefine \(identifier)")
    if let number, let error = state.withLock({ $0.failing["redefine \(identifier) \(number)"] }) { throw error }
    return try await details(identifier, number: number).record
  }

  func setSpread(_ identifier: JobIdentifier, number: Int?, lanes: Int) async throws -> RequestRecord {
    try call("set \(identifier)\(number.map { " \($0)" } ?? "") spread \(lanes)")
    var record = try await details(identifier, number: number).record
    record.shards?.lanes = lanes
    return record
  }

  func setPriority(_ identifier: JobIdentifier, number: Int?, _ priority: Priority) async throws -> RequestRecord {
    try call("set \(identifier)\(number.map { " \($0)" } ?? "") priority \(priority.name)")
    var record = try await details(identifier, number: number).record
    record.priority = priority
    return record
  }

  func setLimit(_ key: LimitKey, _ setting: LimitSetting?) async throws -> LimitRecord {
    try call("set \(key.kind.rawValue) \(key.text) \(setting?.text ?? "default")")
    return LimitRecord(key: key, setting: setting, last: .concurrency(2), running: 1, waiting: 3)
  }

  func limits(beginningWith beginning: String, after: LimitKey?, limit: Int) async throws -> [LimitRecord] {
    try call("limits \(beginning)")
    return state.withLock { $0.limits }
  }

  func setSchedules(
    _ pattern: IdentifierPattern, _ word: ScheduleWord, by principal: String
  ) async throws -> [ChangedSchedule] {
    try call("schedules \(pattern) \(word) by \(principal)")
    return state.withLock { $0.schedules }
  }

  func backfill(_ order: BackfillOrder, by principal: String, isRehearsal: Bool) async throws -> BackfillPlan {
    try call(
      "backfill \(order.identifier) \(order.from.utc) \(order.until.utc) by \(principal)"
        + (isRehearsal ? " rehearsal" : ""))
    return state.withLock { $0.plan }
  }

  func stopBackfill(of identifier: JobIdentifier) async throws -> Backfill {
    try call("stop backfill \(identifier)")
    guard let backfill = state.withLock({ $0.backfill }) else { throw OperatorError.conflict("no backfill goes on") }
    return backfill
  }

  func shards(_ identifier: JobIdentifier, number: Int?, after: Int?, limit: Int) async throws -> [ShardRecord] {
    try call("shards \(identifier)")
    return state.withLock { Array($0.shards.filter { $0.index > after ?? -1 }.prefix(limit)) }
  }

  func batches(_ identifier: JobIdentifier, number: Int?, shard: Int?, batch: Int?) async throws -> BatchList {
    try call("batches of \(identifier)\(shard.map { " shard \($0)" } ?? "")\(batch.map { " batch \($0)" } ?? "")")
    guard let batches = state.withLock({ $0.batches }) else { throw OperatorError.conflict("it has no items") }
    return batches
  }

  func moveStore(
    to place: StorePlace, isRehearsal: Bool, _ report: @escaping @Sendable (StoreMove.Progress) -> Void
  ) async throws -> StoreMove.Summary {
    try call("move to \(place)\(isRehearsal ? ", dry run" : "")")
    for progress in StoreMove.Progress.examples { report(progress) }
    return StoreMove.Summary(requests: 2, rows: 9)
  }

  func backUpStore(
    to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    try call("backup \(path)")
    for pages in [0, 128, 256] { report(BackupProgress(pages: pages, totalPages: 256)) }
    return .example(path)
  }

  func forget(_ host: HostName) async throws { try call("forgetting \(host)") }
  func setDraining(_ host: HostName, _ isDraining: Bool) async throws { try call("draining \(host) \(isDraining)") }

  func fleet() async throws -> FleetDescription {
    try call("fleet")
    var fleet = try FleetDescription.example
    state.withLock { $0.fleet }(&fleet)
    return fleet
  }

  func waitingHosts() async throws -> [WaitingHost] {
    try call("waitingHosts")
    return state.withLock { $0.waiting }
  }

  func approve(_ host: HostName, number: String) async throws { try call("approving \(host) \(number)") }

  func rotateRoot() async throws -> FleetDescription {
    try call("rotateRoot")
    return try .example
  }

  func invite(
    _ host: HostName, for lifetime: Duration, by principal: String, needsApproval: Bool
  ) async throws -> InvitedHost {
    try call("inviting \(host) for \(lifetime) by \(principal)\(needsApproval ? " with approval" : "")")
    return InvitedHost(
      host: host, token: try JoinToken(id: .init(repeating: 1, count: 8), secret: .init(repeating: 2, count: 32)),
      fleet: try .example, end: Timestamp(nanoseconds: 1_772_346_600_000_000_000))
  }

  func revoke(_ host: HostName) async throws -> Int {
    try call("revoking \(host)")
    return host.rawValue == "alpha" ? 1 : 0
  }

  func whoAmI() async throws -> Caller {
    try call("whoAmI")
    return state.withLock { $0.caller }
  }

  func createCredential(_ order: CredentialOrder) async throws -> CreatedCredential {
    let patterns = order.patterns.map(\.rawValue)
    try call("createCredential \(order.name) \(order.scopes.text) \(patterns) for \(order.lifetime)")
    let token = try CredentialToken(id: .init(repeating: 1, count: 8), secret: .init(repeating: 2, count: 32))
    return CreatedCredential(
      credential: Credential(
        id: token.id, name: order.name, digest: token.digest, scopes: order.scopes, patterns: order.patterns,
        end: Timestamp(nanoseconds: 1_772_346_600_000_000_000) + order.lifetime,
        createdAt: Timestamp(nanoseconds: 1_772_346_600_000_000_000), createdBy: "ana"),
      token: token, fleet: try .example)
  }

  func credentials() async throws -> [Credential] {
    try call("credentials")
    return state.withLock { $0.credentials }
  }

  func revokeCredential(_ name: String) async throws -> RevokedCredentials {
    try call("revokeCredential \(name)")
    return state.withLock { $0.revoked }
  }

  func audit(_ filter: AuditFilter, after sequence: Int64, limit: Int) async throws -> [AuditRow] {
    try call("audit after \(sequence)")
    return Array(state.withLock { $0.audit }.filter { $0.sequence > sequence }.prefix(limit))
  }

  func verifyAudit() async throws -> AuditVerdict {
    try call("verifyAudit")
    return state.withLock { $0.verdict }
  }

  func setPaused(_ isPaused: Bool) async throws { try call("paused \(isPaused)") }

  func hostReports() async throws -> [HostReport] {
    try call("hosts")
    return state.withLock { $0.hosts }
  }

  func hosts(_ filter: HostFilter, after: HostName?, limit: Int) async throws -> HostPage {
    try call("hosts")
    return HostPage(state.withLock { $0.hosts }, filter, after: after, limit: limit)
  }

  func forgetHost(_ host: HostName) async throws { try call("forgetting all of \(host)") }

  func history(of host: HostName, since: Timestamp, limit: Int) async throws -> HostHistory {
    try call("history of \(host)")
    return state.withLock { $0.history }
  }

  func prune(_ selection: PruneSelection, isRehearsal: Bool) async throws -> PruneAnswer {
    let states = selection.states.map(\.rawValue).sorted().joined(separator: " ")
    try call("prune \(selection.pattern?.rawValue ?? "*") \(states) \(selection.endedFor) \(isRehearsal)")
    return state.withLock { $0.pruned }
  }

  func versions(of pattern: IdentifierPattern) async throws -> [DefinitionVersion] {
    try call("versions of \(pattern)")
    return state.withLock { $0.versions }
  }

  func changes(_ body: @escaping @Sendable (Set<ChangeTopic>) async throws -> Void) async throws {
    try call("changes")
    for topics in state.withLock({ $0.topics }) { try await body(topics) }
  }

  func queue() async throws -> QueueReport {
    try call("queue")
    return state.withLock { $0.queue }
  }

  func ableHosts(for definitions: [Definition]) async throws -> AbleHosts {
    try call("ableHosts for \(definitions.map(\.pattern.rawValue).joined(separator: " "))")
    return AbleHosts(counts: definitions.map { _ in state.withLock { $0.able } }, hosts: 3)
  }

  func explain(
    _ identifier: JobIdentifier, number: Int?, groupingBeyond few: Int
  ) async throws -> Explanation {
    try await explain(identifier, number: number)
  }

  func transfers(on host: HostName?) async throws -> FleetTransfers {
    try call("transfers\(host.map { " on \($0)" } ?? "")")
    return state.withLock { $0.transfers }
  }

  func notifications() async throws -> NotificationReports {
    try call("notifications")
    return state.withLock { $0.notifications }
  }

  func testReceiver(_ name: ReceiverName) async throws -> ReceiverAnswer {
    try call("test \(name)")
    return state.withLock { $0.receiverAnswer }
  }

  func cancelTransfer(_ key: TransferKey) async throws { try call("cancel transfer \(key)") }

  func namespaces() async throws -> NamespaceReports {
    try call("namespaces")
    return state.withLock { $0.namespaces }
  }

  func coordinators() async throws -> [CoordinatorReport] {
    try call("coordinators")
    return state.withLock { $0.coordinators }
  }

  func trace(_ identifier: JobIdentifier, number: Int?) async throws -> RequestTrace {
    try call("trace \(identifier)\(number.map { " \($0)" } ?? "")")
    guard let trace = state.withLock({ $0.trace }) else {
      throw OperatorError.notFound("there is no job '\(identifier)': look at 'baton list'")
    }
    return trace
  }

  func explain(_ identifier: JobIdentifier, number: Int?) async throws -> Explanation {
    try call("explain \(identifier)")
    return state.withLock { $0.explanation }
  }

  func setEvicted(_ pattern: IdentifierPattern, from hosts: [HostName], _ isEvicted: Bool) async throws -> [HostName] {
    let names = hosts.isEmpty ? "-" : hosts.map(\.rawValue).joined(separator: " ")
    try call("evicted \(pattern) \(names) \(isEvicted)")
    return state.withLock { $0.evicted }
  }

  func simulateLaunch(
    _ identifier: JobIdentifier, number: Int?, on host: HostName?
  ) async throws -> SimulatedLaunch {
    try call("simulate launch \(identifier) \(number ?? 0) \(host?.rawValue ?? "-")")
    return SimulatedLaunch(identifier: identifier, number: number ?? 3, launch: 2, host: host ?? HostName("alpha"))
  }

  func simulateExpiry(
    _ identifier: JobIdentifier, number: Int?, as reason: ExpiryReason.Kind?
  ) async throws -> SimulatedLaunch {
    try call("simulate expiry \(identifier) \(number ?? 0) \(reason?.rawValue ?? "-")")
    return SimulatedLaunch(identifier: identifier, number: number ?? 3, launch: 2, host: HostName("alpha"))
  }

  func simulateTransfer(_ key: TransferKey, _ what: TransferSimulation) async throws {
    try call("simulate transfer \(key) \(what.rawValue)")
  }

  func simulateConditions(_ overrides: ConditionOverrides, on host: HostName, lasting: Duration) async throws {
    try call("simulate conditions \(host) \(lasting)")
    state.withLock { $0.overrides.append(overrides) }
  }
}

extension StoreMove.Progress {
  /// What a move of nine rows reports.
  static let examples = [
    StoreMove.Progress(totalRows: 9), .init(table: "identifier", rows: 2, totalRows: 9),
    .init(table: "request", rows: 5, totalRows: 9), .init(table: "store", rows: 9, totalRows: 9),
    .init(reached: .copied, totalRows: 9), .init(reached: .copied, table: "request", rows: 5, totalRows: 9),
    .init(reached: .verified, rows: 9, totalRows: 9), .init(reached: .arrived, rows: 9, totalRows: 9),
    .init(reached: .left, rows: 9, totalRows: 9), .init(reached: .live, rows: 9, totalRows: 9),
  ]
}

extension BackupSummary {
  static func example(_ path: String) -> BackupSummary {
    BackupSummary(path: path, bytes: 1 << 20, receipt: Receipt(store: "3f0a", tenure: 0, sequence: 48_211))
  }
}

extension FakeCoordinator.State {
  fileprivate mutating func accept(_ order: SubmissionOrder) -> SubmissionResult {
    if !submissions.isEmpty { return submissions.removeFirst() }
    let number = (requests.filter { $0.identifier == order.identifier }.map(\.number).max() ?? 0) + 1
    let record = RequestRecord.example(
      Int64(100 + requests.count), order.identifier.rawValue, number: number, .ready)
    requests.append(record)
    let done = RequestRecord.example(record.id.rawValue, order.identifier.rawValue, number: number, .succeeded)
    changes[record.id] = changes[record.id] ?? [done]
    return .accepted(
      SubmissionReceipt(
        request: record.id, identifier: order.identifier, number: number, state: .ready, eligibleAt: now,
        replaced: false), traceID: "4b4b", warning: nil)
  }
}

extension RequestRecord {
  fileprivate func matches(_ identifier: JobIdentifier, _ number: Int?) -> Bool {
    self.identifier == identifier && (number == nil || number == self.number)
  }
}

extension FleetDescription {
  fileprivate static var example: FleetDescription {
    get throws {
      FleetDescription(
        fleet: "0011223344556677", pin: try Pin(parsing: "sha256:" + String(repeating: "ab", count: 32)),
        workers: HostPort(host: "0.0.0.0", port: 7423), operators: HostPort(host: "10.0.0.1", port: 7422))
    }
  }
}

extension LogSelection {
  fileprivate var words: String {
    let shard =
      switch shards {
      case .one(0): ""
      case .one(let index): " shard \(index)"
      case .all: " all shards"
      }
    return shard + (follows ? " follow" : "") + (tail.map { " tail \($0)" } ?? "")
      + (since.map { " since \($0.utc)" } ?? "")
  }
}
