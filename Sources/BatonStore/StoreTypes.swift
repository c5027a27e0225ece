package import BatonModel

package struct FleetRecord: Hashable, Sendable {
  /// Drawn when the store was made or restored.
  package var storeIncarnation: String
  package var isPaused: Bool
  package var hosts: [HostRecord]
  /// Launches that run, by host; for re-attachment and for counting `maxRunning`.
  package var running: [RunningRecord]
  /// Classes with at least one ready request, and their definitions and those of `running`.
  package var readyClasses: [RequirementClass]
  package var definitions: [DefinitionID: Definition]
  /// When the next scheduled request becomes eligible.
  package var nextEligibleAt: Timestamp?

  package init(
    storeIncarnation: String, isPaused: Bool, hosts: [HostRecord], running: [RunningRecord],
    readyClasses: [RequirementClass], definitions: [DefinitionID: Definition], nextEligibleAt: Timestamp? = nil
  ) {
    self.storeIncarnation = storeIncarnation
    self.isPaused = isPaused
    self.hosts = hosts
    self.running = running
    self.readyClasses = readyClasses
    self.definitions = definitions
    self.nextEligibleAt = nextEligibleAt
  }
}

package struct HostRecord: Hashable, Sendable {
  package var name: HostName
  package var isDraining: Bool
  /// The incarnation that holds the lease, nil if none does.
  package var incarnation: Incarnation?
  package var lastSeenAt: Timestamp

  package init(name: HostName, isDraining: Bool, incarnation: Incarnation? = nil, lastSeenAt: Timestamp) {
    self.name = name
    self.isDraining = isDraining
    self.incarnation = incarnation
    self.lastSeenAt = lastSeenAt
  }
}

package struct RunningRecord: Hashable, Sendable {
  package var launch: LaunchKey
  package var host: HostName
  package var incarnation: Incarnation
  package var requirementClass: RequirementClass
  package var identifier: JobIdentifier
  package var expiring: ExpiryReason?

  package init(
    launch: LaunchKey, host: HostName, incarnation: Incarnation, requirementClass: RequirementClass,
    identifier: JobIdentifier, expiring: ExpiryReason? = nil
  ) {
    self.launch = launch
    self.host = host
    self.incarnation = incarnation
    self.requirementClass = requirementClass
    self.identifier = identifier
    self.expiring = expiring
  }
}

package struct StoredDefinition: Hashable, Sendable {
  package var id: DefinitionID
  package var definition: Definition
  package var appliedAt: Timestamp

  package init(id: DefinitionID, definition: Definition, appliedAt: Timestamp) {
    self.id = id
    self.definition = definition
    self.appliedAt = appliedAt
  }
}

package struct AppliedDefinition: Hashable, Sendable {
  package enum Change: String, Hashable, Sendable { case created, updated, unchanged }
  package var id: DefinitionID
  package var pattern: IdentifierPattern
  package var change: Change
  /// The first request of a repeating definition, if this application submitted one.
  package var submitted: SubmissionReceipt?

  package init(id: DefinitionID, pattern: IdentifierPattern, change: Change, submitted: SubmissionReceipt? = nil) {
    self.id = id
    self.pattern = pattern
    self.change = change
    self.submitted = submitted
  }
}

/// A submission with the definition it was resolved to and, if one is free, the host it may start on at once.
package struct SubmissionOffer: Hashable, Sendable {
  package var submission: Submission
  package var definition: DefinitionID
  package var host: Offer?
  /// Set for strategy `fail` when no host is free: why; the store then answers the refusal unless the id is known.
  package var refusal: Refusal?

  package struct Offer: Hashable, Sendable {
    package var host: HostName
    package var incarnation: Incarnation
    package var gpus: [Int]
    /// Span id of the launch, if there is one.
    package var spanID: [UInt8]
    package init(host: HostName, incarnation: Incarnation, gpus: [Int], spanID: [UInt8]) {
      self.host = host
      self.incarnation = incarnation
      self.gpus = gpus
      self.spanID = spanID
    }
  }

  package init(submission: Submission, definition: DefinitionID, host: Offer? = nil, refusal: Refusal? = nil) {
    self.submission = submission
    self.definition = definition
    self.host = host
    self.refusal = refusal
  }
}

