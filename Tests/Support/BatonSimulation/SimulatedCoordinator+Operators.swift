import BatonCoordinator
import BatonModel
import BatonStore

/// The calls of clients and operators. They do what `Coordinator+Submit`, `Coordinator+Operators` and
/// `Coordinator+Simulate` do in the daemon.
extension SimulatedCoordinator {
  // MARK: Submitting

  func submit(
    _ submission: Submission, _ plan: Schedule.RequestPlan, then: @escaping (SubmissionAnswer) throws -> Void
  ) throws {
    let (now, time) = (now().moment, time())
    var plans = try tell { $0.plan([submission], at: now, world.drawSpanID) }
    if world.isShared, plans.first?.isUnknown == true {
      // Another coordinator may have applied the definition a moment ago.
      let (stored, version) = try world.store.transaction { (try $0.definitions(), try $0.fleet().definitionsVersion) }
      plans = try tell {
        $0.stored(.definitionsRead(stored, version: version), at: self.now())
        return $0.plan([submission], at: now, world.drawSpanID)
      }
    }
    guard let offer = plans.first?.offer else {
      if case .refused(let refusal)? = plans.first { try then(.refused(refusal)) }
      return
    }
    writer.write(.submission) {
      try $0.submit([offer], at: now)
    } committed: { [world, machine] answers in
      if case .refused(.tooManyPending)? = answers.first {
        try world.journal.checkPendingLimit(plan.identifier, isRefused: true)
      }
      guard case .accepted(let receipt, _, let launch, let isRepeat)? = answers.first else { return }
      if !isRepeat { try world.journal.submitted(plan, receipt, at: time) }
      guard let launch, let place = offer.host else { return }
      try world.started(launch, under: place.lease, by: machine, at: time)
    } then: { [self] result in
      switch result {
      case .success(let answers):
        try tell { $0.submitted(plans, answers) }
        try then(answers[0])
      case .failure(let error):
        try tell { $0.notSubmitted(plans) }
        try then(.refused(.unavailable(error.message)))
      }
    }
  }

  // MARK: Definitions

  func apply(_ definitions: [Definition], then: @escaping () throws -> Void = {}) throws {
    let now = now().moment
    let seeds = definitions.map { _ in
      TraceContext(
        traceID: TraceID(high: world.drawSpanID().number, low: world.drawSpanID().number), spanID: world.drawSpanID(),
        isSampled: true)
    }
    writer.write(.ordinary) {
      try $0.apply(definitions, seeds: seeds, at: now)
    } committed: { [world] _ in
      for definition in definitions { world.journal.applied(definition.pattern) }
    } then: { [self] result in
      guard case .success(let applied) = result else { return }
      let stored = try world.store.transaction { try $0.definitions() }
      try tell { $0.applied(applied, stored) }
      try then()
    }
  }

  func remove(_ pattern: IdentifierPattern) {
    writer.write(.ordinary) {
      try $0.remove(pattern)
    } committed: { [world] _ in
      world.journal.removed(pattern)
    } then: { [self] result in
      guard case .success = result else { return }
      let stored = try world.store.transaction { try $0.definitions() }
      try tell { $0.definitionsChanged(stored) }
    }
  }

  // MARK: Requests

  func redefine(_ record: RequestRecord) throws {
    guard let definition = core.index.definition(for: record.identifier)?.id else { return }
    let now = now().moment
    writer.write(.ordinary) {
      try $0.redefine(record.id, as: definition, at: now)
    } then: { [self] result in
      guard case .success(let record) = result else { return }
      try tell { $0.redefined(record) }
    }
  }

  func setSpread(_ record: RequestRecord, lanes: Int) {
    let now = now().moment
    writer.write(.ordinary) {
      try $0.setSpread(record.id, lanes: lanes, at: now)
    } committed: { [world] answer in
      world.count(.client, "set spread")
      world.journal.spreadChanged(of: record.id, to: lanes, answer)
    } then: { [self] result in
      guard case .success(let answer) = result else { return }
      try tell { $0.spreadChanged(answer) }
    }
  }

  func cancel(_ selection: RequestSelection) {
    let now = now().moment
    let histories = dispatcher.waits
    writer.write(.urgent) {
      try $0.cancel(selection, by: "operator", histories: histories, at: now)
    } committed: { [world] cancellations in
      for cancellation in cancellations {
        world.count(.client, "cancelled: \(World.name(of: cancellation))")
        try world.journal.cancelled(cancellation)
      }
    } then: { [self] result in
      guard case .success(let cancellations) = result else { return }
      try tell { $0.cancelled(cancellations, by: "operator") }
    }
  }

  func retry(_ record: RequestRecord) {
    let now = now().moment
    writer.write(.ordinary) {
      try $0.retry(record.id, skipping: .nothing, at: now)
    } committed: { [world] record in
      world.journal.retried(record.id)
    } then: { [self] result in
      guard case .success(let record) = result else { return }
      try tell { $0.becameReady(record) }
    }
  }

  // MARK: Schedules

  func pauseSchedule(of identifier: JobIdentifier) {
    saySchedule(of: identifier, "paused schedule") {
      try $0.pauseSchedule(of: identifier, by: "operator", because: "maintenance", at: $1)
    } committed: {
      $0.schedule(of: identifier, isPaused: true)
    }
  }

  func resumeSchedule(of identifier: JobIdentifier) {
    saySchedule(of: identifier, "resumed schedule") {
      _ = try $0.resumeSchedule(of: identifier, at: $1)
    } committed: {
      $0.schedule(of: identifier, isPaused: false)
    }
  }

