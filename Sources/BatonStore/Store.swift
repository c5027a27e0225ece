package import BatonModel

/// The truth about every request, in verbs of the domain. Each verb is one transaction; when it returns, what it says
/// is durable (fault model W, Documentation/promises.md). All verbs that take arrays answer in the same order, and one
/// element that is refused changes nothing and disturbs no other.
///
/// Nothing here assumes one coordinator process: every write names what it believes (a launch number, an incarnation)
/// and is refused if the store knows better. `StoreConformance` holds an implementation to all of it.
package protocol Store: Sendable {
  /// Tells once that the disk failed: every write since is answered `.unknown`, so the process should end and recover.
  var failures: AsyncStream<StoreError> { get }

  // MARK: Starting up

  /// What a coordinator has to know when it starts: small, however many requests wait.
  func fleet() async throws -> FleetRecord
  /// Of the same only what is ready, and when something may be: costs the same however many hosts there are.
  func ready() async throws -> ReadyRecord
  /// How far the store is: whatever was answered before is in it for good. Rises with each change.
  var receipt: Receipt { get }
  /// Throws `.superseded` if this coordinator is no longer the one that may write, where a store allows only one.
  func demandTenure() async throws
  /// What a worker's last receipt says of this store.
  func standing(of receipt: Receipt) async throws -> ReceiptStanding
  /// The store of that name went backwards: from now on it has another name, and the fleet is paused, so that nothing
  /// that has run already runs again unseen. Receipts from before that it still covers stay good. Nothing happens if it
  /// has another name already.
  /// - Parameter name: that no store has had before.
  func renewIncarnation(of incarnation: String, as name: String) async throws
  /// Keeps how far the steady clock is, so that the next coordinator can go on with it.
  func saveClock(_ reading: ClockReading) async throws

  // MARK: Definitions

  /// Stores definitions, all or none, and submits the first request of one with `repeat` that has none live or waiting.
  /// Refuses wildcards that overlap a stored one that is not in `definitions`.
  func apply(_ definitions: [Definition], seeds: [TraceContext], at now: Moment) async throws -> [AppliedDefinition]
  /// Takes a definition away; refused (`.refused`) while requests of it are unfinished.
  func remove(_ pattern: IdentifierPattern) async throws
  /// Fails unfinished requests whose stored definition breaks a rule of `Definition.validate()`, at most `limit`: an
  /// older version stored it without looking. Call it at a start, until it fails fewer than `limit`.
  func failUnusable(limit: Int, at now: Moment) async throws -> [UnusableDefinition]
  func definitions() async throws -> [StoredDefinition]
  func definition(_ id: DefinitionID) async throws -> Definition?

  // MARK: Submitting

  /// Accepts requests. A submission whose id is known gets the answer it got then. One with an offer of a host, and
  /// with no obstacle of its own, is claimed for that host in the same transaction. One of strategy `fail` that has an
  /// obstacle of its own is refused with it, and nothing is changed.
  ///
  /// A poke joins the request that waits, if there is one, and brings its payload; the last one wins. It is spaced from
  /// the last first launch of a poked (or refresh) request of the identifier, unless it is immediate.
  ///
  /// If the task is cancelled before the store has begun to take them, it throws `CancellationError` and nothing was
  /// changed.
  func submit(_ submissions: [SubmissionOffer], at now: Moment) async throws -> [SubmissionAnswer]

  // MARK: Dispatching

  /// Makes requests ready whose time has come, at most `limit`; says which classes got any, and when to come again.
  /// A date is compared with the wall clock, everything else with the steady one.
  func promote(at now: Moment, limit: Int) async throws -> Promotion
  /// Starts launches of ready requests, the oldest first, one per place. One that was evicted from the host by its own
  /// identifier is passed over; one whose date has not come, because the wall clock was set back, is scheduled again.
  func claim(_ claims: [Claim], at now: Moment) async throws -> [ClaimAnswer]
  /// Starts one pending request there and now, whatever its times say, marked as simulated.
  /// Refuses (`.refused`) a request that is not pending or waits for a live one, and a host whose lease is not held.
  func launchNow(
    _ request: RequestID, on offer: SubmissionOffer.Offer, at now: Moment
  ) async throws -> Assignment

  // MARK: Launches

  // Each of these verbs that a worker can reach names the process that asks (`from`). A launch that does not run there
  // is answered as a superseded one, and nothing is written: a worker changes and reads its own launches only. The
  // process is compared with the launch's host and with the holder of the lease in the transaction that writes.

  func checkpoint(
    _ checkpoints: [Checkpoint], from process: WorkerProcess, at now: Moment
  ) async throws -> [CheckpointAnswer]
  func end(_ endings: [Ending], from process: WorkerProcess, at now: Moment) async throws -> [EndingAnswer]
  /// Adds to the history that `events(of:)` answers; nothing happens if the request is not kept any more.
  func note(_ event: RequestEvent, detail: String?, of request: RequestID, at now: Moment) async throws
  /// Keeps how long the batches of definitions usually take.
  func notePace(_ usualBatches: [IdentifierPattern: Duration]) async throws
  /// Keeps when a person used definitions last, on the steady clock. A pattern that is not known is left out.
  func noteUses(_ uses: [IdentifierPattern: Timestamp]) async throws
  /// Records that a launch was asked to stop; the first reason stays.
  /// - Parameter process: the worker that says so; nil if the coordinator decided it.
  /// - Returns: what names the launch; nil if it does not run there, or has ended, unless it ended by this very expiry.
  func noteExpiry(
    _ launch: LaunchKey, _ reason: ExpiryReason, from process: WorkerProcess?, at now: Moment
  ) async throws -> LaunchSubject?
  /// Pages must come in order, each starting where the last one ended; a page that is there already is answered again.
  func appendItems(_ page: ItemPage, from process: WorkerProcess) async throws -> ItemsAnswer
  /// Frozen items for the launch that asks; nil if it does not run on that process.
  func items(
    of launch: LaunchKey, for process: WorkerProcess, start: Int, count: Int
  ) async throws -> [String]?
  /// Output of launches that do not run on that process is dropped.
  func appendOutput(_ chunks: [OutputChunk], from process: WorkerProcess) async throws

  // MARK: Hosts

  /// Records that `incarnation` holds the lease of `host`. Every launch of an earlier incarnation must have been ended.
  ///
  /// The first secret that comes with a name is kept; from then on a lease is refused (`.refused`) to any other one, and
  /// to a worker without.
  /// - Parameters:
  ///   - secret: the SHA-256 of what the worker says; nil for a worker of an older version.
  ///   - report: kept as the host's last word, if it is given.
  func grantLease(
    _ host: HostName, _ incarnation: Incarnation, secret: [UInt8]?, report: HostWord?, at now: Moment
  ) async throws
  /// What the store knows of the secret of a host.
  func standing(of host: HostName, secret: [UInt8]?) async throws -> SecretStanding
  /// Takes back what is known of a host's secret: the next worker of that name is taken.
  func forgetSecret(of host: HostName) async throws
  /// Keeps what known hosts said of themselves last; `explain` judges a host that is gone by it.
  func noteReports(_ reports: [HostName: HostWord], at now: Moment) async throws
  /// Ends the lease, and every launch under it as `lost`. Nothing happens if another incarnation holds it.
  /// - Parameter countsAsLoss: false if the launches are blameless (the end of a `run` or `up` process): passed on to
  ///   `Ledger.end`, so that they resume at once and come no nearer to quarantine.
  func endLease(
    _ host: HostName, _ incarnation: Incarnation, countsAsLoss: Bool, at now: Moment
  ) async throws -> [EndingAnswer]
  /// The launches that the store believes to run there, as they would be assigned now.
  func assignments(on host: HostName) async throws -> [Assignment]
  func setDraining(_ host: HostName, _ isDraining: Bool, at now: Moment) async throws
  /// Keeps launches of a definition, or of one instance of a wildcard, off a host until that is taken back.
  func setEvicted(_ pattern: IdentifierPattern, from host: HostName, _ isEvicted: Bool) async throws
  func setPaused(_ isPaused: Bool) async throws

  // MARK: Operators

  /// Cancels what waits at once; what runs is noted as to be cancelled and answered with the launch to stop.
  /// - Parameter histories: what kept each class waiting, for the waits that end here.
  func cancel(
    _ selection: RequestSelection, by principal: String, histories: [RequirementClass: WaitHistory], at now: Moment
  ) async throws -> [Cancellation]
  /// Lets a failed request go on from its checkpoint; `skippingBatch` records one batch as skipped.
  /// - Parameter definition: what it goes on under; nil for the one that it has. Refused (`.refused`) as in `redefine`.
  func retry(
    _ request: RequestID, skippingBatch: Bool, as definition: DefinitionID?, at now: Moment
  ) async throws -> RequestRecord
  /// Gives a pending request another definition; it keeps its checkpoint. Refuses (`.refused`) a request that is not
  /// pending, a definition that is not applied now or that the request has already, and one whose items or batch size
  /// differ, unless nothing was committed yet.
  func redefine(_ request: RequestID, as definition: DefinitionID, at now: Moment) async throws -> RequestRecord

  // MARK: Reading

  func request(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord?
  func request(_ id: RequestID) async throws -> RequestRecord?
  /// The last request of the identifier that was launched; nil if none was.
  func lastLaunched(_ identifier: JobIdentifier) async throws -> RequestRecord?
  /// The request of the identifier that waits for its first launch; nil if there is none.
  func waiting(_ identifier: JobIdentifier) async throws -> RequestRecord?
  /// The number of the last request of the identifier that has output, among those with a lower number than `number`.
  func lastOutput(of identifier: JobIdentifier, before number: Int) async throws -> Int?
  /// In order of `after` and then the request's id; at most `limit`.
  func requests(_ filter: RequestFilter, after: RequestID?, limit: Int) async throws -> [RequestRecord]
  func launches(of request: RequestID) async throws -> [LaunchRecord]
  func events(of request: RequestID) async throws -> [EventRecord]
  /// The pokes that a request stands for, in the order in which they came.
  func pokes(of request: RequestID) async throws -> [PokeRecord]
  /// How many requests of its class go before a pending one; nil if it is not pending.
  func position(of request: RequestID) async throws -> Int?
  func output(of launch: LaunchKey) async throws -> [UInt8]
  /// Items that a launch found, whether or not it still runs.
  func items(of request: RequestID, start: Int, count: Int) async throws -> [String]
  func counts() async throws -> [DefinitionCount]
  /// Looks through everything that is stored for damage, which may take seconds. Throws `.corrupt` if there is some.
  func verify() async throws
  /// Since when the first request of these classes has been ready; nil if none is.
  func oldestReady(of classes: [RequirementClass]) async throws -> Timestamp?

  // MARK: Spans

  /// What was not confirmed yet, the oldest requests first, at most `limit` occasions. Only a store that was opened to
  /// queue spans has any, and only of requests that are sampled.
  func unsentSpans(limit: Int) async throws -> [SpanSource]
  /// A backend has them: they are not answered again.
  func confirmSpans(_ keys: [SpanKey]) async throws
  /// A backend will not have them: they are not answered again, and counted as long as their request is kept.
  func rejectSpans(_ keys: [SpanKey], because message: String, at now: Moment) async throws
  /// Forgets those of requests that ended before `date`, and the oldest beyond `count`, in one small step; answers how
  /// many, at most `limit`.
  func dropUnsentSpans(endedBefore date: Timestamp, beyond count: Int, limit: Int) async throws -> Int
  func spanQueue() async throws -> SpanQueueRecord
  /// Everything that there is to say of a request, in order of time; empty if it is not kept.
  func spans(of request: RequestID) async throws -> [SpanSource]

  // MARK: Keeping house

  /// Writes a copy of everything that was answered so far to a new file on the store's machine, while it is in use.
  /// - Parameters:
  ///   - path: absolute; there must be no such file yet.
  ///   - report: called now and then; it must not wait.
  /// - Throws: `.refused` if the path is not permitted or another backup is being written, `.cannotWrite`, `.corrupt`, or
  ///   `CancellationError`. No file of this name is there then.
  func backUp(to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void) async throws -> BackupSummary

  /// Deletes ended requests beyond what is kept, and old submission ids, in one small step; true if more is left. A
  /// request whose spans were not sent yet stays.
  func prune(_ limits: RetentionLimits, at now: Moment) async throws -> Bool
}

extension Store {
  /// A lease for a worker without a secret.
  package func grantLease(
    _ host: HostName, _ incarnation: Incarnation, report: HostWord?, at now: Moment
  ) async throws {
    try await grantLease(host, incarnation, secret: nil, report: report, at: now)
  }

  /// Records that the coordinator asked a launch to stop.
  package func noteExpiry(
    _ launch: LaunchKey, _ reason: ExpiryReason, at now: Moment
  ) async throws -> LaunchSubject? {
    try await noteExpiry(launch, reason, from: nil, at: now)
  }

  package func retry(_ request: RequestID, skippingBatch: Bool, at now: Moment) async throws -> RequestRecord {
    try await retry(request, skippingBatch: skippingBatch, as: nil, at: now)
  }

  package func cancel(
    _ selection: RequestSelection, by principal: String, at now: Moment
  ) async throws -> [Cancellation] {
    try await cancel(selection, by: principal, histories: [:], at: now)
  }
}
