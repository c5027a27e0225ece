package import BatonModel

/// A request as it is read from the store, with its progress and the parts of its definition that lists show.
package struct RequestRecord: Hashable, Sendable {
  package var id: RequestID
  package var identifier: JobIdentifier
  /// The number of the request within its identifier, from 1.
  package var number: Int
  package var definition: DefinitionID
  package var pattern: IdentifierPattern
  package var kind: JobKind
  package var title: String?
  package var subtitle: String?
  package var state: RequestState
  package var priority: Priority
  package var submittedAt: Timestamp
  package var principal: String
  /// The earliest time of the next launch. It is on the wall clock if `isDated` is true, and otherwise on the steady
  /// clock; the times in `waitsBecause` are on the same clock. `distantFuture` while the request waits for the live
  /// one.
  package var eligibleAt: Timestamp
  package var isDated: Bool
  /// Why the request is scheduled rather than ready; `nil` if it is not scheduled.
  package var waitsBecause: Obstacle?
  package var launches: Int
  package var progress: Progress
  package var ledger: Ledger
  /// The host on which the request runs now or ran last; `nil` before its first launch.
  package var host: HostName?
  package var startedAt: Timestamp?
  package var endedAt: Timestamp?
  /// How the last launch ended; nil before the first launch, while a launch runs, and once the request has ended.
  package var lastOutcome: LaunchOutcome.Kind?
  /// Why the request or, before it has ended, its last launch ended as it did: the text of the failure, the code of the
  /// expiry, or the principal who cancelled the request.
  package var reason: String?
  package var trace: TraceContext
  package var payload: [UInt8]?
  package var frozenItems: Int?
  /// The priority of the poke that the request stands for; `nil` if no poke asked for it.
  package var poke: PokePriority?
  /// Whether the request's definition repeats, so that another request follows this one.
  package var repeats = false
  /// The indexes of the batches that an operator skipped, in order.
  package var skippedBatches: [Int]
  /// How many of `progress.completedUnits` were skipped and not done.
  package var skippedUnits: Int64

  package init(
    id: RequestID, identifier: JobIdentifier, number: Int, definition: DefinitionID, pattern: IdentifierPattern,
    kind: JobKind, title: String? = nil, subtitle: String? = nil, state: RequestState, priority: Priority,
    submittedAt: Timestamp, principal: String, eligibleAt: Timestamp, isDated: Bool = false,
    waitsBecause: Obstacle? = nil, launches: Int,
    progress: Progress, ledger: Ledger, host: HostName? = nil, startedAt: Timestamp? = nil,
    endedAt: Timestamp? = nil, lastOutcome: LaunchOutcome.Kind? = nil, reason: String? = nil, trace: TraceContext,
    payload: [UInt8]? = nil, frozenItems: Int? = nil, poke: PokePriority? = nil, skippedBatches: [Int] = [],
    skippedUnits: Int64 = 0
  ) {
    self.id = id
    self.identifier = identifier
    self.number = number
    self.definition = definition
    self.pattern = pattern
    self.kind = kind
    self.title = title
    self.subtitle = subtitle
    self.state = state
    self.priority = priority
    self.submittedAt = submittedAt
    self.principal = principal
    self.eligibleAt = eligibleAt
    self.isDated = isDated
    self.waitsBecause = waitsBecause
    self.launches = launches
    self.progress = progress
    self.ledger = ledger
    self.host = host
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.lastOutcome = state.isEnded ? nil : lastOutcome
    self.reason = reason
    self.trace = trace
    self.payload = payload
    self.frozenItems = frozenItems
    self.poke = poke
    self.skippedBatches = skippedBatches
    self.skippedUnits = skippedUnits
  }

  /// The code of how the request ended or, before that, of how its last launch ended; nil if there is neither.
  package var outcome: String? { state.isEnded ? state.rawValue : lastOutcome?.rawValue }

  /// The units that were done, without those of skipped batches.
  package var doneUnits: Int64 { max(0, progress.completedUnits - skippedUnits) }

  /// The record with the times of a pending request converted to the wall clock, for people.
  package func onWallClock(at now: Moment) -> RequestRecord {
    // Only a pending request has times that are still to come. For all other requests the times are history and are not
    // shown.
    guard !isDated, state.isPending else { return self }
    var record = self
    record.isDated = true
    record.eligibleAt = now.date(ofSteady: eligibleAt)
    record.waitsBecause = waitsBecause?.shifted(by: now.date - now.steady)
    return record
  }
}

