internal import BatonModel
internal import GRDB

/// Finds the rows of the keys of a group: first which rows have to be locked, then, when they are, what is in them.
struct RowLoader {
  private let db: Database
  private let shapes: [String: TableShape]
  private let skipped: Set<RowLock>
  private var held: HeldRows
  private(set) var locks: Set<RowLock> = []
  private var keys: Set<RowKey> = []
  private var epoch: Int64?
  // What is loaded, by the numbers of rows.
  private var identifiers: Set<Int64> = []
  private var requests: Set<Int64> = []
  private var patterns: Set<Int64> = []
  private var definitions: Set<Int64> = []
  private var hosts: Set<Int64> = []
  private var rows: Rows = [:]

  /// - Parameter skipped: the rows that other groups have locked.
  init(_ db: Database, _ held: HeldRows, skipping skipped: Set<RowLock>) throws {
    self.db = db
    self.held = held
    self.skipped = skipped
    shapes = Dictionary(uniqueKeysWithValues: try TableShape.all(in: db).map { ($0.name, $0) })
  }

  // MARK: Finding

  /// Finds the rows that have to be locked.
  mutating func find(_ asked: [RowKey], epoch: Int64?) throws {
    keys = Set(asked)
    self.epoch = epoch
    held.keys = keys
    var wanted: [RequirementClass: Int] = [:]
    for case .ready(let requirementClass, let count) in asked { wanted[requirementClass, default: 0] += count }
    if keys.contains(.everything) || epoch == nil {
      for other in try numbers("SELECT epoch FROM coordinator WHERE is_settled = 0") { lock(.coordinator, other) }
    } else if let epoch {
      lock(.coordinator, epoch)
    }
    for key in keys { try find(key) }
    for (requirementClass, count) in wanted { try findReady(requirementClass, count) }
  }

  private mutating func find(_ key: RowKey) throws {
    switch key {
    case .everything, .tenures, .allDefinitions, .exampleOf, .ready, .submission, .oldestSubmissions: break
    case .identifier(let name):
      for id in try numbers("SELECT id FROM identifier WHERE name = ?", name.rawValue) { try holdIdentifier(id) }
    case .identifierOf(let id): try holdRequests([id.rawValue])
    case .request(let id), .payload(let id), .history(let id), .launches(let id), .lastItems(let id), .items(let id),
      .spans(let id):
      hold(id.rawValue)
    case .output(let launch): hold(launch.request.rawValue)
    case .due(let now, let limit): try findDue(now, limit)
    case .launchesOn(let host):
      holdHost(host)
      try holdRequests(numbers("SELECT request FROM launch WHERE host = ? AND ended_at IS NULL", host))
    case .unfinished(let position, let limit): try findUnfinished(position, limit)
    case .unfinishedOf(let definition, let limit):
      for condition in ["r.state = 0", "r.state = 1", "r.state = 2"] {
        let sql = "SELECT r.id FROM request r WHERE \(condition) AND r.definition = ? LIMIT ?"
        try holdRequests(numbers(sql, definition.rawValue, limit))
      }
    case .pattern(let id): patterns.insert(id)
    case .lockedPattern(let id): holdPattern(id)
    case .patternNamed(let name):
      for id in try numbers("SELECT id FROM pattern WHERE name = ?", name.rawValue) { holdPattern(id) }
    case .definition(let id): definitions.insert(id.rawValue)
    case .host(let name):
      for id in try numbers("SELECT id FROM host WHERE name = ?", name.rawValue) { holdHost(id) }
    case .hostRow(let id): holdHost(id)
    case .identities: lock(.identities, 0)
    case .credentials: lock(.credentials, 0)
    case .audit, .oldAudit: lock(.audit, 0)
    case .orphans:
      let sql = """
        SELECT id FROM host WHERE incarnation IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM coordinator WHERE epoch = host.owner AND is_ended = 0)
        """
      for id in try numbers(sql) { holdHost(id) }
    }
  }

  /// The oldest ready requests of a class that no other group has locked.
  private mutating func findReady(_ wanted: RequirementClass, _ count: Int) throws {
    let sql = "SELECT id FROM request WHERE state = 1 AND definition = ? AND priority = ? ORDER BY id LIMIT ?"
    let found = try numbers(sql, wanted.definition.rawValue, wanted.priority.rawValue, count + skipped.count)
    let free = try found.filter(isFree).prefix(count)
    held.ready[wanted] = (count, free.count < count)
    try holdRequests(Array(free))
    for id in free { held.keys.insert(.payload(RequestID(id))) }
  }

