internal import BatonModel

/// Finds, locks and loads the rows of the keys of a group. It needs few exchanges with the database, however many keys
/// there are: one that finds the rows, one that locks and loads them, and one or two that load what belongs to rows
/// which only the loading has found.
struct RowLoader {
  private let source: any RowSource
  private let shapes: [String: TableShape]
  private let keys: Set<RowKey>
  private let epoch: Int64?
  private var held: HeldRows
  private var locks: Set<RowLock> = []
  /// The questions of the next exchange, and what takes their answers.
  private var questions: [(RowQuestion, (inout RowLoader, [[Cell]]) -> Void)] = []
  // What is wanted, by the numbers of rows. `identifiers` are locked, and so are those of `hosts` that keys name;
  // `requests` may be loaded only.
  private var identifiers = Wanted()
  private var hosts = Wanted()
  private var requests = Wanted()
  private var definitions = Wanted()
  private var payloads = Wanted()
  /// How many of the identifiers that the keys name have a row.
  private var knownNames = 0
  private var patterns: Set<Int64> = []
  private var rows: Rows = [:]

  /// Numbers of rows, and which of them were asked for.
  private struct Wanted {
    private(set) var all: Set<Int64> = []
    private var asked: Set<Int64> = []

    mutating func insert(_ id: Int64) { all.insert(id) }
    mutating func formUnion(_ ids: [Int64]) { all.formUnion(ids) }
    /// Those that were not taken yet. They count as asked for.
    mutating func takeNew() -> [Int64] {
      defer { asked = all }
      return Array(all.subtracting(asked))
    }
    /// The row came with another one, and need not be asked for.
    mutating func noteLoaded(_ id: Int64) {
      all.insert(id)
      asked.insert(id)
    }
  }

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
    if keys.contains(where: \.namesManyRows) {
      guard try loader.exchange(locking: loader.locks) != nil else { return nil }
      // Until the rows were locked, another group could add to those that these keys name.
      var again = RowLoader(keys, epoch: epoch, numbers: numbers, from: source, shapes)
      try again.find()
      guard again.locks.isSubset(of: loader.locks) else { throw RowsChanged() }
      loader = again
    }
    guard try loader.lockAndLoad() else { return nil }
    while loader.askWhatIsNew() { try loader.exchange() }
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
      loader.keep(found, of: shape)
      take(&loader, found)
    }
  }

  private mutating func keep(_ found: [[Cell]], of shape: TableShape) {
    if found.isEmpty { return }
    // Taken out of the dictionary, so that it is changed in place.
    var table = rows.removeValue(forKey: shape) ?? [:]
    table.reserveCapacity(table.count + found.count)
    for row in found { table[shape.key(of: row)] = row }
    rows[shape] = table
  }

  /// Asks all questions in one exchange.
  /// - Returns: what was free; `nil` if another group has locked one of `locks`, and the source does not wait.
  @discardableResult
  private mutating func exchange(
    locking locks: Set<RowLock> = [], free: [(question: RowQuestion, limit: Int)] = []
  ) throws -> [[(request: Int64, identifier: Int64)]]? {
    let asked = questions
    questions = []
    guard !asked.isEmpty || !locks.isEmpty || !free.isEmpty else { return [] }
    let exchange = RowExchange(locks: locks, free: free, questions: asked.map(\.0))
    guard let answer = try source.answer(exchange) else { return nil }
    for ((_, take), rows) in zip(asked, answer.rows) { take(&self, rows) }
    return answer.free
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
        loader.knownNames = found.count
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
    // One question has one snapshot: a request that turns from running to ready meanwhile is in one part of it. `+ 0`
    // keeps the database from walking all requests.
    let sql = """
      SELECT * FROM (SELECT id, identifier FROM request WHERE state = 0 AND id < ?2 ORDER BY id LIMIT ?3) AS scheduled
      UNION ALL
      SELECT * FROM (SELECT id, identifier FROM request WHERE state = 1 AND id + 0 < ?2 LIMIT ?3) AS ready
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

  /// The ready requests of each class that the keys ask for.
  private var wantedClasses: [(RequirementClass, count: Int)] {
    var wanted: [RequirementClass: Int] = [:]
    for case .ready(let requirementClass, let count) in keys { wanted[requirementClass, default: 0] += count }
    return wanted.keys.sorted().map { ($0, wanted[$0] ?? 0) }
  }

  /// Ready and due requests, which are locked if no other group has locked them.
  private func wantedFree(_ classes: [(RequirementClass, count: Int)]) -> [(question: RowQuestion, limit: Int)] {
    var asked: [(RowQuestion, limit: Int)] = classes.map { one, count in
      // The list has one definition. A planner takes a list for more, so it can get this order from the index of ready
      // requests alone. With `definition = ?1` the order of the primary key would do too, and a plan that walks it
      // throws away all older requests.
      let question = RowQuestion(
        "r.state = 1 AND r.definition IN ?1 AND r.priority = ?2 ORDER BY r.definition, r.id",
        .integers([one.definition.rawValue]), .integer(one.priority.rawValue))
      return (question, limit: count)
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
    return asked
  }

  private mutating func takeFree(
    _ found: [[(request: Int64, identifier: Int64)]], _ classes: [(RequirementClass, count: Int)]
  ) {
    for (request, identifier) in found.joined() {
      holdWithIdentifier(request)
      holdIdentifier(identifier)
    }
    for ((one, count), found) in zip(classes, found) {
      held.ready[one] = (count, found.count < count)
      for (request, _) in found {
        held.keys.insert(.payload(RequestID(request)))
        payloads.insert(request)
      }
    }
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

  /// Locks the rows that were found, and loads what the keys name. A statement reads what is committed when it begins,
  /// so what comes after the locks in the same exchange is as it stays until the group ends.
  /// - Returns: false if another group has locked one of the rows, and the source does not wait.
  private mutating func lockAndLoad() throws -> Bool {
    let classes = wantedClasses
    for case .due(_, let limit) in keys { askWhatIsDueNext(limit) }
    load("store", "id = 1")
    load("clock", "id = 1")
    load("coordinator", "is_settled = 0")
    if let epoch { load("coordinator", "epoch = ?1", .integer(epoch)) }
    // A new tenure begins after that of the newest coordinator.
    if keys.contains(.tenures) { load("coordinator", "0 = 0") }
    load(lockedHosts: hosts.takeNew())
    for key in keys { load(key) }
    loadContents()
    if !patterns.isEmpty { loadPatterns("IN ?1", .integers(Array(patterns))) }
    askNewNumbers()
    _ = askWhatIsNew()
    guard let found = try exchange(locking: locks, free: wantedFree(classes)) else { return false }
    takeFree(found, classes)
    return true
  }

  /// Asks for the rows of requests, identifiers and definitions that were found since the last exchange, and for what
  /// belongs to them.
  /// - Returns: false if there are none.
  private mutating func askWhatIsNew() -> Bool {
    let (requests, identifiers) = (requests.takeNew(), identifiers.takeNew())
    let (definitions, payloads) = (definitions.takeNew(), payloads.takeNew())
    if !requests.isEmpty { load(requests: .integers(requests)) }
    if !identifiers.isEmpty { load(identifiers: .integers(identifiers)) }
    if !definitions.isEmpty {
      loadDefinitions("IN ?1", .integers(definitions))
      // A definition that is not there need not be looked for again.
      for id in definitions { held.keys.insert(.definition(DefinitionID(id))) }
    }
    if !payloads.isEmpty { load("payload", "request IN ?1", .integers(payloads)) }
    // A subselect would be dear here: a planner that sees few hosts reads all requests of each.
    let hosts = hosts.takeNew()
    if !hosts.isEmpty { load("host", "id IN ?1", .integers(hosts)) }
    return !questions.isEmpty
  }

  private mutating func load(requests: RowParameter) {
    load("request", "id IN ?1", requests) { $0.take(requests: $1) }
    load("progress", "request IN ?1", requests)
    load(
      "launch", "request IN ?1 AND number = (SELECT r.launches FROM request r WHERE r.id = launch.request)", requests)
    load("identifier", "id IN (SELECT identifier FROM request WHERE id IN ?1)", requests)
    loadDefinitions("IN (SELECT r.definition FROM request r WHERE r.id IN ?1)", requests)
  }

  private mutating func load(identifiers: RowParameter) {
    // Of the identifiers all unfinished requests: the one that waits, and the one that is live. Each has an index.
    for condition in ["launches = 0 AND state <= 1", "launches > 0 AND state <= 2"] {
      load("request", "identifier IN ?1 AND \(condition)", identifiers) { $0.take(requests: $1) }
    }
    load("identifier", "id IN ?1", identifiers) { loader, found in
      guard let name = loader.column("name", of: "identifier") else { return }
      for row in found { loader.held.keys.insert(.identifier(JobIdentifier(trusted: row[name].string))) }
    }
  }

  private mutating func load(lockedHosts hosts: [Int64]) {
    if hosts.isEmpty { return }
    load("host", "id IN ?1", .integers(hosts)) { loader, found in
      guard let name = loader.column("name", of: "host") else { return }
      for row in found { loader.held.keys.insert(.host(HostName(row[name].string))) }
    }
    load("eviction", "host IN ?1", .integers(hosts))
  }

  /// - Parameter which: a condition for the number of a definition.
  private mutating func loadDefinitions(_ which: String, _ parameter: RowParameter) {
    load("definition", "id \(which)", parameter) { loader, found in
      guard let id = loader.column("id", of: "definition") else { return }
      for row in found {
        loader.definitions.noteLoaded(row[id].number)
        loader.held.keys.insert(.definition(DefinitionID(row[id].number)))
      }
    }
    loadPatterns("IN (SELECT d.pattern FROM definition d WHERE d.id \(which))", parameter)
  }

  /// - Parameter which: a condition for the number of a pattern.
  private mutating func loadPatterns(_ which: String, _ parameter: RowParameter) {
    load("pattern", "id \(which)", parameter) { loader, found in
      guard let id = loader.column("id", of: "pattern") else { return }
      for row in found { loader.held.keys.insert(.pattern(row[id].number)) }
    }
    load("share", "pattern \(which)", parameter)
  }

  /// Draws numbers for the rows that submissions are likely to insert.
  private mutating func askNewNumbers() {
    let submissions = keys.count { if case .submission = $0 { true } else { false } }
    let names = keys.count { if case .identifier = $0 { true } else { false } }
    let wanted = [
      (NumberedTable.request, submissions), (.submission, submissions), (.identifier, names - knownNames),
    ]
    for (table, count) in wanted where count > 0 {
      guard let question = held.numbers.question(for: count, of: table) else { continue }
      askNumbers(question) { $0.held.numbers.keep($1, of: table) }
    }
  }

  /// Notes the numbers of loaded requests. Of a locked identifier all unfinished requests are
  /// there.
  private mutating func take(requests found: [[Cell]]) {
    guard let id = column("id", of: "request"), let identifier = column("identifier", of: "request"),
      let host = column("host", of: "request")
    else { return }
    for row in found {
      requests.insert(row[id].number)
      if case .integer(let host) = row[host] { hosts.insert(host) }
      if identifiers.all.contains(row[identifier].number) { held.keys.insert(.identifierOf(RequestID(row[id].number))) }
    }
  }

  private func column(_ name: String, of table: String) -> Int? { shapes[table]?.columns.firstIndex(of: name) }

  private mutating func load(_ key: RowKey) {
    switch key {
    case .allDefinitions: for table in ["pattern", "definition", "share"] { load(table, "0 = 0") }
    case .identities: for table in ["invitation", "certificate", "waiting_host"] { load(table, "0 = 0") }
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
    for case .payload(let id) in keys { payloads.insert(id.rawValue) }
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
