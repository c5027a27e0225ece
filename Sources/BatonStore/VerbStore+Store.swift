package import BatonModel

/// A store whose verbs are those of `Verbs`: on SQLite, or on PostgreSQL.
package protocol VerbStore: Store {
  var limits: StoreLimits { get }
  var queuesSpans: Bool { get }
  /// The number of this coordinator's tenure.
  var epoch: Int64 { get }
  /// How busy the writer is.
  var writeStatistics: WriteStatistics { get }
  /// Waits for the writes that were accepted, and closes the store.
  func close() async throws
  /// Throws `.superseded` if this tenure has ended.
  func demandTenure() async throws
  /// Runs `body` on a snapshot.
  func read<Value: Sendable>(_ body: @escaping @Sendable (Verbs) throws -> Value) async throws -> Value
  /// Runs `body` in a transaction that may contain the writes of other callers too, and returns after the commit.
  /// - Parameters:
  ///   - isWithdrawable: whether the write is withdrawn if its task is cancelled before the writer begins it. It then
  ///     throws `CancellationError`, and nothing was changed.
  ///   - needs: what `body` is known to need, if the store loads rows.
  func perform<Value: Sendable>(
    _ lane: WriteLane, isWithdrawable: Bool, needing needs: KnownNeeds,
    _ body: @escaping @Sendable (Verbs) throws -> Value
  ) async throws -> Value
}

/// The verbs of `Store`, each as one transaction in its write lane or as one read of a snapshot. `Verbs` implements
/// them.
extension VerbStore {
  /// Writes, and adds the row of the audit log if an operator's call is being carried out.
  /// - Parameter isChange: whether a result means that something was changed. A write without a change adds no row.
  func write<Value: Sendable>(
    _ lane: WriteLane, isWithdrawable: Bool = false, needing needs: KnownNeeds = .nothing,
    isChange: @escaping @Sendable (Value) -> Bool = { _ in true },
    _ body: @escaping @Sendable (Verbs) throws -> Value
  ) async throws -> Value {
    guard let call = AuditedCall.current else {
      return try await perform(lane, isWithdrawable: isWithdrawable, needing: needs, body)
    }
    return try await call.writing(isChange, body) {
      try await perform(lane, isWithdrawable: isWithdrawable, needing: .audited(needs), $0)
    }
  }

  /// Refuses a list while half of the write queue is full (promise P13). Lists are refused before everything else,
  /// because they read many rows, and a client loses nothing by asking again.
  private func shedLists() throws {
    let waiting = writeStatistics.waiting
    guard waiting >= max(1, limits.waitingWrites / 2) else { return }
    throw StoreError(
      .overloaded, "The store is busy (\(waiting) writes wait), so lists are refused; try again in a second.")
  }

  package func fleet() async throws -> FleetRecord {
    var fleet = try await read { try $0.fleet() }
    fleet.epoch = epoch
    return fleet
  }
  package func ready() async throws -> ReadyRecord { try await read { try $0.ready() } }

  package func standing(of receipts: [Receipt]) async throws -> ReceiptStanding {
    try await read { try $0.standing(of: receipts) }
  }
  package func renewIncarnation(of incarnation: String, as name: String) async throws -> Bool {
    try await write(.urgent) { try $0.renewIncarnation(of: incarnation, as: name) }
  }

  package func saveClock(_ reading: ClockReading) async throws {
    try await write(.urgent) { try $0.saveClock(reading) }
  }

  package func beat(_ reading: ClockReading?) async throws -> Beat { try await beatInTurn(reading) }

  /// Beats in a group of writes.
  func beatInTurn(_ reading: ClockReading?) async throws -> Beat {
    if isShared { return try await write(.urgent) { try $0.beat(reading) } }
    try await demandTenure()
    return Beat()
  }
  package func end(coordinator epoch: Int64, silentSince beat: Int64) async throws {
    try await write(.urgent) { try $0.end(coordinator: epoch, silentSince: beat) }
  }
  package func serve(at place: CoordinatorPlace) async throws {
    try await write(.urgent) { try $0.serve(at: place) }
  }
  package func noteTransfers(
    _ report: TransferReport, from process: WorkerProcess, at now: Moment
  ) async throws -> TransferNews {
    try await write(.urgent) { try $0.noteTransfers(report, from: process, at: now) }
  }
  package func transferOrders(of hosts: Set<HostName>) async throws -> [HostName: [TransferOrder]] {
    try await read { try $0.transferOrders(of: hosts) }
  }
  package func transfers(on host: HostName?, limit: Int) async throws -> [StoredTransfer] {
    try await read { try $0.transfers(on: host, limit: limit) }
  }
  package func transferLoads() async throws -> [HostName: Int] { try await read { try $0.transferLoads() } }
  package func transfer(_ key: TransferKey) async throws -> StoredTransfer? {
    try await read { try $0.storedTransfer(key) }
  }
  package func cancelTransfer(_ key: TransferKey) async throws {
    try await write(.urgent) { try $0.cancelTransfer(key) }
  }
  package func namespaces() async throws -> [String: NamespaceCounts] { try await read { try $0.namespaces() } }

