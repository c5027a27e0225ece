import BatonCoordinator
import BatonModel
import BatonStore

/// Drives `CoordinatorCore` in the simulator, as `Coordinator` does in the daemon. Time is virtual, the store can be
/// slow or full, the process can die, and connections can break. Each instance is one coordinator process.
final class SimulatedCoordinator {
  let world: World
  let machine: Machine
  /// The verbs of this process, with its tenure and its memory.
  let store: OpenStore
  /// The number of this coordinator process, from 1.
  let life: Int
  let writer: Writer
  /// Simulations are short: requests rise and reserve hosts soon.
  private static func rules(_ namespaces: Namespaces) -> DispatchRules {
    var rules = DispatchRules()
    (rules.ageAfter, rules.reserveAfter) = (.seconds(30), .seconds(2))
    rules.namespaces = namespaces
    return rules
  }

  private(set) var core: CoordinatorCore
  private(set) var sessions: [SessionID: Session] = [:]
  private var lastSession = 0
  private var steadyClock: SteadyClock
  private var lastTickAt: Instant?
  var draw: Draw
  /// Draws the names that a store that went backwards gets.
  private var names: Draw
  /// The operators' words that have no answer yet. The first word is being carried out.
  var words: [() -> Void] = []
  /// The leases that this coordinator has decided to end before a worker's next process came.
  /// For each, when the host had been heard of at the decision.
  var endedLeases: [HostLease: Instant] = [:]
  /// The launches that this coordinator has taken for stalled, and how long they had made no progress then.
  var stalls: [LaunchKey: Duration] = [:]
  private(set) var isReady = false

  /// Read in place, because copies would be a large part of the cost of a simulation.
  var dispatcher: Dispatcher { _read { yield core.dispatcher } }
  var owner: Owner { .coordinator(life: life) }
  /// Its name in traces.
  var name: String { world.isShared ? "coordinator \(machine.number)" : "coordinator" }
  private var boot: String { "boot-\(machine.clocks.boot)" }

  init(_ world: World, on machine: Machine) {
    (self.world, self.machine) = (world, machine)
    let namespaces = world.namespaces
    store = OpenStore(
      verbs: SQLiteStore.another(on: world.store.verbs, isShared: world.isShared, namespaces: namespaces))
    world.coordinatorLives += 1
    life = world.coordinatorLives
    writer = Writer(world, machine, store, .coordinator(life: life))
    core = CoordinatorCore(
      leaseTerm: world.schedule.leaseTerm, isShared: world.isShared, rules: Self.rules(namespaces))
    steadyClock = SteadyClock(resuming: nil, at: machine.clocks.now(at: world.now), boot: "")
    draw = Draw(seed: world.schedule.seed, stream: 3_000 + UInt64(life))
    names = Draw(seed: world.schedule.seed, stream: 6_000 + UInt64(life))
  }

  func now() -> Now {
    var now = machine.clocks.now(at: world.now)
    now.steady = steadyClock.steady(at: now.instant)
    return now
  }

  /// The present by the simulator's own clocks.
  func time() -> Journal.Time {
    let now = now()
    return Journal.Time(
      elapsed: .nanoseconds(world.now.nanoseconds), date: now.date, boot: machine.clocks.boot, steady: now.steady)
  }

  /// Drops the connections and the writes that wait, after the process died. Their closures keep this object in memory.
  func abandon() {
    (sessions, words) = ([:], [])
    writer.abandon()
  }

  // MARK: Starting

  /// Reads the state of the fleet from the store, before any worker or client connects.
  func restore() throws {
    let (tenure, nextStore) = (Int64(bitPattern: names.next() >> 1), "store-\(names.next())")
    try store.transaction { try $0.join(as: tenure, nextStore: nextStore, address: name) }
    try setClock()
    world.journal.began(at: time())
    let (fleet, definitions) = try store.transaction { (try $0.fleet(), try $0.definitions()) }
    (machine.heard, machine.restoredAt) = ([:], world.now)
    for host in fleet.hosts where host.owner == fleet.epoch { machine.heard[host.name] = world.now }
    try tell { $0.restore(fleet, definitions, at: now()) }
    try loseLeases(fleet)
    loop(owner)
    keepHouse()
    isReady = core.hasJoined
  }

  /// Continues the steady clock of earlier coordinators, or follows the clock of the steward.
  private func setClock() throws {
    let fleet = try store.transaction { try $0.fleet() }
    if world.isShared, let clock = fleet.clock {
      steadyClock = SteadyClock(following: clock, at: machine.clocks.now(at: world.now).instant, boot: boot)
    } else {
      steadyClock = SteadyClock(resuming: fleet.clock, at: machine.clocks.now(at: world.now), boot: boot)
      let reading = reading()
      try store.transaction { try $0.saveClock(reading) }
    }
  }

