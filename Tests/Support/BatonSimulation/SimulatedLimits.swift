import BatonCoordinator
import BatonModel
import BatonStore

extension Schedule {
  /// A person sets the limit of the key that the limited jobs share; `nil` leaves it to their definitions again.
  struct LimitChange: Sendable {
    var at: Duration
    var limit: Int?
  }

  static let sharedKey = LimitKey(.concurrency, "shared")
  static let ratedKey = LimitKey(.rate, "api")

  /// Adds two wildcards whose jobs share one concurrency, and perhaps one rate. They come last, so that the other draws
  /// stay as they are.
  mutating func addLimits(_ draw: inout Draw) {
    let rule = StartRate(
      limit: draw.number(2...6), per: .seconds(draw.one(of: [4, 10, 20])), burst: draw.number(1...2))
    var limit = draw.number(1...2)
    for name in ["limit-a", "limit-b"] {
      var definition = Definition(pattern: IdentifierPattern(trusted: "\(name).*"), kind: .processing)
      definition.requirements.requiresIdle = false
      definition.retry = RetryRule(limit: 3, backoff: .seconds(2))
      definition.concurrency = ConcurrencyLimit(key: KeyTemplate(Self.sharedKey.text), limit: limit)
      if draw.chance(60) { definition.rate = RateLimitByKey(key: KeyTemplate(Self.ratedKey.text), rule: rule) }
      definitions.append(definition)
      for index in hosts.indices { hosts[index].capabilities.handlers.append(definition.pattern) }
      if draw.chance(40) { limit = draw.number(1...3) }
    }
    for index in 0..<draw.number(6...14) {
      let identifier = JobIdentifier(trusted: "limit-\(draw.one(of: ["a", "b"])).n\(index)")
      batches[identifier] = draw.number(1...3)
      requests.append(
        RequestPlan(
          at: draw.milliseconds(0...Int(calmAt.inSeconds * 700)), id: "limited-\(index)", identifier: identifier,
          priority: draw.chance(20) ? draw.one(of: Priority.allCases) : nil, isSentTwice: draw.chance(15),
          isSampled: true))
    }
    for _ in 0..<draw.number(0...3) {
      limitChanges.append(
        LimitChange(
          at: draw.milliseconds(500...Int(calmAt.inSeconds * 950)), limit: draw.chance(60) ? draw.number(1...4) : nil))
    }
  }
}

extension SimulatedCoordinator {
  /// What `Coordinator.setLimit` does in the daemon.
  func setLimit(_ key: LimitKey, _ limit: Int?) {
    let now = now().moment
    writer.write(.urgent) {
      try $0.setLimit(key, limit.map { .concurrency($0) }, at: now)
    } committed: { [world] _ in
      world.count(.client, "set the limit of a key")
      world.limitSetAt = world.now
    } then: { [self] result in
      guard case .success = result else { return }
      try tell { $0.limitChanged() }
    }
  }
}

extension World {
  func planLimitChanges() {
    for change in schedule.limitChanges {
      after(change.at, for: .world) { [self] in anyCoordinator()?.setLimit(Schedule.sharedKey, change.limit) }
    }
  }

  /// Checks that a launch which has started exceeds no limit of its keys, and that the rows of the keys count what
  /// runs.
  func checkLimits(_ assignment: Assignment) throws {
    guard aftermath == nil, schedule.definition(for: assignment.identifier)?.hasKeys == true else { return }
    keyTakenAt = now
    let (running, limits) = try store.transaction { verbs in
      (try verbs.fleet().running, try verbs.limits(beginningWith: "", after: nil, limit: 9, at: Moment(.distantFuture)))
    }
    let own = running.filter { schedule.definition(for: $0.identifier)?.concurrency != nil }
    let row = limits.first { $0.key == Schedule.sharedKey }
    try journal.expect(
      row?.running == own.count, .limit, "\(own.count) launches with a key run, and its row says \(row?.running ?? 0)")
    // Others of the same transaction may have started under the higher limit of their definition.
    let defined = schedule.definitions.compactMap { $0.concurrency?.limit }.max() ?? 0
    var limit = defined
    if case .concurrency(let set) = row?.setting { limit = set }
    let isSettled = limitSetAt.map { now - $0 > .seconds(1) } ?? true
    try journal.expect(
      own.count <= limit || !isSettled, .limit, "\(own.count) launches with a key run, and its limit is \(limit)")
    guard let started = running.first(where: { $0.launch == assignment.launch })?.startedSteady,
      let rule = schedule.definition(for: assignment.identifier)?.rate?.rule
    else { return }
    count(.order, "start under a rate")
    try checkRate(rule, started)
  }

  /// Checks that no span of time has more starts than the rate permits, by the steady clock of those that start them.
  private func checkRate(_ rule: StartRate, _ started: Timestamp) throws {
    ratedStarts.append(started)
    ratedStarts.sort()
    for (first, from) in ratedStarts.enumerated() {
      for last in (first + 1)..<max(first + 1, ratedStarts.count) {
        let least = rule.interval * (last - first) - rule.interval * (rule.burst - 1)
        try journal.expect(
          ratedStarts[last] - from >= least, .limit,
          "\(last - first + 1) launches have started in \((ratedStarts[last] - from).inSeconds) s, at \(rule)")
      }
    }
  }

  /// Whether a key has room for the request that is its first one, and nothing of the key is ready.
  func isKeptInVain(_ record: RequestRecord, _ unfinished: [RequestRecord], at steady: Timestamp) -> Bool {
    // Others of its key may take every token before it, and each time it looks as if it were late.
    if let keyTakenAt, now - keyTakenAt < .seconds(4) { return false }
    guard case .key(let limit) = record.waitsBecause?.detail, limit.position == 1 else { return false }
    let hasTurn = unfinished.contains { other in
      other.state == .ready && schedule.definition(for: other.identifier)?.hasKeys == true
    }
    if hasTurn { return false }
    return limit.running.map { $0 < limit.limit } ?? limit.until.map { $0 <= steady } ?? false
  }
}
