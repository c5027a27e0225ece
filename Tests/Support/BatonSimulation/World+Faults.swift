import BatonCoordinator
import BatonModel
import BatonStore

/// Carries out the faults of a schedule, and the actions of operators.
extension World {
  func perform(_ fault: Fault) throws {
    note("fault: \(fault.kind)")
    count(.fault, Self.name(of: fault.kind))
    switch fault.kind {
    case .crashCoordinator(let point, let downFor, let reboots):
      let machine = anyMachine()
      guard machine.coordinator != nil else { return }
      machine.crashPlan = (downFor, reboots)
      if point == .now { try crashCoordinator(on: machine) } else { machine.crash = point }
    case .pauseCoordinator(let duration): pause(anyMachine().coordinator?.owner, duration)
    case .killWorker(let host, let word, let backAfter, let losesPower):
      // The process dies even while it is stopped.
      workers[host].die(word: word, losesPower: losesPower, backAfter: backAfter)
    case .pauseWorker(let host, let duration): pause(workers[host].isAlive ? workers[host].owner : nil, duration)
    case .restartWorker(let host): after(.zero, for: workers[host].owner) { try self.workers[host].drain() }
    case .loseConnection(let host, let workerNotices, let coordinatorNotices):
      loseConnection(host, workerNotices, coordinatorNotices)
    case .partition(let host, let direction, let duration):
      network.cut(host, direction)
      after(duration, for: .world) { self.network.heal(host, in: self) }
    case .slowNetwork(let host, let duration):
      network.isSlow[host] = true
      after(duration, for: .world) {
        self.network.isSlow[host] = false
        self.settle()
      }
    case .slowStore(let duration):
      writesAreSlow = true
      after(duration, for: .world) {
        self.writesAreSlow = false
        self.settle()
      }
    case .fullDisk(let duration):
      isDiskFull = true
      after(duration, for: .world) {
        self.isDiskFull = false
        self.settle()
      }
    case .overload(let duration):
      isOverloaded = true
      after(duration, for: .world) {
        self.isOverloaded = false
        self.settle()
      }
    case .repeatMessages(let host, let duration):
      network.isRepeating[host] = true
      after(duration, for: .world) { self.network.isRepeating[host] = false }
    case .stepClock(let step): anyMachine().clocks.error += step
    case .cutOffStore(let duration):
      let machine = anyMachine()
      machine.isCutOff = true
      after(duration, for: .world) {
        machine.isCutOff = false
        self.settle()
      }
    case .loseCondition(let host, let condition, let duration):
      let (host, condition) = aimed(host, condition)
      count(.fault, "lose \(condition)")
      try workers[host].change(Self.without(condition, workers[host].plan.conditions))
      after(duration, for: .world) { try self.workers[host].change(self.workers[host].plan.conditions) }
    case .cancel, .cancelAll, .evict, .pauseFleet, .drainHost, .simulateLaunch, .simulateExpiry, .simulateConditions,
      .applyAgain, .remove, .redefine, .retryFailed, .setSpread, .pauseSchedule, .backfill:
      try ask(fault.kind)
    }
  }

  private func pause(_ owner: Owner?, _ duration: Duration) {
    guard let owner, !isStopped(owner) else { return }
    stop(owner)
    after(duration, for: .world) { self.goOn(owner) }
  }

  private func loseConnection(_ host: Int, _ workerNotices: Duration, _ coordinatorNotices: Duration) {
    guard let link = workers[host].link else { return }
    link.isBroken = true
    if draw.chance(25) { network.swallow(host) }
    after(workerNotices, for: link.workerOwner) { try self.workers[host].closed(link) }
    after(coordinatorNotices, for: link.owner) { try link.session?.upClosed() }
  }

  private static func without(_ condition: Fault.Condition, _ conditions: Conditions) -> Conditions {
    var lost = conditions
    switch condition {
    case .power: lost.power.value = .battery
    case .battery: (lost.power.value, lost.battery.value) = (.battery, 10)
    case .lowPower: lost.lowPowerMode.value = true
    case .network: lost.network.value = .unavailable
    case .idle: lost.isIdle.value = false
    case .temperature: lost.thermal.value = .serious
    case .gpu:
      lost.gpus.value = lost.gpus.value?.map {
        GPU(id: $0.id, name: $0.name, memoryBytes: $0.memoryBytes, isPresent: false)
      }
    case .label: lost.labels.value = ["zone": "b"]
    case .owner: lost.owner = .paused(by: "owner", until: nil)
    case .hours: lost.owner = .outsideHours(until: Journal.epoch)
    }
    return lost
  }