  package func coordinators(endedSince steady: Timestamp) async throws -> [CoordinatorRecord] {
    try await read { try $0.coordinators(endedSince: steady) }
  }
  package func leave() async throws {
    if isShared { try await write(.urgent) { try $0.leave() } }
  }

  package func apply(
    _ definitions: [Definition], seeds: [TraceContext], at now: Moment
  ) async throws -> [AppliedDefinition] {
    let principal = AuditedCall.current?.actor ?? ""
    return try await write(.submission) { try $0.apply(definitions, seeds: seeds, by: principal, at: now) }
  }
  package func remove(_ pattern: IdentifierPattern) async throws {
    try await write(.ordinary) { try $0.remove(pattern) }
  }
  package func failUnusable(limit: Int, at now: Moment) async throws -> [UnusableDefinition] {
    try await write(.urgent) { try $0.failUnusable(limit: limit, at: now) }
  }
  package func definitions() async throws -> [StoredDefinition] { try await read { try $0.definitions() } }
  package func versions(of pattern: IdentifierPattern) async throws -> [DefinitionVersion] {
    try await read { try $0.versions(of: pattern) }
  }
  package func version(of definition: DefinitionID) async throws -> VersionNumber? {
    try await read { try $0.version(of: definition) }
  }
  package func definition(_ id: DefinitionID) async throws -> Definition? { try await read { try $0.definition(id) } }

  package func submit(_ submissions: [SubmissionOffer], at now: Moment) async throws -> [SubmissionAnswer] {
    // A submission that is refused in any case changes nothing, so it does not have to wait for the writer.
    if !submissions.isEmpty, submissions.allSatisfy(\.isRefusedAtOnce) {
      return try await read { try $0.submit(submissions, at: now) }
    }
    return try await write(
      .submission, isWithdrawable: true, needing: .submit(submissions),
      isChange: { $0.contains { if case .accepted(_, _, _, isRepeat: false) = $0 { true } else { false } } },
      { try $0.submit(submissions, at: now) })
  }
  package func members(of flow: RequestID) async throws -> [RequestRecord] {
    try await read { try $0.members(of: flow) }
  }
  package func submitFlow(_ members: [SubmissionOffer], at now: Moment) async throws -> [SubmissionAnswer] {
    try await write(
      .submission, isWithdrawable: true, needing: .submit(members),
      isChange: { $0.contains { if case .accepted(_, _, _, isRepeat: false) = $0 { true } else { false } } },
      { try $0.submitFlow(members, at: now) })
  }
  package func promote(at now: Moment, limit: Int) async throws -> Promotion {
    try await write(.ordinary) { try $0.promote(at: now, limit: limit) }
  }
  package func claim(_ claims: [Claim], at now: Moment) async throws -> [ClaimAnswer] {
    try await write(.ordinary, needing: .claim(claims)) { try $0.claim(claims, at: now) }
  }

  package func launchNow(
    _ request: RequestID, on offer: SubmissionOffer.Offer, at now: Moment
  ) async throws -> Assignment {
    try await write(.ordinary) { try $0.launchNow(request, on: offer, at: now) }
  }

