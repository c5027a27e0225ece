import BatonCoordinator
import BatonModel
import BatonStore

/// Drives `CoordinatorCore` in the simulator, as `Coordinator` does in the daemon. Time is virtual, the store can be
/// slow or full, the process can die, and connections can break. Each instance is one coordinator process.
final class SimulatedCoordinator {
  let world: World
  /// The number of this coordinator process, from 1.
  let life: Int
  let writer: Writer
  private(set) var core: CoordinatorCore
  private(set) var sessions: [SessionID: Session] = [:]
  private var lastSession = 0
  private var steadyClock: SteadyClock
  private var lastTickAt: Instant?
  var draw: Draw
  /// The operators' words that have no answer yet. The first word is being carried out.
  var words: [() -> Void] = []
  private(set) var isReady = false

  /// Read in place, because copies would be a large part of the cost of a simulation.
  var dispatcher: Dispatcher { _read { yield core.dispatcher } }
  var owner: Owner { .coordinator(life: life) }
  private var boot: String { "boot-\(world.clocks.boot)" }

  init(_ world: World) {
    self.world = world
    world.coordinatorLives += 1
    life = world.coordinatorLives
    writer = Writer(world, .coordinator(life: life))
    core = CoordinatorCore(leaseTerm: world.schedule.leaseTerm)
    steadyClock = SteadyClock(resuming: nil, at: world.clocks.now(at: world.now), boot: "")
    draw = Draw(seed: world.schedule.seed, stream: 3_000 + UInt64(life))
  }

  func now() -> Now {
    var now = world.clocks.now(at: world.now)
    now.steady = steadyClock.steady(at: now.instant)
    return now
  }

  /// The present by the simulator's own clocks.
  func time() -> Journal.Time {
    let now = now()
    return Journal.Time(
      elapsed: .nanoseconds(world.now.nanoseconds), date: now.date, boot: world.clocks.boot, steady: now.steady)
  }

  /// Drops the connections and the writes that wait, after the process died. Their closures keep this object in memory.
  func abandon() {
    (sessions, words) = ([:], [])
    writer.abandon()
  }

  // MARK: Starting

  /// Reads the state of the fleet from the store, before any worker or client connects.
  func restore() throws {
    let saved = try world.store.transaction { try $0.clock() }
    steadyClock = SteadyClock(resuming: saved, at: world.clocks.now(at: world.now), boot: boot)
    world.journal.began(at: time())
    try saveClock()
    let (fleet, definitions) = try world.store.transaction { (try $0.fleet(), try $0.definitions()) }
    (world.heard, world.restoredAt) = ([:], world.now)
    for host in fleet.hosts where host.incarnation != nil { world.heard[host.name] = world.now }
    try tell { $0.restore(fleet, definitions, at: now()) }
    try loseLeases(fleet)
    isReady = true
    loop(owner)
    keepHouse()
  }

  private func saveClock() throws {
    let now = now()
    try world.store.transaction {
      try $0.saveClock(ClockReading(moment: now.moment, boot: boot, instant: now.instant))
    }
  }

  // MARK: Time

  private func loop(_ owner: Owner) {
    world.after(world.pace, for: owner, isTimer: true) { [self] in
      try tick()
      loop(owner)
    }
  }

  private func tick() throws {
    let now = now()
    noteGap(until: now.instant)
    core.tick(at: leaseTime(now))
    try perform()
  }

  /// Notices that this process was stopped. It has read no message in the meantime, so each lease gets one new term.
  private func noteGap(until instant: Instant) {
    if let lastTickAt, instant - lastTickAt > dispatcher.pauseNoticed {
      for host in world.heard.keys { world.heard[host] = world.now }
    }
    lastTickAt = instant
  }

  // MARK: Connections

  func open(_ session: Session) -> SessionID {
    lastSession += 1
    let id = SessionID(lastSession)
    sessions[id] = session
    return id
  }

  // MARK: Effects

  /// Tells the core a fact and performs the effects that the core decides.
  @discardableResult
  func tell<Value>(_ fact: (inout CoordinatorCore) throws -> Value) throws -> Value {
    let value = try fact(&core)
    try perform()
    return value
  }

  /// Tells the core a fact that concerns only the dispatcher.
  func decide(_ body: (inout Dispatcher) throws -> [Dispatcher.Effect]) throws {
    try tell { _ = try $0.decide(body) }
  }

  private func perform() throws {
    var orders: [(order: StoreOrder, delay: Duration)] = []
    for effect in core.effects {
      switch effect {
      case .send(let id, let message):
        try world.journal.checkCommitted(message)
        sessions[id]?.send(message)
      case .close(let id): try sessions[id]?.close()
      case .forget(let id): sessions[id] = nil
      case .dispatch: world.after(.microseconds(20), for: owner) { [self] in try dispatch() }
      case .store(let order, let delay): orders.append((order, delay))
      case .tell(.leaseEnded(let host, let incarnation, let countsAsLoss)):
        try world.checkEndOfLease(host, incarnation, countsAsLoss: countsAsLoss)
      case .sendReceipt, .tell: break
      }
    }
    core.clearEffects()
    // The orders go to the store side by side, so either order is possible.
    if orders.count > 1, draw.chance(50) { orders.reverse() }
    for (order, delay) in orders {
      if delay == .zero { notice(order) }
      try carryOut(order, after: delay)
    }
  }

  private func dispatch() throws {
    let before = world.isObserving(self) ? dispatcher : nil
    core.dispatch(world.drawSpanID)
    if let before {
      for case .store(.claim(_, let reservations), _) in core.effects {
        try world.checkExplanation(of: reservations, before: before, after: dispatcher)
      }
    }
    try perform()
  }

  private func carryOut(_ order: StoreOrder, after delay: Duration) throws {
    if delay > .zero { return world.after(delay, for: owner) { [self] in try carryOut(order, after: .zero) } }
    let (now, time) = (now().moment, time())
    if order.isReading {
      return writer.read {
        try order.run(on: $0, at: now)
      } then: { [self] news in
        try world.committed(news, of: order, at: time)
        try tell { $0.stored(news, at: self.now()) }
      }
    }
    writer.write(order.lane) {
      try order.run(on: $0, at: now)
    } committed: { [world] news in
      try world.committed(news, of: order, at: time)
    } then: { [self] result in
      switch result {
      case .success(let news): try tell { $0.stored(broken(news), at: self.now()) }
      case .failure(let error): try failed(order, error)
      }
    }
  }

  private func failed(_ order: StoreOrder, _ error: StoreError) throws {
    try tell { $0.failed(order, error, at: now()) }
    // After an unknown commit the process is about to end.
    if !error.isPassing, !error.endsCoordinator, order.session == nil { throw error }
  }
}