  /// Aims the loss of a condition at a running launch that requires the condition, in 60 % of the cases.
  private func aimed(_ host: Int, _ condition: Fault.Condition) -> (Int, Fault.Condition) {
    guard draw.chance(60) else { return (host, condition) }
    let targets = schedule.hosts.indices.flatMap { index in
      journal.open[schedule.hosts[index].name, default: []].sorted().flatMap { launch in
        (journal.requests[launch.request]?.definition.losable ?? []).map { (index, $0) }
      }
    }
    return targets.isEmpty ? (host, condition) : draw.one(of: targets)
  }

  /// Carries out an action of an operator, unless no coordinator is ready.
  private func ask(_ kind: Fault.Kind) throws {
    guard let coordinator = anyCoordinator() else { return }
    let kind = aimed(kind, coordinator)
    after(.milliseconds(5), for: coordinator.owner) { [self] in
      crashAtWord(on: coordinator.machine)
      switch kind {
      case .cancel(let identifier): coordinator.cancel(try selection(identifier))
      case .cancelAll: coordinator.cancel(.all)
      case .evict(let pattern, let host, let duration):
        let host = schedule.hosts[host].name
        say(coordinator, about: host, pattern, until: now + duration) { $0.setEvicted(pattern, from: host, true) }
        takeBack(after: duration) { $0.setEvicted(pattern, from: host, false) }
      case .pauseFleet(let duration):
        say(coordinator, about: nil, nil, until: now + duration) { $0.setPaused(true) }
        takeBack(after: duration) { $0.setPaused(false) }
      case .drainHost(let host, let duration):
        let host = schedule.hosts[host].name
        say(coordinator, about: host, nil, until: now + duration) { $0.setDraining(host, true) }
        takeBack(after: duration) { $0.setDraining(host, false) }
      case .simulateLaunch(let identifier): try record(identifier).map { try coordinator.simulateLaunch($0) }
      case .simulateExpiry(let identifier): try record(identifier).map { try coordinator.simulateExpiry($0) }
      case .simulateConditions(let host, let duration):
        try coordinator.simulateConditions(
          ConditionOverrides(power: .battery, network: .metered), on: schedule.hosts[host].name, lasting: duration)
      case .applyAgain(let number):
        var definition = schedule.definitions[number]
        definition.title = "at \(now.nanoseconds)"
        try coordinator.apply([definition])
      case .remove(let number, let duration):
        coordinator.remove(schedule.definitions[number].pattern)
        takeBack(after: duration) { coordinator in
          let definition = self.schedule.definitions[number]
          // After the faults no request may wait for tomorrow's allowance.
          try coordinator.apply([self.isCalm ? definition.withoutAllowance : definition])
        }
      case .redefine(let identifier): try record(identifier).map { try coordinator.redefine($0) }
      case .retryFailed: try retryFailed(coordinator)
      case .setSpread(let identifier, let lanes):
        try record(identifier).map { coordinator.setSpread($0, lanes: lanes) }
      case .pauseSchedule(let identifier, let duration):
        coordinator.pauseSchedule(of: identifier)
        takeBack(after: duration) { $0.resumeSchedule(of: identifier) }
      case .backfill(let identifier, let minutes, let stopsAfter):
        coordinator.backfill(identifier, minutes: minutes)
        if let stopsAfter { takeBack(after: stopsAfter) { $0.stopBackfill(of: identifier) } }
      case .crashCoordinator, .pauseCoordinator, .killWorker, .pauseWorker, .restartWorker, .loseConnection, .partition,
        .slowNetwork, .slowStore, .fullDisk, .overload, .repeatMessages, .stepClock, .cutOffStore, .loseCondition:
        break
      }
    }
  }

  /// Aims an action at a running launch in 60 % of the cases, because most actions have no effect otherwise.
  private func aimed(_ kind: Fault.Kind, _ coordinator: SimulatedCoordinator) -> Fault.Kind {
    let running = coordinator.dispatcher.places.sorted { $0.key < $1.key }
    guard !running.isEmpty, draw.chance(60) else { return kind }
    let (launch, name) = draw.one(of: running)
    guard let identifier = journal.requests[launch.request]?.identifier,
      let host = schedule.hosts.firstIndex(where: { $0.name == name })
    else { return kind }
    switch kind {
    case .cancel: return .cancel(identifier)
    case .simulateExpiry: return .simulateExpiry(identifier)
    case .evict(_, _, let duration): return .evict(IdentifierPattern(identifier), host, duration)
    case .drainHost(_, let duration): return .drainHost(host, duration)
    case .cancelAll, .pauseFleet, .simulateLaunch, .simulateConditions, .applyAgain, .remove, .redefine, .retryFailed,
      .setSpread, .pauseSchedule, .backfill, .crashCoordinator, .pauseCoordinator, .killWorker, .pauseWorker,
      .restartWorker, .loseConnection, .partition, .slowNetwork, .slowStore, .fullDisk, .overload, .repeatMessages,
      .stepClock, .cutOffStore, .loseCondition:
      return kind
    }
  }

