package import BatonModel

/// Decides what a worker runs, stops and says: a value without a clock or a connection. The worker drives it with facts
/// and performs the effects, in their order; so does the simulator.
package struct WorkerCore: Sendable {
  package enum Effect: Hashable, Sendable {
    /// Lost if there is no connection: everything that matters is said again after the next hello.
    case send(WorkerMessage)
    indirect case start(Assignment, Definition)
    /// The handler is told why and until when, and is cancelled.
    case expire(LaunchKey, ExpiryReason, deadline: Instant)
    /// The handler ignored its deadline.
    case overrun(LaunchKey)
    case committed(LaunchKey, batch: Int)
    /// What the handler is waiting for will not come: another launch is live, or the store refused it.
    case refused(LaunchKey, String, isSuperseded: Bool)
    case itemsCommitted(LaunchKey, count: Int, isFrozen: Bool)
    case items(ItemPage)
    /// The launch is over for this worker and for the coordinator.
    case forget(LaunchKey)
    /// The connection is of no use any more; a new one may be.
    case reconnect(String)
    /// The coordinator does not want this worker.
    case end(String)
    /// A handler ignored its deadline, and only the end of its process frees the host.
    case endProcess
  }

  package let host: HostName
  package let incarnation: Incarnation
  package let version: String
  package private(set) var capabilities: Capabilities
  /// What counts: the host's own conditions, with what is simulated in their place.
  package internal(set) var conditions: Conditions
  /// When they were read: a hello may come later.
  var conditionsReadAt = Instant(nanoseconds: 0)
  /// What the host's probes say.
  var measured: Conditions
  /// What `baton simulate conditions` puts in their place, and until when.
  var simulation: (overrides: ConditionOverrides, until: Instant)?
  package internal(set) var lease = Lease.none
  package internal(set) var launches: [LaunchKey: WorkerLaunch] = [:]
  package internal(set) var isDraining = false
  /// What the coordinator sent on this connection or an earlier one; a definition that may not run is here as the reason.
  var definitions: [DefinitionID: Result<Definition, DefinitionProblem>] = [:]
  /// When the hello that nobody has answered yet was sent. Until then nothing is said that the welcome repeats: it
  /// would be said, and answered, twice.
  var openHello: Instant?
  /// Over all connections: an answer to an old heartbeat is never taken for one to a later.
  var lastHeartbeat = 0
  /// The last that any coordinator sent: the store must not have less when this worker comes back.
  var receipt: Receipt?
  /// When the process ends because a handler ignored its deadline; nil if it goes on. Until then it takes no launch and
  /// asks nothing new, so that what runs beside the handler loses at most a batch.
  package internal(set) var endsProcessAt: Instant?
  /// What proves to the coordinator that this is the worker of its name; nil until it was read.
  var secret: [UInt8]?
  /// The highest launch number seen of each request: one that comes again is not run again.
  var seen = SeenLaunches()

  package enum Lease: Hashable, Sendable {
    case none
    /// The hello was sent then, and not yet answered.
    case asked(at: Instant)
    /// Runs until then, counted from when the heartbeat that was answered was sent.
    case held(until: Instant, term: Duration, heartbeats: Heartbeats)
  }

  /// Heartbeats that were sent and not yet answered.
  package struct Heartbeats: Hashable, Sendable {
    var lastSentAt: Instant
    var unanswered: [Int: Instant] = [:]
  }

  package init(
    host: HostName, incarnation: Incarnation, version: String, capabilities: Capabilities,
    conditions: Conditions = .assumed
  ) {
    self.host = host
    self.incarnation = incarnation
    self.version = version
    self.capabilities = capabilities
    self.conditions = conditions
    measured = conditions
  }

  /// What the program has handlers for; said once, before the first connection.
  package mutating func announce(_ handlers: [IdentifierPattern]) { capabilities.handlers = handlers }

  /// Said once, before the first connection.
  package mutating func prove(with secret: [UInt8]) { self.secret = secret }

  /// Nothing is left to run or to report.
  package var isQuiet: Bool { launches.isEmpty }
}

/// One launch, from its assignment until the coordinator has its ending.
package struct WorkerLaunch: Hashable, Sendable {
  package enum Phase: Hashable, Sendable {
    case running
    case expiring(ExpiryReason, deadline: Instant, isOverrun: Bool)
    /// The handler is through; sent until it is answered.
    case ended(Ending)
  }

  package var assignment: Assignment
  package var definition: Definition
  package var phase: Phase
  package var startedAt: Instant
  /// Sent, and not yet answered; sent again after a reconnection.
  var unanswered: WorkerMessage?
  /// No answer will come any more, or none came by its deadline: it may ask nothing.
  var isCutOff = false

  /// When the launch has used its definition's budget.
  var budgetEndsAt: Instant? {
    definition.budget(keepsCursor: assignment.progress.batches > 0).map { startedAt + $0 }
  }

  package var expiry: (reason: ExpiryReason, deadline: Instant)? {
    if case .expiring(let reason, let deadline, _) = phase { (reason, deadline) } else { nil }
  }
}

/// Remembers the highest launch number of the last requests that this worker ran.
struct SeenLaunches: Sendable {
  private var numbers: [RequestID: Int] = [:]
  private var order: [RequestID] = []
  private static let limit = 4096

  func contains(_ launch: LaunchKey) -> Bool {
    #if PLANTED_BUGS
      if isPlanted(.runsLaunchesAgain) { return false }
    #endif
    return numbers[launch.request, default: 0] >= launch.number
  }

  mutating func insert(_ launch: LaunchKey) {
    if numbers.updateValue(launch.number, forKey: launch.request) == nil { order.append(launch.request) }
    guard order.count > Self.limit else { return }
    for request in order.prefix(Self.limit / 2) { numbers[request] = nil }
    order.removeFirst(Self.limit / 2)
  }
}
