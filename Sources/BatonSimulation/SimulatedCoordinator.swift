import BatonCoordinator
import BatonModel
import BatonStore

/// The shell around the dispatcher, as `Coordinator` is one: the same facts in the same order, and the same effects.
final class SimulatedCoordinator {
  let world: World
  let life: Int
  let writer: Writer
  var dispatcher: Dispatcher
  var index = DefinitionIndex()
  var connections: [HostName: Session] = [:]
  var nextDue = NextDue()
  private var steadyClock: SteadyClock
  private var storeWork: [StoreWork] = []
  private var isWorking = false
  private var isDispatching = false
  private var wantsDispatch = false
  private var lastTickAt: Instant?
  private var isPromoting = false
  private var reports: [HostName: HostWord] = [:]
  var draw: Draw
  /// What an operator said and has no answer to yet.
  var words: [() -> Void] = []
  private(set) var isReady = false

  private enum StoreWork {
    case endLease(HostName, Incarnation, countsAsLoss: Bool)
    case noteExpiry(LaunchKey, ExpiryReason, from: WorkerProcess?)
    case note(RequestID, event: RequestEvent, detail: String)
    case noteUse(IdentifierPattern, at: Timestamp)
    case reports
  }

  var owner: Owner { .coordinator(life: life) }
  private var boot: String { "boot-\(world.clocks.boot)" }

  init(_ world: World) {
    self.world = world
    world.coordinatorLives += 1
    life = world.coordinatorLives
    writer = Writer(world, .coordinator(life: life))
    dispatcher = Dispatcher(leaseTerm: world.schedule.leaseTerm)
    steadyClock = SteadyClock(resuming: nil, at: world.clocks.now(at: world.now), boot: "")
    draw = Draw(seed: world.schedule.seed, stream: 3_000 + UInt64(life))
  }

  func now() -> Now {
    var now = world.clocks.now(at: world.now)
    now.steady = steadyClock.steady(at: now.instant)
    return now
  }

  /// Nothing of it happens any more. What it holds, and what waits for it, holds on to it.
  func abandon() {
    (connections, words) = ([:], [])
    writer.abandon()
  }

  // MARK: Starting

  /// Reads what the store knows, all before anybody connects.
  func restore() throws {
    let saved = try world.store.transaction { try $0.clock() }
    steadyClock = SteadyClock(resuming: saved, at: world.clocks.now(at: world.now), boot: boot)
    try saveClock()
    let (fleet, definitions) = try world.store.transaction { (try $0.fleet(), try $0.definitions()) }
    index = DefinitionIndex(definitions)
    nextDue = fleet.nextDue
    dispatcher.restore(fleet, at: now())
    world.heard = [:]
    for host in fleet.hosts where host.incarnation != nil { world.heard[host.name] = world.now }
    if world.breakage == .losesLeasesAtRestart {
      for host in fleet.hosts {
        host.incarnation.map { storeWork.append(.endLease(host.name, $0, countsAsLoss: true)) }
      }
      workOnStore()
    }
    isReady = true
    loop(owner)
    keepHouse()
    raiseDispatch()
  }

  private func saveClock() throws {
    let now = now()
    try world.store.transaction {
      try $0.saveClock(ClockReading(moment: now.moment, boot: boot, instant: now.instant))
    }
  }

  // MARK: Loops

  private func loop(_ owner: Owner) {
    world.after(world.pace, for: owner, isTimer: true) { [self] in
      try tick()
      loop(owner)
    }
  }

  private func tick() throws {
    let now = now()
    noteGap(until: now.instant)
    let effects = dispatcher.tick(at: leaseTime(now))
    for case .endLease(let host, let incarnation, let countsAsLoss) in effects {
      try world.checkEndOfLease(host, incarnation, countsAsLoss: countsAsLoss)
    }
    try decide { _ in effects }
    raiseDispatch()
    try promoteIfDue()
  }

  /// A process that was stopped has read nothing meanwhile: each lease has one new term.
  private func noteGap(until instant: Instant) {
    if let lastTickAt, instant - lastTickAt > dispatcher.pauseNoticed {
      for host in world.heard.keys { world.heard[host] = world.now }
    }
    lastTickAt = instant
  }

