package import BatonModel

/// Decides what a worker runs, stops and says: a value without a clock or a connection. `Worker`, the simulator and
/// BatonTestKit drive it with facts and perform the effects: first all messages, in their order, then the others in
/// theirs. Each launch is a `WorkerLaunch`.
package struct WorkerCore: Sendable {
  package enum Effect: Hashable, Sendable {
    /// Lost if there is no connection: everything that matters is said again after the next hello.
    case send(WorkerMessage)
    indirect case start(Assignment, Definition)
    /// The handler is asked to stop: its task is cancelled.
    case expire(LaunchKey, ClosingWindow)
    /// The handler still runs at its deadline. A command is killed now.
    case overrun(LaunchKey)
    /// The answer to what the handler asked under this number.
    case answered(LaunchKey, question: Int, Dialogue.Answer)
    /// The launch is over for this worker and for the coordinator.
    case forget(LaunchKey)
    /// The connection is of no use any more; a new one may be.
    case reconnect(String)
    /// The worker ends: because the coordinator does not take it, which says why, or because its shutdown is complete.
    case end(String?)
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
  /// Since when a worker that drains has only waited for the coordinator to commit its endings.
  var onlyWaitsSince: Instant?
  /// A Swift handler that ignores its deadline ends the process. If not, it holds the host as long as it likes.
  let endsProcessOnOverrun: Bool
  var reconnection = Reconnection()
  /// How often in a row the coordinator did not take this worker.
  package internal(set) var refusals = 0
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
    conditions: Conditions = .assumed, endsProcessOnOverrun: Bool
  ) {
    self.host = host
    self.incarnation = incarnation
    self.version = version
    self.capabilities = capabilities
    self.conditions = conditions
    self.endsProcessOnOverrun = endsProcessOnOverrun
    measured = conditions
  }

  /// What the program has handlers for; said once, before the first connection.
  package mutating func announce(_ handlers: [IdentifierPattern]) { capabilities.handlers = handlers }

  /// Said once, before the first connection.
  package mutating func prove(with secret: [UInt8]) { self.secret = secret }

  /// Looks at a launch where it is kept: a copy of it costs more than all that is read of it. nil if it is not known.
  package func launch<Value>(_ key: LaunchKey, _ body: (borrowing WorkerLaunch) -> Value) -> Value? {
    launches.index(forKey: key).map { body(launches.values[$0]) }
  }

  /// Nothing is left to run or to report.
  package var isQuiet: Bool { launches.isEmpty }
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
