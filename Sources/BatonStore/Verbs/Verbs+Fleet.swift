package import BatonModel

/// Which classes have at least one ready request, and when other requests may become ready.
package struct ReadyRecord: Hashable, Sendable {
  package var classes: [RequirementClass]
  /// The first request of each of these classes.
  package var first: [RequirementClass: WaitingHead]
  package var nextDue: NextDue

  package init(classes: [RequirementClass], first: [RequirementClass: WaitingHead] = [:], nextDue: NextDue) {
    (self.classes, self.first, self.nextDue) = (classes, first, nextDue)
  }
}

/// What a coordinator reads from the store when it starts. It restores the dispatcher with this record.
package struct FleetRecord: Hashable, Sendable {
  /// The random name of the store, which is drawn when the store is made and changes when it went backwards.
  package var storeIncarnation: String
  package var isPaused: Bool
  /// The number of the coordinator that reads; 0 for a reader without a tenure.
  package var epoch: Int64
  /// The number of the steward; `nil` if there is none.
  package var steward: Int64?
  /// Rises whenever the applied definitions change.
  package var definitionsVersion: Int64
  package var hosts: [HostRecord]
  /// The launches that run, for workers that connect again and for counting `maxRunning`.
  package var running: [RunningRecord]
  /// The classes with at least one ready request.
  package var readyClasses: [RequirementClass]
  /// The first ready request of each of these classes.
  package var firstReady: [RequirementClass: WaitingHead] = [:]
  /// The definitions of `readyClasses` and of `running`.
  package var definitions: [DefinitionID: Definition]
  package var nextDue = NextDue()
  /// The launch time that is used of daily allowances, by the pattern of the definition.
  package var use: [IdentifierPattern: DailyUse] = [:]
  /// What is counted for each namespace, by its prefix; empty without namespaces.
  package var namespaces: [String: NamespaceCounts] = [:]
  /// How long the batches of a definition usually take (95th percentile).
  package var usualBatches: [IdentifierPattern: Duration] = [:]
  /// When a person used a definition last, on the steady clock, with a precision of some minutes.
  package var lastUses: [IdentifierPattern: Timestamp] = [:]
  /// The last reading of the clocks that was stored; `nil` if no coordinator has stored one.
  package var clock: ClockReading?
}

/// A host as the store knows it.
package struct HostRecord: Hashable, Sendable {
  package var name: HostName
  package var isDraining: Bool
  /// The incarnation that holds the lease; `nil` if no incarnation does.
  package var incarnation: Incarnation?
  /// The number of the present lease, or of the last one; 0 before the first one.
  package var leaseNumber: Int64
  /// The epoch of the coordinator that owns the lease; `nil` if no incarnation holds it.
  package var owner: Int64?
  /// Whether the host is connected to the owner, as far as the owner has said.
  package var isLinked = true
  /// When the host connected, sent a stored report or lost its lease last, on the wall clock.
  package var lastSeenAt: Timestamp
  package var evictions: Set<IdentifierPattern> = []
  /// The launch time that is used of the host's own daily allowance.
  package var use = DailyUse()
  /// The last report; `nil` if the host has never sent one that this version can read.
  package var word: HostWord?
}

/// A launch that runs, as a coordinator restores it when it starts.
package struct RunningRecord: Hashable, Sendable {
  package var launch: LaunchKey
  package var host: HostName
  package var incarnation: Incarnation
  package var requirementClass: RequirementClass
  package var identifier: JobIdentifier
  /// Why the launch was asked to stop; `nil` if it was not.
  package var expiring: ExpiryReason?
  /// When the launch started, on the steady clock.
  package var startedSteady: Timestamp
  /// The request of which the launch works on a shard; `nil` for a request's own shard.
  package var head: RequestID?
}

extension Verbs {
  package func fleet() throws -> FleetRecord {
    // The shares may lack what this transaction has counted, so it is written first.
    try flush()
    let store = try prepare(.store).first { row in
      (incarnation: row.text(0), isPaused: row.bool(1), definitions: row.int64(2), steward: row.optionalInt64(3))
    }
    guard let store else { throw StoreError.unnamed }
    let running = try prepare(.running).all(row: Self.running)
    let first = try readyHeads()
    let ready = first.keys.sorted()
    var definitions: [DefinitionID: Definition] = [:]
    for id in Set(ready.map(\.definition) + running.map(\.requirementClass.definition)) {
      definitions[id] = try knownDefinition(id).definition
    }
    return FleetRecord(
      storeIncarnation: store.incarnation, isPaused: store.isPaused, epoch: tenure?.epoch ?? 0, steward: store.steward,
      definitionsVersion: store.definitions, hosts: try hosts(), running: running,
      readyClasses: ready, firstReady: first, definitions: definitions, nextDue: try nextDue(),
      use: try patternUses(), namespaces: limits.namespaces.isEmpty ? [:] : try namespaces(),
      usualBatches: try usualBatches(), lastUses: try lastUses(), clock: try clock())
  }

