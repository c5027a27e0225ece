import BatonBase
import BatonModel
package import BatonStore
import BatonTelemetry
import BatonWire
package import Logging
import Synchronization

/// Drives `CoordinatorCore` in the daemon: tells it facts (the clock, the store's answers, workers' messages) and performs
/// its effects. It holds no truth of its own; a new one on the same store goes on where this one stopped.
package final class Coordinator: Sendable {
  package let store: any Store
  package let clocks: Clocks
  package let settings: CoordinatorSettings
  let logger: Logger
  let metrics: CoordinatorMetrics
  let state: Mutex<State>
  /// What the core wants of the store, for `orderLoop`.
  let orders = Mailbox<TimedOrder>(capacity: 1 << 20)
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
    var core: CoordinatorCore
    var links: [SessionID: Link] = [:]
    var lastSession = 0
    var streams = StreamCount()
    var refusals = RefusalLog()
    var isAccepting = true
    /// Occasions that may have ended spans, since the last ones were sent.
    var endedSpans = 0
    /// The store's last complaint; nil since it took something.
    var complaint: String?
  }

  /// The way to one worker, and the orders that the core has for its session.
  struct Link: Sendable {
    let connection: Connection
    let orders: Mailbox<TimedOrder>
  }

  struct TimedOrder: Sendable {
    let order: StoreOrder
    let delay: Duration
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
    state = Mutex(State(core: CoordinatorCore(leaseTerm: settings.leaseTerm, embeddedHost: settings.embeddedHost)))
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
    decide { $0.core.restore(fleet, definitions, at: now()) }
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
      group.addTask { try await RPCLoop.run { try await self.orderLoop() } }
      group.addTask { try await self.timeLoop() }
      group.addTask {
        if let error = await self.fatalErrors.receive()?.first { throw error }
      }
      group.addTask { try await self.watchDisk() }
      group.addTask { try await self.housekeepingLoop() }
      group.addTask { try await self.tenureLoop() }
      if let spans = settings.spans { group.addTask { try await self.deliverSpans(spans) } }
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

  /// Returns once a worker is attached that was not before; for one caller.
  package func waitForAttachment() async { await attachment.wait() }

  private func noteAttachment(of host: HostName, running: Int) {
    state.withLock { $0.refusals.forget(host) }
    attachment.raise()
    logger.info("a worker is attached", metadata: [Names.LogKey.host: "\(host)", "running": "\(running)"])
  }

  /// Takes nothing new from operators, and lets workers go: they come back to the next coordinator within their lease.
  package func stopAccepting() {
    let links = state.withLock { state in
      state.isAccepting = false
      return Array(state.links.values)
    }
    for link in links { link.connection.close() }
    watchers.close()
  }

  /// Tells the core facts and performs what it decides. What has an order (messages to workers, orders for the store) goes
  /// into mailboxes while the lock is held: sending never waits, and the order of the messages is the order of the
  /// decisions. Everything else is done after the lock.
  @discardableResult
  func decide<Value: Sendable>(_ body: (inout State) throws -> Value) rethrows -> Value {
    let (value, facts) = try state.withLock { state in
      let value = try body(&state)
      return (value, send(from: &state))
    }
    for fact in facts { tell(fact) }
    return value
  }

  /// What is left to be told.
  private func send(from state: inout State) -> [CoordinatorCore.Fact] {
    var facts: [CoordinatorCore.Fact] = []
    for effect in state.core.effects {
      switch effect {
      case .send(let id, let message): state.links[id]?.connection.down.send(message)
      case .sendReceipt(let id): state.links[id]?.connection.down.send(.receipt(receipt))
      case .close(let id): state.links[id]?.connection.close()
      case .forget(let id): state.links.removeValue(forKey: id)?.orders.close()
      case .dispatch: dispatchSignal.raise()
      case .store(let order, let delay):
        let timed = TimedOrder(order: order, delay: delay)
        if let id = order.session { state.links[id]?.orders.send(timed) } else { orders.send(timed) }
      case .tell(let fact): facts.append(fact)
      }
    }
    state.core.clearEffects()
    return facts
  }

  private func tell(_ fact: CoordinatorCore.Fact) {
    switch fact {
    case .attached(let host, let running): noteAttachment(of: host, running: running)
    case .refused(let host, let address, let text): log(refusal: text, .lease, of: host, at: address)
    case .cameBack(let host):
      logger.notice("a worker came back as another process", metadata: [Names.LogKey.host: "\(host)"])
    case .checkpointed(let checkpoints, let answers): count(checkpoints, answers)
    case .changed(let request): watchers.changed(request)
    case .started(let launches):
      count(launches)
      log(starts: launches)
    case .askedToStop(let launch, let reason): log(expiryOf: launch, reason)
    case .ended(let answers):
      count(answers)
      log(endsOf: answers)
      noteSpans(answers.count)
    case .overran(let answer): warn(of: answer)
    case .leaseEnded(let host, let incarnation, let countsAsLoss):
      log(endOfLease: incarnation, host, countsAsLoss: countsAsLoss)
    case .failed(let order, let error): note(error, while: order.purpose)
    }
  }
}
