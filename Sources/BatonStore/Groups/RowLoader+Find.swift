internal import BatonModel

/// The names and numbers of rows that have to be looked up before the rows can be locked.
struct NamedRows {
  var identifiers: [String] = []
  var requests: [Int64] = []
  var launchHosts: [Int64] = []
  var hosts: [String] = []
  var patterns: [String] = []
  var submissions: [String] = []
}

/// The rows that earlier groups have found for names and requests.
struct GuessedRows {
  var identifiers: [(name: String, id: Int64)] = []
  var requests: [(id: Int64, identifier: Int64)] = []
  var hosts: [(name: String, id: Int64)] = []
}

/// Which rows have to be locked.
extension RowLoader {
  /// Locks the rows that the keys say themselves, and asks for those that they describe.
  /// - Returns: the names and numbers that have to be looked up.
  mutating func askWhatToLock() -> NamedRows {
    if locksAllCoordinators {
      askNumbers(RowQuestion("SELECT epoch FROM coordinator WHERE is_settled = 0")) { loader, found in
        for other in found { loader.lock(.coordinator, other) }
      }
    }
    if let epoch { lock(.coordinator, epoch) }
    var named = NamedRows()
    for key in keys { find(key, &named) }
    return named
  }

  /// Whether earlier groups can have found all rows.
  var canGuess: Bool { !locksAllCoordinators && !keys.contains(where: \.cannotBeGuessed) }

  private var locksAllCoordinators: Bool { keys.contains(.everything) || epoch == nil }

  /// Locks the rows that earlier groups have found, and asks for the others. When the rows are locked, `isRight` tells
  /// whether they are still the right ones.
  /// - Returns: `nil` if earlier groups have not met all of them. This loader is of no use then.
  mutating func guess() -> GuessedRows? {
    var named = askWhatToLock()
    let guessed: GuessedRows? = memory.with { known in
      var guess = GuessedRows()
      guess.identifiers = named.identifiers.compactMap { name in known.identifiers[name].map { (name, $0) } }
      guess.requests = named.requests.compactMap { id in known.requests[id].map { (id, $0.identifier) } }
      guess.hosts = named.hosts.compactMap { name in known.hosts[name].map { (name, $0) } }
      guard guess.identifiers.count == named.identifiers.count || known.unknownNamesAreNew,
        guess.requests.count == named.requests.count, guess.hosts.count == named.hosts.count
      else { return nil }
      return guess
    }
    guard let guessed else { return nil }
    for request in guessed.requests {
      holdWithIdentifier(request.id)
      holdIdentifier(request.identifier)
    }
    for identifier in guessed.identifiers { holdIdentifier(identifier.id) }
    for host in guessed.hosts { holdHost(host.id) }
    if !guessed.identifiers.isEmpty {
      let known = Set(guessed.identifiers.map(\.name))
      named.identifiers.removeAll(where: known.contains)
    }
    (named.requests, named.hosts) = ([], [])
    newNames = named.identifiers.count
    lookUp(named)
    return guessed
  }

  /// Whether the rows that were guessed, and are locked now, belong to their names and requests.
  func isRight(_ guess: GuessedRows) -> Bool {
    let wrong = (
      identifiers: guess.identifiers.filter { loaded("name", $0.id, of: "identifier") != .text($0.name) },
      hosts: guess.hosts.filter { loaded("name", $0.id, of: "host") != .text($0.name) },
      // A request that is not there any more belongs to no identifier.
      requests: guess.requests.filter {
        ![nil, .integer($0.identifier)].contains(loaded("identifier", $0.id, of: "request"))
      }
    )
    memory.with { known in
      for identifier in wrong.identifiers { known.identifiers[identifier.name] = nil }
      for host in wrong.hosts { known.hosts[host.name] = nil }
    }
    return wrong.identifiers.isEmpty && wrong.hosts.isEmpty && wrong.requests.isEmpty
  }

