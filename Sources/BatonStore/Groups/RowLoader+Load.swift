internal import BatonModel

/// What is loaded with the rows that are locked, and after them.
extension RowLoader {
  // MARK: What is free

  /// The ready requests of each class that the keys ask for.
  var wantedClasses: [(RequirementClass, count: Int)] {
    var wanted: [RequirementClass: Int] = [:]
    for case .ready(let requirementClass, let count) in keys { wanted[requirementClass, default: 0] += count }
    return wanted.keys.sorted().map { ($0, wanted[$0] ?? 0) }
  }

  /// Ready and due requests, which are locked if no other group has locked them.
  func wantedFree(_ classes: [(RequirementClass, count: Int)]) -> [(question: RowQuestion, limit: Int)] {
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
    for case .waiting(let lines, let limit) in keys {
      asked += lines.map { (RowQuestion("\(Self.waits("r.")) ORDER BY r.id", $0), limit) }
    }
    return asked
  }

  /// The condition that a request waits in a line. It has the parameters of `RowQuestion.init(_:_:)`.
  fileprivate static func waits(_ request: String) -> String {
    let conditions = [
      "waits_on = ?1", "definition = ?2", "priority = ?3", "state = 0",
      "eligible_at = \(Timestamp.heldByKey.nanoseconds)",
    ]
    return conditions.map { request + $0 }.joined(separator: " AND ")
  }

  mutating func takeFree(_ found: [[RowExchange.Free]], _ classes: [(RequirementClass, count: Int)]) {
    if found.allSatisfy(\.isEmpty) { return noteFree(found, classes) }
    let (id, launches) = (column("id", of: "request"), column("launches", of: "request"))
    for free in found.joined() {
      holdWithIdentifier(free.request[id].number)
      holdIdentifier(free.identifier[column("id", of: "identifier")].number)
      if free.request[launches] == .integer(0) { neverLaunched.insert(free.request[id].number) }
    }
    let (requests, identifiers) = (found.joined().map(\.request), found.joined().map(\.identifier))
    keep(requests, of: catalog["request"])
    keep(identifiers, of: catalog["identifier"])
    take(requests, of: .request)
    take(identifiers, of: .identifier)
    noteFree(found, classes)
  }

