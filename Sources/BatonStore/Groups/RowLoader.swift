internal import BatonModel

/// Finds, locks and loads the rows of the keys of a group. It needs few exchanges with the database, however many keys
/// there are: one that finds the rows, one or two that lock them, and two that load them.
struct RowLoader {
  private let source: any RowSource
  private let shapes: [String: TableShape]
  private let keys: Set<RowKey>
  private let epoch: Int64?
  private var held: HeldRows
  private var locks: Set<RowLock> = []
  /// The questions of the next exchange, and what takes their answers.
  private var questions: [(RowQuestion, (inout RowLoader, [[Cell]]) -> Void)] = []
  // What is loaded, by the numbers of rows. `identifiers` and `hosts` are locked; `requests` may be loaded only.
  private var identifiers: Set<Int64> = []
  private var requests: Set<Int64> = []
  private var patterns: Set<Int64> = []
  private var definitions: Set<Int64> = []
  private var hosts: Set<Int64> = []
  private var rows: Rows = [:]

  /// - Parameter epoch: the tenure whose row is locked first; `nil` for a coordinator that is about to begin one.
  private init(
    _ keys: [RowKey], epoch: Int64?, numbers: any RowNumbers, from source: any RowSource, _ shapes: [TableShape]
  ) {
    (self.source, self.keys, self.epoch) = (source, Set(keys), epoch)
    held = HeldRows(numbers: numbers)
    held.keys = self.keys
    self.shapes = Dictionary(uniqueKeysWithValues: shapes.map { ($0.name, $0) })
  }

  /// Locks and loads the rows of the keys.
  /// - Returns: `nil` if another group has locked one of them, and the source does not wait.
  /// - Throws: `RowsChanged` if the group has to begin again, because other rows have to be locked than those that
  ///   were found.
  static func load(
    _ keys: [RowKey], epoch: Int64?, numbers: any RowNumbers, from source: any RowSource, _ shapes: [TableShape]
  ) throws -> (held: HeldRows, rows: Rows)? {
    var loader = RowLoader(keys, epoch: epoch, numbers: numbers, from: source, shapes)
    try loader.find()
    guard try source.lock(loader.locks) else { return nil }
    if keys.contains(where: \.namesManyRows) {
      // Until the rows were locked, another group could add to those that these keys name.
      var again = RowLoader(keys, epoch: epoch, numbers: numbers, from: source, shapes)
      try again.find()
      guard again.locks.isSubset(of: loader.locks) else { throw RowsChanged() }
      loader = again
    }
    try loader.lockFree()
    try loader.loadNamed()
    try loader.loadBelonging()
    return (loader.held, loader.rows)
  }

  private mutating func ask(
    _ question: RowQuestion, _ take: @escaping (inout RowLoader, [[Cell]]) -> Void
  ) { questions.append((question, take)) }

  /// Asks for numbers.
  private mutating func askNumbers(_ question: RowQuestion, _ take: @escaping (inout RowLoader, [Int64]) -> Void) {
    ask(question) { take(&$0, $1.map { $0[0].number }) }
  }

  /// Asks for rows of a table, which are kept. `condition` has the parameters of the question.
  private mutating func load(
    _ table: String, _ condition: String, _ parameters: RowParameter...,
    then take: @escaping (inout RowLoader, [[Cell]]) -> Void = { _, _ in }
  ) {
    guard let shape = shapes[table] else { return }
    var question = RowQuestion("SELECT \(shape.columns.joined(separator: ", ")) FROM \(table) WHERE \(condition)")
    question.parameters = parameters
    ask(question) { loader, found in
      for row in found { loader.rows[shape, default: [:]][shape.key(of: row)] = row }
      take(&loader, found)
    }
  }

  /// Asks all questions in one exchange.
  private mutating func exchange() throws {
    let asked = questions
    questions = []
    guard !asked.isEmpty else { return }
    for ((_, take), answer) in zip(asked, try source.answers(to: asked.map(\.0))) { take(&self, answer) }
  }

  // MARK: Finding

