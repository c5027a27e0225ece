import BatonModel
import BatonStore

/// What the documentation says of limits by key (Documentation/reference/scheduling.md), in a few lines.
extension History {
  /// What was used of a key, and what a person has set for it.
  struct Key {
    var setting: LimitSetting?
    /// When launches have started, and the time that each takes of the rate: `per / limit` of the rate under which it
    /// has started.
    private var starts: [(at: Timestamp, taken: Duration)] = []

    /// When one more may start: in no time *t* more than `burst + t * limit / per`. From each start on, it waits until
    /// what was taken since then is no more than that time and `burst` are worth.
    func earliest(_ rule: StartRate) -> Timestamp? {
      var (taken, earliest) = (Duration.zero, Timestamp?.none)
      for start in starts.reversed() {
        taken += start.taken
        let paid = start.at + (taken - rule.time * (rule.burst - 1))
        earliest = max(earliest ?? paid, paid)
      }
      return earliest
    }

    mutating func start(_ rule: StartRate, at now: Timestamp) { starts.append((now, rule.time)) }

    /// A rate that is set holds at once: what has started before takes no more of it than one burst.
    mutating func set(_ setting: LimitSetting?, at now: Timestamp) {
      self.setting = setting
      guard case .rate(let rule) = setting, let earliest = earliest(rule), earliest > now + rule.time else { return }
      starts = [(now, rule.time * rule.burst)]
    }
  }

  /// How long a request waits after a launch that has failed or was lost.
  struct Backoff {
    private(set) var until: Timestamp?
    private var failures = 0
    private var losses = 0
    private var batches = 0

    mutating func ended(_ outcome: LaunchOutcome, _ request: Model.Request, at now: Timestamp) {
      if request.batches > batches { (batches, losses) = (request.batches, 0) }
      until = nil
      switch outcome {
      case .failed:
        failures += 1
        until = now + .seconds(30 << (failures - 1))
      case .lost:
        losses += 1
        if losses > 1 { until = now + .seconds(1 << (losses - 2)) }
      case .finished, .expired: break
      }
    }
  }

  /// The keys of each job that has some. Its instance stands for `${wildcard}`.
  static func keys(of jobs: [JobIdentifier: Job]) -> [JobIdentifier: [LimitKey]] {
    var found: [JobIdentifier: [LimitKey]] = [:]
    for (name, job) in jobs where job.definition.hasKeys {
      let templates = [(LimitKind.concurrency, job.definition.concurrency?.key), (.rate, job.definition.rate?.key)]
      let instance = name.rawValue.split(separator: ".").last ?? ""
      found[name] = templates.compactMap { kind, template in
        template.map { LimitKey(kind, $0.text.replacing("${wildcard}", with: instance)) }
      }
    }
    return found
  }

  private var keyed: [JobIdentifier] { keys.keys.sorted() }

  // MARK: Steps

  /// Submits all jobs with keys in any order, so that they have to wait for each other.
  mutating func submitCrowd() throws {
    var left = keyed
    while !left.isEmpty { try submit(left.remove(at: draw.number(0...left.count - 1)), poke: nil) }
  }

  /// A person sets the limit of a key for all definitions, or leaves it to them again.
  mutating func sayOfLimit() throws {
    let key = draw.one(of: keyed.flatMap { keys[$0] ?? [] })
    let rate = StartRate(limit: 2, per: .seconds(draw.one(of: [20, 60, 300])), burst: draw.number(1...2))
    let setting = key.kind == .rate ? LimitSetting.rate(rate) : .concurrency(draw.number(1...3))
    if lines.values.contains(key) { limitChanges += 1 }
    try set(key, draw.number(0...2) == 0 ? nil : setting)
    try fleet.settle()
    try hear()
  }

  mutating func set(_ key: LimitKey, _ setting: LimitSetting?) throws {
    limits[key, default: Key()].set(setting, at: fleet.now.steady)
    try fleet.setLimit(key, setting)
  }

  // MARK: Events

  /// Checks that the keys of a launch let it start, and notes what it takes of them. What runs when a limit is lowered
  /// goes on, so the limit is compared when a launch starts.
  mutating func startWithKeys(_ name: JobIdentifier, _ request: Model.Request) throws {
    guard let keys = keys[name], let definition = jobs[name]?.definition else { return }
    for key in keys {
      try expect(hasRoom(key, for: definition), name, "\(key) has room: \(running(key)) run, \(limits[key] as Any)")
    }
    for other in keyed where self.keys[other] == keys && jobs[other]?.definition.pattern == definition.pattern {
      guard let older = startable(other), couldStart[other] == older.number, older.age < request.age else { continue }
      throw violation(name, "it starts before \(other), which is older")
    }
    if lines[name] != nil { keyStarts += 1 }
    for key in keys {
      guard case .rate(let rule) = limit(of: key, for: definition) else { continue }
      limits[key, default: Key()].start(rule, at: fleet.now.steady)
    }
  }

  // MARK: Checks

