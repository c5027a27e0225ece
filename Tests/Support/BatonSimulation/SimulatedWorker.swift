import BatonCoordinator
import BatonCore
import BatonModel

/// The shell around `WorkerCore`, as `Worker` is in the daemon, together with its supervisor. It runs one process after
/// the other on one host.
final class SimulatedWorker {
  let world: World
  let number: Int
  /// The number of the current worker process, from 1; 0 before the first start.
  private(set) var life = 0
  private(set) var isAlive = false
  var core: WorkerCore
  var link: Link?
  private(set) var handlers: [LaunchKey: SimulatedHandler] = [:]
  /// The conditions that the host's probes report. They outlive the worker's process.
  private(set) var conditions: Conditions
  /// When the current connection, or the last attempt to connect, began.
  var connectsAt = Instant(nanoseconds: 0)
  /// Since when this worker has been healthy (`isHealthy`), as `watch()` saw it; `nil` while it is not.
  var healthySince: Instant?
  var isWelcomed = false
  /// The machine that the next connection goes to. The worker knows the addresses of all machines.
  var address = 0
  /// The launches that this process has started.
  private var started: Set<LaunchKey> = []
  var draw: Draw

  var plan: Schedule.HostPlan { world.schedule.hosts[number] }
  var owner: Owner { .worker(number, life: life) }
  var now: Instant { world.now + plan.clockOffset }

  init(_ world: World, _ number: Int) {
    (self.world, self.number) = (world, number)
    let plan = world.schedule.hosts[number]
    conditions = plan.conditions
    core = Self.core(plan, Incarnation("none"), conditions, knowsOthers: world.isShared)
    draw = Draw(seed: world.schedule.seed, stream: 4_000 + UInt64(number))
    address = number % world.machines.count
  }

  // MARK: Processes

  private static func core(
    _ plan: Schedule.HostPlan, _ incarnation: Incarnation, _ conditions: Conditions, knowsOthers: Bool
  ) -> WorkerCore {
    WorkerCore(
      host: plan.name, incarnation: incarnation, version: "1", capabilities: plan.capabilities, conditions: conditions,
      endsProcessOnOverrun: true, knowsOtherCoordinators: knowsOthers)
  }

  func start() {
    guard !isAlive else { return }
    life += 1
    isAlive = true
    (link, started, handlers) = (nil, [], [:])
    core = Self.core(plan, Incarnation("\(plan.name)-\(life)"), conditions, knowsOthers: world.isShared)
    // The same for each process of the host. The store keeps it as it is; the daemon hashes it.
    core.prove(with: Array(repeating: UInt8(number + 1), count: 32))
    world.note("\(plan.name): starts as process \(life)")
    connect()
    loop()
  }

  /// Ends the process with all its handlers, and starts the next one after a pause.
  /// - Parameters:
  ///   - word: what the supervisor reports to the coordinator about the death.
  ///   - losesPower: whether the whole host lost power, so that its connections break without being closed.
  ///   - backAfter: the pause before the next process starts.
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

  /// Reports the death of a process to the coordinator, and repeats the attempt until the coordinator can be reached.
  private func reportDeath(of incarnation: Incarnation, isBlameless: Bool) {
    world.after(draw.milliseconds(1...800), for: .world) { [self] in
      guard let coordinator = world.anyMachine().ready, !world.network.isCut(number) else {
        return reportDeath(of: incarnation, isBlameless: isBlameless)
      }
      world.after(world.network.delay(number), for: coordinator.owner) { [self] in
        world.reportedDeaths.insert(incarnation)
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
      loop()
    }
  }

  func drain() throws { try decide { $0.drain(at: now) } }

  func change(_ conditions: Conditions) throws {
    self.conditions = conditions
    guard isAlive else { return }
    // The change is an event of the process, because the process may be stopped.
    world.after(.zero, for: owner) { [self] in try decide { $0.conditionsChanged(self.conditions, at: now) } }
  }

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
    case .expire(let launch, let window):
      try checkCause(of: launch, window.reason)
      try handlers[launch]?.expire(in: window.deadline - now)
    case .overrun(let launch): try handlers[launch]?.reachDeadline()
    case .answered(let launch, let question, let answer): try handlers[launch]?.answered(question, answer)
    case .forget(let launch): handlers[launch] = nil
    case .reconnect: if let link { try closed(link) }
    case .endProcess: die(word: .blameless, losesPower: false, backAfter: .seconds(1))
    case .end(nil): die(word: .none, losesPower: false, backAfter: .seconds(1))
    case .end(let why?): throw world.journal.violation(.crash, "\(plan.name) is turned away: \(why)")
    }
  }
}
