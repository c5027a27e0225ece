package import BatonModel

/// A launch of a host, as the host's history has it.
package struct HostLaunch: Hashable, Sendable {
  package var request: RequestID
  package var identifier: JobIdentifier
  /// The number of the request within its identifier.
  package var number: Int
  /// The number of the shard within its request; 0 for a request that was not divided.
  package var shard: Int
  package var launch: Int
  package var startedAt: Timestamp
  /// `nil` while the launch runs.
  package var endedAt: Timestamp?
  package var outcome: LaunchOutcome.Kind?
  package var reason: String?

  package init(
    request: RequestID, identifier: JobIdentifier, number: Int, shard: Int = 0, launch: Int, startedAt: Timestamp,
    endedAt: Timestamp? = nil, outcome: LaunchOutcome.Kind? = nil, reason: String? = nil
  ) {
    (self.request, self.identifier, self.number, self.shard) = (request, identifier, number, shard)
    (self.launch, self.startedAt, self.endedAt) = (launch, startedAt, endedAt)
    (self.outcome, self.reason) = (outcome, reason)
  }
}

/// What is known of a host since a time.
package struct HostHistory: Hashable, Sendable {
  /// The changes of its conditions, the newest first.
  package var conditions: [ConditionChange]
  /// The launches that run, and those of a second or more, the one that started last first.
  package var launches: [HostLaunch]

  package init(conditions: [ConditionChange] = [], launches: [HostLaunch] = []) {
    (self.conditions, self.launches) = (conditions, launches)
  }
}

extension Verbs {
  /// Adds to the history of a host how its conditions differ from its last report.
  /// - Parameter number: the number of the lease that reports.
  func noteConditions(_ word: HostWord, of host: HostName, under number: Int64, at now: Moment) throws {
    let known = try prepare(.reportOfHost).first(host.rawValue, number) { row in
      (id: row.int64(0), changes: row.int64(1), word: row.optionalText(2))
    }
    guard let known else { return }
    let earlier = known.word.flatMap(HostWord.init(canonicalJSON:))
    try note(word.conditions.changes(since: earlier?.conditions, at: now.date), of: known.id, known.changes, at: now)
  }

  /// Adds to the history of a host that it holds a lease, or holds none any more.
  func noteLease(of host: Int64, isHeld: Bool, at now: Moment) throws {
    let changes = try prepare(.changesOfHost).first(host) { $0.int64(0) } ?? 0
    let change = ConditionChange(
      at: now.date, condition: ConditionChange.lease, value: isHeld ? "held" : "none", source: "coordinator")
    try note([change], of: host, changes, at: now)
  }

  /// Adds changes, and drops those beyond the number that is kept.
  private func note(_ changes: [ConditionChange], of host: Int64, _ last: Int64, at now: Moment) throws {
    guard !changes.isEmpty else { return }
    let count = last + Int64(changes.count)
    let dropped = count - Int64(ConditionChange.most)
    if dropped > 0 {
      try need(.conditions(host, upTo: dropped))
      try prepare(.dropConditions).run(host, dropped)
    }
    for (number, change) in zip((last + 1)..., changes) {
      try prepare(.insertCondition).run(
        host, number, now.date, now.steady, change.condition, change.value, change.source, change.raw)
    }
    try prepare(.setChanges).run(count, host)
  }

  /// The history of a host since a time, at most `limit` changes and launches.
  /// - Throws: `.notFound` if the host was never connected.
  package func history(of host: HostName, since: Timestamp, limit: Int) throws -> HostHistory {
    try requireHost(host)
    let conditions = try prepare(.conditionsOfHost).all(host.rawValue, since, limit) { row in
      ConditionChange(
        number: row.int64(0), at: row.time(1), condition: row.text(2), value: row.optionalText(3), source: row.text(4),
        raw: row.text(5))
    }
    let open = try prepare(.openLaunchesOfHost).all(host.rawValue, limit, row: Self.hostLaunch)
    let ended = try prepare(.launchesOfHost).all(host.rawValue, since, limit, row: Self.hostLaunch)
    let launches = (open + ended).sorted { ($1.startedAt, $1.request) < ($0.startedAt, $0.request) }
    return HostHistory(conditions: conditions, launches: Array(launches.prefix(limit)))
  }

  private static func hostLaunch(_ row: Columns) -> HostLaunch {
    HostLaunch(
      request: RequestID(row.int64(0)), identifier: JobIdentifier(trusted: row.text(1)), number: row.int(2),
      shard: row.int(3), launch: row.int(4), startedAt: row.time(5), endedAt: row.optionalTime(6),
      outcome: row.outcome(7), reason: row.optionalText(8))
  }
}

extension Query {
  static let reportOfHost = Query("SELECT id, changes, word FROM host WHERE name = ? AND lease = ?")
  static let changesOfHost = Query("SELECT changes FROM host WHERE id = ?")
  static let setChanges = Query("UPDATE host SET changes = ? WHERE id = ?")
  static let insertCondition = Query(
    """
    INSERT INTO condition_change (host, number, at, steady, condition, value, source, raw)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """)
  static let dropConditions = Query("DELETE FROM condition_change WHERE host = ? AND number <= ?")
  static let conditionsOfHost = Query(
    """
    SELECT number, at, condition, value, source, raw FROM condition_change
    WHERE host = (SELECT id FROM host WHERE name = ?1) AND at >= ?2 ORDER BY number DESC LIMIT ?3
    """)
  private static let hostLaunch = """
    SELECT l.request, i.name, r.number, r.shard, l.number, l.started_at, l.ended_at, l.outcome,
      coalesce(l.reason, l.expiring_reason)
    FROM launch l JOIN request r ON r.id = l.request JOIN identifier i ON i.id = r.identifier
    WHERE l.host = (SELECT id FROM host WHERE name = ?1)
    """
  static let openLaunchesOfHost = Query(hostLaunch + " AND l.ended_at IS NULL LIMIT ?2")
  /// Those of a second or more: the index `launch_of_host` has no others.
  static let launchesOfHost = Query(
    hostLaunch + """
       AND l.ended_at - l.started_at >= 1000000000 AND l.started_at >= ?2 ORDER BY l.started_at DESC LIMIT ?3
      """)
}
