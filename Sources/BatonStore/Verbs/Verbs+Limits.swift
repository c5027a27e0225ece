internal import BatonModel

/// Limits by key, of which the rows of `limit_key` have the counts.
///
/// A request that the limit of a key keeps from starting steps aside: it is scheduled and names the key, and holds up
/// no others. The requests of one class that wait for one key are a *line*, in the order of their numbers, as
/// ready requests are. When a launch with the key ends, or the bucket of a rate gets a token, `callWaiting` makes the
/// first requests of every line ready, as many as there is room for, and the dispatcher starts what it would start
/// first. The launch that starts decides by the row of the key, which its group has locked, so the limit holds over
/// all coordinators.
///
/// As long as a line is not empty, `due_at` is set unless there is no room for it and an end of a launch will make
/// some.

/// A line: the requests of a class that wait for a key.
struct KeyLine: Hashable {
  /// The name of the key.
  var name: String
  var requirementClass: RequirementClass

  static func == (one: KeyLine, other: KeyLine) -> Bool {
    one.requirementClass == other.requirementClass && one.name.hasBytes(of: other.name)
  }
}

/// Where a request stands among those that wait for its key.
struct LinePlace {
  /// From 1.
  var position = 1
  /// The time that those before it take of a rate.
  var taken = Duration.zero
}

/// The row of a key.
struct LimitRow {
  var key: LimitKey
  var running = 0
  var fullAt = Timestamp(nanoseconds: 0)
  var dueAt: Timestamp?
  var setting: LimitSetting?
  /// What has limited the last launch with the key.
  var last: LimitSetting?

  /// The row of a key that no launch has had.
  init(_ key: LimitKey) { self.key = key }

  /// What limits requests of the definition with this key; `nil` if nothing does any more.
  func limit(for definition: Definition) -> LimitSetting? {
    if let setting { return setting }
    return switch key.kind {
    case .concurrency: definition.concurrency.map { .concurrency($0.limit) }
    case .rate: definition.rate.map { .rate($0.rule) }
    }
  }

  /// How many more launches of the definition may start now.
  func room(for definition: Definition, at now: Moment) -> Int {
    switch limit(for: definition) {
    case .concurrency(let limit): max(0, limit - running)
    case .rate(let rule): rule.tokens(fullAt: fullAt, at: now.steady)
    case nil: .max
    }
  }

  /// When one may start that has no room now, if no event is needed for it; otherwise `nil`.
  func nextRoom(for definition: Definition) -> Timestamp? {
    guard case .rate(let rule) = limit(for: definition) else { return nil }
    return rule.earliest(fullAt: fullAt)
  }

  /// What keeps a request of the definition from starting.
  /// - Parameter place: where it stands in line, if that is known.
  func obstacle(for definition: Definition, at place: LinePlace?) -> Obstacle? {
    switch limit(for: definition) {
    case .concurrency(let limit):
      return .limitReached(LimitObstacle(key: key, limit: limit, running: running, position: place?.position))
    case .rate(let rule):
      let until = rule.earliest(fullAt: fullAt) + (place?.taken ?? .zero)
      return .limitReached(
        LimitObstacle(key: key, limit: rule.limit, per: rule.per, position: place?.position, until: until))
    case nil: return nil
    }
  }

  mutating func look(at time: Timestamp) { dueAt = min(dueAt ?? time, time) }
}

extension LimitKey {
  /// The obstacle of a request that waits for the key.
  var obstacle: Obstacle.Kind { kind == .rate ? .rateReached : .limitReached }

  /// The name of the key in the database.
  var name: String { "\(kind.rawValue):\(text)" }

  /// - Parameter name: a name from the database.
  init(name: String) {
    let parts = name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(LimitKind(rawValue: String(parts[0])) ?? .concurrency, parts.count > 1 ? String(parts[1]) : "")
  }
}

extension Timestamp {
  /// The eligible time of a request that waits for a key. It differs from that of a request that waits for something
  /// else without a time.
  static let heldByKey = Timestamp(nanoseconds: .max - 1)
}

// MARK: Starting

extension Verbs {
  /// Locks the rows of these keys and of their lines.
  func needLimits(_ keys: [LimitKey]) throws {
    if held == nil || keys.isEmpty { return }
    try need(.limits(Set(keys.map { ByteText($0.name) })))
  }