  package func checkpoint(
    _ checkpoints: [Checkpoint], from process: WorkerProcess, at now: Moment
  ) async throws -> [CheckpointAnswer] {
    try await write(.urgent, needing: .checkpoint(checkpoints, process)) {
      try $0.checkpoint(checkpoints, from: process, at: now)
    }
  }
  package func end(
    _ endings: [Ending], after checkpoints: [Checkpoint], from process: WorkerProcess, at now: Moment
  ) async throws -> [EndingAnswer] {
    try await write(.urgent, needing: .end(endings, process)) {
      try $0.end(endings, after: checkpoints, from: process, at: now)
    }
  }
  package func note(_ event: RequestEvent, detail: String?, of request: RequestID, at now: Moment) async throws {
    try await write(.urgent) { try $0.note(event, detail: detail, of: request, at: now) }
  }
  package func notePace(_ usualBatches: [IdentifierPattern: Duration]) async throws {
    try await write(.progress) { try $0.notePace(usualBatches) }
  }
  package func noteUpdates(_ updates: [LaunchUpdate]) async throws {
    try await write(.progress) { try $0.noteUpdates(updates) }
  }
  package func updates(of requests: [RequestID]) async throws -> [LaunchUpdate] {
    try await read { try $0.updates(of: requests) }
  }
  package func noteUses(_ uses: [IdentifierPattern: Timestamp]) async throws {
    try await write(.progress) { try $0.noteUses(uses) }
  }
  package func noteExpiry(
    _ launch: LaunchKey, _ reason: ExpiryReason, from process: WorkerProcess?, under lease: HostLease?, at now: Moment
  ) async throws -> LaunchSubject? {
    try await write(.urgent) { try $0.noteExpiry(launch, reason, from: process, under: lease, at: now) }
  }
  package func appendItems(
    _ page: ItemPage, from process: WorkerProcess, at now: Moment
  ) async throws -> ItemsAnswer {
    try await write(.urgent) { try $0.appendItems(page, from: process, at: now) }
  }
  package func items(
    of launch: LaunchKey, for process: WorkerProcess, start: Int, count: Int
  ) async throws -> [String]? {
    try await read { try $0.items(of: launch, for: process, start: start, count: count) }
  }
  package func submitter(_ launch: LaunchKey, for process: WorkerProcess) async throws -> Submitter? {
    try await read { try $0.submitter(launch, for: process) }
  }
  package func items(of request: RequestID, start: Int, count: Int) async throws -> [String] {
    try await read { try $0.items(of: request, start: start, count: count) }
  }
  package func appendOutput(_ chunks: [OutputChunk], from process: WorkerProcess) async throws {
    try await write(.progress) { try $0.appendOutput(chunks, from: process) }
  }