  private mutating func find(_ key: RowKey, _ named: inout NamedRows) {
    switch key {
    case .everything, .tenures, .allDefinitions, .ready, .due, .oldestSubmissions, .namespaces, .allRunning,
      .notifications, .idleLimits, .waiting, .inputs:
      break
    case .limits(let names):
      held.limits.formUnion(names)
      for name in names { lock(.limitKey, RowLock.number(of: name.text)) }
    case .lockedNamespace(let prefix): lock(.namespace, RowLock.number(of: prefix))
    case .identifier(let name): named.identifiers.append(name.rawValue)
    case .identifierOf(let id): named.requests.append(id.rawValue)
    case .request(let id), .payload(let id), .history(let id), .launches(let id), .lastItems(let id), .items(let id),
      .spans(let id), .spread(let id), .transfers(let id), .dependencies(let id),
      .result(let id):
      hold(id.rawValue)
    case .progress(let id): lock(.request, id.rawValue)
    case .shards(let id): findShards(of: id, "head = ?1 AND state <= 2")
    case .allShards(let id): findShards(of: id, "head = ?1")
    case .output(let launch): hold(launch.request.rawValue)
    case .launchesOn(let host):
      holdHost(host)
      named.launchHosts.append(host)
    case .transfersOn(let host):
      holdHost(host)
      let sql = """
        SELECT r.id, r.identifier, r.definition FROM transfer_place p JOIN request r ON r.id = p.request
        WHERE p.host = ?1
        """
      askRequests(RowQuestion(sql, .integer(host)))
    case .flow(let flow):
      findMembers("flow = ?1 AND state <= 2 AND head IS NULL", flow)
    case .dependents(let awaited):
      findMembers("id IN (SELECT d.request FROM dependency d WHERE d.awaited = ?1 AND d.state IN (0, 2))", awaited)
    case .unfinished(let position, let limit): findUnfinished(position, limit)
    case .unfinishedOf(let definition, let limit):
      for state in 0...2 {
        askRequests(
          RowQuestion(
            "SELECT id, identifier, definition FROM request WHERE state = \(state) AND definition = ?1 LIMIT ?2",
            .integer(definition.rawValue), .integer(limit)))
      }
    case .exampleOf(let pattern):
      let sql = """
        SELECT id FROM request WHERE state IN (0, 1, 2)
          AND definition IN (SELECT id FROM definition WHERE pattern = ?1) LIMIT 1
        """
      askNumbers(RowQuestion(sql, .integer(pattern))) { $0.requests.formUnion($1) }
    case .submission(let key): named.submissions.append(key.text)
    case .pattern(let id): patterns.insert(id)
    case .lockedPattern(let id): holdPattern(id)
    case .patternNamed(let name): named.patterns.append(name.rawValue)
    case .definition(let id): definitions.insert(id.rawValue)
    case .host(let name): named.hosts.append(name.rawValue)
    case .hostRow(let id), .conditions(let id, _), .openTransfersOn(let id): holdHost(id)
    // The pattern is changed only by a group that has locked everything.
    case .versions: break
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

  /// Asks for the rows of these names and requests.
  mutating func lookUp(_ named: NamedRows) {
    if !named.identifiers.isEmpty { findIdentifiers(named.identifiers) }
    if !named.requests.isEmpty {
      for id in named.requests { holdWithIdentifier(id) }
      askRequests(
        RowQuestion("SELECT id, identifier, definition FROM request WHERE id IN ?1", .integers(named.requests)))
    }
    if !named.launchHosts.isEmpty {
      let sql = """
        SELECT l.request, r.identifier, r.definition FROM launch l JOIN request r ON r.id = l.request
        WHERE l.host IN ?1 AND l.ended_at IS NULL
        """
      askRequests(RowQuestion(sql, .integers(named.launchHosts)))
    }
    if !named.hosts.isEmpty {
      ask(RowQuestion("SELECT id, name FROM host WHERE name IN ?1", .texts(named.hosts))) { loader, found in
        for row in found {
          loader.memory.note(host: row[0].number, named: row[1].string)
          loader.holdHost(row[0].number)
        }
      }
    }
    if !named.patterns.isEmpty {
      askNumbers(RowQuestion("SELECT id FROM pattern WHERE name IN ?1", .texts(named.patterns))) { loader, found in
        for id in found { loader.holdPattern(id) }
      }
    }
    // The row of a submission does not change, so it need not be locked before it is read.
    if !named.submissions.isEmpty {
      load("submission", "key IN ?1", .texts(named.submissions)) { loader, found in
        if found.isEmpty { return }
        let columns = (loader.column("request", of: "submission"), loader.column("identifier", of: "submission"))
        for row in found {
          loader.requests.insert(row[columns.0].number)
          loader.loose.insert(row[columns.1].number)
        }
      }
    }
  }

  private mutating func findIdentifiers(_ names: [String]) {
    let unknown = memory.with { known in Set(names.filter { known.identifiers[$0] == nil }) }
    ask(RowQuestion("SELECT id, name FROM identifier WHERE name IN ?1", .texts(names))) { loader, found in
      loader.newNames = names.count - found.count
      for row in found {
        loader.memory.note(identifier: row[0].number, named: row[1].string)
        loader.holdIdentifier(row[0].number)
      }
      if unknown.isEmpty { return }
      let areNew = !found.contains { unknown.contains($0[1].string) }
      loader.memory.with { $0.unknownNamesAreNew = areNew }
    }
  }

  private mutating func findUnfinished(_ position: CancelPosition, _ limit: Int) {
    // One question has one snapshot: a request that turns from running to ready meanwhile is in one part of it. `+ 0`
    // keeps the database from walking all requests.
    let columns = "id, identifier, definition"
    let own = "head IS NULL AND (first_unit IS NULL OR cancelled_by IS NULL)"
    let sql = """
      SELECT * FROM (SELECT \(columns) FROM request WHERE state = 0 AND id < ?2 AND \(own) ORDER BY id LIMIT ?3) AS scheduled
      UNION ALL
      SELECT * FROM (SELECT \(columns) FROM request WHERE state = 1 AND id + 0 < ?2 AND \(own) LIMIT ?3) AS ready
      UNION ALL
      SELECT * FROM (
        SELECT l.request, r.identifier, r.definition FROM launch l JOIN request r ON r.id = l.request
        WHERE l.ended_at IS NULL AND l.request > ?1 AND l.request < ?2 AND r.head IS NULL ORDER BY l.request LIMIT ?3) AS running
      """
    askRequests(RowQuestion(sql, .integer(position.running), .integer(position.end), .integer(limit)))
  }

  /// Asks for requests, as `askRequests` does, with their dependencies.
  private mutating func findMembers(_ condition: String, _ request: RequestID) {
    let sql = "SELECT id, identifier, definition FROM request WHERE \(condition)"
    ask(RowQuestion(sql, .integer(request.rawValue))) { loader, found in
      for row in found {
        loader.memory.note(request: row[0].number, row[1].number, row[2].number)
        loader.holdWithIdentifier(row[0].number)
        loader.holdIdentifier(row[1].number)
        loader.members.insert(row[0].number)
        loader.held.keys.insert(.dependencies(RequestID(row[0].number)))
      }
    }
  }

  private mutating func findShards(of head: RequestID, _ condition: String) {
    hold(head.rawValue)
    askRequests(
      RowQuestion("SELECT id, identifier, definition FROM request WHERE \(condition)", .integer(head.rawValue)))
  }

  /// Asks for requests, their identifiers, which are locked together, and their definitions.
  private mutating func askRequests(_ question: RowQuestion) {
    ask(question) { loader, found in
      for row in found {
        loader.memory.note(request: row[0].number, row[1].number, row[2].number)
        loader.holdWithIdentifier(row[0].number)
        loader.holdIdentifier(row[1].number)
      }
    }
  }

  mutating func hold(_ request: Int64) {
    lock(.request, request)
    requests.insert(request)
    held.keys.insert(.request(RequestID(request)))
  }

  mutating func holdWithIdentifier(_ request: Int64) {
    hold(request)
    held.keys.insert(.identifierOf(RequestID(request)))
  }

  mutating func holdIdentifier(_ id: Int64) {
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
}
