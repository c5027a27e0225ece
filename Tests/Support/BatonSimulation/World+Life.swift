import BatonCoordinator
import BatonModel
import BatonStore

/// The course of a simulation: the beginning, the faults, the calm, and the end.
extension World {
  /// The longest virtual time from the calm until everything has ended.
  static let patience = Duration.seconds(3_600)

  /// The interval of the timers of each process. It is longer in the calm while no launch is open, but well below the
  /// lease.
  var pace: Duration {
    guard isCalm, journal.isQuiet else { return schedule.tickInterval }
    return schedule.longestPace
  }

  func begin() throws {
    try store.transaction { try $0.wipe() }
    for machine in machines { try startCoordinator(on: machine) }
    guard let coordinator = ready.first else { return }
    try coordinator.apply(schedule.definitions) { [self] in try beginWork() }
  }

  private func beginWork() throws {
    // Workers that find only one coordinator ready would all stay with it.
    guard ready.count == machines.count else { return after(.milliseconds(10), for: .world) { try self.beginWork() } }
    workers = schedule.hosts.indices.map { SimulatedWorker(self, $0) }
    for worker in workers { worker.start() }
    clients = schedule.requests.enumerated().map { SimulatedClient(self, $1, number: $0) }
    for client in clients { client.start() }
    flows = schedule.flows.enumerated().map { SimulatedFlow(self, $1, number: $0) }
    for flow in flows { flow.start() }
    planLimitChanges()
    for fault in schedule.faults { after(fault.at, for: .world) { try self.perform(fault) } }
    if let setBack = schedule.setBack {
      planSetBack(at: setBack.at, by: setBack.by)
    } else {
      after(schedule.calmAt, for: .world) { try self.calm() }
    }
    sendSpans()
    watch()
  }

  private func watch() {
    after(.seconds(1), for: .world) { [self] in
      for worker in workers {
        try worker.watch()
        try checkAttachment(of: worker)
      }
      watch()
    }
  }

  // MARK: Calm

  /// Begins the calm: every fault is undone, every process runs, and operators take back what they said.
  private func calm() throws {
    note("calm: nothing goes wrong from here on")
    try undoFaults()
    takeBackEverything()
    // The first coordinator that hears it may turn out to have been ended while it was stopped.
    if isShared { for delay in [10, 20] { after(.seconds(delay), for: .world) { self.takeBackEverything() } } }
    after(.seconds(1), for: .world) { try self.look(from: self.now) }
  }

  /// Undoes every fault, and lets every process run.
  func undoFaults() throws {
    isCalm = true
    for machine in machines {
      if machine.coordinator?.writer.hasFailed == true { try crashCoordinator(on: machine) }
      // In the calm no namespace has a daily allowance: a coordinator reads its namespaces when it starts.
      if namespaces != schedule.namespaces {
        machine.crashPlan = (.milliseconds(10), false)
        try crashCoordinator(on: machine)
      }
      machine.crash = nil
      machine.clocks.error = .zero
      machine.isCutOff = false
    }
    (writesAreSlow, isDiskFull, isOverloaded) = (false, false, false)
    settle()
    for host in schedule.hosts.indices {
      (network.isSlow[host], network.isRepeating[host]) = (false, false)
      network.heal(host, in: self)
    }
    goOnAll()
    for machine in machines { try startCoordinator(on: machine) }
    for worker in workers {
      try worker.change(worker.plan.conditions)
      worker.start()
    }
  }

  /// The namespaces that a coordinator which starts now reads.
  var namespaces: Namespaces { isCalm ? schedule.namespaces.withoutAllowances : schedule.namespaces }

  private func takeBackEverything() {
    guard let coordinator = ready.first(where: { !$0.writer.hasFailed }) else { return }
    after(.milliseconds(1), for: coordinator.owner) {
      try self.retryFailed(coordinator)
      // Requests that wait for tomorrow's allowance take over the definitions without allowances in `redefine`.
      let changed = self.schedule.definitions.filter { $0.dailyAllowance != nil || self.journal.isAbsent($0.pattern) }
      if !changed.isEmpty { try coordinator.apply(changed.map(\.withoutAllowance)) }
      coordinator.setPaused(false)
      for schedule in self.journal.pausedSchedules.sorted() { coordinator.resumeSchedule(of: schedule) }
      for host in coordinator.dispatcher.hosts.keys.sorted() {
        coordinator.setDraining(host, false)
        for pattern in (coordinator.dispatcher.hosts[host]?.host.evictions ?? []).sorted() {
          coordinator.setEvicted(pattern, from: host, false)
        }
      }
    }
  }

  /// Ends the simulation if every request has ended. Otherwise it checks what is unfinished, and looks again after at
  /// least 3 s.
  private func look(from start: Instant) throws {
    let unfinished = try store.transaction {
      try $0.requests(RequestFilter(states: [.scheduled, .ready, .running]), after: nil, limit: 100)
    }
    let chained = unfinished.filter { definition(of: $0)?.repeats == true }
    if unfinished.count == chained.count, clients.allSatisfy(\.isAnswered) && flows.allSatisfy(\.isAnswered) {
      if chained.isEmpty, workers.allSatisfy(\.isHealthy), held.isEmpty { return try end() }
      for identifier in Set(chained.map(\.identifier)).sorted() { anyCoordinator()?.cancel(.identifier(identifier)) }
    }
    guard now - start < Self.patience else {
      let waiting = unfinished.map { "\($0.identifier) is \($0.state) \($0.waitsBecause.map { "(\($0.code))" } ?? "")" }
      throw journal.violation(
        .liveness,
        "after \(Self.patience.inSeconds) s \(waiting.joined(separator: ", "))"
          + (clients.allSatisfy(\.isAnswered) && flows.allSatisfy(\.isAnswered) ? "" : "; a client has no answer")
          + (workers.allSatisfy(\.isHealthy) ? "" : "; a worker is not back")
          + (held.isEmpty ? "" : "; places are held for nothing on \(held)"))
    }
    try redefine(unfinished)
    try checkReasons(unfinished)
    try checkPunctuality(unfinished)
    try checkExpiries()
    after(max(.seconds(3), pace), for: .world) { try self.look(from: start) }
  }

  /// Gives the definition without an allowance to requests that could otherwise wait for a day.
  private func redefine(_ unfinished: [RequestRecord]) throws {
    for record in unfinished where record.state.isPending {
      guard let coordinator = anyCoordinator() else { return }
      let definition = coordinator.dispatcher.definitions[record.definition]
      if definition?.dailyAllowance != nil { try coordinator.redefine(record) }
    }
  }

  private func definition(of record: RequestRecord) -> Definition? { schedule.definition(for: record.identifier) }

  private func end() throws {
    try audit()
    isOver = true
  }

  // MARK: Identities

  func drawSpanID() -> SpanID { SpanID(draw.next() | 1) }
}