  package func grantLease(
    _ host: HostName, _ incarnation: Incarnation, link: Int64, secret: [UInt8]?, report: HostWord?, at now: Moment
  ) async throws -> LeaseGrant {
    try await write(.urgent) {
      try $0.grantLease(host, incarnation, link: link, secret: secret, report: report, at: now)
    }
  }
  package func standing(of host: HostName, secret: [UInt8]?) async throws -> SecretStanding {
    try await read { try $0.standing(of: host, secret: secret) }
  }
  package func invite(_ invitation: Invitation, at now: Moment) async throws {
    try await write(.urgent) { try $0.invite(invitation, at: now) }
  }
  package func noteWaiting(_ host: WaitingHost, invitation: [UInt8], key: [UInt8]) async throws {
    try await write(.urgent) { try $0.noteWaiting(host, invitation: invitation, key: key) }
  }
  package func waitingHosts(at steady: Timestamp) async throws -> [WaitingHost] {
    try await read { try $0.waitingHosts(at: steady) }
  }
  package func approve(_ host: HostName, number: String, at steady: Timestamp) async throws {
    try await write(.urgent) { try $0.approve(host, number: number, at: steady) }
  }
  package func invitation(_ id: [UInt8]) async throws -> Invitation? { try await read { try $0.invitation(id) } }
  package func invitations(of host: HostName) async throws -> [Invitation] {
    try await read { try $0.invitations(of: host) }
  }
  package func admit(
    _ certificate: HostCertificate, by id: [UInt8], digest: [UInt8], at now: Moment
  ) async throws -> HostCertificate {
    try await write(.urgent) { try $0.admit(certificate, by: id, digest: digest, at: now) }
  }
  package func approve(_ id: [UInt8], key: [UInt8]) async throws {
    try await write(.urgent) { try $0.approve(id, key: key) }
  }
  package func renew(_ certificate: HostCertificate, after serial: [UInt8], at now: Moment) async throws {
    try await write(.urgent) { try $0.renew(certificate, after: serial, at: now) }
  }
  package func revoke(_ host: HostName) async throws {
    try await write(.urgent) { try $0.revoke(host) }
  }
  package func issue(_ credential: Credential) async throws { try await write(.urgent) { try $0.issue(credential) } }
  package func revoke(credentials ids: [[UInt8]]) async throws {
    try await write(.urgent) { try $0.revoke(credentials: ids) }
  }
  package func noteUse(ofCredential id: [UInt8], at now: Timestamp) async throws {
    try await write(.progress) { try $0.noteUse(ofCredential: id, at: now) }
  }
  package func credentials() async throws -> [Credential] { try await read { try $0.credentials() } }
  package func append(_ entry: AuditEntry) async throws { try await write(.ordinary) { try $0.append(entry) } }
  package func audit(_ filter: AuditFilter, after sequence: Int64, limit: Int) async throws -> [AuditRow] {
    try await read { try $0.audit(filter, after: sequence, limit: limit) }
  }
  package func auditHead() async throws -> AuditHead { try await read { try $0.auditHead() } }
  package func verifyAudit() async throws -> AuditVerdict {
    var position: AuditPosition?
    while true {
      try Task.checkCancellation()
      let step = try await read { [position] in try $0.verifyAudit(from: position, limit: 1000) }
      guard let next = step.next else { return step.verdict }
      position = next
    }
  }
  package func oldAudit(before time: Timestamp, limit: Int) async throws -> [AuditRow] {
    try await read { try $0.oldAudit(before: time, limit: limit) }
  }
  package func dropAudit(upTo last: AuditRow) async throws {
    try await write(.ordinary) { try $0.dropAudit(upTo: last) }
  }
  package func identityMark() async throws -> [Int64] { try await read { try $0.identityMark() } }
  package func certificates() async throws -> [HostCertificate] { try await read { try $0.certificates() } }
  package func forgetSecret(of host: HostName) async throws {
    try await write(.urgent) { try $0.forgetSecret(of: host) }
  }
  @discardableResult
  package func forgetHost(_ host: HostName, at now: Moment) async throws -> TransferNews {
    try await write(.urgent) { try $0.forgetHost(host, at: now) }
  }
  package func history(of host: HostName, since: Timestamp, limit: Int) async throws -> HostHistory {
    try await read { try $0.history(of: host, since: since, limit: limit) }
  }
  package func noteReports(_ reports: [HostLease: HostWord], at now: Moment) async throws {
    try await write(.progress) { try $0.noteReports(reports, at: now) }
  }
  package func noteAway(_ lease: HostLease, link: Int64) async throws {
    try await write(.urgent) { try $0.noteAway(lease, link: link) }
  }
  package func endLease(_ lease: HostLease, countsAsLoss: Bool, at now: Moment) async throws -> [EndingAnswer] {
    try await write(.urgent) { try $0.endLease(lease, countsAsLoss: countsAsLoss, at: now) }
  }
  package func endLease(
    of process: WorkerProcess, countsAsLoss: Bool, at now: Moment
  ) async throws -> [EndingAnswer] {
    try await write(.urgent) { try $0.endLease(of: process, countsAsLoss: countsAsLoss, at: now) }
  }
  package func assignments(on host: HostName) async throws -> [Assignment] {
    try await read { try $0.assignments(on: host) }
  }
  package func setDraining(_ host: HostName, _ isDraining: Bool, at now: Moment) async throws {
    try await write(.urgent) { try $0.setDraining(host, isDraining, at: now) }
  }
  package func setEvicted(_ pattern: IdentifierPattern, from host: HostName, _ isEvicted: Bool) async throws {
    try await write(.urgent) { try $0.setEvicted(pattern, from: host, isEvicted) }
  }
  package func setPaused(_ isPaused: Bool) async throws { try await write(.urgent) { try $0.setPaused(isPaused) } }