  /// Checks that what may start is ready, or in line for one of its keys; where it stands there; and that it stands
  /// there for as long as it has to.
  mutating func checkLines() throws {
    (couldStart, lines) = ([:], [:])
    var ready: [JobIdentifier] = []
    var found: [JobIdentifier: Obstacle] = [:]
    for name in keyed {
      guard let definition = jobs[name]?.definition, let request = models[name]?.next,
        let record = try record(name, request.number)
      else { continue }
      couldStart[name] = startable(name)?.number
      if case .key(let limit)? = record.waitsBecause?.detail {
        (lines[name], found[name]) = (limit.key, record.waitsBecause)
      } else if record.state == .ready {
        ready.append(name)
        try expect(!fleet.isFree(definition, name), name, "it is ready, a host is free, and it does not start")
      } else {
        try expect(startable(name) == nil, name, "it may start and is \(record.state), \(record.waitsBecause as Any)")
      }
    }
    for key in Set(keys.values.joined()).sorted() { try check(key, found, ready) }
  }

  private func check(_ key: LimitKey, _ found: [JobIdentifier: Obstacle], _ ready: [JobIdentifier]) throws {
    let line = keyed.filter { lines[$0] == key }.sorted { age($0) < age($1) }
    for (position, name) in line.enumerated() {
      guard let definition = jobs[name]?.definition else { continue }
      try expect(keys[name]?.contains(key) == true, name, "\(key) is none of its keys")
      let wanted = obstacle(key, definition, after: line.prefix(position))
      try expect(found[name] == wanted, name, "it waits for \(found[name] as Any), and not for \(wanted as Any)")
      // The first ones are ready when there is room, and those behind them while no host takes these.
      let isCalled = ready.contains {
        keys[$0]?.contains(key) == true && jobs[$0]?.definition.pattern == definition.pattern && age($0) < age(name)
      }
      try expect(!hasRoom(key, for: definition) || isCalled, name, "\(key) keeps it in vain")
    }
    guard let name = keyed.first(where: { keys[$0]?.contains(key) == true }),
      !line.isEmpty || running(key) > 0 || limits[key]?.setting != nil
    else { return }
    let listed = try fleet.limit(key)
    try expect(listed?.waiting == line.count, name, "\(line.count) wait for \(key): \(listed as Any)")
    try expect(listed?.setting == limits[key]?.setting, name, "\(key) has another setting: \(listed as Any)")
    let isCounted = key.kind == .rate || listed?.running == running(key)
    try expect(isCounted, name, "\(running(key)) launches with \(key) run: \(listed as Any)")
  }

  private func obstacle(
    _ key: LimitKey, _ definition: Definition, after others: ArraySlice<JobIdentifier>
  ) -> Obstacle? {
    switch limit(of: key, for: definition) {
    case .concurrency(let limit)?:
      return .limitReached(
        LimitObstacle(key: key, limit: limit, running: running(key), position: others.count + 1))
    case .rate(let rule)?:
      var until = limits[key]?.earliest(rule)
      for other in others {
        guard case .rate(let rule)? = jobs[other].flatMap({ limit(of: key, for: $0.definition) }) else { continue }
        until = until.map { $0 + rule.time }
      }
      return .limitReached(
        LimitObstacle(key: key, limit: rule.limit, per: rule.per, position: others.count + 1, until: until))
    case nil: return nil
    }
  }

  private func limit(of key: LimitKey, for definition: Definition) -> LimitSetting? {
    if let setting = limits[key]?.setting { return setting }
    return switch key.kind {
    case .concurrency: definition.concurrency.map { .concurrency($0.limit) }
    case .rate: definition.rate.map { .rate($0.rule) }
    }
  }

  private func hasRoom(_ key: LimitKey, for definition: Definition) -> Bool {
    switch limit(of: key, for: definition) {
    case .concurrency(let limit)?: running(key) < limit
    case .rate(let rule)?: limits[key]?.earliest(rule).map { $0 <= fleet.now.steady } ?? true
    case nil: true
    }
  }

  /// How many launches with the key run, whichever definitions they have.
  private func running(_ key: LimitKey) -> Int {
    keys.count { name, keys in models[name]?.live?.isRunning == true && keys.contains(key) }
  }

  private func age(_ name: JobIdentifier) -> Int { models[name]?.next?.age ?? 0 }

  /// The request that may start now if its keys and the hosts let it; `nil` if its time has not come.
  private func startable(_ name: JobIdentifier) -> Model.Request? {
    guard let model = models[name], let definition = jobs[name]?.definition, let next = model.next else { return nil }
    if model.live != nil { return next.backoff.until.map { $0 > fleet.now.steady } ?? false ? nil : next }
    return tooEarly(next, definition, model) == nil ? next : nil
  }
}

extension History.Model {
  /// The request of which the next launch will be; `nil` while a launch runs.
  fileprivate var next: Request? { if let live { live.isRunning ? nil : live } else { waiting } }
}

extension StartRate {
  /// The time for one start.
  fileprivate var time: Duration { per / limit }
}