  /// Locks the keys of all requests of this state that the group has loaded, so that it need not begin again for each
  /// of them.
  func needLimits(ofLoaded state: RequestState, _ definition: Definition) throws {
    guard held != nil, definition.hasKeys else { return }
    let loaded = try prepare(.loadedNames).all(state.code) { row in
      (identifier: JobIdentifier(trusted: row.text(0)), definition: DefinitionID(row.int64(1)))
    }
    try needLimits(
      loaded.flatMap { one in
        guard holds(.definition(one.definition)) else { return [LimitKey]() }
        return try knownDefinition(one.definition).definition.limitKeys(of: one.identifier)
      })
  }

  func limitRow(_ key: LimitKey) throws -> LimitRow {
    try needLimits([key])
    return try prepare(.limitRow).first(key.name, row: Self.limitRow) ?? LimitRow(key)
  }

  static func limitRow(_ row: Columns) -> LimitRow {
    var found = LimitRow(LimitKey(name: row.text(0)))
    (found.running, found.fullAt, found.dueAt) = (row.int(1), row.time(2), row.optionalTime(3))
    (found.setting, found.last) = (limitSetting(row, from: 4), limitSetting(row, from: 7))
    return found
  }

  /// Reads three columns: a limit, and for a rate its time and its burst.
  private static func limitSetting(_ row: Columns, from index: Int32) -> LimitSetting? {
    guard let limit = row.optionalInt64(index) else { return nil }
    guard let per = row.optionalInt64(index + 1) else { return .concurrency(Int(limit)) }
    return .rate(StartRate(limit: Int(limit), per: .nanoseconds(per), burst: row.int(index + 2)))
  }

  func write(_ row: LimitRow) throws {
    let (set, last) = (Self.columns(row.setting), Self.columns(row.last))
    try prepare(.setLimitRow).run(
      row.key.name, row.running, row.fullAt, row.dueAt, set.limit, set.per, set.burst, last.limit, last.per,
      last.burst)
  }

  private static func columns(_ setting: LimitSetting?) -> (limit: Int?, per: Int64?, burst: Int?) {
    switch setting {
    case .concurrency(let limit): (limit, nil, nil)
    case .rate(let rule): (rule.limit, rule.per.nanoseconds, rule.burst)
    case nil: (nil, nil, nil)
    }
  }

  /// The keys that keep a request of the definition from starting now, each with the reason.
  func limitObstacles(for identifier: JobIdentifier, _ definition: Definition, at now: Moment) throws -> [Obstacle] {
    let keys = definition.limitKeys(of: identifier)
    try needLimits(keys)
    return try keys.compactMap { key in
      let row = try limitRow(key)
      guard row.room(for: definition, at: now) == 0 else { return nil }
      return row.obstacle(for: definition, at: nil)
    }
  }

  /// Whether the keys of a request that is not ready yet, or was just made, let it start before those that wait.
  func keysPermit(_ identifier: JobIdentifier, _ frozen: FrozenDefinition, at now: Moment) throws -> Bool {
    let keys = frozen.definition.limitKeys(of: identifier)
    try needLimits(keys)
    return try keys.allSatisfy { key in
      try limitRow(key).room(for: frozen.definition, at: now) > 0 && lines(of: key).isEmpty
    }
  }

  /// Counts a launch that starts. The caller has asked whether it may.
  func noteKeys(of identifier: JobIdentifier, start definition: Definition, at now: Moment) throws {
    let keys = definition.limitKeys(of: identifier)
    try needLimits(keys)
    for key in keys {
      var row = try limitRow(key)
      row.last = row.limit(for: definition)
      switch key.kind {
      case .concurrency: row.running += 1
      case .rate:
        guard case .rate(let rule) = row.limit(for: definition) else { continue }
        row.fullAt = rule.started(fullAt: row.fullAt, at: now.steady)
        if try !lines(of: key).isEmpty { row.look(at: rule.earliest(fullAt: row.fullAt)) }
      }
      try write(row)
    }
  }