  /// `.all` is cancelled in steps of at most 1,000 requests, each in its own transaction, so that checkpoints do not
  /// have to wait for the whole.
  package func cancel(
    _ selection: RequestSelection, by principal: String, histories: [RequirementClass: WaitHistory], at now: Moment
  ) async throws -> [Cancellation] {
    guard selection == .all else {
      return try await write(.urgent) { try $0.cancel(selection, by: principal, histories: histories, at: now) }
    }
    let order = CancelOrder(principal: principal, histories: histories)
    var cancelled: [Cancellation] = []
    var position: CancelPosition? = try await read { try $0.cancelPosition() }
    while let current = position {
      let step = try await write(
        .urgent, isChange: { !$0.cancelled.isEmpty }, { try $0.cancelStep(current, order, limit: 1000, at: now) })
      cancelled += step.cancelled
      position = step.next
    }
    return cancelled
  }
  package func retry(
    _ request: RequestID, skipping: SkippedBatch, as definition: DefinitionID?, at now: Moment
  ) async throws -> RequestRecord {
    try await write(.ordinary) { try $0.retry(request, skipping: skipping, as: definition, at: now) }
  }
  package func setSpread(_ request: RequestID, lanes: Int, at now: Moment) async throws -> SpreadAnswer {
    try await write(.ordinary) { try $0.setSpread(request, lanes: lanes, at: now) }
  }
  package func shards(of request: RequestID, after: Int?, limit: Int) async throws -> [ShardRecord] {
    try await read { try $0.shards(of: request, after: after, limit: limit) }
  }
  package func redefine(
    _ request: RequestID, as definition: DefinitionID, at now: Moment
  ) async throws -> RequestRecord {
    try await write(.ordinary) { try $0.redefine(request, as: definition, at: now) }
  }
  package func setPriority(_ request: RequestID, _ priority: Priority) async throws -> RequestRecord {
    try await write(.ordinary) { try $0.setPriority(request, priority) }
  }
  package func setLimit(_ key: LimitKey, _ setting: LimitSetting?, at now: Moment) async throws -> LimitRecord {
    try await write(.urgent) { try $0.setLimit(key, setting, at: now) }
  }
  package func limits(
    beginningWith beginning: String, after: LimitKey?, limit: Int, at now: Moment
  ) async throws -> [LimitRecord] {
    try await read { try $0.limits(beginningWith: beginning, after: after, limit: limit, at: now) }
  }
  package func waitingForKeys(most: Int) async throws -> [String: Int] {
    try await read { try $0.waitingForKeys(most: most) }
  }
  package func pauseSchedule(
    of identifier: JobIdentifier, by principal: String, because reason: String, at now: Moment
  ) async throws {
    try await write(.urgent) { try $0.pauseSchedule(of: identifier, by: principal, because: reason, at: now) }
  }
  package func resumeSchedule(of identifier: JobIdentifier, at now: Moment) async throws -> SchedulePause? {
    try await write(.urgent, isChange: { $0 != nil }, { try $0.resumeSchedule(of: identifier, at: now) })
  }
  package func startBackfill(
    of identifier: JobIdentifier, _ backfill: Backfill, seed: TraceContext, at now: Moment
  ) async throws {
    try await write(.ordinary) { try $0.startBackfill(of: identifier, backfill, seed: seed, at: now) }
  }
  package func stopBackfill(of identifier: JobIdentifier, at now: Moment) async throws -> Backfill? {
    try await write(.urgent, isChange: { $0 != nil }, { try $0.stopBackfill(of: identifier, at: now) })
  }
  package func scheduleStandings() async throws -> [JobIdentifier: ScheduleStanding] {
    try await read { try $0.scheduleStandings() }
  }

