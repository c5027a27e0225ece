package import BatonModel
package import BatonStore
package import BatonTelemetry

/// The calls of operators to a coordinator, either in this process or over gRPC. Errors are `OperatorError`, or
/// `CoordinatorUnreachable`.
package protocol OperatorAPI: Sendable {
  /// Stores definitions, and submits the requests that applying them causes.
  func apply(_ definitions: [Definition]) async throws -> [AppliedDefinition]
  /// The definitions that are applied now, sorted by pattern.
  /// - Parameter patterns: lists only definitions that one of them names; if it is empty, all.
  func definitions(named patterns: [IdentifierPattern]) async throws -> [DefinitionReport]
  /// The definition under which a request runs, or will run. Without a number, it is the current request.
  func definition(of identifier: JobIdentifier, number: Int?) async throws -> RequestDefinition
  /// Removes the definition with this pattern.
  func remove(_ pattern: IdentifierPattern) async throws
  /// Submits requests.
  /// - Returns: the results in the order of `orders`. A refused submission does not affect the others.
  func submit(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult]
  /// Submits all orders as one flow, or none: each waits for those that `after` of its definition names. The answers
  /// are in the order of the orders; if one is refused, all are.
  func submitFlow(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult]
  /// Everything that `baton show` prints about a request. The call counts as use of the definition.
  /// - Parameters:
  ///   - number: the number of the request; nil selects a request with `choice`.
  ///   - choice: which request to select if `number` is nil.
  func details(_ identifier: JobIdentifier, number: Int?, choosing choice: RequestChoice) async throws -> RequestDetails
  /// A page of the requests that match a filter, in its order, at most `limit`.
  /// - Parameter after: the `next` of the page before, or its last request; nil begins with the first one.
  func page(of filter: RequestFilter, after: RequestID?, limit: Int) async throws -> ListedRequests
  /// Calls `body` with the request now and after every change, until the request has ended.
  func watch(
    _ identifier: JobIdentifier, number: Int?, _ body: @escaping @Sendable (RequestDetails) async throws -> Void
  ) async throws
  /// Calls `body` with the output of one launch, or of all launches in order.
  func logs(
    _ identifier: JobIdentifier, number: Int?, _ selection: LogSelection,
    _ body: @escaping @Sendable (LogPiece) async throws -> Void
  ) async throws
  func cancel(_ selection: CancelSelection, by principal: String) async throws -> [Cancellation]
  /// Lets a failed request continue from its checkpoint. Without a number, it is the request that was launched last.
  /// - Parameter withNewDefinition: if true, the request continues with the definition that is now applied for its
  ///   identifier. The call is refused (`.conflict`) if that definition has other items or another batch size, or if
  ///   the request has it already.
  func retry(
    _ identifier: JobIdentifier, number: Int?, skipping: SkippedBatch, withNewDefinition: Bool
  ) async throws -> RequestRecord
  /// Gives a pending request the definition that is now applied for its identifier. The call is refused for the
  /// reasons given in `retry`, and while the request runs.
  func redefine(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord
  /// Sets how many shards of a divided request may be in work at once. If the number falls, the shards that are too
  /// many are asked to stop.
  func setSpread(_ identifier: JobIdentifier, number: Int?, lanes: Int) async throws -> RequestRecord
  /// Gives a pending request another priority.
  func setPriority(_ identifier: JobIdentifier, number: Int?, _ priority: Priority) async throws -> RequestRecord
  /// Sets the limit of a key for all definitions; `nil` leaves it to the definitions again.
  /// - Throws: `OperatorError.invalid` if the key or a number is out of its bounds.
  func setLimit(_ key: LimitKey, _ setting: LimitSetting?) async throws -> LimitRecord
  /// The keys that launches have had lately, or for which a person has set a limit, in the order of their texts.
  /// - Parameters:
  ///   - beginning: what the keys begin with.
  ///   - after: the key after which the page begins; `nil` begins with the first one.
  func limits(beginningWith beginning: String, after: LimitKey?, limit: Int) async throws -> [LimitRecord]
  /// Pauses the schedules of all definitions that a pattern names and that come by themselves, or ends their pauses.
  /// - Parameter principal: who asks for it, in the caller's own words.
  /// - Returns: the schedules with the pauses that have begun or ended, in the order of their identifiers.
  func setSchedules(
    _ pattern: IdentifierPattern, _ word: ScheduleWord, by principal: String
  ) async throws -> [ChangedSchedule]
  /// Begins to submit requests for times of a schedule that have passed, one after the other.
  /// - Parameter isRehearsal: if true, nothing is begun, and the answer says what would be.
  /// - Returns: how many times there are.
  func backfill(_ order: BackfillOrder, by principal: String, isRehearsal: Bool) async throws -> BackfillPlan
  /// Ends a backfill.
  /// - Returns: how far it had come.
  func stopBackfill(of identifier: JobIdentifier) async throws -> Backfill
  /// The shards of a divided request, in their order, at most `limit`.
  /// - Parameter after: lists only shards with a higher number; `nil` begins with the first one.
  func shards(_ identifier: JobIdentifier, number: Int?, after: Int?, limit: Int) async throws -> [ShardRecord]
  /// The items of batches of a request.
  /// - Parameters:
  ///   - shard: the shard of a divided request; nil means the shards that have failed.
  ///   - batch: nil means the batch that comes next, which a retry would skip.
  /// - Throws: `OperatorError.conflict` if the request has no items, or no such batch.
  func batches(_ identifier: JobIdentifier, number: Int?, shard: Int?, batch: Int?) async throws -> BatchList
  func setDraining(_ host: HostName, _ isDraining: Bool) async throws
  /// Releases the name of a host: the next worker with this name is accepted with any secret. Use it for a host that
  /// was installed again.
  func forget(_ host: HostName) async throws
  /// What clients of other machines need in order to recognise the fleet.
  func fleet() async throws -> FleetDescription
  /// Permits one new host to join the fleet.
  /// - Parameters:
  ///   - lifetime: how long the invitation is valid: 1 second to 7 days.
  ///   - needsApproval: whether an operator has to approve the key of the host that uses it.
  func invite(
    _ host: HostName, for lifetime: Duration, by principal: String, needsApproval: Bool
  ) async throws -> InvitedHost
  /// The hosts that have shown the secret of an invitation and wait for their approval.
  func waitingHosts() async throws -> [WaitingHost]
  /// Lets a waiting host join.
  /// - Parameter number: the six digits that the host shows.
  func approve(_ host: HostName, number: String) async throws
  /// Makes the fleet's next root, which is used from the next start of the coordinator on.
  func rotateRoot() async throws -> FleetDescription
  /// Takes all certificates of a host back. Its connection ends, and its launches go on elsewhere.
  /// - Returns: how many certificates were revoked that had not ended.
  func revoke(_ host: HostName) async throws -> Int
  func setPaused(_ isPaused: Bool) async throws
  func hostReports() async throws -> [HostReport]
  /// The coordinators of the fleet, and those that ended in the last hour, in the order of their starts.
  func coordinators() async throws -> [CoordinatorReport]
  /// The namespaces of the fleet, in the order of their prefixes, and first what belongs to none.
  func namespaces() async throws -> NamespaceReports
  /// The transfers of requests that have not ended, in the order of their requests.
  /// - Parameter host: only those of this host; `nil` for all.
  func transfers(on host: HostName?) async throws -> FleetTransfers
  /// The notifications that wait for their receivers, and those that have failed.
  func notifications() async throws -> NotificationReports
  /// Sends a test to a receiver now.
  func testReceiver(_ name: ReceiverName) async throws -> ReceiverAnswer
  /// Asks the host of a transfer to end it, as a failure that its job is told.
  func cancelTransfer(_ key: TransferKey) async throws
  /// Calls `body` with what has changed, at most once a second, until the coordinator shuts down or `body` is too slow.
  func changes(_ body: @escaping @Sendable (Set<ChangeTopic>) async throws -> Void) async throws
  /// What keeps the fleet from working.
  func standing() async throws -> FleetStanding
  func explain(_ identifier: JobIdentifier, number: Int?) async throws -> Explanation
  /// `explain`, with hosts that have the same obstacles told together if there are more than `few`.
  func explain(_ identifier: JobIdentifier, number: Int?, groupingBeyond few: Int) async throws -> Explanation
  /// The hosts that match a filter, in the order of their names, at most `limit`. A page may have fewer.
  /// - Parameter after: the last host of the page before; nil begins with the first one.
  func hosts(_ filter: HostFilter, after: HostName?, limit: Int) async throws -> HostPage
  /// Forgets a host that is gone, with all that is known of it.
  func forgetHost(_ host: HostName) async throws
  /// How the conditions of a host have changed since a time, and what ran on it; the newest ones, at most `limit` of
  /// each.
  func history(of host: HostName, since: Timestamp, limit: Int) async throws -> HostHistory
  /// Deletes ended requests.
  /// - Parameter isRehearsal: if true, nothing is deleted, and the answer says what would be.
  func prune(_ selection: PruneSelection, isRehearsal: Bool) async throws -> PruneAnswer
  /// The versions that are kept of a definition, the newest first.
  func versions(of pattern: IdentifierPattern) async throws -> [DefinitionVersion]
  /// The classes of ready requests in the order in which they start.
  func queue() async throws -> QueueReport
  /// On how many hosts a request of each definition could start now, at most `AbleHosts.mostDefinitions` of them.
  func ableHosts(for definitions: [Definition]) async throws -> AbleHosts
  /// The trace of a request, read from the store alone, whether or not the request is sampled or its spans are
  /// exported.
  func trace(_ identifier: JobIdentifier, number: Int?) async throws -> RequestTrace
  /// Evicts the launches of a definition, or of one instance of a wildcard, from hosts, or ends the eviction.
  /// - Parameter hosts: the hosts to change. If it is empty, an eviction concerns the hosts where the pattern runs
  ///   now, and the end of an eviction all hosts.
  /// - Returns: the hosts concerned.
  func setEvicted(_ pattern: IdentifierPattern, from hosts: [HostName], _ isEvicted: Bool) async throws -> [HostName]
  /// Starts a pending request now, regardless of its times and of the conditions of the host.
  /// - Parameter host: the host to start on; nil takes the first host that can run it.
  func simulateLaunch(_ identifier: JobIdentifier, number: Int?, on host: HostName?) async throws -> SimulatedLaunch
  /// Expires the running launch as if for `reason`; nil simulates an expiry without a specific reason.
  func simulateExpiry(
    _ identifier: JobIdentifier, number: Int?, as reason: ExpiryReason.Kind?
  ) async throws -> SimulatedLaunch
  /// Replaces a host's real conditions for the given time. Empty overrides end the simulation.
  func simulateConditions(_ overrides: ConditionOverrides, on host: HostName, lasting: Duration) async throws
  /// Ends a transfer as failed, or interrupts its attempt. Throws `.conflict` if the transfer has ended, does not run
  /// for an interruption, or is on a host that is not connected here.
  func simulateTransfer(_ key: TransferKey, _ what: TransferSimulation) async throws
  /// Who the coordinator takes the caller for.
  func whoAmI() async throws -> Caller
  /// Makes a credential for an operator.
  func createCredential(_ order: CredentialOrder) async throws -> CreatedCredential
  /// All credentials that have not ended long ago, also revoked ones, in the order in which they were created.
  func credentials() async throws -> [Credential]
  /// Takes credentials back for ever, and ends their calls.
  /// - Parameter name: the name of credentials, or the id of one in hexadecimal digits.
  func revokeCredential(_ name: String) async throws -> RevokedCredentials
  /// The rows of the audit log after a number, in their order, at most `limit`. If the newest come first, they are the
  /// rows before the number, and 0 begins with the newest.
  func audit(_ filter: AuditFilter, after sequence: Int64, limit: Int) async throws -> [AuditRow]
  /// Checks that no row of the audit log was changed or removed.
  func verifyAudit() async throws -> AuditVerdict
  /// Writes a copy of the store to a new file on the coordinator's machine, while the store is in use.
  /// - Parameters:
  ///   - path: an absolute path on the coordinator's machine.
  ///   - report: called from time to time with the progress of the copy. It must not block.
  func backUpStore(
    to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary
  /// Moves the store to a database, or back to the coordinator's data folder, while the coordinator runs. Afterwards
  /// the coordinator ends, and goes on at the new place when it is started again.
  /// - Parameters:
  ///   - isRehearsal: copies and compares only, beside the work.
  ///   - report: called from time to time with the progress. It must not block.
  func moveStore(
    to place: StorePlace, isRehearsal: Bool, _ report: @escaping @Sendable (StoreMove.Progress) -> Void
  ) async throws -> StoreMove.Summary
}

extension OperatorAPI {
  /// The details of a request.
  /// - Parameter number: the number of the request; nil means the live request, otherwise the waiting request,
  ///   otherwise the last request to end.
  package func details(_ identifier: JobIdentifier, number: Int?) async throws -> RequestDetails {
    try await details(identifier, number: number, choosing: .current)
  }

  /// The requests that match a filter, in its order, at most `limit`, however many pages that takes.
  package func requests(_ filter: RequestFilter, after: RequestID?, limit: Int) async throws -> [RequestRecord] {
    try await filter.whole(after: after, limit: limit) { try await page(of: filter, after: $0, limit: $1) }
  }
}

/// A definition that is applied now.
package struct DefinitionReport: Hashable, Sendable {
  package var definition: Definition
  package var appliedAt: Timestamp
  /// Why the definition is not run: it breaks a rule of this version. `definition` is then a stand-in with the same
  /// pattern and without work.
  package var problem: String?
  /// How many requests of the definition's pattern there are in each state. Those that were submitted under an earlier
  /// definition of the same pattern count too.
  package var counts: [RequestState: Int]
  /// How long a batch usually takes; nil while that is not known.
  package var usualBatch: Duration?
  /// The launch time that is used of the daily allowance; nil if the definition has none.
  package var used: Duration?
  /// Whether its schedule is paused, and which backfill of it goes on.
  package var standing = ScheduleStanding()

  package init(
    definition: Definition, appliedAt: Timestamp, problem: String? = nil, counts: [RequestState: Int] = [:],
    usualBatch: Duration? = nil, used: Duration? = nil
  ) {
    (self.definition, self.appliedAt, self.problem, self.counts) = (definition, appliedAt, problem, counts)
    (self.usualBatch, self.used) = (usualBatch, used)
  }

  /// How many requests wait: scheduled and ready ones.
  package var waiting: Int { counts.filter { $0.key.isPending }.values.reduce(0, +) }
}

extension IdentifierPattern {
  /// Whether a person who writes this pattern means that definition: the definition has the pattern, is below it, or is
  /// the wildcard of the identifier.
  package func names(_ definition: IdentifierPattern) -> Bool {
    covers(definition) || !isWildcard && definition.covers(self)
  }
}

/// The definition of one request.
package struct RequestDefinition: Hashable, Sendable {
  package var definition: Definition
  /// Whether it is the definition that is applied now for the identifier.
  package var isApplied: Bool

  package init(definition: Definition, isApplied: Bool) { (self.definition, self.isApplied) = (definition, isApplied) }
}

/// Which request of an identifier a call without a number concerns.
package enum RequestChoice: Hashable, Sendable, CaseIterable {
  /// The live request, otherwise the request that waits for its first launch, otherwise the last request to end.
  case current
  /// The live request, otherwise the request that was launched last, otherwise the waiting request.
  case ran
  /// Like `ran` if the definition repeats and the next request is not due yet; otherwise like `current`.
  case ranIfRepeating
}

/// A launch that `baton simulate` started or asked to stop.
package struct SimulatedLaunch: Hashable, Sendable {
  package var identifier: JobIdentifier
  package var number: Int
  package var launch: Int
  package var host: HostName
}

/// One submission, as a client asks for it.
package struct SubmissionOrder: Hashable, Sendable {
  /// The submission id, which the client draws and repeats in every retry of this submission.
  package var id: String
  package var identifier: JobIdentifier
  package var payload: [UInt8]?
  package var earliestBeginDate: EarliestBeginDate?
  package var priority: Priority?
  /// The priority of the poke; nil if the submission is not a poke.
  package var poke: PokePriority?
  /// The submitter's span. The request's spans become part of that trace.
  package var parent: TraceContext?

  package init(
    id: String, identifier: JobIdentifier, payload: [UInt8]? = nil, earliestBeginDate: EarliestBeginDate? = nil,
    priority: Priority? = nil, poke: PokePriority? = nil, parent: TraceContext? = nil
  ) {
    self.parent = parent
    self.id = id
    self.identifier = identifier
    self.payload = payload
    self.earliestBeginDate = earliestBeginDate
    self.priority = priority
    self.poke = poke
  }
}

package enum SubmissionResult: Hashable, Sendable {
  /// The submission was accepted. `warning` says why no known host could run the request now, or that its date is
  /// ignored; nil if there is nothing to warn of.
  case accepted(SubmissionReceipt, traceID: String, warning: String?)
  /// The submission was refused, with one of Apple's four codes and with what to do about it.
  case refused(code: String, message: String)
}

package struct RequestDetails: Hashable, Sendable {
  package var record: RequestRecord
  package var launches: [LaunchRecord]
  package var events: [EventRecord]
  /// The pokes that the request stands for.
  package var pokes: [PokeRecord] = []
  /// How many requests of its class go before it, if it is pending.
  package var position: Int?
  /// The request of the same identifier that waits for its first launch, if it is another request and the call had no
  /// number.
  package var waiting: RequestRecord?
  /// The number of the latest earlier request of the identifier that wrote output; only for `RequestChoice.ran`.
  package var earlierOutput: Int?
  /// Which version of its definition the request runs; nil if that version is not kept.
  package var version: VersionNumber?
  /// How the request has made progress since the first of its launches that run; nil if none runs, or another
  /// coordinator serves the host of one.
  package var curve: ProgressCurve?
  /// The requests of the same flow, this one among them; empty if the request was submitted alone.
  package var flow: [RequestRecord] = []
}

package enum CancelSelection: Hashable, Sendable {
  /// The live and the waiting request of the identifier, or the request with this number.
  case identifier(JobIdentifier, number: Int?)
  /// All requests of the flow with this number, in one transaction.
  case flow(RequestID)
  case all
}

/// No coordinator answers at the address, or it does not accept the token. Clients learn this within five seconds.
package struct CoordinatorUnreachable: Error, Sendable, CustomStringConvertible {
  package var message: String
  /// True if a coordinator answers but does not accept the token.
  package var isNotPermitted: Bool

  package init(_ message: String, isNotPermitted: Bool = false) {
    self.message = message
    self.isNotPermitted = isNotPermitted
  }

  package var description: String { message }
}

/// Which output of a request is wanted.
package struct LogSelection: Hashable, Sendable {
  package enum Shards: Hashable, Sendable {
    case one(Int)
    case all
  }

  /// The shards of a divided request. A request that is not divided has only shard 0.
  package var shards: Shards
  /// Only this launch; nil means every launch.
  package var launch: Int?
  /// If true, the call goes on with new output until the request has ended.
  package var follows: Bool
  /// Of the output that is there at the call, only the last lines, of all launches together; nil means all.
  package var tail: Int?
  /// Of the output that is there at the call, only what the coordinator took from then on. Output without a time, which
  /// an earlier version stored, is always given.
  package var since: Timestamp?

  package init(
    shards: Shards = .one(0), launch: Int? = nil, follows: Bool = false, tail: Int? = nil, since: Timestamp? = nil
  ) {
    (self.shards, self.launch, self.follows) = (shards, launch, follows)
    (self.tail, self.since) = (tail, since)
  }

  package func names(_ shard: Int) -> Bool {
    switch shards {
    case .one(let one): one == shard
    case .all: true
    }
  }
}

/// A part of the output of a launch.
package struct LogPiece: Hashable, Sendable {
  package var launch: Int
  /// The shard, if the output of every shard was wanted and the request is divided.
  package var shard: Int?
  /// When the coordinator took the first byte; nil if that is not known.
  package var takenAt: Timestamp?
  package var bytes: [UInt8]

  package init(launch: Int, shard: Int? = nil, takenAt: Timestamp? = nil, bytes: [UInt8]) {
    (self.launch, self.shard, self.takenAt, self.bytes) = (launch, shard, takenAt, bytes)
  }
}

extension OperatorAPI {
  /// Calls `body` with the output of the launches of a request that is not divided, or of its shard 0.
  package func logs(
    _ identifier: JobIdentifier, number: Int?, launch: Int?, follows: Bool,
    _ body: @escaping @Sendable (_ launch: Int, _ bytes: [UInt8]) async throws -> Void
  ) async throws {
    try await logs(identifier, number: number, LogSelection(launch: launch, follows: follows)) { piece in
      try await body(piece.launch, piece.bytes)
    }
  }
}
