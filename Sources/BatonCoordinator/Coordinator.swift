package import BatonBase
import BatonModel
package import BatonStore
import BatonTelemetry
import BatonWire
package import Logging
import Synchronization

/// Drives `CoordinatorCore` in the daemon: it tells the core facts (the clock, the store's answers, workers' messages)
/// and performs the core's effects. All durable state is in the store: a new coordinator on the same store continues
/// where this one stopped.
///
/// Call `restore` once and then `run`, which serves until the task is cancelled or the store fails for good.
package final class Coordinator: Sendable {
  package let store: any Store
  package let clocks: Clocks
  package let settings: CoordinatorSettings
  let logger: Logger
  let metrics: CoordinatorMetrics
  let state: Mutex<State>
  /// The core's orders to the store, for `orderLoop`.
  let orders = Mailbox<TimedOrder>(capacity: 1 << 20)
  /// Raised when something may be ready to start.
  let dispatchSignal = Signal()
  /// Raised when enough spans have ended for a full request.
  let spanSignal = Signal()
  /// What hosts have said of their transfers, for `transferReportLoop`.
  let transferReports = Mailbox<ArrivedReport>(capacity: 1 << 16)
  /// Raised when hosts may have to be told of transfers.
  let transferSignal = Signal()
  let watchers = Watchers()
  let feed = ChangeFeed()
  let examinations = SharedExaminations()
  /// The warnings of large fleets, which look at every host.
  let knownWarnings = Mutex<[DefinitionID: KnownWarning]>([:])
  /// The sorted names of hosts, as of the last time they were asked for.
  let hostNames = Mutex(SortedHostNames())
  /// Outside `state`, because it is read while the lock of `state` is held.
  private let steadyClock: Mutex<SteadyClock>
  /// Lets operators' words about the fleet and its hosts in one at a time.
  let words = Turnstile()
  /// Signs the receipts that workers get.
  let seal: ReceiptSeal
  /// Writes the audit log.
  let callAudit: CallAudit
  /// Counts the calls of operators and the joins of hosts.
  let callMeter: CallMeter
  private let attachment = Signal()
  /// The error that ends this coordinator.
  private let fatalErrors = Mailbox<StoreError>(capacity: 1)

  struct State {
    var core: CoordinatorCore
    var links: [SessionID: Link] = [:]
    var lastSession = 0
    var streams = StreamCount()
    var refusals = RefusalLog()
    var isAccepting = true
    /// How many rows that may have ended spans were stored since the last request with spans.
    var endedSpans = 0
    /// The last error of the store, as text; nil after a later write has succeeded.
    var complaint: String?
    /// Whether the last look or write found that the store cannot be written.
    var isUnwritable = false
    /// Whether a database elsewhere has refused a write that may be tried again, and has taken none since.
    var isAway = false
    var transfers = TransferDesk()
  }

  /// The connection to one worker, and the core's orders for its session.
  struct Link: Sendable {
    let connection: Connection
    let orders: Mailbox<TimedOrder>
  }

  /// An order that is carried out after a delay.
  struct TimedOrder: Sendable {
    let order: StoreOrder
    let delay: Duration
  }

  /// - Parameter metrics: the metrics to count with; the default uses the metrics system that the process
  ///   bootstrapped.
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
    callAudit = CallAudit(store: store, clocks: clocks)
    callMeter = CallMeter(settings.rates, clocks)
    state = Mutex(
      State(
        core: CoordinatorCore(
          leaseTerm: settings.leaseTerm, embeddedHost: settings.embeddedHost, isShared: store.isShared,
          rules: settings.rules)))
    steadyClock = Mutex(SteadyClock(resuming: nil, at: clocks.now(), boot: clocks.boot()))
  }

  /// Reads every clock.
  func now() -> Now {
    var now = clocks.now()
    now.steady = steadyClock.withLock { $0.steady(at: now.instant) }
    return now
  }

  /// Reads the state of the store into the core. Call it once, before anything else.
  package func restore() async throws {
    let isSteward = try await setClock()
    try await endEmbeddedLease()
    if isSteward { try await setUnusableAside() }
    let fleet = try await store.fleet()
    let definitions = try await store.definitions()
    noteReceiptKey(hosts: fleet.hosts.count)
    for definition in definitions {
      guard let problem = definition.problem else { continue }
      logger.error(
        "the stored definition of '\(definition.definition.pattern)' is set aside: \(problem); apply a repaired one")
    }
    if let identities = settings.identities {
      if try identities.load(try await store.certificates(), at: now().date) {
        logger.notice(
          "the fleet's root was replaced; who knows only the old one has to join or log in again")
      }
      noteLostRoots(identities)
      identities.credentials.load(try await store.credentials())
    }
    decide { $0.core.restore(fleet, definitions, at: now()) }
    try await join()
  }

  /// Beats until this coordinator knows the steady clock. It takes two beats if the steward lives, and otherwise the
  /// time until this coordinator has ended the steward.
  private func join() async throws {
    while !state.withLock({ $0.core.hasJoined }) {
      try await clocks.sleep(Self.tickInterval)
      let now = now()
      decide { $0.core.tick(at: now) }
      for order in orders.takeWaiting() { try await carryOut(order) }
    }
  }

  /// Continues the steady clock of earlier coordinators, or follows the clock of the steward.
  /// - Returns: whether this coordinator is the steward.
  private func setClock() async throws -> Bool {
    while true {
      let fleet = try await store.fleet()
      let isSteward = !store.isShared || fleet.steward == fleet.epoch
      if store.isShared, let clock = fleet.clock {
        steadyClock.withLock { $0 = SteadyClock(following: clock, at: clocks.now().instant, boot: clocks.boot()) }
        return isSteward
      }
      if isSteward {
        steadyClock.withLock { $0 = SteadyClock(resuming: fleet.clock, at: clocks.now(), boot: clocks.boot()) }
        try await saveClock()
        return true
      }
      // The steward is just starting. Nothing is known of its clock yet.
      try await clocks.sleep(.milliseconds(100))
    }
  }

  /// Follows the steward's clock, unless this coordinator has been the steward already.
  func follow(_ fleet: FleetRecord, askedAt asked: Instant) {
    guard let clock = fleet.clock, clock.steward != fleet.epoch else { return }
    let takesOffice = state.withLock { $0.core.takesOffice }
    steadyClock.withLock { steadyClock in
      steadyClock.follow(clock, askedAt: asked, at: clocks.now().instant, boot: clocks.boot())
      if takesOffice { steadyClock.takeOffice(at: clocks.now().instant, boot: clocks.boot()) }
    }
  }

  /// Reads every clock, for the store.
  func reading() -> ClockReading {
    let now = now()
    return ClockReading(moment: now.moment, boot: clocks.boot(), instant: now.instant)
  }

  /// Saves the steady clock, so that the next coordinator can continue it.
  func saveClock() async throws { try await store.saveClock(reading()) }

  /// Ends the lease of the embedded worker's earlier process. That process is gone, and its launches do not count as
  /// losses.
  private func endEmbeddedLease() async throws {
    for host in try await store.fleet().hosts where host.name == settings.embeddedHost {
      guard let incarnation = host.incarnation else { continue }
      let process = WorkerProcess(host: host.name, incarnation: incarnation)
      _ = try await store.endLease(of: process, countsAsLoss: false, at: now().moment)
    }
  }

  /// Fails the requests of stored definitions that cannot be run, before anything is computed with these definitions.
  /// An older coordinator stored definitions without validating them.
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

  /// Runs until the task is cancelled, or until the store fails in a way that only a new start can repair.
  package func run() async throws {
    try await compareNamespaces()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await RPCLoop.run { try await self.dispatchLoop() } }
      group.addTask { try await RPCLoop.run { try await self.orderLoop() } }
      group.addTask { try await self.timeLoop() }
      group.addTask {
        guard let error = await self.fatalErrors.receive()?.first else { return }
        // The command that has moved the store gets its answer before this process ends.
        if error.code == .relocated { try await self.clocks.sleep(Self.partingTime) }
        throw error
      }
      group.addTask { try await self.watchDisk() }
      group.addTask { try await self.housekeepingLoop() }
      group.addTask { try await self.roomLoop() }
      group.addTask { try await RPCLoop.run { try await self.transferReportLoop() } }
      group.addTask { try await self.transferOrderLoop() }
      group.addTask { try await self.auditLoop() }
      group.addTask { try await self.notificationLoop() }
      group.addTask { try await self.changeLoop() }
      group.addTask { await self.callAudit.writeWaiting() }
      if !store.isShared { group.addTask { try await self.tenureLoop() } }
      if store.isShared, let identities = settings.identities {
        group.addTask { try await self.identityLoop(identities) }
      }
      if store.isShared { group.addTask { try await self.updateLoop() } }
      if let spans = settings.spans { group.addTask { try await self.deliverSpans(spans) } }
      try await group.next()
      group.cancelAll()
    }
  }

  private static let partingTime = Duration.milliseconds(500)

  /// Ends this coordinator because its store is elsewhere.
  func end(with error: StoreError) { fatalErrors.send(error) }

  /// Ends this coordinator when the disk has failed during a write, regardless of which call made the write and how it
  /// treated the error. A coordinator that can no longer write must not keep running unnoticed.
  private func watchDisk() async throws {
    for await error in store.failures { throw error }
    await Signal().wait()
  }

  /// Logs an error of the store, once until a write succeeds or another error comes; that the store cannot be written,
  /// once until there is room again (`noteWritable`). After a failure of the disk
  /// itself it is unknown what is stored until the store is opened again, so this coordinator ends. It also ends if
  /// another coordinator has the store.
  func note(_ error: any Error, while doing: String) {
    let code = (error as? StoreError)?.code
    let isUnwritable = code == .cannotWrite
    let isNews = state.withLock { state in
      defer {
        state.complaint = "\(error)"
        if isUnwritable { state.isUnwritable = true }
        if code == .unavailable, store.isShared { state.isAway = true }
      }
      return isUnwritable ? !state.isUnwritable : state.complaint != "\(error)"
    }
    if isNews { logger.error("\(doing): \(error)") }
    guard let error = error as? StoreError else { return }
    if error.endsCoordinator || (error.code == .cannotWrite && settings.endsOnFullDisk) { fatalErrors.send(error) }
  }

  /// The store can be written, which is news only if it could not.
  func noteWritable() {
    let (wasUnwritable, wasAway) = state.withLock { state in
      defer { (state.isUnwritable, state.isAway) = (false, false) }
      return (state.isUnwritable, state.isAway)
    }
    if wasUnwritable { logger.notice("the store can be written again") }
    if wasAway { logger.notice("the database of the store takes writes again") }
  }

  /// Returns once a worker that was not attached before is attached. Only one caller may wait.
  package func waitForAttachment() async { await attachment.wait() }

  private func noteAttachment(of host: HostName, running: Int) {
    state.withLock { $0.refusals.forget(host) }
    attachment.raise()
    logger.info("a worker is attached", metadata: [Names.LogKey.host: "\(host)", "running": "\(running)"])
  }

  /// Takes nothing new from operators, and closes the connections of workers, which reconnect to the next coordinator
  /// within their lease.
  package func stopAccepting() {
    let links = state.withLock { state in
      state.isAccepting = false
      return Array(state.links.values)
    }
    for link in links { link.connection.close() }
    watchers.close()
    feed.close()
  }

  /// Tells the core facts and performs what it decides. Effects with a fixed order (messages to workers, orders to the
  /// store) are put into mailboxes while the lock is held: sending never waits, so the order of the messages is the
  /// order of the decisions. Everything else is done after the lock is released.
  @discardableResult
  func decide<Value: Sendable>(_ body: (inout State) throws -> Value) rethrows -> Value {
    let (value, facts) = try state.withLock { state in
      let value = try body(&state)
      return (value, send(from: &state))
    }
    for fact in facts { tell(fact) }
    return value
  }

  /// Sends the core's effects.
  /// - Returns: the facts, which are to be told after the lock is released.
  private func send(from state: inout State) -> [CoordinatorCore.Fact] {
    var facts: [CoordinatorCore.Fact] = []
    for effect in state.core.effects {
      switch effect {
      case .send(let id, let message): state.links[id]?.connection.down.send(message)
      case .sendReceipt(let id): state.links[id]?.connection.down.send(.receipt(receipt))
      case .close(let id): state.links[id]?.connection.close()
      case .forget(let id):
        state.transfers.forget(id)
        state.links.removeValue(forKey: id)?.orders.close()
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
    case .leaseEnded(let lease, let countsAsLoss):
      log(endOfLease: lease.incarnation, lease.host, countsAsLoss: countsAsLoss)
    case .leaseMoved(let lease):
      logger.info("a worker is served by another coordinator now", metadata: [Names.LogKey.host: "\(lease.host)"])
    case .coordinatorEnded(let epoch):
      logger.warning(
        "another coordinator stood still, and its work was taken over", metadata: ["coordinator": "\(epoch)"])
    case .nameRefused(let host, let address, let text): log(refusal: text, .name, of: host, at: address)
    case .unprovenReceipt(let host, let receipt): warn(ofUnproven: receipt, from: host)
    case .cameFromAnotherStore(let host):
      logger.warning("a worker comes from another store", metadata: [Names.LogKey.host: "\(host)"])
    case .wentBackwards(let why): logHistory(why)
    case .failed(let order, let error): note(error, while: order.purpose)
    }
  }
}
