import BatonCoordinator
import BatonModel
import BatonWorker

/// The shell around a worker's core, as `Worker` is one, with its supervisor: one process after another on one host.
final class SimulatedWorker {
  let world: World
  let number: Int
  /// Counts processes.
  private(set) var life = 0
  private(set) var isAlive = false
  var core: WorkerCore
  private(set) var link: Link?
  private(set) var handlers: [LaunchKey: SimulatedHandler] = [:]
  /// What the host's probes say, whatever process runs.
  private(set) var conditions: Conditions
  private var reconnection = Reconnection()
  private var connectedAt = Instant(nanoseconds: 0)
  /// Since when nothing keeps it from hearing what the coordinator says; nil while something does.
  private var healthySince: Instant?
  private var isWelcomed = false
  private var onlyWaitsSince: Instant?
  /// Launches that this process has started.
  private var started: Set<LaunchKey> = []
  private var draw: Draw
  /// When nobody starts a process here any more, until then.
  private var isWanted = true

  var plan: Schedule.HostPlan { world.schedule.hosts[number] }
  var owner: Owner { .worker(number, life: life) }
  var now: Instant { world.now + plan.clockOffset }

  init(_ world: World, _ number: Int) {
    (self.world, self.number) = (world, number)
    let plan = world.schedule.hosts[number]
    conditions = plan.conditions
    core = WorkerCore(host: plan.name, incarnation: Incarnation("none"), version: "1", capabilities: plan.capabilities)
    draw = Draw(seed: world.schedule.seed, stream: 4_000 + UInt64(number))
  }

  // MARK: Processes

  func start() {
    guard !isAlive else { return }
    life += 1
    isAlive = true
    (reconnection, onlyWaitsSince, link, started) = (Reconnection(), nil, nil, [])
    handlers = [:]
    core = WorkerCore(
      host: plan.name, incarnation: Incarnation("\(plan.name)-\(life)"), version: "1", capabilities: plan.capabilities,
      conditions: conditions)
    world.note("\(plan.name): starts as process \(life)")
    connect()
    loop()
  }

  /// - Parameter losesPower: nobody closes its connections.
  func die(word: Fault.SupervisorsWord, losesPower: Bool, backAfter: Duration) {
    guard isAlive else { return }
    world.note("\(plan.name): process \(life) dies")
    isAlive = false
    let incarnation = core.incarnation
    if let link {
      if losesPower { link.isBroken = true } else { closeLink(link) }
    }
    link = nil
    handlers = [:]
    if word != .none { reportDeath(of: incarnation, isBlameless: word == .blameless) }
    world.after(backAfter, for: .world) { [self] in start() }
  }

  /// Tries until the coordinator has it.
  private func reportDeath(of incarnation: Incarnation, isBlameless: Bool) {
    world.after(draw.milliseconds(1...800), for: .world) { [self] in
      guard let coordinator = world.coordinator, coordinator.isReady, !world.network.isCut(number) else {
        return reportDeath(of: incarnation, isBlameless: isBlameless)
      }
      world.after(world.network.delay(number), for: coordinator.owner) { [self] in
        world.note("supervisor of \(plan.name): \(incarnation) died")
        try coordinator.decide { $0.processDied(plan.name, incarnation, isBlameless: isBlameless) }
      }
    }
  }

  private func loop() {
    world.after(world.pace, for: owner, isTimer: true) { [self] in
      try decide { $0.tick(at: now) }
      guard isAlive else { return }
      try checkLaunches()
      if isDrained() { return die(word: .none, losesPower: false, backAfter: .seconds(1)) }
      loop()
    }
  }

