package import BatonBase
import BatonCore
public import BatonHandler
package import BatonModel
import BatonProcess
import BatonTelemetry
package import BatonWire
public import Logging
public import ServiceLifecycle
import Synchronization

/// Runs the launches that a coordinator assigns to this host. A program with handlers in Swift makes one, registers its
/// handlers, and runs it as a service:
///
/// ```swift
/// let worker = Worker(WorkerConfiguration(name: "desk", dataFolder: "/var/lib/my-worker", slots: 2))
///
/// worker.register("com.example.db-cleanup") { task in
///   let purgeable = Array(1...2_000)
///   for try await batch in task.batches(of: purgeable, size: 50) {
///     try await purge(batch)
///   }
/// }
///
/// try await ServiceGroup(
///   services: [worker], gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "example-worker")
/// ).run()
/// ```
///
/// The sample is from `Examples/Worker/Samples.swift`. For a program that is nothing but a worker, `WorkerProgram` of
/// BatonWorkerProgram has more: a supervisor, transfers, servers, telemetry and settings from worker.yaml.
///
/// **Connection.** The worker connects again by itself when the connection is lost. While the coordinator is away,
/// launches go on until the worker's lease ends. Then they expire with the reason `leaseLost`, because the coordinator
/// gives them to other hosts. A worker that knows several coordinators goes to another one before that; see
/// `WorkerConfiguration.coordinator`.
///
/// **Handlers.** Up to `slots` launches run at the same time, each in a Swift task of its own. A handler that blocks a
/// thread keeps a thread of Swift's task pool from all others.
///
/// **Shutdown.** After a graceful shutdown the worker takes no new launches, and the running ones expire with the
/// reason `draining`. `run()` returns when the coordinator has stored all endings. The requests go on elsewhere, and
/// use up no retry. A program that is killed loses its launches instead; another host takes them when the lease ends
/// (promise P6).
///
/// A worker runs once. Make another one to run it again.
public final class Worker: Service {
  package let configuration: WorkerConfiguration
  let logger: Logger
  let connector: (any Connector)?
  let clocks: Clocks
  /// How many addresses of coordinators the worker knows.
  let addressCount: Int
  let state: Mutex<State>
  let registry = Mutex(Registry())
  /// The launches that are about to start. `startLoop` makes a task of each.
  let starts = Mailbox<ActiveLaunch>(capacity: 1 << 20)
  /// The reasons to end the worker; an empty text for a complete shutdown.
  let ends = Mailbox<String>(capacity: 16)
  /// Is raised when a launch begins and after each welcome, because the next tick is then due sooner.
  let startSignal = Signal()
  /// Is raised when the process of the transfers has orders to take.
  let transferSignal = Signal()
  /// Raised when the conditions of the host have changed.
  let conditionSignal = Signal()
  /// The transfers of this host; `nil` if it carries out none.
  let transfers: HostTransfers?
  /// Is raised when the last connection of an ending worker has been closed.
  let parted = Signal()

  struct State {
    var core: WorkerCore
    var active: [LaunchKey: ActiveLaunch] = [:]
    var connection: Connection?
    /// Whether a thread outside of Swift's task pool watches the deadlines; see `watchLaunches`.
    var isWatched = false
    var processes: ProcessRegistry?
    /// Keeps the folders of launches; `nil` before `run`, and if processes of a launch may outlive it.
    var spares: SpareFolders?
    /// The connection to the host; `nil` before `run`, and if `WorkerConfiguration.probesHost` is off.
    var host: WorkerHost?
    /// The file of receipts; `nil` before `run`.
    var kept: KeptReceipts?
    /// The limit of processor time for commands that do not require external power.
    var limit: CPULimit?
    /// What commands must not open.
    var hidden: [String] = []
    /// Where coordinators of this user say which data folders they have.
    var runtimeFolders = RuntimeFolders(paths: [])
    /// The folders of those that must not be replaced while the worker runs.
    var places: [FolderPlace] = []
    /// `true` when the worker is about to end. No connection is opened after that.
    var isEnding = false
    /// The problems of the connection that were logged last, at most as many as there are addresses; empty while the
    /// connection works.
    var problems: [String] = []
    /// The address of the present connection or attempt; `nil` if the worker knows only one address.
    var address: String?
    var transfers = TransferState()
  }

