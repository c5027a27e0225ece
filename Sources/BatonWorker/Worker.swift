import BatonBase
public import BatonHandler
package import BatonModel
import BatonTelemetry
package import BatonWire
public import Logging
public import ServiceLifecycle
import Synchronization

/// Runs launches that a coordinator assigns to this host: register handlers, then run it as a service.
///
/// It reconnects by itself, and goes on with what it runs while the coordinator is away, as long as its lease lasts.
/// A graceful shutdown expires every launch with `draining` and ends when the coordinator has all endings.
public final class Worker: Service {
  package let configuration: WorkerConfiguration
  let logger: Logger
  let connector: (any Connector)?
  let clocks: WorkerClocks
  let state: Mutex<State>
  let registry = Mutex(Registry())
  /// Launches to begin; the run loop makes a task of each.
  let starts = Mailbox<StartOrder>(capacity: 1 << 20)
  let ends = Mailbox<String>(capacity: 16)
  /// A launch began: from here on time is looked at more often.
  let startSignal = Signal()
  /// The last connection of a worker that ends is closed.
  let parted = Signal()

  struct State {
    var core: WorkerCore
    var active: [LaunchKey: ActiveLaunch] = [:]
    var connection: Connection?
    /// Time is looked at outside of Swift's tasks, too.
    var isWatched = false
    var processes: ProcessRegistry?
    /// Nil while it does not run, or where the host is not looked at.
    var host: WorkerHost?
    /// What commands that do not require external power are held to.
    var limit: CPULimit?
    /// The process is about to end: no connection is opened any more.
    var isEnding = false
    /// Since when nothing but answers of the coordinator are missing to end.
    var onlyWaitsSince: Instant?
    /// What was logged last about the connection; empty while it works.
    var lastProblem = ""
    /// How often in a row the coordinator did not take this worker.
    var refusals = 0
  }

  struct Registry {
    var handlers: [(pattern: IdentifierPattern, handler: Handler)] = []
    var isRunning = false
  }

  struct StartOrder: Sendable {
    var launch: ActiveLaunch
    var assignment: Assignment
    var definition: Definition
  }

  public convenience init(_ configuration: WorkerConfiguration, logger: Logger = Logger(label: "baton-worker")) {
    self.init(configuration, incarnation: Incarnation(.randomIncarnation()), logger: logger, connector: nil)
  }

  /// - Parameter connector: the way to the coordinator; nil means gRPC to `configuration.coordinator`.
  package init(
    _ configuration: WorkerConfiguration, incarnation: Incarnation, logger: Logger,
    connector: (any Connector)?, clocks: WorkerClocks = .system
  ) {
    self.configuration = configuration
    self.logger = logger
    self.connector = connector
    self.clocks = clocks
    let core = WorkerCore(
      host: HostName(configuration.name), incarnation: incarnation, version: BatonVersion.current,
      capabilities: Capabilities(
        slots: configuration.slots, kinds: configuration.accepts, runsCommands: configuration.runsCommands,
        permittedIdentifiers: configuration.permittedIdentifiers, dailyAllowance: configuration.dailyAllowance))
    state = Mutex(State(core: core))
  }

  /// Announces that this worker runs requests of `identifier`: one identifier, or a prefix followed by `.*`.
  ///
  /// Registering after `run()` began, one identifier twice, or something that is no identifier is a programmer error
  /// and ends the process with a message that says which.
  public func register(_ identifier: String, handler: @escaping Handler) {
    guard let pattern = IdentifierPattern(identifier) else {
      preconditionFailure("'\(identifier)' is not an identifier, nor one followed by '.*'")
    }
    registry.withLock { registry in
      precondition(
        !registry.isRunning, "register '\(identifier)' before run(): the coordinator was told what runs here")
      precondition(
        !registry.handlers.contains { $0.pattern == pattern }, "'\(identifier)' has a handler already")
      registry.handlers.append((pattern, handler))
    }
  }

