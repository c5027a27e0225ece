package import BatonModel

/// What may start: classes with at least one ready request, and when there may be more.
package struct ReadyRecord: Hashable, Sendable {
  package var classes: [RequirementClass]
  package var nextDue: NextDue
}

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
  package var nextDue: NextDue
  /// What is used of daily allowances, by the pattern of the definition.
  package var use: [IdentifierPattern: DailyUse]
  /// How long the batches of a definition usually take.
  package var usualBatches: [IdentifierPattern: Duration]
  /// When a person used a definition last, on the steady clock and exact to some minutes.
  package var lastUses: [IdentifierPattern: Timestamp]
  /// Nil in a store that no coordinator has run on.
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

/// What a worker's receipt says of the store that it comes back to.
package enum ReceiptStanding: Hashable, Sendable {
  /// Everything that the worker was told is there.
  case covered
  /// The store lacks something that it had told: it went backwards, now or before it got its present name.
  case ahead(of: Receipt)
  /// The receipt is of another store.
  case foreign
}

/// What a store knows of the secret that a worker says hello with.
package enum SecretStanding: Hashable, Sendable {
  /// It is the one that came first with this name.
  case matches
  /// No secret is known for this name.
  case unclaimed
  /// Another secret is known for this name.
  case differs
  /// A secret is known for this name, and the worker sent none.
  case missing
}

/// When the next scheduled request may become ready: two times, because a date that somebody wrote down is compared
/// with the wall clock, and everything else with the steady one.
package struct NextDue: Hashable, Sendable {
  package var steady: Timestamp?
  package var date: Timestamp?

  package init(steady: Timestamp? = nil, date: Timestamp? = nil) {
    self.steady = steady
    self.date = date
  }

  package func hasCome(at now: Moment) -> Bool {
    steady.map { $0 <= now.steady } ?? false || date.map { $0 <= now.date } ?? false
  }

  /// The earlier of both, clock by clock.
  package mutating func join(_ other: NextDue) {
    steady = [steady, other.steady].compactMap { $0 }.min()
    date = [date, other.date].compactMap { $0 }.min()
  }
}

/// How far the steady clock was at a moment, and how to go on from there after a restart.
package struct ClockReading: Hashable, Sendable {
  package var moment: Moment
  /// Which boot of the machine `instant` belongs to; instants of two boots say nothing of each other.
  package var boot: String
  package var instant: Instant

  package init(moment: Moment, boot: String, instant: Instant) {
    self.moment = moment
    self.boot = boot
    self.instant = instant
  }
}

/// What a host said of itself last.
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

package struct HostRecord: Hashable, Sendable {
  package var name: HostName
  package var isDraining: Bool
  /// The incarnation that holds the lease, nil if none does.
  package var incarnation: Incarnation?
  package var lastSeenAt: Timestamp
  package var evictions: Set<IdentifierPattern>
  /// What is used of the host's own daily allowance.
  package var use: DailyUse
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

package struct RunningRecord: Hashable, Sendable {
  package var launch: LaunchKey
  package var host: HostName
  package var incarnation: Incarnation
  package var requirementClass: RequirementClass
  package var identifier: JobIdentifier
  package var expiring: ExpiryReason?
  /// On the steady clock.
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

package struct StoredDefinition: Hashable, Sendable {
  package var id: DefinitionID
  /// A stand-in of the same pattern, without work, if there is a `problem`.
  package var definition: Definition
  package var appliedAt: Timestamp
  /// Why the stored definition is set aside: nothing of it is run or submitted. nil for every definition that keeps the
  /// rules.
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

/// A stored definition that breaks a rule, and how many of its requests were failed for that.
package struct UnusableDefinition: Hashable, Sendable {
  package var pattern: IdentifierPattern
  package var problem: DefinitionProblem
  /// Requests that were unfinished until now.
  package var failedRequests: Int
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
  /// Of its class: for a request that waited before this submission took its place.
  package var history: WaitHistory?

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

package struct SubmissionReceipt: Hashable, Sendable {
  package var request: RequestID
  package var identifier: JobIdentifier
  package var number: Int
  package var state: RequestState
  /// On the wall clock, as far as it could be foreseen when the submission was accepted.
  package var eligibleAt: Timestamp
  /// True if a waiting request was replaced: it kept its number, its trace got an event `replaced`. Pokes that join one
  /// say so too.
  package var replaced: Bool
  /// When to promote it; empty in an answer that was given before.
  package var due: NextDue
  /// Of the request, whichever submission made it: 16 bytes. Nil in the answer to a repeated id whose request is not kept
  /// any more.
  package var traceID: [UInt8]?

  package init(
    request: RequestID, identifier: JobIdentifier, number: Int, state: RequestState, eligibleAt: Timestamp,
    replaced: Bool, due: NextDue = NextDue(), traceID: [UInt8]? = nil
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

package enum SubmissionAnswer: Hashable, Sendable {
  /// `launch` is set if the request was claimed for the offered host; `isRepeat` if the id was known already.
  case accepted(SubmissionReceipt, class: RequirementClass, launch: Assignment?, isRepeat: Bool)
  case refused(Refusal)
}

package struct Promotion: Hashable, Sendable {
  package var classes: [RequirementClass: Int]
  package var nextDue: NextDue

  package init(classes: [RequirementClass: Int], nextDue: NextDue = NextDue()) {
    self.classes = classes
    self.nextDue = nextDue
  }
}

package struct Claim: Hashable, Sendable {
  package var requirementClass: RequirementClass
  package var host: HostName
  package var incarnation: Incarnation
  /// One entry per launch wanted: the GPUs and the span id it gets.
  package var places: [Place]
  /// What kept the class waiting.
  package var history: WaitHistory?

  package struct Place: Hashable, Sendable {
    package var gpus: [Int]
    package var spanID: [UInt8]
    package init(gpus: [Int], spanID: [UInt8]) {
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

package struct ClaimAnswer: Hashable, Sendable {
  package var assignments: [Assignment]
  /// False if the class has no ready request left.
  package var hasMore: Bool
  /// One that is left may run on this host: instances that are evicted from it may not.
  package var hasFitting: Bool
  /// When to promote what this claim scheduled: the next requests of repeating definitions, and requests whose date has
  /// not come after all.
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
  /// The class of the waiting request of the same identifier, if this ending made it ready or scheduled.
  package var released: RequirementClass?
  /// When to promote what this ending scheduled.
  package var nextDue: NextDue
  /// What the launch came to, in the store's words; nil if it was not live.
  package var launched: Launched?
  /// What names the launch; nil if it was not live.
  package var subject: LaunchSubject?

  package struct Launched: Hashable, Sendable {
    package var outcome: LaunchOutcome
    /// From its start, on the steady clock.
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