  /// When to call the next ones that wait for a rate of which a launch has started.
  func dueOfKeys(of identifier: JobIdentifier, _ definition: DefinitionID) throws -> NextDue {
    var due = NextDue()
    for key in try knownDefinition(definition).definition.limitKeys(of: identifier) where key.kind == .rate {
      due.join(NextDue(steady: try limitRow(key).dueAt))
    }
    return due
  }

  /// Counts a launch that ends now.
  /// - Returns: when to call those that wait for its key.
  func noteKeys(of identifier: JobIdentifier, end definition: Definition, at now: Moment) throws -> NextDue {
    let keys = definition.limitKeys(of: identifier).filter { $0.kind == .concurrency }
    try needLimits(keys)
    var due = NextDue()
    for key in keys {
      var row = try limitRow(key)
      row.running = max(0, row.running - 1)
      if try !lines(of: key).isEmpty {
        row.look(at: now.steady)
        due.join(NextDue(steady: row.dueAt))
      }
      try write(row)
    }
    return due
  }

  /// A request that was ready does not start now: those that wait for its keys may have its turn.
  /// - Returns: when to call them.
  @discardableResult
  func passTurn(of identifier: JobIdentifier, _ definition: Definition, at now: Moment) throws -> NextDue {
    var due = NextDue()
    for key in definition.limitKeys(of: identifier) { due.join(try passTurn(at: key, at: now)) }
    return due
  }

  private func passTurn(at key: LimitKey, at now: Moment) throws -> NextDue {
    if try lines(of: key).isEmpty { return NextDue() }
    var row = try limitRow(key)
    row.look(at: now.steady)
    try write(row)
    return NextDue(steady: row.dueAt)
  }

  /// Passes on the turn of a request that still has the definition with which it was ready, or of one of its shards.
  @discardableResult
  func passTurn(of request: RequestID, at now: Moment) throws -> NextDue {
    guard let found = try launched(request) else { return NextDue() }
    return try passTurn(
      of: found.identifier, try knownDefinition(found.requirementClass.definition).definition, at: now)
  }

  /// Lets ready requests wait for their keys that may not start now.
  /// - Parameter found: ready requests and shards of one class, in the order in which they would start.
  /// - Returns: whether there were any.
  func parkBeyondKeys(
    _ found: [Candidate], _ definition: Definition, _ due: inout NextDue, at now: Moment
  ) throws -> Bool {
    guard definition.hasKeys, !found.isEmpty else { return false }
    let keys = found.map { definition.limitKeys(of: $0.identifier) }
    try needLimits(keys.flatMap { $0 })
    // As if those before had started.
    var room: [LimitKey: Int] = [:]
    var isChanged = false
    for (candidate, keys) in zip(found, keys) {
      let blocking = try keys.first { key in
        let left = try room[key] ?? limitRow(key).room(for: definition, at: now)
        room[key] = left
        return try left <= 0 || goesFirst(on: key, before: candidate)
      }
      guard let blocking else {
        for key in keys { room[key, default: 1] -= 1 }
        continue
      }
      try park(candidate, on: blocking, definition, isTaken: room[blocking] == 0, &due, at: now)
      isChanged = true
      // It has left the lines of the others, where it may have had its turn.
      for other in keys where other != blocking && room[other] != 0 { due.join(try passTurn(at: other, at: now)) }
    }
    return isChanged
  }

  /// Whether an older request of the class waits for the key.
  private func goesFirst(on key: LimitKey, before candidate: Candidate) throws -> Bool {
    let first = try prepare(.firstWaitingOn).first(
      key.name, candidate.definition.rawValue, candidate.priority.rawValue
    ) { $0.int64(0) }
    return first.map { $0 < candidate.request.rawValue } ?? false
  }

  /// - Parameter isTaken: whether the room of the key goes to those before it.
  private func park(
    _ candidate: Candidate, on key: LimitKey, _ definition: Definition, isTaken: Bool, _ due: inout NextDue,
    at now: Moment
  ) throws {
    try prepare(.waitOnKey).run(Cause.rateLimited.rawValue, Timestamp.heldByKey, key.name, candidate.request.rawValue)
    if candidate.shard == nil {
      try count(pattern: try knownDefinition(candidate.definition).pattern, from: .ready, to: .scheduled)
    }
    try prepare(.addLine).run(key.name, candidate.definition.rawValue, candidate.priority.rawValue)
    var row = try limitRow(key)
    if row.room(for: definition, at: now) == 0 {
      if let time = row.nextRoom(for: definition) { row.look(at: time) }
    } else {
      row.look(at: isTaken ? now.steady + Self.patience : now.steady)
    }
    due.join(NextDue(steady: row.dueAt))
    try write(row)
  }
}