  /// Announces that this worker runs refresh requests of `identifier`, and that its handler says what it found. A refresh
  /// that finds nothing again and again comes less often, up to four times its interval; one that returns `.failed` has
  /// failed, as if it had thrown.
  public func registerRefresh(_ identifier: String, handler: @escaping RefreshHandler) {
    register(identifier, handler: refreshing(handler))
  }

  /// The handler for a definition's pattern: the longest registered pattern that covers it.
  func handler(for pattern: IdentifierPattern) -> Handler? {
    registry.withLock { registry in
      registry.handlers.filter { $0.pattern.covers(pattern) }
        .max { $0.pattern.rawValue.utf8.count < $1.pattern.rawValue.utf8.count }?.handler
    }
  }

  /// Kills every command that runs, at once: for a process that must end now. Nothing is said to the coordinator any
  /// more, or it would take the killed commands for failures; it hears of the end from the lease, or the supervisor.
  package func killCommands() {
    let processes = state.withLock { state in
      state.isEnding = true
      state.connection?.close()
      state.connection = nil
      return state.processes
    }
    processes?.killAll()
  }

  /// The host's conditions changed: what they forbid expires at once, without asking the coordinator first.
  package func conditionsChanged(_ conditions: Conditions) {
    decide { $0.conditionsChanged(conditions, at: clocks.instant()) }
  }

  /// Changes the core and performs what it decides. Messages are sent while the lock is held: their order is the order
  /// of the decisions, and sending never waits.
  func decide(_ body: (inout WorkerCore) -> [WorkerCore.Effect]) {
    let effects = state.withLock { state in
      let effects = body(&state.core)
      for case .send(let message) in effects { state.connection?.up.send(message) }
      for case .start(let assignment, let definition) in effects {
        let launch = ActiveLaunch(assignment, worker: self)
        state.active[assignment.launch] = launch
        starts.send(StartOrder(launch: launch, assignment: assignment, definition: definition))
      }
      return effects.map { effect in (effect, state.active[effect.launch ?? .none]) }
    }
    for (effect, launch) in effects { perform(effect, launch) }
  }

  private func perform(_ effect: WorkerCore.Effect, _ launch: ActiveLaunch?) {
    switch effect {
    case .send: break
    case .start(let assignment, _):
      log(startOf: assignment)
      startSignal.raise()
      watchLaunches()
    case .expire(_, let reason, let deadline):
      let window = deadline - clocks.instant()
      if let launch { log(expiryOf: launch.subject, reason, in: window) }
      launch?.expire(reason, in: window)
    case .overrun(let key): overrun(key)
    case .committed: launch?.answered(.success(.done))
    case .refused(_, let text, let isSuperseded):
      launch?.answered(.failure(HandlerError(isSuperseded ? .superseded : .checkpointRefused, text)))
    case .itemsCommitted(_, _, let isFrozen): launch?.answered(.success(.frozen(isFrozen)))
    case .items(let page): launch?.answered(.success(.items(page.items)))
    case .forget(let key): forget(key)
    case .reconnect(let why):
      note(why)
      state.withLock { $0.connection }?.close()
    case .end(let why): ends.send(why)
    case .endProcess: endProcess()
    }
  }

  /// Logs what keeps this worker from its coordinator: once, not at each of many attempts.
  func note(_ problem: String) {
    let isNews = state.withLock { state in
      defer { state.lastProblem = problem }
      return state.lastProblem != problem
    }
    if isNews { logger.warning("not connected: \(problem); trying again") }
  }

  private func forget(_ key: LaunchKey) {
    let isLast = state.withLock { state in
      state.active[key] = nil
      return state.core.isQuiet && state.core.isDraining
    }
    if isLast { ends.send("") }
  }
}

extension LaunchKey {
  fileprivate static let none = LaunchKey(request: RequestID(0), number: 0)
}

extension WorkerCore.Effect {
  /// The launch that the effect is about, if its handler has to hear of it.
  fileprivate var launch: LaunchKey? {
    switch self {
    case .expire(let launch, _, _), .committed(let launch, _), .refused(let launch, _, _),
      .itemsCommitted(let launch, _, _):
      launch
    case .items(let page): page.launch
    case .send, .start, .overrun, .forget, .reconnect, .end, .endProcess: nil
    }
  }
}