  struct Registry {
    var handlers: [(pattern: IdentifierPattern, handler: Handler)] = []
    var isRunning = false
  }

  /// Creates a worker. It does nothing until `run()` is called.
  /// - Parameters:
  ///   - configuration: how the worker runs. `run()` checks it, and throws `WorkerError` if something is wrong.
  ///   - logger: the logger for the worker's own lines. Handlers use loggers of their own.
  public convenience init(_ configuration: WorkerConfiguration, logger: Logger = Logger(label: "baton-worker")) {
    self.init(configuration, incarnation: Incarnation(.randomIncarnation()), logger: logger, connector: nil)
  }

  /// - Parameter connector: how to connect to the coordinator; `nil` means gRPC to `configuration.coordinator`.
  package init(
    _ configuration: WorkerConfiguration, incarnation: Incarnation, logger: Logger,
    connector: (any Connector)?, clocks: Clocks = .system, transfers: HostTransfers? = nil
  ) {
    self.configuration = configuration
    self.transfers = transfers
    self.logger = logger
    self.connector = connector
    self.clocks = clocks
    // If the addresses are wrong, `run()` says so.
    addressCount =
      connector == nil ? (try? CoordinatorAddresses(parsing: configuration.coordinator))?.all.count ?? 1 : 1
    var capabilities = Capabilities(
      slots: configuration.slots, kinds: configuration.accepts, runsCommands: configuration.runsCommands,
      permittedIdentifiers: configuration.permittedIdentifiers, dailyAllowance: configuration.dailyAllowance,
      permissions: configuration.runsCommands ? configuration.sandbox.permissions(user: geteuid()) : nil)
    capabilities.runsTransfers = transfers == nil ? nil : true
    let core = WorkerCore(
      host: HostName(configuration.name), incarnation: incarnation, version: BatonVersion.current,
      capabilities: capabilities,
      endsProcessOnOverrun: configuration.endsProcessOnOverrun, knowsOtherCoordinators: addressCount > 1)
    state = Mutex(State(core: core))
  }

  /// Registers a handler for the definitions of `identifier`, so that the coordinator assigns launches of their
  /// requests to this worker.
  ///
  /// ```swift
  /// worker.register("com.example.import.*") { task in
  ///   let settings = try task.payload(as: ImportSettings.self)
  ///   // …
  /// }
  /// ```
  ///
  /// The sample is from `Examples/Worker/Main.swift`. The definition itself, with its kind and its conditions, is
  /// declared in a job file, and must have no `work`. If several registered patterns cover a definition, the longest
  /// one is used.
  /// - Parameters:
  ///   - identifier: an identifier such as `com.example.db-cleanup`, or a wildcard: a prefix that is followed by `.*`.
  ///   - handler: the code of a launch; see `Handler`.
  /// - Precondition: `run()` has not been called, because the coordinator is told once what runs here; `identifier` is
  ///   well-formed; and it has not been registered before. Otherwise the process ends with a message that says which of
  ///   these is violated.
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

  /// Registers a handler for refreshes, which returns what it found. `Examples/TestKit/NewsTests.swift` has one with
  /// its test.
  ///
  /// A refresh that repeatedly returns `.noData` starts less often, with up to four times its interval. `.failed` has
  /// the same effect as an error that the handler throws. The preconditions are those of `register(_:handler:)`.
  /// - Parameters:
  ///   - identifier: an identifier, or a prefix that is followed by `.*`, of definitions of kind `refresh`.
  ///   - handler: the code of a launch; see `RefreshHandler`.
  public func registerRefresh(_ identifier: String, handler: @escaping RefreshHandler) {
    register(identifier, handler: refreshing(handler))
  }