  /// Requests that are due, and the ones that are due next, which say when to look again.
  private mutating func findDue(_ now: Moment, _ limit: Int) throws {
    let due = "SELECT id FROM request WHERE state = 0"
    let dated = due + " AND cause = 0 AND is_dated = 1"
    var found = try numbers(due + " AND eligible_at <= ? ORDER BY eligible_at LIMIT ?", now.steady, limit)
    found += try numbers(dated + " AND earliest_at <= ? ORDER BY earliest_at LIMIT ?", now.date, limit)
    try holdRequests(found.filter(isFree))
    let beyond = limit + skipped.count + 1
    requests.formUnion(try numbers(due + " ORDER BY eligible_at LIMIT ?", beyond))
    requests.formUnion(try numbers(dated + " ORDER BY earliest_at LIMIT ?", beyond))
  }

  private mutating func findUnfinished(_ position: CancelPosition, _ limit: Int) throws {
    for query in [Query.scheduledBelow, .readyBelow] {
      let found = try Prepared(db.cachedStatement(sql: query.sql)).all(position.end, limit) { $0.int64(0) }
      try holdRequests(found)
    }
    let running = try Prepared(db.cachedStatement(sql: Query.runningBelow.sql))
    try holdRequests(running.all(position.running, position.end, limit) { $0.int64(0) })
  }

  private func isFree(_ request: Int64) throws -> Bool {
    guard !skipped.contains(RowLock(table: .request, id: request)) else { return false }
    return try numbers("SELECT identifier FROM request WHERE id = ?", request)
      .allSatisfy { !skipped.contains(RowLock(table: .identifier, id: $0)) }
  }

  private mutating func lock(_ table: RowLock.Table, _ id: Int64) { locks.insert(RowLock(table: table, id: id)) }

  private mutating func hold(_ request: Int64) {
    lock(.request, request)
    requests.insert(request)
    held.keys.insert(.request(RequestID(request)))
  }

  /// The requests, with their identifiers and everything unfinished of these.
  private mutating func holdRequests(_ found: [Int64]) throws {
    for id in found {
      hold(id)
      held.keys.insert(.identifierOf(RequestID(id)))
      for identifier in try numbers("SELECT identifier FROM request WHERE id = ?", id) {
        try holdIdentifier(identifier)
      }
    }
  }

  private mutating func holdIdentifier(_ id: Int64) throws {
    guard identifiers.insert(id).inserted else { return }
    lock(.identifier, id)
    for name in try texts("SELECT name FROM identifier WHERE id = ?", id) {
      held.keys.insert(.identifier(JobIdentifier(trusted: name)))
    }
    for request in try numbers("SELECT id FROM request WHERE identifier = ? AND state IN (0, 1, 2)", id) {
      requests.insert(request)
      held.keys.insert(.identifierOf(RequestID(request)))
    }
  }

  private mutating func holdPattern(_ id: Int64) {
    lock(.pattern, id)
    patterns.insert(id)
    held.keys.formUnion([.pattern(id), .lockedPattern(id)])
  }

  private mutating func holdHost(_ id: Int64) {
    lock(.host, id)
    hosts.insert(id)
    held.keys.insert(.hostRow(id))
  }

  // MARK: Loading

  /// Loads the rows that were found and locked.
  mutating func load() throws -> (held: HeldRows, rows: Rows) {
    try loadStore()
    for key in keys { try load(key) }
    for id in requests { try loadRequest(id) }
    for id in identifiers { try add("identifier", "id = ?", id) }
    for id in definitions {
      try add("definition", "id = ?", id)
      patterns.formUnion(try numbers("SELECT pattern FROM definition WHERE id = ?", id))
      held.keys.insert(.definition(DefinitionID(id)))
    }
    for id in patterns {
      held.keys.insert(.pattern(id))
      try add("pattern", "id = ?", id)
      try add("share", "pattern = ?", id)
    }
    for id in hosts {
      try add("host", "id = ?", id)
      try add("eviction", "host = ?", id)
      for name in try texts("SELECT name FROM host WHERE id = ?", id) { held.keys.insert(.host(HostName(name))) }
    }
    for case .payload(let id) in held.keys { try add("payload", "request = ?", id.rawValue) }
    return (held, rows)
  }