  func reading() -> ClockReading {
    let now = now()
    return ClockReading(moment: now.moment, boot: boot, instant: now.instant)
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
    isReady = core.hasJoined
  }

  /// Notices that this process was stopped. It has read no message in the meantime, so each lease gets one new term.
  private func noteGap(until instant: Instant) {
    if let lastTickAt, instant - lastTickAt > dispatcher.pauseNoticed {
      for host in machine.heard.keys { machine.heard[host] = world.now }
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
        // The store refuses a stall that a coordinator has found on a host that has moved.
        if world.isShared, case .expire(let launch, .stalled) = message {
          stalls[launch] = stalls[launch] ?? world.journal.idleTime(of: launch)
        } else {
          try world.journal.checkCommitted(message)
        }
        sessions[id]?.send(message)
      case .close(let id): try sessions[id]?.close()
      case .forget(let id): sessions[id] = nil
      case .dispatch: world.after(.microseconds(20), for: owner) { [self] in try dispatch() }
      case .store(let order, let delay): orders.append((order, delay))
      case .tell(.leaseEnded(let lease, let countsAsLoss)):
        // The store may refuse the end of a lease that another coordinator has.
        if world.isShared {
          endedLeases[lease] = machine.heard[lease.host] ?? world.now
        } else {
          try world.checkEndOfLease(lease, by: self, heard: nil, countsAsLoss: countsAsLoss)
        }
      case .sendReceipt(let id): store.verbs.receipt.map { sessions[id]?.send(.receipt($0)) }
      case .tell: break
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
    guard order.concernsWords else { return try carryOut(order) {} }
    inTurn { [self] done in try carryOut(order, then: done) }
  }

  private func carryOut(_ order: StoreOrder, then done: @escaping () throws -> Void) throws {
    if case .submit(let id, let asked, let process) = order {
      return try submit(asked, of: process, for: id, as: order, then: done)
    }
    let (reading, time) = (reading(), time())
    if order.isReading {
      // The answer to `readFleet` names the coordinator that reads.
      let reader = if case .readFleet = order { store } else { world.store }
      return writer.read(as: reader) {
        try order.run(on: $0, at: reading)
      } then: { [self] result in
        switch result {
        case .success(let news):
          if case .fleetRead(let fleet) = news { heard(fleet, askedAt: reading.instant) }
          try world.committed(news, of: order, by: self, at: time)
          try tell { $0.stored(news, at: self.now()) }
        case .failure(let error): try failed(order, error)
        }
        try done()
      }
    }
    writer.write(order.lane) {
      try order.run(on: $0, at: reading)
    } committed: { [self] news in
      try world.committed(news, of: order, by: self, at: time)
    } then: { [self] result in
      switch result {
      case .success(let news): try tell { $0.stored(broken(news), at: self.now()) }
      case .failure(let error): try failed(order, error)
      }
      try done()
    }
  }

  /// What a hello proves. Receipts cannot be forged in this simulation.
  func proof(of hello: Hello) -> Proof {
    Proof(secret: hello.secret, signedReceipts: Set(hello.receipts), nextStore: "store-\(names.next())")
  }

  /// Follows the steward's clock, and notes the leases that this coordinator has taken over: each gets one full term.
  private func heard(_ fleet: FleetRecord, askedAt asked: Instant) {
    for host in fleet.hosts where host.owner == fleet.epoch {
      let known = dispatcher.hosts[host.name]
      guard known?.incarnation == nil, known?.leaseNumber ?? 0 < host.leaseNumber else { continue }
      machine.heard[host.name] = world.now
    }
    guard let clock = fleet.clock, clock.steward != fleet.epoch else { return }
    let instant = machine.clocks.now(at: world.now).instant
    let before = steadyClock.steady(at: instant)
    steadyClock.follow(clock, askedAt: asked, at: instant, boot: boot)
    if core.takesOffice { steadyClock.takeOffice(at: instant, boot: boot) }
    let step = (steadyClock.steady(at: instant) - before).inSeconds
    if abs(step) > 0.5 { world.note("\(name): its clock steps by \(step) s to the clock of \(clock.steward)") }
  }

  func failed(_ order: StoreOrder, _ error: StoreError) throws {
    world.note("\(name): the store answers \(World.name(of: order)) with \(error.code)")
    try tell { $0.failed(order, error, at: now()) }
    // After an unknown commit the process is about to end.
    if !error.isPassing, !error.endsCoordinator, error.code != .moved, order.session == nil { throw error }
  }
}
