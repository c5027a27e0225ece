package import BatonModel

/// Which classes have at least one ready request, and when other requests may become ready.
package struct ReadyRecord: Hashable, Sendable {
  package var classes: [RequirementClass]
  package var nextDue: NextDue
}

/// What a coordinator reads from the store when it starts. It restores the dispatcher with this record.
package struct FleetRecord: Hashable, Sendable {
  /// The random name of the store, which is drawn when the store is made and changes when it went backwards.
  package var storeIncarnation: String
  package var isPaused: Bool
  package var hosts: [HostRecord]
  /// The launches that run, for workers that connect again and for counting `maxRunning`.
  package var running: [RunningRecord]
  /// The classes with at least one ready request.
  package var readyClasses: [RequirementClass]
  /// The definitions of `readyClasses` and of `running`.
  package var definitions: [DefinitionID: Definition]
  package var nextDue: NextDue
  /// The launch time that is used of daily allowances, by the pattern of the definition.
  package var use: [IdentifierPattern: DailyUse]
  /// How long the batches of a definition usually take (95th percentile).
  package var usualBatches: [IdentifierPattern: Duration]
  /// When a person used a definition last, on the steady clock, with a precision of some minutes.
  package var lastUses: [IdentifierPattern: Timestamp]
  /// The last reading of the clocks that was stored; `nil` if no coordinator has stored one.
  package var clock: ClockReading?

  package init(
    storeIncarnation: String, isPaused: Bool, hosts: [HostRecord], running: [RunningRecord],
    readyClasses: [RequirementClass], definitions: [DefinitionID: Definition], nextDue: NextDue = NextDue(),
    use: [IdentifierPattern: DailyUse] = [:], usualBatches: [IdentifierPattern: Duration] = [:],
    lastUses: [IdentifierPattern: Timestamp] = [:], clock: ClockReading? = nil
  ) {
    self.lastUses = lastUses
    self.storeIncarnation = storeIncarnation
    self.isPaused = isPaused
    self.hosts = hosts
    self.running = running
    self.readyClasses = readyClasses
    self.definitions = definitions
    self.nextDue = nextDue
    self.use = use
    self.usualBatches = usualBatches
    self.clock = clock
  }
}

/// What a worker's last receipt says about the store that the worker connects to.
package enum ReceiptStanding: Hashable, Sendable {
  /// The store has everything that the worker was told.
  case covered
  /// The store lacks something that it has acknowledged: it went backwards, under its present name or under the name
  /// before. The associated receipt says how far the store reaches.
  case ahead(of: Receipt)
  /// The receipt is of another store.
  case foreign
}

/// How the secret in a worker's hello compares with the secret that the store keeps for the host's name.
package enum SecretStanding: Hashable, Sendable {
  /// The worker sent the secret that is kept for this name.
  case matches
  /// No secret is kept for this name.
  case unclaimed
  /// Another secret is kept for this name.
  case differs
  /// A secret is kept for this name, and the worker sent none.
  case missing
}

/// When the next scheduled request may become ready. There are two times, because a date that a person wrote down is
/// compared with the wall clock, and everything else with the steady clock. A time is `nil` if nothing waits for it.
package struct NextDue: Hashable, Sendable {
  package var steady: Timestamp?
  package var date: Timestamp?

  package init(steady: Timestamp? = nil, date: Timestamp? = nil) {
    self.steady = steady
    self.date = date
  }

  /// Whether one of the times has come.
  package func hasCome(at now: Moment) -> Bool {
    steady.map { $0 <= now.steady } ?? false || date.map { $0 <= now.date } ?? false
  }

  /// Keeps the earlier time of both, for each clock.
  package mutating func join(_ other: NextDue) {
    steady = [steady, other.steady].compactMap { $0 }.min()
    date = [date, other.date].compactMap { $0 }.min()
  }
}

/// A reading of the clocks, with which the next coordinator continues the steady clock.
package struct ClockReading: Hashable, Sendable {
  package var moment: Moment
  /// The boot of the machine that `instant` belongs to. Instants of two boots cannot be compared.
  package var boot: String
  package var instant: Instant

  package init(moment: Moment, boot: String, instant: Instant) {
    self.moment = moment
    self.boot = boot
    self.instant = instant
  }
}