  private func leaseTime(_ now: Now) -> Now {
    guard world.breakage == .leasesByWallClock else { return now }
    var wrong = now
    wrong.instant = Instant(nanoseconds: now.date.nanoseconds - Journal.epoch.nanoseconds)
    return wrong
  }

  /// Most of what has ended is kept for a moment only, so that deletion falls between everything else.
  private func keepHouse() {
    world.after(.seconds(11), for: owner, isTimer: true) { [self] in
      prune()
      keepHouse()
    }
  }

  private func prune() {
    let now = now().moment
    let limits = RetentionLimits(endedFor: .seconds(20), endedCount: 15, step: 4)
    writer.write(.ordinary) { verbs in
      let before = try verbs.requests(
        RequestFilter(states: [.succeeded, .failed, .cancelled]), after: nil, limit: 1_000)
      _ = try verbs.prune(limits, at: now)
      return try before.filter { try verbs.request($0.id) == nil }
    } committed: { [world] gone in
      for record in gone { try world.journal.pruned(record) }
    } then: { _ in
    }
  }

  private func promoteIfDue() throws {
    let now = now().moment
    guard nextDue.hasCome(at: now), !isPromoting else { return }
    nextDue = NextDue()
    isPromoting = true
    writer.write(.ordinary) {
      try $0.promote(at: now, limit: 10_000)
    } then: { [self] result in
      isPromoting = false
      let promotion = try result.get()
      nextDue.join(promotion.nextDue)
      for requirementClass in promotion.classes.keys.sorted() { dispatcher.noteReady(requirementClass) }
      raiseDispatch()
    }
  }

  // MARK: Effects

  func decide(_ body: (inout Dispatcher) throws -> [Dispatcher.Effect]) throws {
    for effect in try body(&dispatcher) { try perform(effect) }
  }

  private func perform(_ effect: Dispatcher.Effect) throws {
    switch effect {
    case .send(let host, let message): connections[host]?.send(message)
    case .disconnect(let host): try connections[host]?.close()
    case .endLease(let host, let incarnation, let countsAsLoss):
      put(.endLease(host, incarnation, countsAsLoss: countsAsLoss))
    case .noteExpiry(let launch, let reason, let process): put(.noteExpiry(launch, reason, from: process))
    case .note(let request, let event, let detail): put(.note(request, event: event, detail: detail))
    case .noteUse(let pattern, let date): put(.noteUse(pattern, at: date))
    }
  }

  private func put(_ work: StoreWork) {
    storeWork.append(work)
    workOnStore()
  }

  func noteReport(of host: HostName) {
    guard let state = dispatcher.hosts[host] else { return }
    let isFirst = reports.isEmpty
    reports[host] = HostWord(
      version: state.version, capabilities: state.host.capabilities, conditions: state.host.conditions)
    if isFirst { put(.reports) }
  }

  /// One after the other, each when the one before is stored.
  private func workOnStore() {
    guard !isWorking, !storeWork.isEmpty else { return }
    isWorking = true
    let now = now().moment
    let goOn: () -> Void = { [self] in
      isWorking = false
      workOnStore()
    }
    switch storeWork.removeFirst() {
    case .endLease(let host, let incarnation, let countsAsLoss):
      endLease(host, incarnation, countsAsLoss: countsAsLoss) { goOn() }
    case .noteExpiry(let launch, let reason, let process):
      writer.write(.urgent) {
        try $0.noteExpiry(launch, reason, from: process, at: now)
      } committed: { [world] _ in
        world.journal.noted(reason, of: launch)
      } then: { _ in
        goOn()
      }
    case .note(let request, let event, let detail):
      writer.write(.urgent) {
        try $0.note(event, detail: detail, of: request, at: now)
      } then: { _ in
        goOn()
      }
    case .noteUse(let pattern, let date):
      writer.write(.ordinary) {
        try $0.noteUses([pattern: date])
      } then: { _ in
        goOn()
      }
    case .reports:
      let reports = reports
      self.reports = [:]
      writer.write(.ordinary) {
        try $0.noteReports(reports, at: now)
      } then: { _ in
        goOn()
      }
    }
  }