  package func ready() throws -> ReadyRecord {
    try flush()
    let first = try readyHeads()
    return ReadyRecord(classes: first.keys.sorted(), first: first, nextDue: try nextDue())
  }

  private func hosts() throws -> [HostRecord] {
    let evictions = try allEvictions()
    return try prepare(.hosts).all { row in
      HostRecord(
        name: HostName(row.text(0)), isDraining: row.bool(1),
        incarnation: row.optionalText(2).map(Incarnation.init), leaseNumber: row.int64(8), owner: row.optionalInt64(9),
        isLinked: !row.isNull(10),
        lastSeenAt: row.time(3),
        evictions: Set(evictions[row.int64(7)] ?? []), use: Self.use(row, from: 4),
        word: row.optionalText(6).flatMap(HostWord.init(canonicalJSON:)))
    }
  }

  /// The first ready request of each class that has one. Steps from class to class through the index of ready requests
  /// with two lookups per class, so the cost does not depend on the number of ready requests.
  func readyHeads() throws -> [RequirementClass: WaitingHead] {
    let heads = try prepare(.readyHeads).all { row in
      (
        RequirementClass(definition: DefinitionID(row.int64(0)), priority: Priority(code: row.int(1))),
        WaitingHead(RequestID(row.int64(2)), since: row.optionalTime(3))
      )
    }
    return Dictionary(heads) { first, _ in first }
  }

  private static func running(_ row: Columns) -> RunningRecord {
    RunningRecord(
      launch: LaunchKey(request: RequestID(row.int64(0)), number: row.int(1)), host: HostName(row.text(2)),
      incarnation: Incarnation(row.text(3)),
      requirementClass: RequirementClass(definition: DefinitionID(row.int64(4)), priority: Priority(code: row.int(5))),
      identifier: JobIdentifier(trusted: row.text(6)),
      expiring: row.optionalText(7).flatMap { ExpiryReason(code: $0, detail: row.optionalText(8)) },
      startedSteady: row.time(9), head: row.optionalInt64(10).map(RequestID.init))
  }
}

extension Query {
  static let store = Query("SELECT incarnation, is_paused, definitions_version, steward FROM store WHERE id = 1")
  static let hosts = Query(
    """
    SELECT name, is_draining, incarnation, last_seen_at, use_day, used, word, id, lease, owner, link FROM host
    WHERE is_forgotten = 0 ORDER BY name
    """)
  static let running = Query(
    """
    SELECT l.request, l.number, h.name, l.incarnation, r.definition, r.priority, i.name, l.expiring_reason,
      l.expiring_detail, l.started_steady, r.head
    FROM launch l JOIN request r ON r.id = l.request JOIN host h ON h.id = l.host
      JOIN identifier i ON i.id = r.identifier
    WHERE l.ended_at IS NULL ORDER BY l.request
    """)
  static let readyHeads = Query(
    """
    WITH RECURSIVE ready (id, definition, priority) AS (
      SELECT * FROM (
        SELECT id, definition, priority FROM request WHERE state = 1 ORDER BY definition, priority, id LIMIT 1) AS lowest
      UNION ALL
      SELECT r.id, r.definition, r.priority FROM ready JOIN request r ON r.id = coalesce(
        (SELECT n.id FROM request n
         WHERE n.state = 1 AND n.definition = ready.definition AND n.priority > ready.priority
         ORDER BY n.priority, n.id LIMIT 1),
        (SELECT n.id FROM request n WHERE n.state = 1 AND n.definition > ready.definition
         ORDER BY n.definition, n.priority, n.id LIMIT 1))
    )
    SELECT r.definition, r.priority, r.id, CASE WHEN r.is_dated = 0 OR r.launches > 0 THEN r.eligible_at END
    FROM ready JOIN request r ON r.id = ready.id
    """)
}