/// What a host reported about itself last, as the store keeps it. `explain` judges a host that is not connected by this
/// report.
package struct HostWord: Hashable, Sendable, Codable {
  package var version: String
  package var capabilities: Capabilities
  package var conditions: Conditions

  package init(version: String, capabilities: Capabilities, conditions: Conditions) {
    self.version = version
    self.capabilities = capabilities
    self.conditions = conditions
  }
}

/// A host as the store knows it.
package struct HostRecord: Hashable, Sendable {
  package var name: HostName
  package var isDraining: Bool
  /// The incarnation that holds the lease; `nil` if no incarnation does.
  package var incarnation: Incarnation?
  /// When the host connected, sent a stored report or lost its lease last, on the wall clock.
  package var lastSeenAt: Timestamp
  package var evictions: Set<IdentifierPattern>
  /// The launch time that is used of the host's own daily allowance.
  package var use: DailyUse
  /// The last report; `nil` if the host has never sent one that this version can read.
  package var word: HostWord?

  package init(
    name: HostName, isDraining: Bool, incarnation: Incarnation? = nil, lastSeenAt: Timestamp,
    evictions: Set<IdentifierPattern> = [], use: DailyUse = DailyUse(), word: HostWord? = nil
  ) {
    self.name = name
    self.isDraining = isDraining
    self.incarnation = incarnation
    self.lastSeenAt = lastSeenAt
    self.evictions = evictions
    self.use = use
    self.word = word
  }
}

/// A launch that runs, as a coordinator restores it when it starts.
package struct RunningRecord: Hashable, Sendable {
  package var launch: LaunchKey
  package var host: HostName
  package var incarnation: Incarnation
  package var requirementClass: RequirementClass
  package var identifier: JobIdentifier
  /// Why the launch was asked to stop; `nil` if it was not.
  package var expiring: ExpiryReason?
  /// When the launch started, on the steady clock.
  package var startedSteady: Timestamp

  package init(
    launch: LaunchKey, host: HostName, incarnation: Incarnation, requirementClass: RequirementClass,
    identifier: JobIdentifier, expiring: ExpiryReason? = nil, startedSteady: Timestamp
  ) {
    self.launch = launch
    self.host = host
    self.incarnation = incarnation
    self.requirementClass = requirementClass
    self.identifier = identifier
    self.expiring = expiring
    self.startedSteady = startedSteady
  }
}

/// A definition that is applied now.
package struct StoredDefinition: Hashable, Sendable {
  package var id: DefinitionID
  /// The definition. If there is a `problem`, it is a stand-in with the same pattern and without work.
  package var definition: Definition
  package var appliedAt: Timestamp
  /// Why the stored definition was replaced by a stand-in: it breaks a rule of this version, so it is not run and takes
  /// no submissions. `nil` for a valid definition.
  package var problem: DefinitionProblem?

  package init(
    id: DefinitionID, definition: Definition, appliedAt: Timestamp, problem: DefinitionProblem? = nil
  ) {
    self.id = id
    self.definition = definition
    self.appliedAt = appliedAt
    self.problem = problem
  }
}

/// A stored definition that breaks a rule of this version, and how many of its requests were failed for this reason.
package struct UnusableDefinition: Hashable, Sendable {
  package var pattern: IdentifierPattern
  package var problem: DefinitionProblem
  /// The number of unfinished requests that were failed.
  package var failedRequests: Int
}

/// The answer to one applied definition.
package struct AppliedDefinition: Hashable, Sendable {
  package enum Change: String, Hashable, Sendable { case created, updated, unchanged }
  package var id: DefinitionID
  package var pattern: IdentifierPattern
  package var change: Change
  /// The first request of a repeating definition; `nil` if this application submitted none.
  package var submitted: SubmissionReceipt?

  package init(id: DefinitionID, pattern: IdentifierPattern, change: Change, submitted: SubmissionReceipt? = nil) {
    self.id = id
    self.pattern = pattern
    self.change = change
    self.submitted = submitted
  }
}

