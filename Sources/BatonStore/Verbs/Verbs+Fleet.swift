internal import BatonModel

extension Verbs {
  package func fleet() throws -> FleetRecord {
    // The rows of patterns may lack what this transaction has counted, so it is written first.
    try flush()
    let store = try prepare(.store).first { row in (incarnation: row.text(0), isPaused: row.bool(1)) }
    guard let store else { throw StoreError(.corrupt, "The database is damaged: the name of the store is missing.") }
    let running = try prepare(.running).all(row: Self.running)
    let ready = try readyClasses()
    var definitions: [DefinitionID: Definition] = [:]
    for id in Set(ready.map(\.definition) + running.map(\.requirementClass.definition)) {
      definitions[id] = try knownDefinition(id).definition
    }
    return FleetRecord(
      storeIncarnation: store.incarnation, isPaused: store.isPaused, hosts: try hosts(), running: running,
      readyClasses: ready, definitions: definitions, nextDue: try nextDue(), use: try patternUses(),
      usualBatches: try usualBatches(), lastUses: try lastUses(), clock: try clock())
  }

  package func ready() throws -> ReadyRecord {
    try flush()
    return ReadyRecord(classes: try readyClasses(), nextDue: try nextDue())
  }

  private func hosts() throws -> [HostRecord] {
    let evictions = try allEvictions()
    return try prepare(.hosts).all { row in
      HostRecord(
        name: HostName(row.text(0)), isDraining: row.bool(1),
        incarnation: row.optionalText(2).map(Incarnation.init), lastSeenAt: row.time(3),
        evictions: Set(evictions[row.int64(7)] ?? []), use: Self.use(row, from: 4),
        word: row.optionalText(6).flatMap(HostWord.init(canonicalJSON:)))
    }
  }

  /// The classes that have a ready request. Steps from class to class through the index of ready requests with two
  /// lookups per class, so the cost does not depend on the number of ready requests.
  func readyClasses() throws -> [RequirementClass] {
    var classes: [RequirementClass] = []
    var (definition, priority) = (Int64.min, -1)
    while let next = try nextReadyClass(after: definition, priority) {
      classes.append(next)
      (definition, priority) = (next.definition.rawValue, next.priority.rawValue)
    }
    return classes.sorted()
  }

  /// The first ready class after this definition and priority, in the order of the index.
  private func nextReadyClass(after definition: Int64, _ priority: Int) throws -> RequirementClass? {
    let sameDefinition = try prepare(.nextReadyPriority).first(definition, priority, row: Self.requirementClass)
    return try sameDefinition ?? prepare(.nextReadyDefinition).first(definition, row: Self.requirementClass)
  }

  private static func requirementClass(_ row: Columns) -> RequirementClass {
    RequirementClass(definition: DefinitionID(row.int64(0)), priority: Priority(code: row.int(1)))
  }

  private static func running(_ row: Columns) -> RunningRecord {
    RunningRecord(
      launch: LaunchKey(request: RequestID(row.int64(0)), number: row.int(1)), host: HostName(row.text(2)),
      incarnation: Incarnation(row.text(3)),
      requirementClass: RequirementClass(definition: DefinitionID(row.int64(4)), priority: Priority(code: row.int(5))),
      identifier: JobIdentifier(trusted: row.text(6)),
      expiring: row.optionalText(7).flatMap { ExpiryReason(code: $0, detail: row.optionalText(8)) },
      startedSteady: row.time(9))
  }
}

extension Query {
  static let store = Query("SELECT incarnation, is_paused FROM store WHERE id = 1")
  static let hosts = Query(
    "SELECT name, is_draining, incarnation, last_seen_at, use_day, used, word, id FROM host ORDER BY name")
  static let running = Query(
    """
    SELECT l.request, l.number, h.name, l.incarnation, r.definition, r.priority, i.name, l.expiring_reason,
      l.expiring_detail, l.started_steady
    FROM launch l JOIN request r ON r.id = l.request JOIN host h ON h.id = l.host
      JOIN identifier i ON i.id = r.identifier
    WHERE l.ended_at IS NULL ORDER BY l.request
    """)
  static let nextReadyPriority = Query(
    """
    SELECT definition, priority FROM request INDEXED BY request_ready
    WHERE state = 1 AND definition = ? AND priority > ? ORDER BY priority LIMIT 1
    """)
  static let nextReadyDefinition = Query(
    """
    SELECT definition, priority FROM request INDEXED BY request_ready WHERE state = 1 AND definition > ?
    ORDER BY definition, priority LIMIT 1
    """)
}