  /// What the core has to have noticed by now.
  private func checkLaunches() throws {
    let isLeased =
      switch core.lease {
      case .none: false
      case .asked: true
      case .held(let until, _, _): until > now
      }
    for key in core.launches.keys.sorted() {
      guard let index = core.launches.index(forKey: key) else { continue }
      // Looked at where they are: copies would be most of what this costs.
      switch core.launches.values[index].phase {
      case .running:
        let launch = core.launches.values[index]
        let isSpent = launch.definition.budget.map { launch.startedAt + $0 <= now } ?? false
        let isForbidden = Policy.expiry(
          of: launch.definition, under: core.conditions, isSimulated: launch.assignment.isSimulated)
        try world.journal.expect(isLeased, .expiry, "\(key) goes on without a lease")
        try world.journal.expect(!isSpent, .expiry, "\(key) goes on after its budget")
        try world.journal.expect(isForbidden == nil, .expiry, "\(key) goes on, \(isForbidden?.code ?? "")")
        try world.journal.expect(!core.isDraining, .expiry, "\(key) goes on while its worker drains")
      case .expiring(_, let deadline, let isOverrun):
        try world.journal.expect(isOverrun || deadline > now, .expiry, "\(key) goes on after its deadline")
        // A command is killed at once, a handler with its process.
        let end = core.launches.values[index].definition.work == nil ? core.endsProcessAt : deadline
        try world.journal.expect(
          !isOverrun || end.map { now - $0 < Self.longestOverrun } ?? false, .expiry,
          "\(key) is not stopped after its deadline")
      case .ended: break
      }
    }
  }

  private static let longestOverrun = Duration.milliseconds(200)

  /// How long a drained worker waits for its endings to be stored.
  private static let drainPatience = Duration.seconds(10)

  private func isDrained() -> Bool {
    guard core.isDraining, core.launches.values.allSatisfy(\.hasEnded) else {
      onlyWaitsSince = nil
      return false
    }
    let since = onlyWaitsSince ?? now
    onlyWaitsSince = since
    return core.isQuiet || now - since > Self.drainPatience
  }

  func drain() throws { try decide { $0.drain(at: now) } }

  func change(_ conditions: Conditions) throws {
    self.conditions = conditions
    guard isAlive else { return }
    // Through the process, which may be stopped.
    world.after(.zero, for: owner) { [self] in try decide { $0.conditionsChanged(self.conditions, at: now) } }
  }

  // MARK: What it has to have heard of

  var isHealthy: Bool {
    guard let link, isAlive, isWelcomed, !world.isStopped(owner), !link.isBroken, !link.isClosedByCoordinator,
      let coordinator = world.coordinator, coordinator.isReady, !world.isStopped(coordinator.owner)
    else { return false }
    return !world.network.isCut(number) && !world.network.isSlow[number] && !world.isStoreSlow
      && world.now >= world.settledAt
  }

  /// What a worker that hears everything does within three seconds.
  func watch() throws {
    guard isHealthy else {
      healthySince = nil
      return
    }
    let since = healthySince ?? world.now
    healthySince = since
    let ago = world.now + .seconds(-3)
    guard since <= ago else { return }
    for (_, launch) in core.launches.sorted(by: { $0.key < $1.key }) where launch.phase == .running {
      try world.journal.checkStillWanted(launch.assignment.launch, since: .nanoseconds(ago.nanoseconds))
    }
    for (launch, handler) in handlers.sorted(by: { $0.key < $1.key }) {
      try world.journal.expect(
        handler.askedAt.map { $0 > ago } ?? true, .message, "\(launch) waits for an answer that does not come")
    }
  }

  // MARK: Connecting

  private func connect() {
    world.after(world.network.delay(number), for: owner) { [self] in
      guard let coordinator = world.coordinator, coordinator.isReady, !world.isStopped(coordinator.owner),
        !world.network.isCut(number)
      else { return connectAgain() }
      connectedAt = now
      isWelcomed = false
      let link = Link(host: number, workerLife: life, coordinatorLife: coordinator.life)
      let session = Session(link, coordinator)
      world.network.open(link)
      link.isBroken = world.network.swallowsNext(number)
      self.link = link
      for case .send(let message) in core.connected(at: now) { send(message, on: link, to: session) }
    }
  }

