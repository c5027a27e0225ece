import BatonBase
import BatonCore
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
  let starts = Mailbox<ActiveLaunch>(capacity: 1 << 20)
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
    /// What was logged last about the connection; empty while it works.
    var lastProblem = ""
  }

  struct Registry {
    var handlers: [(pattern: IdentifierPattern, handler: Handler)] = []
    var isRunning = false
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
        permittedIdentifiers: configuration.permittedIdentifiers, dailyAllowance: configuration.dailyAllowance),
      endsProcessOnOverrun: configuration.endsProcessOnOverrun)
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
  /// - Parameter asker: hears the answer to its question also if its launch is forgotten.
  func decide(for asker: ActiveLaunch? = nil, _ body: (inout WorkerCore) -> [WorkerCore.Effect]) {
    let effects = state.withLock { state in
      let effects = body(&state.core)
      for case .send(let message) in effects { state.connection?.up.send(message) }
      for case .start(let assignment, let definition) in effects {
        let launch = ActiveLaunch(assignment, definition, worker: self)
        state.active[assignment.launch] = launch
        starts.send(launch)
      }
      return effects.map { effect in (effect, effect.launch.flatMap { state.active[$0] ?? asker }) }
    }
    for (effect, launch) in effects { perform(effect, launch) }
  }

  private func perform(_ effect: WorkerCore.Effect, _ launch: ActiveLaunch?) {
    switch effect {
    case .send: break
    case .start(let assignment, _):
      log(startOf: assignment.subject)
      startSignal.raise()
      watchLaunches()
    case .expire(_, let window):
      guard let launch else { return }
      log(expiryOf: launch.subject, window)
      launch.stop.raise()
    case .overrun: if let launch { overrun(launch) }
    case .answered(_, let question, let answer): launch?.answered(question, answer)
    case .forget(let key): state.withLock { $0.active[key] = nil }
    case .reconnect(let why):
      note(why)
      state.withLock { $0.connection }?.close()
    case .end(let why): ends.send(why ?? "")
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
}

extension WorkerCore.Effect {
  /// The launch whose handler has to hear of the effect.
  fileprivate var launch: LaunchKey? {
    switch self {
    case .expire(let launch, _), .overrun(let launch), .answered(let launch, _, _): launch
    case .send, .start, .forget, .reconnect, .end, .endProcess: nil
    }
  }
}