package struct SubmissionReceipt: Hashable, Sendable {
  package var request: RequestID
  package var identifier: JobIdentifier
  package var number: Int
  package var state: RequestState
  package var eligibleAt: Timestamp
  /// True if a waiting request was replaced: it kept its number, its trace got an event `replaced`.
  package var replaced: Bool

  package init(
    request: RequestID, identifier: JobIdentifier, number: Int, state: RequestState, eligibleAt: Timestamp,
    replaced: Bool
  ) {
    self.request = request
    self.identifier = identifier
    self.number = number
    self.state = state
    self.eligibleAt = eligibleAt
    self.replaced = replaced
  }
}

package enum SubmissionAnswer: Hashable, Sendable {
  /// `launch` is set if the request was claimed for the offered host; `isRepeat` if the id was known already.
  case accepted(SubmissionReceipt, class: RequirementClass, launch: Assignment?, isRepeat: Bool)
  case refused(Refusal)
}

package struct Promotion: Hashable, Sendable {
  package var classes: [RequirementClass: Int]
  package var nextEligibleAt: Timestamp?

  package init(classes: [RequirementClass: Int], nextEligibleAt: Timestamp? = nil) {
    self.classes = classes
    self.nextEligibleAt = nextEligibleAt
  }
}

package struct Claim: Hashable, Sendable {
  package var requirementClass: RequirementClass
  package var host: HostName
  package var incarnation: Incarnation
  /// One entry per launch wanted: the GPUs and the span id it gets.
  package var places: [Place]

  package struct Place: Hashable, Sendable {
    package var gpus: [Int]
    package var spanID: [UInt8]
    package init(gpus: [Int], spanID: [UInt8]) {
      self.gpus = gpus
      self.spanID = spanID
    }
  }

  package init(requirementClass: RequirementClass, host: HostName, incarnation: Incarnation, places: [Place]) {
    self.requirementClass = requirementClass
    self.host = host
    self.incarnation = incarnation
    self.places = places
  }
}

package struct ClaimAnswer: Hashable, Sendable {
  package var assignments: [Assignment]
  /// False if the class has no ready request left.
  package var hasMore: Bool
  /// Repeating definitions whose next request this claim submitted: the dispatcher's next time may be sooner.
  package var nextEligibleAt: Timestamp?

  package init(assignments: [Assignment], hasMore: Bool, nextEligibleAt: Timestamp? = nil) {
    self.assignments = assignments
    self.hasMore = hasMore
    self.nextEligibleAt = nextEligibleAt
  }
}

package enum CheckpointAnswer: Hashable, Sendable {
  /// Durable, now or already before.
  case committed(batch: Int)
  /// The launch is not the live one of its request.
  case superseded
  /// It was not the next batch, or the cursor is over its limit; the message says which.
  case refused(String)
}

package struct EndingAnswer: Hashable, Sendable {
  package var launch: LaunchKey
  /// False if the launch had ended before, or was superseded; everything below then says what the store has now.
  package var wasLive: Bool
  package var request: RequestID
  package var identifier: JobIdentifier
  package var state: RequestState
  package var requirementClass: RequirementClass
  package var eligibleAt: Timestamp
  /// The class of the waiting request of the same identifier, if this ending made it ready or scheduled.
  package var released: RequirementClass?
  package var releasedEligibleAt: Timestamp?

  package init(
    launch: LaunchKey, wasLive: Bool, request: RequestID, identifier: JobIdentifier, state: RequestState,
    requirementClass: RequirementClass, eligibleAt: Timestamp, released: RequirementClass? = nil,
    releasedEligibleAt: Timestamp? = nil
  ) {
    self.launch = launch
    self.wasLive = wasLive
    self.request = request
    self.identifier = identifier
    self.state = state
    self.requirementClass = requirementClass
    self.eligibleAt = eligibleAt
    self.released = released
    self.releasedEligibleAt = releasedEligibleAt
  }
}

package enum ItemsAnswer: Hashable, Sendable {
  case committed(count: Int, isFrozen: Bool)
  case superseded
  case refused(String)
}

