package import BatonModel

/// The durable state of every request, in verbs of the domain. Each verb is one transaction unless its comment says
/// otherwise; when it returns, its effects are durable (fault model W, Documentation/developers/promises.md). A verb
/// that takes an array answers in the order of the array. An element that is refused changes nothing and does not
/// affect the other elements.
///
/// The verbs do not rely on there being only one coordinator process. Every write names what its caller believes to be
/// true (a launch number, a lease), and is refused if the store's rows say otherwise; and every transaction begins with
/// a look at the row of its own coordinator. The cases of `StoreConformance` test an implementation for all of this.
package protocol Store: PeopleStore, SpanStore, NotificationStore {
  /// Yields once, when the disk has failed. Every later write is answered with `.unknown`, so the process should end
  /// and recover when it is started again.
  var failures: AsyncStream<StoreError> { get }

  // MARK: Starting up

  /// What a coordinator needs to know when it starts. The answer is small, however many requests wait.
  func fleet() async throws -> FleetRecord
  /// The part of `fleet()` that says which requests are ready, and when others may become ready. Its cost does not
  /// depend on the number of hosts.
  func ready() async throws -> ReadyRecord
  /// How many commits this store has made. Every change that was acknowledged before is durable and counted. The number
  /// rises with each commit that changes something.
  var receipt: Receipt { get }
  /// Compares a worker's receipts with this store.
  /// - Parameter receipts: one for each tenure that the worker has heard of, the one that came last at the end.
  func standing(of receipts: [Receipt]) async throws -> ReceiptStanding
  /// Gives a store that went backwards another name, and pauses the fleet, so that work that has already run does not
  /// run again without a person noticing (promise P12). Receipts of the old name stay valid as far as the store reaches
  /// them. Nothing happens if the store's incarnation is no longer `incarnation`.
  /// - Parameters:
  ///   - incarnation: the present name of the store, as the caller knows it.
  ///   - name: a name that no store has used before.
  /// - Returns: whether the store has got the name.
  @discardableResult
  func renewIncarnation(of incarnation: String, as name: String) async throws -> Bool
  /// Keeps a reading of the clocks, so that the next steward can continue the steady clock. Only for the steward.
  func saveClock(_ reading: ClockReading) async throws
  /// Tries whether the store's disk has room for a large write, without leaving anything there. A small write proves
  /// little, because SQLite's log has room of its own.
  /// - Returns: whether room was proven; `false` if the disk is elsewhere.
  /// - Throws: `.cannotWrite` if it has none, or the folder cannot be written any more.
  func demandRoom() async throws -> Bool

  /// What is counted for each namespace, by its prefix, over all coordinators.
  func namespaces() async throws -> [String: NamespaceCounts]

  // MARK: Coordinators

  // Opening a store begins a tenure. It ends for ever by `leave`, or by another coordinator's `end(coordinator:)`;
  // every later write throws `.superseded`. The duties of the steward (`saveClock`, `failUnusable`, `promote`, `prune`
  // and the queue of spans) throw `.moved` for any other coordinator.

  /// Whether other coordinators can have this store open at the same time.
  var isShared: Bool { get }
  /// Shows the others that this coordinator lives, and answers what it has to know of them. Call it every second. If
  /// there is no steward, this coordinator becomes it. The steward takes over the leases of coordinators that have
  /// ended. A store that is not shared only checks that it is still this coordinator's.
  /// - Parameter reading: the clock that the steward keeps for the others; `nil` if it has not yet followed the last
  ///   reading of the steward before it.
  /// - Throws: `.superseded` if this tenure has ended, or the store's files were removed or replaced; `.wentBackwards`.
  @discardableResult
  func beat(_ reading: ClockReading?) async throws -> Beat
  /// Ends the tenure of a coordinator that its caller has seen standing still: nothing of it commits afterwards.
  /// Nothing happens if its beat is not `beat` any more.
  func end(coordinator epoch: Int64, silentSince beat: Int64) async throws
  /// Keeps where this coordinator serves, so that operators learn it from any coordinator. Call it once it listens.
  func serve(at place: CoordinatorPlace) async throws
  /// The coordinators that have not ended, and at most 100 of those that ended since a time on the steady clock, in the
  /// order of their starts. The time of an end is that of the last stored reading of the clock, which is up to a minute
  /// old in a store that is not shared.
  func coordinators(endedSince steady: Timestamp) async throws -> [CoordinatorRecord]
  /// Ends this tenure, so that others take over at once and not only after a term. Nothing happens if no other
  /// coordinator can have the store open.
  func leave() async throws

  // MARK: Definitions

  /// Stores definitions, either all of them or none. Submits the first request of each definition with `repeat` whose
  /// identifier has no live and no waiting request.
  /// - Parameter seeds: for each definition the trace of the first request that may be submitted.
  /// - Throws: `.refused` if a wildcard overlaps another wildcard, stored or in `definitions`.
  func apply(_ definitions: [Definition], seeds: [TraceContext], at now: Moment) async throws -> [AppliedDefinition]
  /// Removes a definition. Throws `.refused` while requests of the definition are unfinished, and `.notFound` if it is
  /// not applied.
  func remove(_ pattern: IdentifierPattern) async throws
  /// Fails unfinished requests whose stored definition breaks a rule of `Definition.validate()`: an older version
  /// stored it without checking. Fails at most `limit` requests. Call it when a coordinator starts, and repeat it until
  /// it fails fewer than `limit` requests.
  func failUnusable(limit: Int, at now: Moment) async throws -> [UnusableDefinition]
  /// The definitions that are applied now, in the order of their patterns.
  func definitions() async throws -> [StoredDefinition]
  /// The versions that are kept of a pattern, the newest first; empty if there was never a definition of it. The
  /// `DefinitionVersion.most` last texts that were applied are kept.
  func versions(of pattern: IdentifierPattern) async throws -> [DefinitionVersion]
  /// The last version that has this definition; `nil` if none of those that are kept has it.
  func version(of definition: DefinitionID) async throws -> VersionNumber?
  /// The definition with this number, also if it is no longer applied; `nil` if there never was one.
  func definition(_ id: DefinitionID) async throws -> Definition?

  // MARK: Submitting

  /// Accepts requests. A submission whose id is known gets the answer that was given to this id before. A submission
  /// that offers a host, and that nothing in the store keeps from starting, is started on that host in the same
  /// transaction. A submission of a definition with strategy `fail` that has to wait is refused with its obstacles, and
  /// nothing is changed.
  ///
  /// A poke joins the request that waits, if there is one, and replaces its payload: the last payload wins. Unless a
  /// poke is immediate, it is spaced from the last first launch of the identifier's refreshes and poked requests.
  ///
  /// If the task is cancelled before the store has begun the write, this throws `CancellationError` and nothing was
  /// changed.
  func submit(_ submissions: [SubmissionOffer], at now: Moment) async throws -> [SubmissionAnswer]
  /// The requests of a flow, without cursors and payloads, in the order of their numbers.
  func members(of flow: RequestID) async throws -> [RequestRecord]
  /// Accepts all members of a flow, or none. A member waits for those that `after` of its definition names. When a
  /// request that others wait for ends as they ask, those that wait for no other one may start; the others are
  /// cancelled. A retry of the request lets these wait again.
  func submitFlow(_ members: [SubmissionOffer], at now: Moment) async throws -> [SubmissionAnswer]

  // MARK: Dispatching

  /// Makes scheduled requests ready whose time has come, at most `limit`. Dates are compared with the wall clock, all
  /// other times with the steady clock.
  /// - Returns: how many requests of each class became ready, and when to call it again.
  func promote(at now: Moment, limit: Int) async throws -> Promotion
  /// Starts launches of ready requests, the oldest first, one for each place. A request whose own identifier is evicted
  /// from the host is passed over. A request whose date has not come, because the wall clock was set back, is scheduled
  /// again. Nothing starts on a host that is drained, or while the fleet is paused, also if the coordinator that claims
  /// has not heard of it yet.
  func claim(_ claims: [Claim], at now: Moment) async throws -> [ClaimAnswer]
  /// Starts one pending request on the offered host at once, whatever its times say, and marks the launch as simulated.
  /// - Throws: `.refused` if the request is not pending or waits for a live request; `.moved` if the offered lease is
  ///   not the host's present one; `.notFound` if there is no such request.
  func launchNow(
    _ request: RequestID, on offer: SubmissionOffer.Offer, at now: Moment
  ) async throws -> Assignment

  // MARK: Launches

  /// Who submits when this launch does; `nil` if the launch does not run on the process that asks.
  func submitter(_ launch: LaunchKey, for process: WorkerProcess) async throws -> Submitter?

  // Each of these verbs that a worker can reach names the worker process that asks (`process`). If the launch does not
  // run on that process, the answer is that of a superseded launch, and nothing is written: a worker can change and
  // read only its own launches. The transaction that writes compares the process with the launch's host and with the
  // holder of the host's lease (promise P3).

  /// Commits checkpoints. Only the next batch index of a request is taken. A batch that the same launch has committed
  /// before is answered as committed, and every other index is refused (promise P2).
  func checkpoint(
    _ checkpoints: [Checkpoint], from process: WorkerProcess, at now: Moment
  ) async throws -> [CheckpointAnswer]
  /// Ends launches and decides what becomes of their requests: they have ended, or they are resumed. An ending of a
  /// launch that is not live changes nothing.
  /// - Parameter checkpoints: the last checkpoints of some of these launches, which are committed before, in the same
  ///   transaction. A launch that has finished, and whose checkpoint is refused, has failed.
  func end(
    _ endings: [Ending], after checkpoints: [Checkpoint], from process: WorkerProcess, at now: Moment
  ) async throws -> [EndingAnswer]
  /// Adds an event to the history that `events(of:)` returns. Nothing happens if the request is not kept any more.
  func note(_ event: RequestEvent, detail: String?, of request: RequestID, at now: Moment) async throws
  /// Keeps how long the batches of definitions usually take. A pattern that is not known is ignored.
  func notePace(_ usualBatches: [IdentifierPattern: Duration]) async throws
  /// Keeps when a person used definitions last, on the steady clock. A pattern that is not known is ignored.
  func noteUses(_ uses: [IdentifierPattern: Timestamp]) async throws
  /// Keeps what running launches have reported since their last checkpoints, each in place of the one before, for
  /// operators who ask another coordinator. An update without content takes the one before away.
  func noteUpdates(_ updates: [LaunchUpdate]) async throws
  /// What `noteUpdates` kept of the launches of these requests that run now.
  func updates(of requests: [RequestID]) async throws -> [LaunchUpdate]
  /// Records that a launch was asked to stop. The first reason stays.
  /// - Parameters:
  ///   - process: the worker that reports the expiry; `nil` if the coordinator decided it.
  ///   - lease: the lease of the host, if the coordinator decided it because it serves the host; `nil` if a person did.
  /// - Returns: the names of the launch for logs; `nil` if the launch has ended or does not run on `process`. If
  ///   `process` is `nil`, a launch that has ended by the same reason is answered too.
  /// - Throws: `.moved` if `lease` is not the host's last one.
  func noteExpiry(
    _ launch: LaunchKey, _ reason: ExpiryReason, from process: WorkerProcess?, under lease: HostLease?, at now: Moment
  ) async throws -> LaunchSubject?
  /// Adds a page of items to a request. Pages must come in order, each starting where the one before ended; a page that
  /// is already stored is answered again. The last page freezes the items.
  /// If the request is divided, the same transaction cuts the items into shards.
  func appendItems(_ page: ItemPage, from process: WorkerProcess, at now: Moment) async throws -> ItemsAnswer
  /// Frozen items for a launch.
  /// - Parameters:
  ///   - start: the index of the first item, from 0.
  ///   - count: the largest number of items to return.
  /// - Returns: `nil` if the launch does not run on `process`.
  func items(
    of launch: LaunchKey, for process: WorkerProcess, start: Int, count: Int
  ) async throws -> [String]?
  /// Adds output to launches. Output of launches that do not run on `process` is dropped.
  func appendOutput(_ chunks: [OutputChunk], from process: WorkerProcess) async throws

  // MARK: Transfers

  /// Takes a host's report of its transfers: keeps how they have ended, and makes the requests due whose groups have
  /// ended with it (contract, rows 39 and 40). A report that comes again changes nothing.
  /// - Returns: what the host is told, and when requests are due. Nothing, if `process` does not hold its host's lease.
  func noteTransfers(_ report: TransferReport, from process: WorkerProcess, at now: Moment) async throws -> TransferNews
  /// What hosts are told of transfers that have not ended, and of requests that have. Each order may be told again.
  func transferOrders(of hosts: Set<HostName>) async throws -> [HostName: [TransferOrder]]
  /// The transfers of requests that have not ended, in the order of their keys.
  /// - Parameter host: only those of this host; `nil` for all.
  func transfers(on host: HostName?, limit: Int) async throws -> [StoredTransfer]
  /// How many requests have transfers on each host that have not ended; hosts without any are left out.
  func transferLoads() async throws -> [HostName: Int]
  /// A transfer of a request that has not ended; `nil` if there is none with this key.
  func transfer(_ key: TransferKey) async throws -> StoredTransfer?
  /// Asks the host of a transfer to end it. Throws `.notFound` if there is no such transfer.
  func cancelTransfer(_ key: TransferKey) async throws

  // MARK: Hosts

  /// Records that `incarnation` holds the lease of `host`, and that this coordinator owns it. If the same incarnation
  /// holds it at another coordinator, this one takes it over, and the launches go on. If another incarnation holds it,
  /// at a coordinator that has ended or that has lost the connection, its launches end as lost.
  ///
  /// The first secret that comes with a host's name is kept. From then on a lease is refused to a worker with another
  /// secret or without a secret.
  /// - Parameters:
  ///   - link: a number of the connection that no other connection to this coordinator had, for `noteAway`.
  ///   - secret: the SHA-256 of the worker's secret; `nil` for a worker of an older version.
  ///   - report: the host's conditions, which are kept as its last report; `nil` keeps the report before.
  /// - Throws: `.refused` if the secret does not match, if another incarnation is connected to another coordinator, or
  ///   if launches of an earlier incarnation of this coordinator are open.
  @discardableResult
  func grantLease(
    _ host: HostName, _ incarnation: Incarnation, link: Int64, secret: [UInt8]?, report: HostWord?, at now: Moment
  ) async throws -> LeaseGrant
  /// Compares a worker's secret with the secret that is kept for the host's name.
  func standing(of host: HostName, secret: [UInt8]?) async throws -> SecretStanding
  /// Forgets the secret of a host. The next worker with that name is accepted with any secret. Throws `.notFound` if
  /// the host is unknown.
  func forgetSecret(of host: HostName) async throws
  /// Forgets a host that is gone: it is listed no more, and its evictions, its drain, its last report, its history and
  /// its secret go. A worker that comes back with this name is a new host.
  /// The transfers that the host has not ended, and downloads of which only it had the file, end as `hostForgotten`.
  /// - Returns: which transfers ended, and when their requests are due.
  /// - Throws: `.notFound` if the host is unknown; `.refused` if a worker process holds its lease.
  @discardableResult
  func forgetHost(_ host: HostName, at now: Moment) async throws -> TransferNews
  /// How the conditions of a host have changed since a time on the wall clock, and what ran on it; at most `limit` of
  /// each, the newest ones. Launches that took less than a second are left out.
  /// - Throws: `.notFound` if the host is unknown.
  func history(of host: HostName, since: Timestamp, limit: Int) async throws -> HostHistory
  /// Keeps an invitation, and drops those that have ended.
  func invite(_ invitation: Invitation, at now: Moment) async throws
  /// The invitation with this id, also one that was used; `nil` if there is none.
  func invitation(_ id: [UInt8]) async throws -> Invitation?
  /// The invitations of a host that are kept, also those that were used, in the order of their ids.
  func invitations(of host: HostName) async throws -> [Invitation]
  /// Uses an invitation: from now on `certificate` proves the host's name. The secret of a worker that had the name
  /// before is forgotten.
  /// - Parameters:
  ///   - id: names the invitation.
  ///   - digest: the SHA-256 of the secret that the host has shown.
  /// - Returns: `certificate`; or, if the host with the same key has joined within the last ten minutes, the
  ///   certificate that it got then, so that a lost answer does not use the invitation up.
  /// - Throws: `.refused` if there is no such invitation, its secret is another one, it has ended, a host with another
  ///   key has used it, or the certificate is for another host.
  func admit(
    _ certificate: HostCertificate, by id: [UInt8], digest: [UInt8], at now: Moment
  ) async throws -> HostCertificate
  /// Lets a host with this key join with an invitation that needs approval.
  /// - Parameter key: the SHA-256 of the host's public key.
  /// - Throws: `.refused` if there is no such invitation.
  func approve(_ id: [UInt8], key: [UInt8]) async throws
  /// Notes that a host asks to join with an invitation that needs approval. It counts as waiting for a minute.
  /// - Parameter host: its time is on the steady clock.
  /// - Throws: `.refused` if there is no such invitation; `.overloaded` if 8 other keys wait with it.
  func noteWaiting(_ host: WaitingHost, invitation: [UInt8], key: [UInt8]) async throws
  /// The hosts that wait, by name and number, with times on the steady clock.
  func waitingHosts(at steady: Timestamp) async throws -> [WaitingHost]
  /// Lets the host join that waits under this name and shows this number.
  /// - Throws: `.notFound` if none does, or if two keys show the number; `.refused` if another host asks with the same
  ///   invitation.
  func approve(_ host: HostName, number: String, at steady: Timestamp) async throws
  /// Keeps another certificate of a host. The one before stays valid until it ends.
  /// - Parameter serial: the certificate by which the host has proven its name.
  /// - Throws: `.refused` if that one is unknown, revoked, or of another host.
  func renew(_ certificate: HostCertificate, after serial: [UInt8], at now: Moment) async throws
  /// Revokes all certificates of a host for ever, drops its open invitations, and forgets its secret.
  func revoke(_ host: HostName) async throws
  /// All certificates that were given to hosts and have not ended long ago, in the order of their serial numbers.
  func certificates() async throws -> [HostCertificate]

  /// Numbers that change when a certificate or a credential is added or revoked. Where several coordinators share a
  /// store, each of them asks every second, and reads both again when the numbers have changed.
  func identityMark() async throws -> [Int64]

  // MARK: Hosts

  /// Keeps the last reports of hosts. `explain` uses the report of a host that is not connected. The report of a lease
  /// that is not the host's present one is dropped.
  func noteReports(_ reports: [HostLease: HostWord], at now: Moment) async throws
  /// Records that the connection to the worker is gone: another process of the same name may have the name now. Nothing
  /// happens if the worker has another connection since. Throws `.moved` if the lease is not the host's present one.
  func noteAway(_ lease: HostLease, link: Int64) async throws
  /// Ends a lease, and all launches under it as `lost`. Nothing happens if the lease has ended. Throws `.moved` if the
  /// lease is not the host's present one.
  /// - Parameter countsAsLoss: false if the launches are blameless, as at the end of a `run` or `up` process. The value
  ///   is passed on to `Ledger.end`: blameless launches resume at once and do not count towards quarantine.
  func endLease(_ lease: HostLease, countsAsLoss: Bool, at now: Moment) async throws -> [EndingAnswer]
  /// Ends the lease of a worker process that has died, whichever coordinator owns the lease. Nothing happens if another
  /// process holds it.
  func endLease(of process: WorkerProcess, countsAsLoss: Bool, at now: Moment) async throws -> [EndingAnswer]
  /// The launches that run on the host according to the store, as they would be assigned now.
  func assignments(on host: HostName) async throws -> [Assignment]
  /// Sets whether a host drains. Throws `.notFound` if the host is unknown.
  func setDraining(_ host: HostName, _ isDraining: Bool, at now: Moment) async throws
  /// Sets whether launches of a definition, or of one identifier of a wildcard, are kept off a host. An eviction stays
  /// until it is taken back. Throws `.notFound` if the host is unknown.
  func setEvicted(_ pattern: IdentifierPattern, from host: HostName, _ isEvicted: Bool) async throws
  /// Sets whether the fleet is paused.
  func setPaused(_ isPaused: Bool) async throws

  // MARK: Operators

  /// Cancels requests. A request that does not run ends at once. A request that runs is marked as cancelled, and the
  /// answer names the launch that has to be stopped. `.all` may take several transactions.
  /// - Parameters:
  ///   - principal: who cancels, in the caller's own words.
  ///   - histories: the obstacles of each class, for the spans of the waits that end here.
  func cancel(
    _ selection: RequestSelection, by principal: String, histories: [RequirementClass: WaitHistory], at now: Moment
  ) async throws -> [Cancellation]
  /// Makes a failed request ready again; it continues from its checkpoint. Without `skipping` and `definition` it also
  /// makes a request due that waits for its next launch after a failed or lost one; what its ledger counts stays.
  /// - Parameters:
  ///   - skipping: which batch is recorded as skipped. The request, or the shard, continues after it.
  ///   - definition: the definition that the request continues under; `nil` keeps its present one.
  /// - Throws: `.refused` if the request has not failed, if its identifier has a live request, if the definition cannot
  ///   be run, if `skipping` names no failed shard or leaves open which one, or for the reasons of `redefine`;
  ///   `.notFound` if there is no such request.
  func retry(
    _ request: RequestID, skipping: SkippedBatch, as definition: DefinitionID?, at now: Moment
  ) async throws -> RequestRecord
  /// Sets how many shards of a request may be in work at once, while it waits or runs. If the number falls, shards that
  /// do not run wait for a lane, and the answer names the launches that have to stop.
  /// - Throws: `.refused` if the request has ended, if its definition does not say `work.spread`, or if the number is
  ///   out of bounds; `.notFound` if there is no such request.
  func setSpread(_ request: RequestID, lanes: Int, at now: Moment) async throws -> SpreadAnswer
  /// Gives a pending request another definition; the request keeps its checkpoint. Where the new definition says
  /// something else than the old one about what decides when the request starts, the request follows the new one: the
  /// begin date, the repetition, the spacing of a refresh, the priority and the backoff.
  /// - Throws: `.refused` if the request is not pending, if the definition is not applied or is the one that the
  ///   request has already, or if its items or batch size differ after a batch was committed; `.notFound` if there is
  ///   no such request.
  func redefine(_ request: RequestID, as definition: DefinitionID, at now: Moment) async throws -> RequestRecord
  /// Gives a pending request another priority. Its place among the requests of that priority is that of its age.
  /// - Throws: `.refused` if the request is not pending; `.notFound` if there is no such request.
  func setPriority(_ request: RequestID, _ priority: Priority) async throws -> RequestRecord
  /// Sets the limit of a key for all definitions; `nil` leaves it to the definitions again.
  func setLimit(_ key: LimitKey, _ setting: LimitSetting?, at now: Moment) async throws -> LimitRecord
  /// Keys that launches have had lately, or for which a person has set a limit, in the order of their texts.
  /// - Parameters:
  ///   - beginning: what the keys begin with.
  ///   - after: the key after which the page begins.
  func limits(
    beginningWith beginning: String, after: LimitKey?, limit: Int, at now: Moment
  ) async throws -> [LimitRecord]
  /// How many requests and shards wait for keys, by the code of their obstacle, together counted up to `most`.
  func waitingForKeys(most: Int) async throws -> [String: Int]
  /// Pauses the schedule of an identifier, so that no request starts that the calendar has made, or `repeat`. What runs
  /// goes on. A schedule that is paused already gets the new reason.
  /// - Throws: `.notFound` if no definition of the identifier is applied, and `.refused` if it does not come by itself.
  func pauseSchedule(
    of identifier: JobIdentifier, by principal: String, because reason: String, at now: Moment) async throws
  /// Ends the pause of a schedule. The times that have passed count as `missed` says.
  /// - Returns: the pause that has ended; `nil` if the schedule was not paused.
  func resumeSchedule(of identifier: JobIdentifier, at now: Moment) async throws -> SchedulePause?
  /// Begins to submit requests for times of a schedule that have passed, one after the other.
  /// - Parameter seed: the trace of the first request.
  /// - Throws: `.notFound` if no definition of the identifier is applied; `.refused` if it has no schedule, if a
  ///   backfill of it goes on, or if no time lies in the range.
  func startBackfill(
    of identifier: JobIdentifier, _ backfill: Backfill, seed: TraceContext, at now: Moment) async throws
  /// Ends a backfill. What runs goes on.
  /// - Returns: how far the backfill had come; `nil` if there was none.
  func stopBackfill(of identifier: JobIdentifier, at now: Moment) async throws -> Backfill?
  /// The schedules that are paused, or of which a backfill goes on.
  func scheduleStandings() async throws -> [JobIdentifier: ScheduleStanding]

  // MARK: Reading

  /// The request with this number. Without a number: the identifier's live request, else its waiting one, else the one
  /// that ended last.
  func request(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord?
  func request(_ id: RequestID) async throws -> RequestRecord?
  /// The live request of the identifier, else the one with the highest number that was launched; `nil` if none was ever
  /// launched.
  func lastLaunched(_ identifier: JobIdentifier) async throws -> RequestRecord?
  /// The request of the identifier that waits for its first launch; `nil` if there is none.
  func waiting(_ identifier: JobIdentifier) async throws -> RequestRecord?
  /// The highest number below `number` of a request of the identifier that has output; `nil` if there is none.
  func lastOutput(of identifier: JobIdentifier, before number: Int) async throws -> Int?
  /// A page of the requests that match the filter, at most `limit`. The records contain no cursor and no payload.
  /// - Parameters:
  ///   - after: the `next` of the page before, or its last request; `nil` begins with the first one.
  ///   - window: how many requests are looked at if the list is narrowed by kind or submitter.
  /// - Throws: `.overloaded` while half of the write queue is full.
  func page(
    of filter: RequestFilter, after: RequestID?, limit: Int, window: Int
  ) async throws -> ListedRequests
  /// The shards of a request, in their order, at most `limit`; empty if it was not divided.
  /// - Parameter after: lists only shards with a higher number; `nil` begins with the first one.
  func shards(of request: RequestID, after: Int?, limit: Int) async throws -> [ShardRecord]
  /// The launches of a request and of its shards, in the order of their starts; empty if there are none. Of a
  /// request with shards the last ones are answered, at most `LaunchRecord.limitOfShards`.
  func launches(of request: RequestID) async throws -> [LaunchRecord]
  /// The history of a request, in order; empty if there is none.
  func events(of request: RequestID) async throws -> [EventRecord]
  /// The pokes that a request stands for, in the order in which they came.
  func pokes(of request: RequestID) async throws -> [PokeRecord]
  /// How many pending requests of the same class are expected to start before this one; `nil` if the request is not
  /// pending. Counting stops at `Verbs.countLimit`: one more stands for all that are more.
  func position(of request: RequestID) async throws -> Int?
  /// The ready requests of these classes: how many, and which of them start next. A class without one is left out.
  func queue(of classes: [RequirementClass]) async throws -> [QueuedClass]
  /// The last 64 KiB of a launch's output, in order, with the times at which it came.
  func outputPieces(of launch: LaunchKey) async throws -> [OutputPiece]
  /// Items that the launches of a request have found, whether or not a launch still runs.
  func items(of request: RequestID, start: Int, count: Int) async throws -> [String]
  /// How many requests each pattern has in each state. A state without requests is left out.
  func counts() async throws -> [DefinitionCount]
  /// Checks the whole store for damage, which may take seconds. Throws `.corrupt` if the store is damaged.
  func verify() async throws
  /// Since when the longest waiting ready request of these classes has been ready, on the wall clock; `nil` if none is
  /// ready.
  func oldestReady(of classes: [RequirementClass]) async throws -> Timestamp?

  // MARK: Keeping house

  /// Writes a copy of everything that was acknowledged so far to a new file on the store's machine, while the store is
  /// in use.
  /// - Parameters:
  ///   - path: an absolute path. No file of this name may exist.
  ///   - report: called from time to time. It must not block.
  /// - Throws: `.refused` if the path is not permitted or another backup is being written, `.cannotWrite`, `.corrupt`,
  ///   or `CancellationError`. In all of these cases no file of this name exists afterwards.
  func backUp(to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void) async throws -> BackupSummary

  /// Moves the store to another place while it is in use. Writes wait meanwhile, and reads go on. If the store leaves
  /// its place, the writes that waited and all later ones are answered with `.unavailable`, and this coordinator has to
  /// end: it goes on at the new place when it is started again. A rehearsal copies and compares beside the work.
  /// - Parameters:
  ///   - place: a database without tables, or the coordinator's own data folder.
  ///   - fleet: what all coordinators of the fleet have in common.
  /// - Throws: `.refused` if the store cannot move there; `CancellationError` if the task was cancelled or the move was
  ///   stopped; in these cases, and after errors of the other place, the store stays. `.relocated` if the store has
  ///   left and the last step of the move is missing, and `.unknown` if it is not known whether it has left: then this
  ///   coordinator has to end too.
  func move(to place: StorePlace, fleet: String?, _ options: StoreMove.Options) async throws -> StoreMove.Summary

  /// Deletes ended requests and submission ids beyond what `limits` keeps, in one small step. A request whose spans
  /// were not sent yet stays.
  /// - Returns: true if there may be more to delete.
  func prune(_ limits: RetentionLimits, at now: Moment) async throws -> Bool
  /// Forgets hosts that have been gone, and changes of conditions that have been kept, for longer than `limits` says,
  /// in one small step. A host keeps its secret, so that no other worker takes its name. Only for the steward.
  func forgetOld(_ limits: RetentionLimits, at now: Moment) async throws -> Forgotten
  /// Deletes ended requests that an operator has chosen, those that ended first at the beginning, at most
  /// `PruneSelection.most`, in steps that are transactions of their own. A request whose spans were not sent yet stays.
  /// - Parameter isRehearsal: whether nothing is deleted; the answer then says what would be.
  func prune(_ selection: PruneSelection, isRehearsal: Bool, at now: Moment) async throws -> PruneAnswer
}