  private mutating func loadStore() throws {
    try add("store", "id = 1")
    if let shape = shapes["store"], let next = shape.columns.firstIndex(of: "next_request") {
      rows[shape]?[[.integer(1)]]?[next] = .integer(held.numbers.upcoming(.request))
    }
    try add("clock", "id = 1")
    try add("coordinator", "is_settled = 0")
    if let epoch { try add("coordinator", "epoch = ?", epoch) }
    // Its tenure begins after that of the newest coordinator.
    if keys.contains(.tenures) { try add("coordinator", "1") }
  }

  private mutating func load(_ key: RowKey) throws {
    switch key {
    case .allDefinitions:
      for table in ["pattern", "definition", "share"] { try add(table, "1") }
    case .exampleOf(let pattern):
      let sql = """
        SELECT id FROM request WHERE state IN (0, 1, 2)
          AND definition IN (SELECT id FROM definition WHERE pattern = ?) LIMIT 1
        """
      requests.formUnion(try numbers(sql, pattern))
    case .identities:
      for table in ["invitation", "certificate"] { try add(table, "1") }
    case .credentials: try add("credential", "1")
    case .audit: try add("audit_head", "1")
    case .oldAudit(let sequence):
      try add("audit", "sequence <= ?", sequence)
      try add("audit_head", "1")
    case .submission(let key):
      try add("submission", "key = ?", key)
      try add("identifier", "id IN (SELECT identifier FROM submission WHERE key = ?)", key)
      requests.formUnion(try numbers("SELECT request FROM submission WHERE key = ?", key))
    case .oldestSubmissions(let limit):
      try add("submission", "id IN (SELECT id FROM submission ORDER BY id LIMIT ?)", limit)
    case .history(let id):
      try add("event", "request = ?1 AND position = (SELECT max(position) FROM event WHERE request = ?1)", id.rawValue)
      try add("joining", "request = ?", id.rawValue)
    case .launches(let id): try add("launch", "request = ?", id.rawValue)
    case .lastItems(let id):
      try add(
        "item_page", "request = ?1 AND start = (SELECT max(start) FROM item_page WHERE request = ?1)", id.rawValue)
    case .items(let id): try add("item_page", "request = ?", id.rawValue)
    case .output(let launch):
      try add("output", "request = ? AND launch = ?", launch.request.rawValue, launch.number)
    case .spans(let id): try add("unsent_span", "request = ?", id.rawValue)
    case .everything, .tenures, .identifier, .identifierOf, .request, .payload, .ready, .due, .launchesOn, .unfinished,
      .unfinishedOf, .pattern, .lockedPattern, .patternNamed, .definition, .host, .hostRow, .orphans:
      break
    }
  }

  /// The row of a request with its last launch, its progress, its identifier, its definition, and the name of its host.
  private mutating func loadRequest(_ id: Int64) throws {
    try add("request", "id = ?", id)
    definitions.formUnion(try numbers("SELECT definition FROM request WHERE id = ?", id))
    try add("progress", "request = ?", id)
    try add("launch", "request = ?1 AND number = (SELECT launches FROM request WHERE id = ?1)", id)
    try add("identifier", "id = (SELECT identifier FROM request WHERE id = ?)", id)
    try add("host", "id = (SELECT host FROM request WHERE id = ?)", id)
  }

  private mutating func add<each Value: Bindable>(
    _ table: String, _ condition: String, _ values: repeat each Value
  ) throws {
    guard let shape = shapes[table] else { return }
    let statement = Prepared(try db.cachedStatement(sql: "SELECT * FROM \(table) WHERE \(condition)"))
    let found = try statement.all(repeat each values) { row in (0..<Int32(shape.columns.count)).map(row.cell) }
    for row in found { rows[shape, default: [:]][shape.key(of: row)] = row }
  }

  private func numbers<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> [Int64] {
    try Prepared(db.cachedStatement(sql: sql)).all(repeat each values) { $0.int64(0) }
  }

  private func texts<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> [String] {
    try Prepared(db.cachedStatement(sql: sql)).all(repeat each values) { $0.text(0) }
  }
}
