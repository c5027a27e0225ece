package import BatonModel

/// Decides which launches a worker runs and stops, and what it tells the coordinator. It is a value without a clock and
/// without a connection, and keeps a `WorkerLaunch` for each launch.
///
/// Three shells drive it: `Worker`, the simulator, and `TestWorker` of BatonTestKit. A shell calls a method for each
/// fact, with the time, and performs the effects that the method returns: first all messages in their order, then all
/// other effects in their order.
package struct WorkerCore: Sendable {
  package enum Effect: Hashable, Sendable {
    /// Sends a message. Without a connection the message is dropped: everything that needs an answer is sent again
    /// after the next welcome.
    case send(WorkerMessage)
    /// Starts the handler of a new launch.
    indirect case start(Assignment, Definition)
    /// The handler is asked to stop: its task is cancelled.
    case expire(LaunchKey, ClosingWindow)
    /// The handler still runs at its deadline. For a Swift handler the shell prepares the end of the process; a command
    /// is killed by its runner.
    case overrun(LaunchKey)
    /// Answers the handler's question with this id.
    case answered(LaunchKey, question: Int, Dialogue.Answer)
    /// The launch is over for this worker and for the coordinator.
    case forget(LaunchKey)
    /// Closes the connection, so that the worker connects again, to another coordinator if it knows one. The text says
    /// why.
    case reconnect(String)
    /// Ends the worker. The text says why the coordinator refuses this worker for good; it is `nil` if the shutdown is
    /// complete.
    case end(String?)
    /// Ends the process at once: a handler ignored its deadline, and nothing else frees the host.
    case endProcess
  }

  package let host: HostName
  package let incarnation: Incarnation
  package let version: String
  package private(set) var capabilities: Capabilities
  /// The conditions that count: those of the host, with the simulated ones in their place.
  package internal(set) var conditions: Conditions
  /// When `measured` was read. A hello that is sent later reports how old the conditions are.
  var conditionsReadAt = Instant(nanoseconds: 0)
  /// The conditions that the host's probes have read.
  var measured: Conditions
  /// The overrides of `baton simulate conditions`, and when they end; `nil` if nothing is simulated.
  var simulation: (overrides: ConditionOverrides, until: Instant)?
  package internal(set) var lease = Lease.none
  package internal(set) var launches: [LaunchKey: WorkerLaunch] = [:]
  package internal(set) var isDraining = false
  /// Since when a worker that drains has only waited for the coordinator to commit its endings.
  var onlyWaitsSince: Instant?
  /// Whether a Swift handler that ignores its deadline ends the process. If `false`, such a handler holds its slots
  /// until it returns.
  let endsProcessOnOverrun: Bool
  /// Whether the shell can reach other coordinators than the one that it is connected to.
  let knowsOtherCoordinators: Bool
  /// Whether this worker has given its coordinator up because of its silence, and no coordinator has welcomed the
  /// worker since.
  var hasGivenUp = false
  var reconnection = Reconnection()
  /// How often in a row the coordinator has refused this worker.
  package internal(set) var refusals = 0
  /// The definitions that the coordinator has sent, on this connection or an earlier one. A definition that cannot be
  /// run is kept as the problem that it has.
  var definitions: [DefinitionID: Result<Definition, DefinitionProblem>] = [:]
  /// When the hello was sent that has not been answered yet; `nil` after the welcome. Until the welcome, no message is
  /// sent that the welcome repeats: it would be sent, and answered, twice.
  var openHello: Instant?
  /// Whether the connection of the last hello is open, as far as is known (`disconnected`).
  var isOpen = false
  /// The number of the last heartbeat. It counts over all connections, so that the answer to an old heartbeat is never
  /// taken for the answer to a later one.
  var lastHeartbeat = 0
  /// The last receipts that coordinators have sent, one for each tenure. Each hello carries them, so that the
  /// coordinator notices a store that went backwards (promise P12).
  package internal(set) var receipts: [Receipt] = []
  /// When the process ends because a handler ignored its deadline; `nil` if no end is planned. Until that time the
  /// worker accepts no launch and sends no new question, so that each of the other launches repeats at most one batch.
  package internal(set) var endsProcessAt: Instant?
  /// The secret that proves to the coordinator that this worker owns its name; `nil` until the shell has read it.
  var secret: [UInt8]?
  /// The launches that this worker has seen. A launch that is assigned again is not run again.
  var seen = SeenLaunches()

  package enum Lease: Hashable, Sendable {
    case none
    /// A hello was sent at this instant, and no lease is held yet.
    case asked(at: Instant)
    /// The lease is held until this instant. Its term is counted from the time at which the hello or the heartbeat was
    /// sent, not from the answer: the worker's lease then never ends later than the coordinator's.
    case held(until: Instant, term: Duration, heartbeats: Heartbeats)
  }

  /// Heartbeats that were sent and not yet answered.
  package struct Heartbeats: Hashable, Sendable {
    var lastSentAt: Instant
    var unanswered: [Int: Instant] = [:]
  }

  /// - Parameters:
  ///   - endsProcessOnOverrun: whether a Swift handler that ignores its deadline ends the process.
  ///   - knowsOtherCoordinators: whether the shell knows the addresses of more than one coordinator, and goes to the
  ///     next one after the effect `Effect.reconnect`. The worker then gives a silent coordinator up after half of the
  ///     lease's term, so that another coordinator can renew the lease before it ends. If `false`, the worker stays
  ///     connected until the lease ends: there is nowhere else to go.
  package init(
    host: HostName, incarnation: Incarnation, version: String, capabilities: Capabilities,
    conditions: Conditions = .assumed, endsProcessOnOverrun: Bool, knowsOtherCoordinators: Bool = false
  ) {
    self.host = host
    self.incarnation = incarnation
    self.version = version
    self.capabilities = capabilities
    self.conditions = conditions
    self.endsProcessOnOverrun = endsProcessOnOverrun
    self.knowsOtherCoordinators = knowsOtherCoordinators
    measured = conditions
  }

  /// Sets the patterns that the program has handlers for. Call it once, before the first connection.
  package mutating func announce(_ handlers: [IdentifierPattern]) { capabilities.handlers = handlers }

  /// Sets how the host fences commands in. Call it once, before the first connection.
  package mutating func announce(_ sandbox: HostSandbox) { capabilities.sandbox = sandbox }

  /// Sets the worker's secret. Call it once, before the first connection.
  package mutating func prove(with secret: [UInt8]) { self.secret = secret }

  /// Sets the receipts that an earlier process of this worker has kept. Call it once, before the first connection.
  package mutating func remember(_ receipts: [Receipt]) { self.receipts = receipts }

  /// Reads from a launch without a copy, which would cost more than the reading. Returns `nil` if the launch is not
  /// known.
  package mutating func launch<Value>(_ key: LaunchKey, _ body: (inout WorkerLaunch) -> Value) -> Value? {
    // A dictionary gives its values without a copy only to those that may change them.
    guard let index = launches.index(forKey: key) else { return nil }
    return body(&launches.values[index])
  }

  /// Whether no launch is left to run or to report.
  package var isQuiet: Bool { launches.isEmpty }
}

/// Remembers the highest launch number of each request that this worker has run. It forgets the oldest requests when
/// there are more than 4,096.
struct SeenLaunches: Sendable {
  private var numbers: [RequestID: Int] = [:]
  private var order: [RequestID] = []
  private static let limit = 4096

  func contains(_ launch: LaunchKey) -> Bool {
    return numbers[launch.request, default: 0] >= launch.number
  }

  mutating func insert(_ launch: LaunchKey) {
    if numbers.updateValue(launch.number, forKey: launch.request) == nil { order.append(launch.request) }
    guard order.count > Self.limit else { return }
    for request in order.prefix(Self.limit / 2) { numbers[request] = nil }
    order.removeFirst(Self.limit / 2)
  }
}