// MARK: Calling

extension Verbs {
  /// The most keys that one promotion looks at, and the most requests of a line that it calls.
  static let keysAtOnce = 256
  private static let calledAtOnce = 16
  /// When to call the next one of a line if those that were called do not start, because no host takes them.
  private static let patience = Duration.seconds(60)
  /// When to look again after requests of another group.
  private static let lockedElsewhere = Duration.milliseconds(200)

  /// Makes requests ready that wait for a key which has room for them now. A group has loaded what is due.
  /// - Returns: how many of each class.
  func callWaiting(at now: Moment) throws -> [RequirementClass: Int] {
    var keys = try prepare(.dueLimits).all(now.steady, Self.keysAtOnce) { LimitKey(name: $0.text(0)) }
    if keys.isEmpty { return [:] }
    if held != nil {
      // What was due when the group was loaded may not be any more.
      let locked = keys.filter { holds(.limits([ByteText($0.name)])) }
      if locked.isEmpty { try needLimits(keys) }
      keys = locked
    }
    let lines = try keys.map { try self.lines(of: $0) }
    let wanted = Set(lines.joined())
    if !wanted.isEmpty { try need(.waiting(wanted, Self.calledAtOnce + 1)) }
    var called: [RequirementClass: Int] = [:]
    for (key, lines) in zip(keys, lines) {
      var row = try limitRow(key)
      row.dueAt = nil
      for line in lines { try call(line, &row, &called, at: now) }
      try write(row)
    }
    return called
  }

  private func call(
    _ line: KeyLine, _ row: inout LimitRow, _ called: inout [RequirementClass: Int], at now: Moment
  ) throws {
    let one = line.requirementClass
    let waiting = try prepare(.waitingOn).all(
      line.name, one.definition.rawValue, one.priority.rawValue, Self.calledAtOnce + 1
    ) { (id: $0.int64(0), isDivided: !$0.isNull(1)) }
    if waiting.isEmpty {
      return try prepare(.removeLine).run(line.name, one.definition.rawValue, one.priority.rawValue)
    }
    let definition = try knownDefinition(one.definition)
    let room = row.room(for: definition.definition, at: now)
    guard room > 0 else {
      if let time = row.nextRoom(for: definition.definition) { row.look(at: time) }
      return
    }
    let first = waiting.prefix(min(room, Self.calledAtOnce))
    let free = first.filter { holds(.identifierOf(RequestID($0.id))) }
    for request in free {
      try prepare(.setReadiness).run(RequestState.ready.code, Int?.none, now.steady, request.id, now.date)
      if !request.isDivided { try count(pattern: definition.pattern, from: .scheduled, to: .ready) }
      called[one, default: 0] += 1
    }
    if free.count < first.count {
      row.look(at: now.steady + Self.lockedElsewhere)
    } else if waiting.count > free.count {
      row.look(at: room > free.count ? now.steady : now.steady + Self.patience)
    }
  }

  /// The lines of a key. Some may be empty.
  func lines(of key: LimitKey) throws -> [KeyLine] {
    try needLimits([key])
    return try prepare(.lines).all(key.name) { row in
      KeyLine(
        name: key.name,
        requirementClass: RequirementClass(
          definition: DefinitionID(row.int64(0)), priority: Priority(code: row.int(1))))
    }
  }

  /// Makes the rows of a request ready that wait for a key, because their definition is another one now.
  func callRows(of request: LaunchedRequest, pattern: Int64, at now: Moment) throws {
    for id in try shardIDs(of: request) where try keyWaitedFor(by: id) != nil {
      try prepare(.setReadiness).run(RequestState.ready.code, Int?.none, now.steady, id, now.date)
      if !request.isSpread { try count(pattern: pattern, from: .scheduled, to: .ready) }
    }
  }