/// One launch of a request, as it is read and shown.
package struct LaunchRecord: Hashable, Sendable {
  package var launch: LaunchKey
  package var host: HostName
  package var startedAt: Timestamp
  package var endedAt: Timestamp?
  /// How the launch ended; nil while it runs.
  package var outcome: LaunchOutcome.Kind?
  /// The text of a failure, or the code of an expiry.
  package var reason: String?
  package var isGraceful: Bool
  /// The index of the first batch that this launch may commit.
  package var firstBatch: Int
  /// How many batches this launch has committed.
  package var batches: Int
  package var spanID: SpanID
  package var expiringReason: ExpiryReason?
  package var expiringSince: Timestamp?
  /// Whether `baton simulate launch` started it.
  package var isSimulated: Bool

  package init(
    launch: LaunchKey, host: HostName, startedAt: Timestamp, endedAt: Timestamp? = nil,
    outcome: LaunchOutcome.Kind? = nil, reason: String? = nil, isGraceful: Bool, firstBatch: Int, batches: Int,
    spanID: SpanID,
    expiringReason: ExpiryReason? = nil, expiringSince: Timestamp? = nil, isSimulated: Bool = false
  ) {
    self.launch = launch
    self.host = host
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.outcome = outcome
    self.reason = reason
    self.isGraceful = isGraceful
    self.firstBatch = firstBatch
    self.batches = batches
    self.spanID = spanID
    self.expiringReason = expiringReason
    self.expiringSince = expiringSince
    self.isSimulated = isSimulated
  }
}

/// One poke that a request stands for.
package struct PokeRecord: Hashable, Sendable {
  /// The id that the client gave to the poke.
  package var id: String
  package var at: Timestamp
  package var priority: PokePriority
  package var principal: String

  package init(id: String, at: Timestamp, priority: PokePriority, principal: String) {
    self.id = id
    self.at = at
    self.priority = priority
    self.principal = principal
  }
}

/// An event in the history of a request.
package struct EventRecord: Hashable, Sendable {
  package var at: Timestamp
  /// The name of the event, for example `replaced`, `retried` or `skippedBatch`.
  package var name: String
  package var detail: String?

  package init(at: Timestamp, name: String, detail: String? = nil) {
    self.at = at
    self.name = name
    self.detail = detail
  }
}

/// How many requests of a pattern are in a state.
package struct DefinitionCount: Hashable, Sendable {
  package var pattern: IdentifierPattern
  package var state: RequestState
  package var count: Int

  package init(pattern: IdentifierPattern, state: RequestState, count: Int) {
    self.pattern = pattern
    self.state = state
    self.count = count
  }
}

/// How long, and how many of, ended requests, submission ids and unsent spans are kept.
package struct RetentionLimits: Hashable, Sendable {
  /// The time for which an ended request is kept, on the wall clock.
  package var endedFor: Duration
  /// The largest number of ended requests that are kept.
  package var endedCount: Int
  /// The time for which the id of a submission is kept, on the steady clock.
  package var submissionsFor: Duration
  /// How long spans that no backend accepted are kept after the end of their request
  /// (Documentation/reference/limits.md).
  package var spansFor: Duration
  /// The largest number of unsent occasions that are kept, each of one to three spans.
  package var spanCount: Int
  /// The largest number of rows that one step deletes.
  package var step: Int

  package init(
    endedFor: Duration = .seconds(30 * 86_400), endedCount: Int = 100_000,
    submissionsFor: Duration = .seconds(7 * 86_400), spansFor: Duration = .seconds(7 * 86_400),
    spanCount: Int = 1_000_000, step: Int = 500
  ) {
    self.spansFor = spansFor
    self.spanCount = spanCount
    self.endedFor = endedFor
    self.endedCount = endedCount
    self.submissionsFor = submissionsFor
    self.step = step
  }
}