  func endLease(
    _ host: HostName, _ incarnation: Incarnation, countsAsLoss: Bool, then: @escaping () throws -> Void
  ) {
    let now = now().moment
    world.note("coordinator: ends the lease of \(host) \(incarnation)")
    endOverrun(on: host, incarnation, at: now)
    writer.write(.urgent) {
      try $0.endLease(host, incarnation, countsAsLoss: countsAsLoss, at: now)
    } committed: { [world] answers in
      for answer in answers { try world.journal.ended(answer, as: .lost, at: now) }
    } then: { [self] result in
      let answers = try result.get()
      dispatcher.leaseEnded(host, incarnation)
      for answer in answers { note(answer) }
      raiseDispatch()
      try then()
    }
  }

  private func endOverrun(on host: HostName, _ incarnation: Incarnation, at now: Moment) {
    for ending in dispatcher.overrunEndings(on: host) {
      writer.write(.urgent) {
        try $0.end([ending], from: WorkerProcess(host: host, incarnation: incarnation), at: now)
      } committed: { [world] answers in
        for answer in answers { try world.journal.ended(answer, as: ending.outcome, at: now) }
      } then: { [self] result in
        for answer in try result.get() { note(answer) }
      }
    }
  }

  /// What the end of a launch changes besides the launch itself.
  func note(_ answer: EndingAnswer) {
    dispatcher.ended(answer.launch)
    if world.breakage == .forgetsRequeue { return }
    if answer.state == .ready { dispatcher.noteReady(answer.requirementClass) }
    if let released = answer.released { dispatcher.noteReady(released) }
    nextDue.join(answer.nextDue)
  }

  // MARK: Dispatching

  func raiseDispatch() {
    wantsDispatch = true
    guard !isDispatching else { return }
    isDispatching = true
    world.after(.microseconds(20), for: owner) { [self] in try dispatch() }
  }

  private func dispatch() throws {
    wantsDispatch = false
    for id in dispatcher.unlearned {
      if let definition = try world.store.transaction({ try $0.definition(id) }) { dispatcher.learn(id, definition) }
    }
    let before = world.isObserving(self) ? dispatcher : nil
    let reservations = dispatcher.reserveReady(limit: 512)
    if let before { try world.checkExplanation(of: reservations, before: before, after: dispatcher) }
    guard !reservations.isEmpty else { return rest() }
    claim(reservations)
  }

  private func rest() {
    isDispatching = false
    if wantsDispatch { raiseDispatch() }
  }

  private func claim(_ reservations: [Dispatcher.Reservation]) {
    let now = now().moment
    let claims = reservations.map { reservation in
      Claim(
        requirementClass: reservation.requirementClass, host: reservation.host, incarnation: reservation.incarnation,
        places: reservation.places.map { Claim.Place(gpus: $0, spanID: world.drawSpanID()) },
        history: dispatcher.history(of: reservation.requirementClass))
    }
    writer.write(.ordinary) {
      try $0.claim(claims, at: now)
    } committed: { [world] answers in
      for (claim, answer) in zip(claims, answers) {
        for assignment in answer.assignments {
          try world.started(assignment, on: claim.host, claim.incarnation, at: now)
        }
      }
    } then: { [self] result in
      let answers = try result.get()
      try settle(reservations, answers)
      let isProgress = zip(claims, answers).contains { claim, answer in
        !answer.assignments.isEmpty || (!claim.places.isEmpty && !answer.hasFitting)
      }
      if isProgress { try dispatch() } else { rest() }
    }
  }

  private func settle(_ reservations: [Dispatcher.Reservation], _ answers: [ClaimAnswer]) throws {
    try decide { dispatcher in
      zip(reservations, answers).flatMap { reservation, answer in
        nextDue.join(answer.nextDue)
        return dispatcher.settle(
          reservation, with: answer.assignments, hasMore: answer.hasMore, hasFitting: answer.hasFitting)
      }
    }
  }
}