/// A submission with the definition that applies to its identifier and, if one is free, a host on which it may start at
/// once.
package struct SubmissionOffer: Hashable, Sendable {
  package var submission: Submission
  package var definition: DefinitionID
  package var host: Offer?
  /// Why the submission is refused unless its id is known already, for example because of strategy `fail` and no free
  /// host; `nil` if the coordinator found no reason.
  package var refusal: Refusal?
  /// What kept the requests of the class waiting. It is needed if the submission replaces a request that was waiting
  /// and starts at once.
  package var history: WaitHistory?

  /// The place that the dispatcher reserved for the submission's first launch.
  package struct Offer: Hashable, Sendable {
    package var host: HostName
    package var incarnation: Incarnation
    package var gpus: [Int]
    /// The span id of the launch, if the submission starts one.
    package var spanID: SpanID
    package init(host: HostName, incarnation: Incarnation, gpus: [Int], spanID: SpanID) {
      self.host = host
      self.incarnation = incarnation
      self.gpus = gpus
      self.spanID = spanID
    }
  }

  package init(
    submission: Submission, definition: DefinitionID, host: Offer? = nil, refusal: Refusal? = nil,
    history: WaitHistory? = nil
  ) {
    self.history = history
    self.submission = submission
    self.definition = definition
    self.host = host
    self.refusal = refusal
  }
}

/// The request that a submission made, replaced or joined.
package struct SubmissionReceipt: Hashable, Sendable {
  package var request: RequestID
  package var identifier: JobIdentifier
  package var number: Int
  package var state: RequestState
  /// The earliest time of the first launch on the wall clock, as far as it could be foreseen when the submission was
  /// accepted.
  package var eligibleAt: Timestamp
  /// True if a waiting request was replaced. The request kept its number, and an event `replaced` was added to its
  /// trace. Also true for a poke that joined a waiting request.
  package var replaced: Bool
  /// When to promote the request; empty in an answer that is repeated.
  package var due: NextDue
  /// The trace id of the request (16 bytes), whichever submission made the request. `nil` in the answer to a repeated
  /// id if the request is not kept any more.
  package var traceID: TraceID?

  package init(
    request: RequestID, identifier: JobIdentifier, number: Int, state: RequestState, eligibleAt: Timestamp,
    replaced: Bool, due: NextDue = NextDue(), traceID: TraceID? = nil
  ) {
    self.traceID = traceID
    self.request = request
    self.identifier = identifier
    self.number = number
    self.state = state
    self.eligibleAt = eligibleAt
    self.replaced = replaced
    self.due = due
  }
}

/// The answer to a submission.
package enum SubmissionAnswer: Hashable, Sendable {
  /// `launch` is set if the request was started on the offered host. `isRepeat` is true if the id of the submission was
  /// known already.
  case accepted(SubmissionReceipt, class: RequirementClass, launch: Assignment?, isRepeat: Bool)
  case refused(Refusal)
}

/// The answer to `Store.promote`: how many requests of each class became ready, and when to promote again.
package struct Promotion: Hashable, Sendable {
  package var classes: [RequirementClass: Int]
  package var nextDue: NextDue

  package init(classes: [RequirementClass: Int], nextDue: NextDue = NextDue()) {
    self.classes = classes
    self.nextDue = nextDue
  }
}

/// A request for launches of one class on one host.
package struct Claim: Hashable, Sendable {
  package var requirementClass: RequirementClass
  package var host: HostName
  package var incarnation: Incarnation
  /// The places for the launches that are wanted: for each the GPUs and the span id that the launch gets.
  package var places: [Place]
  /// The obstacles that kept the class waiting, for the spans of its waits.
  package var history: WaitHistory?

  package struct Place: Hashable, Sendable {
    package var gpus: [Int]
    package var spanID: SpanID
    package init(gpus: [Int], spanID: SpanID) {
      self.gpus = gpus
      self.spanID = spanID
    }
  }

  package init(
    requirementClass: RequirementClass, host: HostName, incarnation: Incarnation, places: [Place],
    history: WaitHistory? = nil
  ) {
    self.history = history
    self.requirementClass = requirementClass
    self.host = host
    self.incarnation = incarnation
    self.places = places
  }
}