  package func request(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord? {
    try await read { try $0.request(identifier, number: number) }
  }
  package func request(_ id: RequestID) async throws -> RequestRecord? { try await read { try $0.request(id) } }
  package func lastLaunched(_ identifier: JobIdentifier) async throws -> RequestRecord? {
    try await read { try $0.lastLaunched(identifier) }
  }
  package func waiting(_ identifier: JobIdentifier) async throws -> RequestRecord? {
    try await read { try $0.waiting(identifier) }
  }
  package func lastOutput(of identifier: JobIdentifier, before number: Int) async throws -> Int? {
    try await read { try $0.lastOutput(of: identifier, before: number) }
  }
  package func page(
    of filter: RequestFilter, after: RequestID?, limit: Int, window: Int
  ) async throws -> ListedRequests {
    try shedLists()
    return try await read { try $0.page(of: filter, after: after, limit: limit, window: window) }
  }
  package func launches(of request: RequestID) async throws -> [LaunchRecord] {
    try await read { try $0.launches(of: request) }
  }
  package func events(of request: RequestID) async throws -> [EventRecord] {
    try await read { try $0.events(of: request) }
  }
  package func pokes(of request: RequestID) async throws -> [PokeRecord] {
    try await read { try $0.pokes(of: request) }
  }
  package func position(of request: RequestID) async throws -> Int? { try await read { try $0.position(of: request) } }
  package func queue(of classes: [RequirementClass]) async throws -> [QueuedClass] {
    try await read { try $0.queue(of: classes) }
  }
  package func outputPieces(of launch: LaunchKey) async throws -> [OutputPiece] {
    try await read { try $0.outputPieces(of: launch) }
  }
  package func oldestReady(of classes: [RequirementClass]) async throws -> Timestamp? {
    try await read { try $0.oldestReady(of: classes) }
  }
  package func counts() async throws -> [DefinitionCount] { try await read { try $0.counts() } }

  package func unsentSpans(limit: Int) async throws -> [SpanSource] {
    try await read { try $0.unsentSpans(limit: limit) }
  }
  package func confirmSpans(_ keys: [SpanKey]) async throws {
    try await write(.ordinary) { try $0.confirmSpans(keys) }
  }
  package func rejectSpans(_ keys: [SpanKey], because message: String, at now: Moment) async throws {
    try await write(.ordinary) { try $0.rejectSpans(keys, because: message, at: now) }
  }
  package func dropUnsentSpans(endedBefore time: Timestamp, beyond count: Int, limit: Int) async throws -> Int {
    let old = try await read { try $0.oldUnsentSpans(endedBefore: time, beyond: count, limit: limit) }
    if !old.isEmpty { try await write(.ordinary) { try $0.confirmSpans(old) } }
    return old.count
  }
  package func spanQueue() async throws -> SpanQueueRecord { try await read { try $0.spanQueue() } }
  package func spans(of request: RequestID) async throws -> [SpanSource] {
    try await read { try $0.spans(of: request) }
  }

  package func dueNotifications(
    for receiver: ReceiverName, at now: Moment, limit: Int
  ) async throws -> [StoredNotification] {
    try await read { try $0.dueNotifications(for: receiver, at: now, limit: limit) }
  }
  package func noteAttempts(_ attempts: [NotificationAttempt], at now: Moment) async throws {
    try await write(.ordinary, needing: .notifications(attempts.map(\.key))) {
      try $0.noteAttempts(attempts, at: now)
    }
  }
  package func keepNotifications(
    for receivers: [ReceiverName], _ limits: NotificationLimits, limit: Int, at now: Moment
  ) async throws -> NotificationUpkeep {
    let old = try await read { try $0.oldNotifications(for: receivers, limits, limit: limit, at: now) }
    if old.isEmpty { return NotificationUpkeep() }
    return try await write(.ordinary, needing: .notifications(old.failing.map(\.key) + old.dropped)) {
      try $0.keep(old, at: now)
    }
  }
  package func notifications(limit: Int) async throws -> NotificationList {
    try await read { try $0.notifications(limit: limit) }
  }
  package func tellLate(at now: Moment, limit: Int) async throws -> Int {
    let late = try await read { try $0.lateRequests(at: now, limit: limit) }
    if !late.isEmpty { try await write(.ordinary) { try $0.tellLate(late, at: now) } }
    return late.count
  }

  package func prune(_ limits: RetentionLimits, at now: Moment) async throws -> Bool {
    // Finding the requests that may be deleted can take long while many spans wait for a tracing backend, so it is done
    // by a reader and not by the writer.
    let found = try await read { [queuesSpans] in try $0.prunable(limits, keepingUnsent: queuesSpans, at: now) }
    return try await write(.ordinary) { try $0.prune(found, limits, at: now) }
  }

  package func forgetOld(_ limits: RetentionLimits, at now: Moment) async throws -> Forgotten {
    let old = try await read { try $0.forgettable(limits, at: now) }
    return old.isEmpty ? Forgotten() : try await write(.ordinary) { try $0.forget(old, limits, at: now) }
  }

  package func prune(_ selection: PruneSelection, isRehearsal: Bool, at now: Moment) async throws -> PruneAnswer {
    let found = try await read { try $0.ended(selection, limit: PruneSelection.most + 1, at: now) }
    let chosen = found.prefix(PruneSelection.most)
    var answer = PruneAnswer(hasMore: found.count > chosen.count)
    if isRehearsal {
      answer.counts = Dictionary(chosen.map { ($0.state, 1) }, uniquingKeysWith: +)
      return answer
    }
    for start in stride(from: 0, to: chosen.count, by: Self.prunedAtOnce) {
      let step = Array(chosen[start..<min(start + Self.prunedAtOnce, chosen.count)])
      let deleted = try await write(.ordinary, isChange: { !$0.isEmpty }, { try $0.pruneChosen(step) })
      answer.counts.merge(deleted, uniquingKeysWith: +)
    }
    return answer
  }

  /// How many requests one transaction deletes, so that checkpoints do not wait for the whole.
  private static var prunedAtOnce: Int { 500 }
}

extension SubmissionOffer {
  /// Whether the answer is certain to be this refusal, or the answer that was given to the same id before. Neither
  /// changes the store.
  fileprivate var isRefusedAtOnce: Bool { if case .immediateRunIneligible = refusal { true } else { false } }
}