  private func connectAgain() {
    let pause = reconnection.next(afterConnectionOf: now - connectedAt, atMost: core.longestPause, using: &draw)
    world.after(pause, for: owner) { [self] in connect() }
  }

  private func send(_ message: WorkerMessage, on link: Link, to session: Session? = nil) {
    guard !link.isClosedByWorker else { return }
    let session = session ?? link.session
    link.session = session
    world.network.sendUp(link, in: world) { try session?.received(message) }
  }

  private func closeLink(_ link: Link) {
    guard !link.isClosedByWorker else { return }
    link.isClosedByWorker = true
    let session = link.session
    world.network.sendUp(link, in: world) { try session?.upClosed() }
  }

  /// The connection is gone, by whoever's doing.
  func closed(_ link: Link) throws {
    guard self.link === link else { return }
    closeLink(link)
    self.link = nil
    connectAgain()
  }

  func received(_ message: CoordinatorMessage, on link: Link) throws {
    guard self.link === link else { return }
    if isWelcome(message) {
      isWelcomed = true
      vanishAtWelcome()
    }
    let forgets = world.breakage == .forgetsToResend && isWelcome(message)
    try decide { core in
      core.received(message, at: now).filter { if case .send = $0 { !forgets } else { true } }
    }
  }

  /// Now and then a host is cut off for longer than its lease when it has just got it: it has to know when that ends.
  private func vanishAtWelcome() {
    guard !world.isCalm, draw.chance(5) else { return }
    world.network.cut(number, .both)
    world.after(world.schedule.leaseTerm * 3 / 2, for: .world) { [self] in world.network.heal(number, in: world) }
  }

  private func isWelcome(_ message: CoordinatorMessage) -> Bool { if case .welcome = message { true } else { false } }

  // MARK: Effects

  func decide(_ body: (inout WorkerCore) -> [WorkerCore.Effect]) throws {
    let effects = body(&core)
    for case .send(let message) in effects {
      guard let link else { break }
      send(message, on: link)
    }
    for case .start(let assignment, let definition) in effects { try begin(assignment, definition) }
    for effect in effects { try perform(effect) }
  }

  private func begin(_ assignment: Assignment, _ definition: Definition) throws {
    let launch = assignment.launch
    let isNew = started.insert(launch).inserted
    try world.journal.expect(isNew, .repeatedLaunch, "\(core.incarnation) starts \(launch) again")
    let handler = SimulatedHandler(assignment, definition, self)
    handlers[launch] = handler
    world.after(.microseconds(100), for: owner) { try handler.goOn() }
  }

  private func perform(_ effect: WorkerCore.Effect) throws {
    switch effect {
    case .send, .start: break
    case .expire(let launch, _, let deadline): try handlers[launch]?.expire(in: deadline - now)
    case .overrun(let launch): try overrun(launch)
    case .committed(let launch, let batch): try handlers[launch]?.committed(batch)
    case .refused(let launch, _, _): handlers[launch]?.refused()
    case .itemsCommitted(let launch, _, _): handlers[launch]?.answered()
    case .items(let page): try handlers[page.launch]?.received(page)
    case .forget(let launch): handlers[launch] = nil
    case .reconnect: if let link { try closed(link) }
    case .endProcess: die(word: .blameless, losesPower: false, backAfter: .seconds(1))
    case .end(let why): throw world.journal.violation(.crash, "\(plan.name) is turned away: \(why)")
    }
  }

  /// A handler in Swift can only be stopped with its process; a command is killed.
  private func overrun(_ launch: LaunchKey) throws {
    guard let state = core.launches[launch] else { return }
    guard state.definition.work == nil else { return try handlers[launch]?.kill() ?? () }
    try decide { $0.condemn(launch, at: now) }
  }
}
