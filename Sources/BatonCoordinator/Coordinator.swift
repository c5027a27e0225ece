import BatonBase
import BatonModel
package import BatonStore
import BatonTelemetry
import BatonWire
package import Logging
import Synchronization

/// The shell around the dispatcher: gives it facts (the clock, the store's answers, workers' messages) and performs its
/// effects. It holds no truth of its own; a new one on the same store goes on where this one stopped.
package final class Coordinator: Sendable {
  package let store: any Store
  package let clocks: Clocks
  package let settings: CoordinatorSettings
  let logger: Logger
  let metrics: CoordinatorMetrics
  let state: Mutex<State>
  /// Work for the store that effects asked for, in order.
  let storeWork = Mailbox<StoreWork>(capacity: 1 << 20)
  /// Says that something may be ready to start.
  let dispatchSignal = Signal()
  /// Says that enough spans have ended to be sent together.
  let spanSignal = Signal()
  let watchers = Watchers()
  /// Beside the state, because it is read while that is held.
  private let steadyClock: Mutex<SteadyClock>
  /// For what operators say about the fleet and its hosts.
  let words = Turnstile()
  /// Signs what workers are told of the store.
  let seal: ReceiptSeal
  private let attachment = Signal()
  /// Why this coordinator has to end.
  private let fatalErrors = Mailbox<StoreError>(capacity: 1)

  struct State {
    var dispatcher: Dispatcher
    var index = DefinitionIndex()
    var connections: [HostName: Connection] = [:]
    var streams = StreamCount()
    var refusals = RefusalLog()
    /// Texts and progress between checkpoints, of running launches.
    var updates: [LaunchKey: LaunchUpdate] = [:]
    var nextDue = NextDue()
    var lastSeen: [HostName: Timestamp] = [:]
    /// When each host's conditions came.
    var conditionsCame: [HostName: Instant] = [:]
    /// The last word of hosts that the store does not have yet: one each, however often they change their mind.
    var reports: [HostName: HostWord] = [:]
    /// When persons used definitions, as far as the store does not have it yet: in one write, however many there are.
    var uses: [IdentifierPattern: Timestamp] = [:]
    var isAccepting = true
    /// Occasions that may have ended spans, since the last ones were sent.
    var endedSpans = 0
    /// The store's last complaint; nil since it took something.
    var complaint: String?
  }

  enum StoreWork: Sendable {
    case endLease(HostName, Incarnation, countsAsLoss: Bool)
    case noteExpiry(Expiring)
    case note(RequestID, event: RequestEvent, detail: String)
    /// What `State.reports` has by then.
    case reports
    /// What `State.uses` has by then.
    case uses
  }

  /// A launch that was asked to stop, for the store to remember.
  struct Expiring: Sendable {
    var launch: LaunchKey
    var reason: ExpiryReason
    /// The worker that asked it; nil if the coordinator did.
    var process: WorkerProcess?
  }

  /// - Parameter metrics: what it counts with; without one it counts with what the process bootstrapped.
  package init(
    store: any Store, settings: CoordinatorSettings, clocks: Clocks = .system,
    metrics: CoordinatorMetrics = CoordinatorMetrics(), logger: Logger
  ) {
    self.metrics = metrics
    self.store = store
    self.settings = settings
    seal = ReceiptSeal(settings.receiptKey)
    self.clocks = clocks
    self.logger = logger
    state = Mutex(State(dispatcher: Dispatcher(leaseTerm: settings.leaseTerm)))
    steadyClock = Mutex(SteadyClock(resuming: nil, at: clocks.now(), boot: clocks.boot()))
  }

  /// Every clock, read now.
  func now() -> Now {
    var now = clocks.now()
    now.steady = steadyClock.withLock { $0.steady(at: now.instant) }
    return now
  }

  /// Reads what the store knows. Call it once, before anything else.
  package func restore() async throws {
    let saved = try await store.fleet().clock
    steadyClock.withLock { $0 = SteadyClock(resuming: saved, at: clocks.now(), boot: clocks.boot()) }
    try await saveClock()
    try await endEmbeddedLease()
    try await setUnusableAside()
    let fleet = try await store.fleet()
    let definitions = try await store.definitions()
    noteReceiptKey(hosts: fleet.hosts.count)
    for definition in definitions {
      guard let problem = definition.problem else { continue }
      logger.error(
        "the stored definition of '\(definition.definition.pattern)' is set aside: \(problem); apply a repaired one")
    }
    state.withLock { state in
      state.index = DefinitionIndex(definitions)
      state.nextDue = fleet.nextDue
      for host in fleet.hosts { state.lastSeen[host.name] = host.lastSeenAt }
      state.dispatcher.restore(fleet, at: now())
    }
  }

  /// So that the next coordinator can go on with the steady clock.
  func saveClock() async throws {
    let now = now()
    try await store.saveClock(ClockReading(moment: now.moment, boot: clocks.boot(), instant: now.instant))
  }

  /// An embedded worker's lease ends with its process: whatever held it before is gone, and its launches are blameless.
  private func endEmbeddedLease() async throws {
    for host in try await store.fleet().hosts where host.name == settings.embeddedHost {
      guard let incarnation = host.incarnation else { continue }
      _ = try await store.endLease(host.name, incarnation, countsAsLoss: false, at: now().moment)
    }
  }

  /// An older coordinator stored definitions without looking: their requests fail before anything is computed with them.
  private func setUnusableAside() async throws {
    while true {
      let found = try await store.failUnusable(limit: Self.failedAtOnce, at: now().moment)
      for unusable in found {
        logger.error(
          "\(unusable.failedRequests) requests of '\(unusable.pattern)' failed: the definition cannot be run: \(unusable.problem)"
        )
      }
      if found.reduce(0, { $0 + $1.failedRequests }) < Self.failedAtOnce { return }
    }
  }

  private static let failedAtOnce = 1000

  /// Runs until the task is cancelled, or the store fails in a way that only a new start can mend.
  package func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await RPCLoop.run { try await self.dispatchLoop() } }
      group.addTask { try await self.storeLoop() }
      group.addTask { try await self.timeLoop() }
      group.addTask {
        if let error = await self.fatalErrors.receive()?.first { throw error }
      }
      group.addTask { try await self.watchDisk() }
      group.addTask { try await self.promotionLoop() }
      group.addTask { try await self.housekeepingLoop() }
      group.addTask { try await self.tenureLoop() }
      if let spans = settings.spans { group.addTask { try await self.deliverSpans(spans) } }
      dispatchSignal.raise()
      try await group.next()
      group.cancelAll()
    }
  }

  /// Ends this coordinator when the disk failed under a write, whoever made it and whatever he made of the answer: one
  /// that takes no write any more must not wait until somebody complains.
  private func watchDisk() async throws {
    for await error in store.failures { throw error }
    await Signal().wait()
  }

  /// The store did not take something. Said once, until it takes something again. After a failure of the disk itself
  /// nobody knows what is stored until the store is opened again, so this coordinator ends; so it does if another one has
  /// the store.
  func note(_ error: any Error, while doing: String) {
    let isNews = state.withLock { state in
      defer { state.complaint = "\(error)" }
      return state.complaint != "\(error)"
    }
    if isNews { logger.error("\(doing): \(error)") }
    guard let error = error as? StoreError else { return }
    if error.endsCoordinator || (error.code == .cannotWrite && settings.endsOnFullDisk) { fatalErrors.send(error) }
  }

  func noteSuccess() { state.withLock { $0.complaint = nil } }

  /// Returns once a worker is attached that was not before; for one caller.
  package func waitForAttachment() async { await attachment.wait() }

  func noteAttachment() { attachment.raise() }

  /// Takes nothing new from operators, and lets workers go: they come back to the next coordinator within their lease.
  package func stopAccepting() {
    let connections = state.withLock { state in
      state.isAccepting = false
      return Array(state.connections.values)
    }
    for connection in connections { connection.close() }
    watchers.close()
  }

  /// Changes the dispatcher and performs what it decides. Messages are sent while the lock is held: their order is the
  /// order of the decisions, and sending never waits.
  func decide(_ body: (inout State) -> [Dispatcher.Effect]) {
    state.withLock { state in
      for effect in body(&state) { perform(effect, &state) }
    }
  }

  private func perform(_ effect: Dispatcher.Effect, _ state: inout State) {
    switch effect {
    case .send(let host, let message): state.connections[host]?.down.send(message)
    case .disconnect(let host): state.connections[host]?.close()
    case .endLease(let host, let incarnation, let countsAsLoss):
      storeWork.send(.endLease(host, incarnation, countsAsLoss: countsAsLoss))
    case .noteExpiry(let launch, let reason, let process):
      storeWork.send(.noteExpiry(Expiring(launch: launch, reason: reason, process: process)))
    case .note(let request, let event, let detail): storeWork.send(.note(request, event: event, detail: detail))
    case .noteUse(let pattern, let date):
      if state.uses.isEmpty { storeWork.send(.uses) }
      state.uses[pattern] = date
    }
  }
}