  /// Finds the rows that have to be locked.
  private mutating func find() throws {
    if keys.contains(.everything) || epoch == nil {
      askNumbers(RowQuestion("SELECT epoch FROM coordinator WHERE is_settled = 0")) { loader, found in
        for other in found { loader.lock(.coordinator, other) }
      }
    } else if let epoch {
      lock(.coordinator, epoch)
    }
    var named = NamedRows()
    for key in keys { try find(key, &named) }
    find(named)
    try exchange()
  }

  private mutating func find(_ key: RowKey, _ named: inout NamedRows) throws {
    switch key {
    case .everything, .tenures, .allDefinitions, .ready, .due, .oldestSubmissions: break
    case .identifier(let name): named.identifiers.append(name.rawValue)
    case .identifierOf(let id): named.requests.append(id.rawValue)
    case .request(let id), .payload(let id), .history(let id), .launches(let id), .lastItems(let id), .items(let id),
      .spans(let id):
      hold(id.rawValue)
    case .output(let launch): hold(launch.request.rawValue)
    case .launchesOn(let host):
      holdHost(host)
      named.launchHosts.append(host)
    case .unfinished(let position, let limit): findUnfinished(position, limit)
    case .unfinishedOf(let definition, let limit):
      for state in 0...2 {
        askRequests(
          RowQuestion(
            "SELECT id, identifier FROM request WHERE state = \(state) AND definition = ?1 LIMIT ?2",
            .integer(definition.rawValue), .integer(limit)))
      }
    case .exampleOf(let pattern):
      let sql = """
        SELECT id FROM request WHERE state IN (0, 1, 2)
          AND definition IN (SELECT id FROM definition WHERE pattern = ?1) LIMIT 1
        """
      askNumbers(RowQuestion(sql, .integer(pattern))) { $0.requests.formUnion($1) }
    case .submission(let key): named.submissions.append(key)
    case .pattern(let id): patterns.insert(id)
    case .lockedPattern(let id): holdPattern(id)
    case .patternNamed(let name): named.patterns.append(name.rawValue)
    case .definition(let id): definitions.insert(id.rawValue)
    case .host(let name): named.hosts.append(name.rawValue)
    case .hostRow(let id): holdHost(id)
    case .identities: lock(.identities, 0)
    case .credentials: lock(.credentials, 0)
    case .audit, .oldAudit: lock(.audit, 0)
    case .orphans:
      let sql = """
        SELECT id FROM host WHERE incarnation IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM coordinator WHERE epoch = host.owner AND is_ended = 0)
        """
      askNumbers(RowQuestion(sql)) { loader, found in for id in found { loader.holdHost(id) } }
    }
  }

  private mutating func find(_ named: NamedRows) {
    if !named.identifiers.isEmpty {
      askNumbers(RowQuestion("SELECT id FROM identifier WHERE name IN ?1", .texts(named.identifiers))) {
        loader, found in
        for id in found { loader.holdIdentifier(id) }
      }
    }
    if !named.requests.isEmpty {
      for id in named.requests { holdWithIdentifier(id) }
      askRequests(RowQuestion("SELECT id, identifier FROM request WHERE id IN ?1", .integers(named.requests)))
    }
    if !named.launchHosts.isEmpty {
      let sql = """
        SELECT l.request, r.identifier FROM launch l JOIN request r ON r.id = l.request
        WHERE l.host IN ?1 AND l.ended_at IS NULL
        """
      askRequests(RowQuestion(sql, .integers(named.launchHosts)))
    }
    if !named.hosts.isEmpty {
      askNumbers(RowQuestion("SELECT id FROM host WHERE name IN ?1", .texts(named.hosts))) { loader, found in
        for id in found { loader.holdHost(id) }
      }
    }
    if !named.patterns.isEmpty {
      askNumbers(RowQuestion("SELECT id FROM pattern WHERE name IN ?1", .texts(named.patterns))) { loader, found in
        for id in found { loader.holdPattern(id) }
      }
    }
    if !named.submissions.isEmpty {
      askNumbers(RowQuestion("SELECT request FROM submission WHERE key IN ?1", .texts(named.submissions))) {
        $0.requests.formUnion($1)
      }
    }
  }