package enum RequestSelection: Hashable, Sendable {
  case request(RequestID)
  /// The live and the waiting request of an identifier.
  case identifier(JobIdentifier)
  case all
}

package enum Cancellation: Hashable, Sendable {
  case ended(RequestID, JobIdentifier, number: Int)
  case stopping(LaunchKey, JobIdentifier, number: Int, host: HostName)
}

package struct RequestFilter: Hashable, Sendable {
  package var states: Set<RequestState>
  package var pattern: IdentifierPattern?
  package var host: HostName?

  package init(states: Set<RequestState> = [], pattern: IdentifierPattern? = nil, host: HostName? = nil) {
    self.states = states
    self.pattern = pattern
    self.host = host
  }
}

package struct RequestRecord: Hashable, Sendable {
  package var id: RequestID
  package var identifier: JobIdentifier
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
  package var eligibleAt: Timestamp
  /// Why it is scheduled rather than ready; nil otherwise.
  package var waitsBecause: Obstacle?
  package var launches: Int
  package var progress: Progress
  package var ledger: Ledger
  /// Where it runs now, or ran last.
  package var host: HostName?
  package var startedAt: Timestamp?
  package var endedAt: Timestamp?
  /// Of the last launch that ended, or of the request once it ended.
  package var outcome: String?
  package var reason: String?
  package var trace: TraceContext
  package var payload: [UInt8]?
  package var frozenItems: Int?

  package init(
    id: RequestID, identifier: JobIdentifier, number: Int, definition: DefinitionID, pattern: IdentifierPattern,
    kind: JobKind, title: String? = nil, subtitle: String? = nil, state: RequestState, priority: Priority,
    submittedAt: Timestamp, principal: String, eligibleAt: Timestamp, waitsBecause: Obstacle? = nil, launches: Int,
    progress: Progress, ledger: Ledger, host: HostName? = nil, startedAt: Timestamp? = nil,
    endedAt: Timestamp? = nil, outcome: String? = nil, reason: String? = nil, trace: TraceContext,
    payload: [UInt8]? = nil, frozenItems: Int? = nil
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
    self.waitsBecause = waitsBecause
    self.launches = launches
    self.progress = progress
    self.ledger = ledger
    self.host = host
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.outcome = outcome
    self.reason = reason
    self.trace = trace
    self.payload = payload
    self.frozenItems = frozenItems
  }
}

package struct LaunchRecord: Hashable, Sendable {
  package var launch: LaunchKey
  package var host: HostName
  package var startedAt: Timestamp
  package var endedAt: Timestamp?
  /// Code of the outcome; nil while it runs.
  package var outcome: String?
  package var reason: String?
  package var isGraceful: Bool
  package var firstBatch: Int
  package var batches: Int
  package var spanID: [UInt8]
  package var expiringReason: ExpiryReason?
  package var expiringSince: Timestamp?

  package init(
    launch: LaunchKey, host: HostName, startedAt: Timestamp, endedAt: Timestamp? = nil, outcome: String? = nil,
    reason: String? = nil, isGraceful: Bool, firstBatch: Int, batches: Int, spanID: [UInt8],
    expiringReason: ExpiryReason? = nil, expiringSince: Timestamp? = nil
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
  }
}

package struct EventRecord: Hashable, Sendable {
  package var at: Timestamp
  /// `replaced`, `retried`, `skippedBatch` …
  package var name: String
  package var detail: String?

  package init(at: Timestamp, name: String, detail: String? = nil) {
    self.at = at
    self.name = name
    self.detail = detail
  }
}

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

package struct RetentionLimits: Hashable, Sendable {
  /// Ended requests older than this go.
  package var endedFor: Duration
  /// At most so many ended requests stay.
  package var endedCount: Int
  package var submissionsFor: Duration
  /// Rows deleted in one step.
  package var step: Int

  package init(
    endedFor: Duration = .seconds(30 * 86_400), endedCount: Int = 100_000,
    submissionsFor: Duration = .seconds(7 * 86_400), step: Int = 500
  ) {
    self.endedFor = endedFor
    self.endedCount = endedCount
    self.submissionsFor = submissionsFor
    self.step = step
  }
}