  /// Lets the rows of a request wait in the lines of another priority.
  func moveLines(of request: LaunchedRequest, to priority: Priority) throws {
    for id in try shardIDs(of: request) {
      guard let key = try keyWaitedFor(by: id) else { continue }
      try needLimits([key])
      try prepare(.addLine).run(key.name, request.requirementClass.definition.rawValue, priority.rawValue)
    }
  }

  /// The key that a request or a shard waits for; `nil` if it waits for none.
  private func keyWaitedFor(by id: Int64) throws -> LimitKey? {
    try prepare(.keyWaitedFor).first(id, Timestamp.heldByKey) { LimitKey(name: $0.text(0)) }
  }

  /// When to call the next requests that wait for keys.
  func nextDueOfLimits() throws -> Timestamp? { try prepare(.nextDueLimit).first { $0.time(0) } }

  /// Deletes rows of keys that nothing needs: without launches, without a line, with a full bucket, and not set.
  /// - Returns: whether there may be more.
  func pruneLimits(limit: Int, at now: Moment) throws -> Bool {
    try need(.idleLimits(now, limit))
    let idle = try prepare(.idleLimits).all(now.steady, limit) { LimitKey(name: $0.text(0)) }
    if idle.isEmpty { return false }
    if held != nil, !idle.contains(where: { holds(.limits([ByteText($0.name)])) }) { try needLimits(idle) }
    for key in idle where holds(.limits([ByteText(key.name)])) {
      if try lines(of: key).isEmpty {
        try prepare(.deleteLimit).run(key.name)
      } else {
        // The line is empty too, or its requests have room.
        var row = try limitRow(key)
        row.look(at: now.steady)
        try write(row)
      }
    }
    return idle.count == limit
  }
}

extension Query {
  static let limitColumns =
    "name, running, full_at, due_at, set_limit, set_per, set_burst, last_limit, last_per, last_burst"
  static let limitRow = Query("SELECT \(limitColumns) FROM limit_key WHERE name = ?")
  static let setLimitRow = Query(
    """
    INSERT INTO limit_key (\(limitColumns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET running = excluded.running, full_at = excluded.full_at, due_at = excluded.due_at,
      set_limit = excluded.set_limit, set_per = excluded.set_per, set_burst = excluded.set_burst,
      last_limit = excluded.last_limit, last_per = excluded.last_per, last_burst = excluded.last_burst
    """)
  /// The condition that a request waits in the line that the first three parameters name. The time is not a parameter,
  /// so that the index of such requests is used.
  static let waits = "waits_on = ?1 AND definition = ?2 AND priority = ?3 AND \(isHeldByKey)"
  static let isHeldByKey = "state = 0 AND eligible_at = \(Timestamp.heldByKey.nanoseconds)"
  static let firstWaitingOn = Query("SELECT id FROM request WHERE \(waits) ORDER BY id LIMIT 1")
  static let waitingOn = Query("SELECT id, first_unit FROM request WHERE \(waits) ORDER BY id LIMIT ?4")
  static let loadedNames = Query(
    "SELECT i.name, r.definition FROM request r JOIN identifier i ON i.id = r.identifier WHERE r.state = ?")
  static let waitOnKey = Query(
    """
    UPDATE request SET state = 0, cause = ?1, eligible_at = ?2, waits_on = ?3, ready_at = NULL WHERE id = ?4
    """)
  static let keyWaitedFor = Query("SELECT waits_on FROM request WHERE id = ? AND state = 0 AND eligible_at = ?")
  static let lines = Query("SELECT definition, priority FROM limit_line WHERE name = ? ORDER BY definition, priority")
  static let addLine = Query(
    "INSERT INTO limit_line (name, definition, priority) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
  static let removeLine = Query("DELETE FROM limit_line WHERE name = ? AND definition = ? AND priority = ?")
  static let dueLimits = Query("SELECT name FROM limit_key WHERE due_at <= ? ORDER BY due_at, name LIMIT ?")
  static let nextDueLimit = Query("SELECT due_at FROM limit_key WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1")
  static let idleLimits = Query(
    """
    SELECT name FROM limit_key WHERE running = 0 AND full_at <= ? AND due_at IS NULL AND set_limit IS NULL
    ORDER BY name LIMIT ?
    """)
  static let deleteLimit = Query("DELETE FROM limit_key WHERE name = ?")
}