  private mutating func findUnfinished(_ position: CancelPosition, _ limit: Int) {
    // One question has one snapshot: a request that turns from running to ready meanwhile is in one part of it.
    let sql = """
      SELECT * FROM (SELECT id, identifier FROM request WHERE state = 0 AND id < ?2 ORDER BY id LIMIT ?3) AS scheduled
      UNION ALL
      SELECT * FROM (SELECT id, identifier FROM request WHERE state = 1 AND id < ?2 ORDER BY id LIMIT ?3) AS ready
      UNION ALL
      SELECT * FROM (
        SELECT l.request, r.identifier FROM launch l JOIN request r ON r.id = l.request
        WHERE l.ended_at IS NULL AND l.request > ?1 AND l.request < ?2 ORDER BY l.request LIMIT ?3) AS running
      """
    askRequests(RowQuestion(sql, .integer(position.running), .integer(position.end), .integer(limit)))
  }

  /// Asks for requests and their identifiers, which are locked together.
  private mutating func askRequests(_ question: RowQuestion) {
    ask(question) { loader, found in
      for row in found {
        loader.holdWithIdentifier(row[0].number)
        loader.holdIdentifier(row[1].number)
      }
    }
  }

  private mutating func lock(_ table: RowLock.Table, _ id: Int64) { locks.insert(RowLock(table: table, id: id)) }

  private mutating func hold(_ request: Int64) {
    lock(.request, request)
    requests.insert(request)
    held.keys.insert(.request(RequestID(request)))
  }

  private mutating func holdWithIdentifier(_ request: Int64) {
    hold(request)
    held.keys.insert(.identifierOf(RequestID(request)))
  }