/// The answer to a claim.
package struct ClaimAnswer: Hashable, Sendable {
  package var assignments: [Assignment]
  /// Whether the class has ready requests left.
  package var hasMore: Bool
  /// Whether one of the requests that are left may run on this host. Requests whose identifier is evicted from the host
  /// may not.
  package var hasFitting: Bool
  /// When to promote what this claim scheduled: the next requests of repeating definitions, and requests whose date
  /// turned out not to have come.
  package var nextDue: NextDue

  package init(
    assignments: [Assignment], hasMore: Bool, hasFitting: Bool = false, nextDue: NextDue = NextDue()
  ) {
    self.assignments = assignments
    self.hasFitting = hasFitting
    self.hasMore = hasMore
    self.nextDue = nextDue
  }
}

/// The answer to a checkpoint.
package enum CheckpointAnswer: Hashable, Sendable {
  /// The batch is durable, through this checkpoint or through an earlier one.
  case committed(batch: Int)
  /// The launch is not the live launch of its request.
  case superseded
  /// The batch is not the next one, or the cursor is larger than its limit. The message says which.
  case refused(String)
}

/// The answer to an ending, with what became of the request.
package struct EndingAnswer: Hashable, Sendable {
  package var launch: LaunchKey
  /// False if the launch had ended before or was superseded. The request's state is then the one that the store has
  /// now.
  package var wasLive: Bool
  package var request: RequestID
  package var identifier: JobIdentifier
  package var state: RequestState
  package var requirementClass: RequirementClass
  /// The class of the waiting request of the same identifier, if this ending made it ready or scheduled it for a time;
  /// otherwise `nil`.
  package var released: RequirementClass?
  /// When to promote what this ending scheduled.
  package var nextDue: NextDue
  /// The outcome of the launch as the store recorded it; `nil` if the launch was not live.
  package var launched: Launched?
  /// The names of the launch for logs; `nil` if the launch was not live.
  package var subject: LaunchSubject?

  package struct Launched: Hashable, Sendable {
    package var outcome: LaunchOutcome
    /// The time from the start of the launch, on the steady clock.
    package var duration: Duration
    package var isGraceful: Bool

    package init(outcome: LaunchOutcome, duration: Duration, isGraceful: Bool) {
      (self.outcome, self.duration, self.isGraceful) = (outcome, duration, isGraceful)
    }
  }

  package init(
    launch: LaunchKey, wasLive: Bool, request: RequestID, identifier: JobIdentifier, state: RequestState,
    requirementClass: RequirementClass, released: RequirementClass? = nil, nextDue: NextDue = NextDue()
  ) {
    self.launch = launch
    self.wasLive = wasLive
    self.request = request
    self.identifier = identifier
    self.state = state
    self.requirementClass = requirementClass
    self.released = released
    self.nextDue = nextDue
  }
}

/// The answer to a page of items.
package enum ItemsAnswer: Hashable, Sendable {
  /// The page is stored. `count` is the number of items so far; after `isFrozen` no more items are taken.
  case committed(count: Int, isFrozen: Bool)
  /// The launch is not the live launch of its request.
  case superseded
  /// The page is out of order or breaks a limit. The message says which.
  case refused(String)
}

/// Which requests to cancel.
package enum RequestSelection: Hashable, Sendable {
  case request(RequestID)
  /// The live request and the waiting request of an identifier.
  case identifier(JobIdentifier)
  case all
}

/// What became of a request that was cancelled.
package enum Cancellation: Hashable, Sendable {
  /// The request has ended.
  case ended(RequestID, JobIdentifier, number: Int)
  /// The request runs. It ends when this launch has been stopped.
  case stopping(LaunchKey, JobIdentifier, number: Int, host: HostName)
}

/// Which requests a list contains. An empty set of states means all states.
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