  /// Makes up for the times of the calendar in the minutes before now.
  func backfill(_ identifier: JobIdentifier, minutes: Int) {
    let seed = TraceContext(
      traceID: TraceID(high: world.drawSpanID().number, low: world.drawSpanID().number), spanID: world.drawSpanID(),
      isSampled: true)
    saySchedule(of: identifier, "backfill") {
      let backfill = Backfill(
        by: "operator", startedAt: $1.date, from: $1.date + .seconds(-60 * minutes), until: $1.date, total: minutes)
      try $0.startBackfill(of: identifier, backfill, seed: seed, at: $1)
    } committed: {
      $0.everBackfilled.insert(identifier)
    }
  }

  func stopBackfill(of identifier: JobIdentifier) {
    saySchedule(of: identifier, "stopped backfill") { _ = try $0.stopBackfill(of: identifier, at: $1) }
  }

  private func saySchedule(
    of identifier: JobIdentifier, _ name: String, _ word: @escaping (Verbs, Moment) throws -> Void,
    committed: @escaping (Journal) -> Void = { _ in }
  ) {
    let now = now().moment
    writer.write(.urgent) {
      try word($0, now)
    } committed: { [world] in
      world.count(.client, name)
      committed(world.journal)
    } then: { [self] result in
      guard case .success = result else { return }
      try tell { $0.schedulesChanged() }
    }
  }

  // MARK: Hosts

  func setDraining(_ host: HostName, _ isDraining: Bool) {
    guard dispatcher.hosts[host] != nil else { return }
    say(.drain(host, isDraining))
  }

  func setEvicted(_ pattern: IdentifierPattern, from host: HostName, _ isEvicted: Bool) {
    guard dispatcher.hosts[host] != nil else { return }
    say(.evict(pattern, from: host, isEvicted))
  }

  func setPaused(_ isPaused: Bool) { say(.pause(isPaused)) }

  /// Carries out what concerns operators' words one after the other, as the daemon's `Turnstile` does.
  func inTurn(_ body: @escaping (_ done: @escaping () throws -> Void) throws -> Void) {
    words.append { [self] in
      do {
        try body { [self] in
          words.removeFirst()
          words.first?()
        }
      } catch { preconditionFailure("a word could not be begun: \(error)") }
    }
    if words.count == 1 { words[0]() }
  }

  private func say(_ word: CoordinatorCore.Word) {
    inTurn { [self] done in
      let now = now().moment
      writer.write(.urgent) {
        switch word {
        case .pause(let isPaused): try $0.setPaused(isPaused)
        case .drain(let host, let isDraining): try $0.setDraining(host, isDraining, at: now)
        case .evict(let pattern, let host, let isEvicted): try $0.setEvicted(pattern, from: host, isEvicted)
        }
      } committed: { [world] in
        world.journal.wished(word)
      } then: { [self] result in
        if case .success = result { try tell { $0.said(word) } }
        try done()
      }
    }
  }

  // MARK: Simulated launches

  func simulateLaunch(_ record: RequestRecord) throws {
    guard record.state.isPending else { return }
    if dispatcher.definitions[record.definition] == nil,
      let definition = try world.store.transaction({ try $0.definition(record.definition) })
    {
      try decide {
        $0.learn(record.definition, definition)
        return []
      }
    }
    let (place, offer) = try tell { $0.planSimulated(record, on: nil, world.drawSpanID) }
    guard case .reserved(let reservation) = place, let offer else { return }
    let (now, time) = (now().moment, time())
    writer.write(.ordinary) {
      try $0.launchNow(record.id, on: offer, at: now)
    } committed: { [world, machine] assignment in
      try world.started(assignment, under: offer.lease, by: machine, at: time)
    } then: { [self] result in
      try tell { $0.launched(try? result.get(), for: reservation, record.id, at: self.now()) }
    }
  }

  func simulateExpiry(_ record: RequestRecord) throws {
    guard record.state == .running else { return }
    if record.shards != nil {
      for launch in dispatcher.launches(of: record.id) { try decide { $0.expire(launch, .simulated(as: .powerLost)) } }
      return
    }
    try decide { $0.expire(LaunchKey(request: record.id, number: record.launches), .simulated(as: .powerLost)) }
  }

  func simulateConditions(_ overrides: ConditionOverrides, on host: HostName, lasting: Duration) throws {
    try decide { $0.simulate(overrides, on: host, lasting: lasting).effects }
  }

  // MARK: Retention

  /// Deletes ended requests every 11 s. The retention of 20 s is short, so that deletions fall between all other
  /// events.
  func keepHouse() {
    world.after(.seconds(11), for: owner, isTimer: true) { [self] in
      if core.isSteward { prune() }
      keepHouse()
    }
  }

  private func prune() {
    let (now, time) = (now().moment, time())
    let limits = RetentionLimits(endedFor: .seconds(20), endedCount: 15, step: 4)
    writer.write(.ordinary) { [world] verbs in
      let before = try verbs.requests(
        RequestFilter(states: [.succeeded, .failed, .cancelled]), after: nil, limit: 1_000)
      try world.countEvents(of: before, verbs)
      _ = try verbs.prune(limits, at: now)
      return (gone: try before.filter { try verbs.request($0.id) == nil }, count: before.count)
    } committed: { [world] pruned in
      for record in pruned.gone { try world.journal.pruned(record) }
      try world.journal.checkRetention(pruned.gone, of: pruned.count, limits, at: time)
    } then: { _ in
    }
  }
}