  private mutating func holdIdentifier(_ id: Int64) {
    lock(.identifier, id)
    identifiers.insert(id)
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

  // MARK: What is free

  /// Locks ready and due requests that no other group has locked.
  private mutating func lockFree() throws {
    var wanted: [RequirementClass: Int] = [:]
    var asked: [(RowQuestion, limit: Int)] = []
    for case .ready(let requirementClass, let count) in keys { wanted[requirementClass, default: 0] += count }
    let classes = wanted.keys.sorted()
    for one in classes {
      let question = RowQuestion(
        "r.state = 1 AND r.definition = ?1 AND r.priority = ?2 ORDER BY r.id", .integer(one.definition.rawValue),
        .integer(one.priority.rawValue))
      asked.append((question, limit: wanted[one] ?? 0))
    }
    for case .due(let now, let limit) in keys {
      asked.append(
        (
          RowQuestion("r.state = 0 AND r.eligible_at <= ?1 ORDER BY r.eligible_at", .integer(now.steady.nanoseconds)),
          limit
        ))
      let dated = "r.state = 0 AND r.cause = 0 AND r.is_dated = 1 AND r.earliest_at <= ?1 ORDER BY r.earliest_at"
      asked.append((RowQuestion(dated, .integer(now.date.nanoseconds)), limit))
    }
    guard !asked.isEmpty else { return }
    let found = try source.lockFree(asked)
    for (request, identifier) in found.joined() {
      holdWithIdentifier(request)
      holdIdentifier(identifier)
    }
    for (one, found) in zip(classes, found) {
      held.ready[one] = (wanted[one] ?? 0, found.count < wanted[one] ?? 0)
      for (request, _) in found { held.keys.insert(.payload(RequestID(request))) }
    }
    for case .due(_, let limit) in keys { askWhatIsDueNext(limit) }
    try exchange()
  }

  /// Requests that are due next, which say when to look again.
  private mutating func askWhatIsDueNext(_ limit: Int) {
    // Those that this group makes ready, and those that others have locked, come before the next ones.
    let beyond = limit + 1 + Self.lockedElsewhere
    for order in ["eligible_at", "cause = 0 AND is_dated = 1 ORDER BY earliest_at"] {
      let condition = order.contains(" ") ? "AND \(order)" : "ORDER BY \(order)"
      askNumbers(RowQuestion("SELECT id FROM request WHERE state = 0 \(condition) LIMIT ?1", .integer(beyond))) {
        $0.requests.formUnion($1)
      }
    }
  }

  /// The number of due requests of other groups that a group looks past.
  private static let lockedElsewhere = 1000

  // MARK: Loading

  /// Loads the rows that keys name, and the requests.
  private mutating func loadNamed() throws {
    load("store", "id = 1")
    load("clock", "id = 1")
    load("coordinator", "is_settled = 0")
    if let epoch { load("coordinator", "epoch = ?1", .integer(epoch)) }
    // A new tenure begins after that of the newest coordinator.
    if keys.contains(.tenures) { load("coordinator", "0 = 0") }
    load("request", "id IN ?1", .integers(Array(requests))) { $0.take(requests: $1) }
    // Of the identifiers all unfinished requests: the one that waits, and the one that is live. Each has an index.
    for condition in ["launches = 0 AND state <= 1", "launches > 0 AND state <= 2"] {
      load("request", "identifier IN ?1 AND \(condition)", .integers(Array(identifiers))) { $0.take(requests: $1) }
    }
    load("identifier", "id IN ?1", .integers(Array(identifiers))) { loader, found in
      guard let name = loader.column("name", of: "identifier") else { return }
      for row in found { loader.held.keys.insert(.identifier(JobIdentifier(trusted: row[name].string))) }
    }
    load("host", "id IN ?1", .integers(Array(hosts))) { loader, found in
      guard let name = loader.column("name", of: "host") else { return }
      for row in found { loader.held.keys.insert(.host(HostName(row[name].string))) }
    }
    load("eviction", "host IN ?1", .integers(Array(hosts)))
    for key in keys { load(key) }
    loadContents()
    try exchange()
  }

  /// Loads what belongs to the rows that were loaded.
  private mutating func loadBelonging() throws {
    let loaded = Array(requests)
    if !loaded.isEmpty {
      load("progress", "request IN ?1", .integers(loaded))
      load(
        "launch", "request IN ?1 AND number = (SELECT r.launches FROM request r WHERE r.id = launch.request)",
        .integers(loaded))
      load("identifier", "id IN (SELECT identifier FROM request WHERE id IN ?1)", .integers(loaded))
      load("host", "id IN (SELECT host FROM request WHERE id IN ?1)", .integers(loaded))
    }
    for id in definitions { held.keys.insert(.definition(DefinitionID(id))) }
    if !definitions.isEmpty { load("definition", "id IN ?1", .integers(Array(definitions))) }
    if !definitions.isEmpty || !patterns.isEmpty {
      let (own, of) = (RowParameter.integers(Array(patterns)), RowParameter.integers(Array(definitions)))
      load("pattern", "id IN ?1 OR id IN (SELECT pattern FROM definition WHERE id IN ?2)", own, of) { loader, found in
        guard let id = loader.column("id", of: "pattern") else { return }
        for row in found { loader.held.keys.insert(.pattern(row[id].number)) }
      }
      load("share", "pattern IN ?1 OR pattern IN (SELECT pattern FROM definition WHERE id IN ?2)", own, of)
    }
    try exchange()
  }

  /// Notes the numbers of loaded requests and of their definitions. Of a locked identifier all unfinished requests are
  /// there.
  private mutating func take(requests found: [[Cell]]) {
    guard let id = column("id", of: "request"), let identifier = column("identifier", of: "request"),
      let definition = column("definition", of: "request")
    else { return }
    for row in found {
      requests.insert(row[id].number)
      definitions.insert(row[definition].number)
      if identifiers.contains(row[identifier].number) { held.keys.insert(.identifierOf(RequestID(row[id].number))) }
    }
  }

  private func column(_ name: String, of table: String) -> Int? { shapes[table]?.columns.firstIndex(of: name) }

  private mutating func load(_ key: RowKey) {
    switch key {
    case .allDefinitions: for table in ["pattern", "definition", "share"] { load(table, "0 = 0") }
    case .identities: for table in ["invitation", "certificate"] { load(table, "0 = 0") }
    case .credentials: load("credential", "0 = 0")
    case .audit: load("audit_head", "0 = 0")
    case .oldAudit(let sequence):
      load("audit", "sequence <= ?1", .integer(sequence))
      load("audit_head", "0 = 0")
    case .oldestSubmissions(let limit):
      load("submission", "id IN (SELECT s.id FROM submission s ORDER BY s.id LIMIT ?1)", .integer(limit))
    case .output(let launch):
      load(
        "output", "request = ?1 AND launch = ?2", .integer(launch.request.rawValue), .integer(launch.number))
    case .everything, .tenures, .identifier, .identifierOf, .request, .ready, .due, .launchesOn, .unfinished,
      .unfinishedOf, .pattern, .lockedPattern, .patternNamed, .definition, .host, .hostRow, .orphans, .exampleOf,
      .submission, .history, .launches, .lastItems, .items, .spans, .payload:
      break
    }
  }

  /// Loads what many keys name together.
  private mutating func loadContents() {
    let submissions = keys.compactMap { key in if case .submission(let key) = key { key } else { String?.none } }
    let histories = numbers { if case .history(let id) = $0 { id } else { nil } }
    let launches = numbers { if case .launches(let id) = $0 { id } else { nil } }
    let lastItems = numbers { if case .lastItems(let id) = $0 { id } else { nil } }
    let items = numbers { if case .items(let id) = $0 { id } else { nil } }
    let spans = numbers { if case .spans(let id) = $0 { id } else { nil } }
    let payloads = held.keys.compactMap { if case .payload(let id) = $0 { id.rawValue } else { Int64?.none } }
    if !submissions.isEmpty {
      load("submission", "key IN ?1", .texts(submissions))
      load("identifier", "id IN (SELECT identifier FROM submission WHERE key IN ?1)", .texts(submissions))
    }
    if !histories.isEmpty {
      let last = "position = (SELECT max(e.position) FROM event e WHERE e.request = event.request)"
      load("event", "request IN ?1 AND \(last)", .integers(histories))
      load("joining", "request IN ?1", .integers(histories))
    }
    if !launches.isEmpty { load("launch", "request IN ?1", .integers(launches)) }
    if !lastItems.isEmpty {
      let last = "start = (SELECT max(i.start) FROM item_page i WHERE i.request = item_page.request)"
      load("item_page", "request IN ?1 AND \(last)", .integers(lastItems))
    }
    if !items.isEmpty { load("item_page", "request IN ?1", .integers(items)) }
    if !spans.isEmpty { load("unsent_span", "request IN ?1", .integers(spans)) }
    if !payloads.isEmpty { load("payload", "request IN ?1", .integers(payloads)) }
  }

  /// The requests of the keys that `request` picks.
  private func numbers(_ request: (RowKey) -> RequestID?) -> [Int64] { keys.compactMap { request($0)?.rawValue } }
}

/// The names and numbers of rows that have to be looked up before the rows can be locked.
private struct NamedRows {
  var identifiers: [String] = []
  var requests: [Int64] = []
  var launchHosts: [Int64] = []
  var hosts: [String] = []
  var patterns: [String] = []
  var submissions: [String] = []
}

extension RowKey {
  /// Whether other groups can change which rows the key names, until the rows are locked.
  fileprivate var namesManyRows: Bool {
    switch self {
    case .everything, .tenures, .launchesOn, .unfinished, .unfinishedOf, .orphans: true
    case .identifier, .identifierOf, .request, .payload, .history, .launches, .lastItems, .items, .output, .spans,
      .ready, .due, .exampleOf, .pattern, .lockedPattern, .patternNamed, .definition, .allDefinitions, .host, .hostRow,
      .submission, .oldestSubmissions, .identities, .credentials, .audit, .oldAudit:
      false
    }
  }
}