  private mutating func noteFree(_ found: [[RowExchange.Free]], _ classes: [(RequirementClass, count: Int)]) {
    let (id, head) = (column("id", of: "request"), column("head", of: "request"))
    for ((one, count), found) in zip(classes, found) {
      held.ready[one] = (count, found.count < count)
      for free in found {
        held.keys.insert(.payload(RequestID(free.request[id].number)))
        // The shards of a request have its payload.
        payloads.insert(free.request[head] == .null ? free.request[id].number : free.request[head].number)
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
  private static var lockedElsewhere: Int { 1000 }

  // MARK: Loading

  /// Asks for what the keys name, besides the rows that are locked and come with their locks. A statement reads what is
  /// committed when it begins, so what comes after the locks in the same exchange is as it stays until the group ends.
  mutating func askWhatIsLoaded() {
    for case .due(_, let limit) in keys {
      askWhatIsDueNext(limit)
      // One that is due next is among them.
      let due = "SELECT k.name FROM limit_key k WHERE k.due_at IS NOT NULL ORDER BY k.due_at, k.name LIMIT ?1"
      load("limit_key", "name IN (\(due))", .integer(Verbs.keysAtOnce + 1))
    }
    load("store", "id = 1")
    load("clock", "id = 1")
    load("coordinator", "is_settled = 0")
    // A new tenure begins after that of the newest coordinator.
    if keys.contains(.tenures) { load("coordinator", "0 = 0") }
    let lockedHosts = hosts.takeNew()
    if !lockedHosts.isEmpty { load("eviction", "host IN ?1", .integers(lockedHosts)) }
    for key in keys { load(key) }
    // Several keys name the same rows.
    if keys.contains(where: \.namesNamespaces) { load("namespace_share", "0 = 0") }
    loadContents()
    if !patterns.isEmpty { loadPatterns("IN ?1", .integers(Array(patterns))) }
    askNewNumbers()
    _ = askWhatIsNew()
  }

  /// Asks for what belongs to the requests, identifiers and definitions that were found since the last exchange, and
  /// for those of them that are not locked.
  /// - Returns: false if there is nothing to ask.
  mutating func askWhatIsNew() -> Bool {
    let (requests, identifiers) = (requests.takeNew(), identifiers.takeNew())
    if !requests.isEmpty { load(requests: requests) }
    // Of the identifiers all unfinished requests: the one that waits, and the one that is live. Each has an index. Most
    // are known already, so only their numbers are asked for.
    if !identifiers.isEmpty {
      let sql = """
        SELECT id FROM request WHERE identifier IN ?1 AND launches = 0 AND state <= 1 AND head IS NULL
        UNION ALL SELECT id FROM request WHERE identifier IN ?1 AND launches > 0 AND state <= 2 AND head IS NULL
        """
      askNumbers(RowQuestion(sql, .integers(identifiers))) { $0.requests.formUnion($1) }
    }
    let loose = loose.takeNew().filter { !self.identifiers.all.contains($0) }
    if !loose.isEmpty { load("identifier", "id IN ?1", .integers(loose)) }
    let definitions = definitions.takeNew()
    if !definitions.isEmpty {
      loadDefinitions("IN ?1", .integers(definitions))
      // A definition that is not there need not be looked for again.
      for id in definitions { held.keys.insert(.definition(DefinitionID(id))) }
    }
    let payloads = payloads.takeNew()
    if !payloads.isEmpty { load("payload", "request IN ?1", .integers(payloads)) }
    // A subselect would be dear here: a planner that sees few hosts reads all requests of each.
    let hosts = hosts.takeNew()
    if !hosts.isEmpty { load("host", "id IN ?1", .integers(hosts)) }
    return hasQuestions
  }

  private mutating func load(requests: [Int64]) {
    // The row of a request that has a checkpoint came with its lock, maybe before more of the request was wanted.
    take(requests: requests.compactMap { keys.contains(.progress(RequestID($0))) ? row($0, of: "request") : nil })
    let unlocked = requests.filter { !locks.contains(RowLock(table: .request, id: $0)) }
    if !unlocked.isEmpty { load("request", "id IN ?1", .integers(unlocked)) { $0.take($1, of: .request) } }
    // A request that was not launched has progress if a batch of it was skipped.
    load("progress", "request IN ?1", .integers(requests))
    let launched = requests.filter { !neverLaunched.contains($0) }
    if !launched.isEmpty {
      // An open launch is the last one. Of others, the request says which is the last one.
      let last = "(ended_at IS NULL OR number = (SELECT r.launches FROM request r WHERE r.id = launch.request))"
      load("launch", "request IN ?1 AND \(last)", .integers(launched))
    }
    // What was remembered is asked for at once. If it has changed, the rows say so, and the next exchange asks again.
    let known = memory.with { known in requests.compactMap { known.requests[$0] } }
    for (identifier, definition) in known {
      loose.insert(identifier)
      definitions.insert(definition)
    }
  }

  /// - Parameter which: a condition for the number of a definition.
  private mutating func loadDefinitions(_ which: String, _ parameter: RowParameter) {
    load("definition", "id \(which)", parameter)
    loadPatterns("IN (SELECT d.pattern FROM definition d WHERE d.id \(which))", parameter)
  }

  /// - Parameter which: a condition for the number of a pattern.
  private mutating func loadPatterns(_ which: String, _ parameter: RowParameter) {
    load("pattern", "id \(which)", parameter) { loader, found in
      if found.isEmpty { return }
      let id = loader.column("id", of: "pattern")
      for row in found { loader.held.keys.insert(.pattern(row[id].number)) }
    }
    load("share", "pattern \(which)", parameter)
  }

  /// Draws numbers for the rows that submissions are likely to insert.
  private mutating func askNewNumbers() {
    let submissions = keys.count { if case .submission = $0 { true } else { false } }
    let wanted = [
      (NumberedTable.request, submissions), (.submission, submissions), (.identifier, newNames),
    ]
    for (table, count) in wanted where count > 0 {
      guard let question = held.numbers.question(for: count, of: table) else { continue }
      askNumbers(question) { $0.held.numbers.keep($1, of: table) }
    }
  }

  /// Notes what loaded rows say about others. Of a locked identifier all unfinished requests are there.
  mutating func take(_ found: [[Cell]], of table: RowLock.Table) {
    if found.isEmpty { return }
    switch table {
    case .request: take(requests: found)
    case .identifier:
      let name = column("name", of: "identifier")
      for row in found { held.keys.insert(.identifier(JobIdentifier(trusted: row[name].string))) }
    case .host:
      let name = column("name", of: "host")
      for row in found { held.keys.insert(.host(HostName(row[name].string))) }
    case .coordinator, .pattern, .namespace, .limitKey, .identities, .credentials, .audit: break
    }
  }

  private mutating func take(requests found: [[Cell]]) {
    let (id, identifier) = (column("id", of: "request"), column("identifier", of: "request"))
    let (definition, host) = (column("definition", of: "request"), column("host", of: "request"))
    for row in found {
      let (request, itsIdentifier, itsDefinition) = (row[id].number, row[identifier].number, row[definition].number)
      memory.note(request: request, itsIdentifier, itsDefinition)
      // A checkpoint wants nothing of what belongs to its request.
      if keys.contains(.progress(RequestID(request))), !requests.all.contains(request) { continue }
      requests.insert(request)
      definitions.insert(itsDefinition)
      if case .integer(let host) = row[host] { hosts.insert(host) }
      if identifiers.all.contains(itsIdentifier) {
        held.keys.insert(.identifierOf(RequestID(request)))
      } else {
        loose.insert(itsIdentifier)
      }
    }
  }

  private mutating func load(_ key: RowKey) {
    switch key {
    case .allDefinitions: for table in ["pattern", "definition", "share"] { load(table, "0 = 0") }
    case .allRunning:
      load("launch", "ended_at IS NULL")
      load("request", "id IN (SELECT l.request FROM launch l WHERE l.ended_at IS NULL)")
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
    case .versions(let pattern): load("definition_version", "pattern = ?1", .integer(pattern))
    case .conditions(let host, let last):
      load("condition_change", "host = ?1 AND number <= ?2", .integer(host), .integer(last))
    case .openTransfersOn(let host):
      load("transfer_place", "host = ?1", .integer(host))
      let onHost = "state = 0 AND request IN (SELECT p.request FROM transfer_place p WHERE p.host = ?1)"
      load("transfer", onHost, .integer(host))
    case .limits(let keys):
      let names = keys.map(\.text)
      load("limit_key", "name IN ?1", .texts(names))
      load("limit_line", "name IN ?1", .texts(names))
      // The first of each line is read: a younger one may not start before it.
      let first = """
        SELECT (SELECT min(r.id) FROM request r WHERE r.waits_on = l.name AND r.definition = l.definition
          AND r.priority = l.priority AND r.state = 0 AND r.eligible_at = \(Timestamp.heldByKey.nanoseconds))
        FROM limit_line l WHERE l.name IN ?1
        """
      askNumbers(RowQuestion(first, .texts(names))) { $0.requests.formUnion($1.filter { $0 > 0 }) }
    case .idleLimits(let now, let limit):
      let idle = """
        SELECT k.name FROM limit_key k
        WHERE k.running = 0 AND k.full_at <= ?1 AND k.due_at IS NULL AND k.set_limit IS NULL ORDER BY k.name LIMIT ?2
        """
      load("limit_key", "name IN (\(idle))", .integer(now.steady.nanoseconds), .integer(limit))
    case .waiting(let lines, let limit):
      // Those that other groups have locked are among them, so that a line counts as empty only if it is.
      for line in lines {
        var question = RowQuestion("SELECT id FROM request WHERE \(Self.waits("")) ORDER BY id LIMIT ?4", line)
        question.parameters.append(.integer(limit))
        askNumbers(question) { $0.requests.formUnion($1) }
      }
    case .everything, .tenures, .flow, .dependents, .identifier, .identifierOf, .request, .ready, .due, .launchesOn,
      .transfersOn, .unfinished, .unfinishedOf, .pattern, .lockedPattern, .patternNamed, .namespaces, .lockedNamespace,
      .definition, .host,
      .hostRow, .orphans, .exampleOf,
      .submission, .history, .launches, .lastItems, .items, .spans, .progress, .payload, .spread, .shards, .allShards,
      .transfers, .dependencies, .notifications, .result, .inputs:
      break
    }
  }

  /// Loads what many keys name together.
  private mutating func loadContents() {
    let checkpointed = numbers { if case .progress(let id) = $0 { id } else { nil } }
    if !checkpointed.isEmpty { load("progress", "request IN ?1", .integers(checkpointed)) }
    let histories = numbers { if case .history(let id) = $0 { id } else { nil } }
    let launches = numbers { if case .launches(let id) = $0 { id } else { nil } }
    let lastItems = numbers { if case .lastItems(let id) = $0 { id } else { nil } }
    let items = numbers { if case .items(let id) = $0 { id } else { nil } }
    let spans = numbers { if case .spans(let id) = $0 { id } else { nil } }
    for case .payload(let id) in keys { payloads.insert(id.rawValue) }
    let spread = keys.compactMap { key -> Int64? in
      switch key {
      case .spread(let id), .shards(let id), .allShards(let id): id.rawValue
      default: nil
      }
    }
    if !spread.isEmpty { load("spread", "request IN ?1", .integers(spread)) }
    let transfers = numbers { if case .transfers(let id) = $0 { id } else { nil } }
    if !transfers.isEmpty {
      load("transfer_place", "request IN ?1", .integers(transfers))
      load("transfer", "request IN ?1", .integers(transfers))
    }
    let transferHosts = keys.compactMap { if case .transfersOn(let host) = $0 { host } else { nil } }
    if !transferHosts.isEmpty {
      load("transfer_place", "host IN ?1", .integers(transferHosts))
      let onHosts = "request IN (SELECT p.request FROM transfer_place p WHERE p.host IN ?1)"
      load("transfer", onHosts, .integers(transferHosts))
    }
    let dependencies = numbers { if case .dependencies(let id) = $0 { id } else { nil } } + members
    if !dependencies.isEmpty { loadDependencies(of: dependencies) }
    let results = numbers { if case .result(let id) = $0 { id } else { nil } }
    if !results.isEmpty { load("result", "request IN ?1", .integers(results)) }
    let waited = numbers { if case .inputs(let id) = $0 { id } else { nil } }
    if !waited.isEmpty { loadInputs(of: waited) }
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
    let subjects = keys.compactMap { if case .notifications(let subject) = $0 { subject } else { nil } }
    if !subjects.isEmpty { load("notification", "subject IN ?1", .integers(subjects)) }
    if !spans.isEmpty { load("unsent_span", "request IN ?1", .integers(spans)) }
  }

  private mutating func loadDependencies(of requests: [Int64]) {
    let awaited = column("awaited", of: "dependency")
    load("dependency", "request IN ?1", .integers(requests)) { loader, found in
      loader.requests.formUnion(found.map { $0[awaited].number })
    }
    load("dependency", "awaited IN ?1", .integers(requests))
    load("completion", "request IN ?1 AND launches = 0", .integers(requests))
  }

  /// Loads what the requests waited for, with as many results as a launch gets, and the first one that does not fit, so
  /// that it is noticed.
  private mutating func loadInputs(of requests: [Int64]) {
    let awaited = column("awaited", of: "dependency")
    load("dependency", "request IN ?1", .integers(requests)) { loader, found in
      loader.requests.formUnion(found.map { $0[awaited].number })
    }
    let sizes = """
      SELECT s.request, sum(length(s.bytes)) OVER (PARTITION BY d.request ORDER BY d.position, d.awaited, s.shard)
        - length(s.bytes) AS before
      FROM dependency d JOIN result s ON s.head = d.awaited
      WHERE d.request IN ?1 AND d.state = 1 AND coalesce(d.ended_as, 3) = 3
      """
    load(
      "result", "request IN (SELECT x.request FROM (\(sizes)) AS x WHERE x.before <= ?2)", .integers(requests),
      .integer(Int64(JobResult.maximumInputBytes)))
  }

  /// The requests of the keys that `request` picks.
  private func numbers(_ request: (RowKey) -> RequestID?) -> [Int64] { keys.compactMap { request($0)?.rawValue } }
}

extension RowKey {
  /// Whether the key names what is counted for namespaces.
  fileprivate var namesNamespaces: Bool {
    if case .lockedNamespace = self { true } else { self == .namespaces }
  }
}

extension RowQuestion {
  /// A question about the requests of a line, of which the first three parameters are.
  fileprivate init(_ sql: String, _ line: KeyLine) {
    self.init(
      sql, .text(line.name), .integer(line.requirementClass.definition.rawValue),
      .integer(line.requirementClass.priority.rawValue))
  }
}