  /// In 20 % of the cases the coordinator dies after it has stored an operator's word and before it has answered.
  private func crashAtWord(on machine: Machine) {
    guard !isCalm, machine.crash == nil, draw.chance(20) else { return }
    machine.crashPlan = (draw.milliseconds(10...3_000), false)
    machine.crash = .betweenCommitAndAnswer
  }

  private func record(_ identifier: JobIdentifier) throws -> RequestRecord? {
    try store.transaction { try $0.request(identifier, number: nil) }
  }

  /// Selects all requests of the identifier in 60 % of the cases. Otherwise it selects one of them, and the other one
  /// goes on or may start.
  private func selection(_ identifier: JobIdentifier) throws -> RequestSelection {
    guard draw.chance(40) else { return .identifier(identifier) }
    let found = try store.transaction {
      try $0.requests(
        RequestFilter(states: [.scheduled, .ready, .running], pattern: IdentifierPattern(identifier)), after: nil,
        limit: 10)
    }
    return found.isEmpty ? .identifier(identifier) : .request(draw.one(of: found).id)
  }

  func retryFailed(_ coordinator: SimulatedCoordinator) throws {
    let failed = try store.transaction { try $0.requests(RequestFilter(states: [.failed]), after: nil, limit: 3) }
    for record in failed { coordinator.retry(record) }
  }

  /// Says an operator's word to a coordinator. Of several coordinators the operator asks another one if the word is not
  /// in force after a second.
  private func say(
    _ coordinator: SimulatedCoordinator, about host: HostName?, _ pattern: IdentifierPattern?, until end: Instant,
    _ word: @escaping (SimulatedCoordinator) -> Void
  ) {
    word(coordinator)
    guard isShared else { return }
    after(.seconds(1), for: .world) { [self] in
      let isInForce = journal.wishes.contains { $0.host == host && $0.pattern == pattern }
      guard !isInForce, !isCalm, now + .seconds(1) < end, let other = anyCoordinator() else { return }
      say(other, about: host, pattern, until: end, word)
    }
  }

  private func takeBack(after duration: Duration, _ body: @escaping (SimulatedCoordinator) throws -> Void) {
    after(duration, for: .world) { [self] in
      // After a set-back no person lets the fleet go on before it was noticed.
      guard aftermath == nil, let coordinator = anyCoordinator() else { return }
      after(.milliseconds(5), for: coordinator.owner) { try body(coordinator) }
    }
  }

  // MARK: The coordinator's process

  /// Ends the coordinator's process with everything that it held in memory. Its connections are closed, or hang if the
  /// machine reboots.
  func crashCoordinator(on machine: Machine) throws {
    machine.crash = nil
    guard let coordinator = machine.coordinator, let (downFor, reboots) = machine.crashPlan else { return }
    note("\(coordinator.name): process \(coordinator.life) dies")
    machine.coordinator = nil
    coordinator.abandon()
    for link in network.links where !link.isBroken && link.coordinatorLife == coordinator.life {
      link.isBroken = true
      let number = link.host
      if reboots { continue }
      after(.milliseconds(1), for: link.workerOwner) { try self.workers[number].closed(link) }
    }
    if reboots { machine.clocks.reboot(at: now) }
    after(downFor, for: .world) { try self.startCoordinator(on: machine) }
  }

  func startCoordinator(on machine: Machine) throws {
    guard machine.coordinator == nil else { return }
    let new = SimulatedCoordinator(self, on: machine)
    machine.coordinator = new
    note("\(new.name): starts as process \(new.life)")
    try new.restore()
    try checkSubmissions()
  }
}

extension Definition {
  /// The conditions that a running launch of this definition requires, twice each, and others that it yields to.
  fileprivate var losable: [Fault.Condition] {
    var required: [Fault.Condition] = []
    if requirements.externalPower { required.append(.power) }
    if requirements.network != nil { required.append(.network) }
    if requirements.gpu != nil { required.append(.gpu) }
    if requirements.requiresIdle { required.append(.idle) }
    if requirements.labels != nil { required.append(.label) }
    return required + required + (kind.isDiscretionary ? [.battery, .lowPower, .temperature] : []) + [.owner, .hours]
  }
}