  /// Returns the handler for a definition's pattern: that of the longest registered pattern that covers it. `nil` if no
  /// pattern does.
  func handler(for pattern: IdentifierPattern) -> Handler? {
    registry.withLock { registry in
      registry.handlers.filter { $0.pattern.covers(pattern) }
        .max { $0.pattern.rawValue.utf8.count < $1.pattern.rawValue.utf8.count }?.handler
    }
  }

  /// Kills every running command at once, for a process that must end now. The connection is closed before, because the
  /// coordinator would take the killed commands for failures. The coordinator learns of the end from the supervisor, or
  /// when the lease ends.
  package func killCommands() {
    let processes = state.withLock { state in
      state.isEnding = true
      state.connection?.close()
      state.connection = nil
      return state.processes
    }
    processes?.killAll()
  }

  /// The host's conditions have changed. Launches that the new conditions forbid expire at once, without a question to
  /// the coordinator.
  package func conditionsChanged(_ conditions: Conditions) {
    decide { $0.conditionsChanged(conditions, at: clocks.instant()) }
    conditionSignal.raise()
  }

  /// Calls the core and performs its effects. Messages are sent while the lock is held, so that their order is the
  /// order of the decisions; sending never waits. `active` changes under the same lock, so that it always has the
  /// launches of the core. The other effects are performed after the lock is released.
  /// - Parameter asker: the launch that asks a question. It gets the answer even if the core has forgotten it.
  func decide(for asker: ActiveLaunch? = nil, _ body: (inout WorkerCore) -> [WorkerCore.Effect]) {
    let effects = state.withLock { state in
      let effects = body(&state.core)
      for case .send(let message) in effects { state.connection?.up.send(message) }
      for case .start(let assignment, let definition) in effects {
        let launch = ActiveLaunch(assignment, definition, worker: self)
        state.active[assignment.launch] = launch
        starts.send(launch)
      }
      let later = effects.filter(\.isPerformedLater).map { ($0, $0.launch.flatMap { state.active[$0] ?? asker }) }
      for case .forget(let key) in effects { state.active[key] = nil }
      return later
    }
    for (effect, launch) in effects { perform(effect, launch) }
  }

  private func perform(_ effect: WorkerCore.Effect, _ launch: ActiveLaunch?) {
    switch effect {
    case .send, .forget: break
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
    case .reconnect(let why):
      if let connection = state.withLock({ $0.connection }) {
        note(why)
        connection.giveUp()
      } else {
        // Why there is no connection was told, and stays the problem that is not told again.
        logger.warning("\(why)")
      }
    case .end(let why): ends.send(why ?? "")
    case .endProcess: endProcess()
    }
  }

  /// Logs a problem of the connection. A problem that repeats with each attempt to connect, or with each round of the
  /// addresses, is logged once.
  func note(_ problem: String) {
    let (isNews, metadata) = state.withLock { state in
      defer { state.problems = (state.problems.filter { $0 != problem } + [problem]).suffix(addressCount) }
      return (!state.problems.contains(problem), state.addressMetadata)
    }
    if isNews { logger.warning("not connected: \(problem); trying again", metadata: metadata) }
  }
}

extension Worker.State {
  /// Names the coordinator of a log entry, if there is a choice.
  var addressMetadata: Logger.Metadata? { address.map { ["address": "\($0)"] } }
}

extension WorkerCore.Effect {
  /// False for an effect that is performed completely while the worker's lock is held.
  fileprivate var isPerformedLater: Bool {
    switch self {
    case .send, .forget: false
    case .start, .expire, .overrun, .answered, .reconnect, .end, .endProcess: true
    }
  }

  /// The launch whose handler is told of the effect; `nil` if no handler is.
  fileprivate var launch: LaunchKey? {
    switch self {
    case .expire(let launch, _), .overrun(let launch), .answered(let launch, _, _): launch
    case .send, .start, .forget, .reconnect, .end, .endProcess: nil
    }
  }
}

extension String {
  /// Returns 16 random hexadecimal digits.
  package static func randomIncarnation() -> String {
    String((0..<16).map { _ in "0123456789abcdef".randomElement() ?? "0" })
  }
}
