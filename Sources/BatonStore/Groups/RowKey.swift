package import BatonModel

/// What a write has to lock and load before it is decided, where several coordinators write to one database.
///
/// A group of writes locks its rows in one order, so that two groups never wait for each other: the rows of
/// coordinators, then identifiers, requests, patterns, namespaces, keys of limits, hosts, identities, credentials and
/// the audit log, each by their numbers. In PostgreSQL the audit log is locked later, when the group stores
/// (`PostgresAudit`). A verb names each key where it first reads or writes such a row (`Verbs.need`). If the group has
/// not loaded it, the group begins again with it.
enum RowKey: Hashable {
  /// The rows of all coordinators: no other coordinator writes anything at the same time. For rare writes that concern
  /// the whole store.
  case everything
  /// The tenures of all coordinators, also of those that have ended.
  case tenures
  /// The identifier with this name. Its unfinished requests are loaded with their last launches and progress; their
  /// states change only in groups that have locked the identifier.
  case identifier(JobIdentifier)
  /// The identifier of a request, with all that `identifier` loads, and the request itself.
  case identifierOf(RequestID)
  /// The request, its last launch and its progress, for what belongs to a launch. The row of its identifier is loaded
  /// and not locked.
  case request(RequestID)
  /// The request and its progress, and nothing that belongs to them: what a checkpoint reads and writes. Checkpoints
  /// are what a busy fleet writes most.
  case progress(RequestID)
  case payload(RequestID)
  /// The last event of the request, and what joined it.
  case history(RequestID)
  /// All launches of the request.
  case launches(RequestID)
  /// The last page of the request's items, or all pages.
  case lastItems(RequestID)
  case items(RequestID)
  case output(LaunchKey)
  /// The request and how it is divided.
  case spread(RequestID)
  /// The request, its transfers, and the host that carries them out.
  case transfers(RequestID)
  /// What the request waits for, and which requests wait for it: the rows of dependencies. The requests that it waits
  /// for are loaded and not locked.
  case dependencies(RequestID)
  /// The unfinished requests of a flow, with their dependencies.
  case flow(RequestID)
  /// The requests that wait for the request, and those that its end has cancelled, with their dependencies.
  case dependents(RequestID)
  /// The result of the request, or of the shard.
  case result(RequestID)
  /// What the request waited for, with the results of these: as many as a launch gets. They are read and not locked,
  /// because the result of a request that has succeeded does not change.
  case inputs(RequestID)
  /// As `spread`, and the shards of the request that have not ended.
  case shards(RequestID)
  /// As `spread`, and all shards of the request.
  case allShards(RequestID)
  /// The spans of the request that wait to be sent.
  case spans(RequestID)
  /// The notifications of a request or a host that wait or have failed. They are read and not locked: others only add
  /// to them, and the steward alone changes them.
  case notifications(Int64)
  /// The oldest ready requests of a class, at most so many, without those that another group has locked.
  case ready(RequirementClass, Int)
  /// Scheduled requests that are due, at most so many, and the ones that are due next. The keys of limits that are due
  /// are read, and not locked.
  case due(Moment, Int)
  /// The requests whose launches are open on the host with this number.
  case launchesOn(Int64)
  /// The requests whose transfers are on the host with this number, with their transfers.
  case transfersOn(Int64)
  /// The transfers on the host with this number that have not ended. They are read and not locked, but other groups
  /// give the host no transfers at the same time.
  case openTransfersOn(Int64)
  /// Unfinished requests below a number, at most so many in each state.
  case unfinished(CancelPosition, Int)
  /// Unfinished requests of a definition, at most so many.
  case unfinishedOf(DefinitionID, Int)
  /// One unfinished request of the pattern with this number, for a message. It is not locked.
  case exampleOf(Int64)
  /// The pattern with this number, and the shares of all coordinators. They are read and not locked.
  case pattern(Int64)
  /// As `pattern`, and no other group counts for the pattern at the same time.
  case lockedPattern(Int64)
  case patternNamed(IdentifierPattern)
  case definition(DefinitionID)
  /// The versions that are kept of the pattern with this number.
  case versions(Int64)
  /// All patterns, definitions and shares.
  case allDefinitions
  /// What all coordinators have counted for all namespaces. It is read and not locked.
  case namespaces
  /// As `namespaces`, and no other group decides by the quotas of this one at the same time.
  case lockedNamespace(String)
  /// The rows of these keys of limits, and of their lines. No other group decides by these limits at the same time.
  case limits(Set<ByteText>)
  /// The rows of keys that may be deleted, at most so many. They are read and not locked.
  case idleLimits(Moment, Int)
  /// The first requests of each of these lines, at most so many. Those that another group has locked are read only.
  case waiting(Set<KeyLine>, Int)
  /// All launches that run, and their requests. They are read and not locked.
  case allRunning
  /// The host with this name or number, and its evictions.
  case host(HostName)
  case hostRow(Int64)
  /// The changes of the conditions of the host with this number, up to a number.
  case conditions(Int64, upTo: Int64)
  /// The hosts whose coordinator does not live.
  case orphans
  case submission(ByteText)
  /// The oldest submissions, at most so many.
  case oldestSubmissions(Int)
  /// All invitations and certificates of hosts, and the hosts that wait. They are few, and rarely written.
  case identities
  /// All credentials. They are few, and rarely written.
  case credentials
  /// The end of the audit log, where rows are added.
  case audit
  /// The rows of the audit log up to this one.
  case oldAudit(Int64)
}

/// A text that a row is found by. Two of them are equal if their bytes are, as in the database.
struct ByteText: Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (one: ByteText, other: ByteText) -> Bool { one.text.hasBytes(of: other.text) }
}

/// The tables whose rows are numbered in the order in which they were inserted.
enum NumberedTable: Int, CaseIterable {
  case identifier, request, submission, pattern, definition, host, itemPage

  /// The name of the table. Each group asks for it, and `"\(self)"` would look the case up in the metadata of the type.
  var name: String {
    switch self {
    case .identifier: "identifier"
    case .request: "request"
    case .submission: "submission"
    case .pattern: "pattern"
    case .definition: "definition"
    case .host: "host"
    case .itemPage: "item_page"
    }
  }
}

/// The rows that a group of writes has locked and loaded.
struct HeldRows {
  /// What was loaded, also what came with another key.
  var keys: Set<RowKey> = []
  /// For each class how many ready requests were asked for, and whether they are all that there are.
  var ready: [RequirementClass: (count: Int, isAll: Bool)] = [:]
  /// The rows that the group itself has inserted. They need not be loaded, and what belongs to them cannot be: if the
  /// group begins again, they get other numbers.
  var ownRequests: Set<RequestID> = []
  var ownHosts: Set<Int64> = []
  var ownPatterns: Set<Int64> = []
  /// Draws the numbers of new rows.
  var numbers: any RowNumbers
  /// The numbers that the group has drawn, without gaps if no other group draws.
  private var drawn: [NumberedTable: [Int64]] = [:]
  /// The names of the keys of limits that the group has locked.
  var limits: Set<ByteText> = []
  /// What the verbs needed and did not have; empty if they had everything.
  var missing: Set<RowKey> = []

  mutating func draw(_ table: NumberedTable) throws -> Int64 {
    let number = try numbers.draw(table)
    drawn[table, default: []].append(number)
    if table == .request { ownRequests.insert(RequestID(number)) }
    if table == .host { ownHosts.insert(number) }
    if table == .pattern { ownPatterns.insert(number) }
    return number
  }

  init(numbers: any RowNumbers) { self.numbers = numbers }

  /// Gives the drawn numbers back, because the group has stored nothing.
  func giveBack() { for (table, drawn) in drawn { numbers.giveBack(drawn, of: table) } }

  func holds(_ key: RowKey) -> Bool {
    if keys.contains(key) { return true }
    switch key {
    case .request(let id), .identifierOf(let id), .payload(let id), .history(let id), .launches(let id),
      .lastItems(let id), .items(let id), .spans(let id), .allShards(let id), .transfers(let id),
      .dependencies(let id), .dependents(let id), .result(let id), .inputs(let id):
      return ownRequests.contains(id)
    case .progress(let id): return keys.contains(.request(id)) || ownRequests.contains(id)
    case .shards(let id): return keys.contains(.allShards(id)) || ownRequests.contains(id)
    case .spread(let id):
      return keys.contains(.shards(id)) || keys.contains(.allShards(id)) || ownRequests.contains(id)
    case .output(let launch): return ownRequests.contains(launch.request)
    case .hostRow(let id), .conditions(let id, _), .launchesOn(let id), .transfersOn(let id), .openTransfersOn(let id):
      return ownHosts.contains(id)
    case .pattern(let id):
      return ownPatterns.contains(id) || keys.contains(.lockedPattern(id)) || keys.contains(.allDefinitions)
    case .lockedPattern(let id):
      return ownPatterns.contains(id) || keys.contains(.everything) && keys.contains(.allDefinitions)
    case .versions(let id), .exampleOf(let id): return ownPatterns.contains(id)
    case .definition, .patternNamed: return keys.contains(.allDefinitions)
    case .namespaces: return keys.contains { if case .lockedNamespace = $0 { true } else { false } }
    case .limits(let names): return limits.isSuperset(of: names)
    case .lockedNamespace: return keys.contains(.everything) && keys.contains(.namespaces)
    case .everything, .tenures, .allRunning, .flow, .identifier,
      .ready, .due, .unfinished, .unfinishedOf,
      .allDefinitions, .host, .orphans, .submission, .oldestSubmissions, .identities,
      .credentials, .audit, .oldAudit, .notifications, .idleLimits, .waiting:
      return false
    }
  }
}

/// Thrown by a verb that needs rows which its group has not loaded.
struct MissingRows: Error {}

extension Verbs {
  /// Says that the verb is about to read or write the rows of `key`. Nothing happens on a connection that has the whole
  /// store. In a group that has not loaded them, this throws `MissingRows`, and the group begins again with them.
  func need(_ key: @autoclosure () -> RowKey) throws {
    guard held != nil else { return }
    let key = key()
    if held?.holds(key) == true { return }
    held?.missing.insert(key)
    throw MissingRows()
  }

  /// As `need` for each of the keys, and loads all that are missing at once. Call it before a loop that needs a key for
  /// each row: otherwise the group begins again for each of them.
  func need(_ keys: @autoclosure () -> [RowKey]) throws {
    guard let held else { return }
    let missing = keys().filter { !held.holds($0) }
    if missing.isEmpty { return }
    self.held?.missing.formUnion(missing)
    throw MissingRows()
  }

  /// Runs `body` for each element. In a group that has not loaded what some elements need, `body` runs for the others
  /// nevertheless, so that the group learns at once what all of them need, and begins again.
  func each<Element, Answer>(_ elements: [Element], _ body: (Element) throws -> Answer) throws -> [Answer] {
    if held == nil { return try elements.map(body) }
    let answers = try elements.compactMap { element in try unlessRowsAreMissing { try body(element) } }
    if answers.count < elements.count { throw MissingRows() }
    return answers
  }

  /// Whether the rows of `key` may be changed. Rows that were loaded with others may not, unless they are locked too.
  func holds(_ key: RowKey) -> Bool { held?.holds(key) ?? true }

  /// Says that the verb has looked for `count` ready requests of a class, and has found `found`.
  func needReady(_ wanted: RequirementClass, _ count: Int, found: Int) throws {
    guard let held else { return }
    let loaded = held.ready[wanted]
    if found >= count || loaded?.isAll == true { return }
    // The counts of several keys are added up, so only the largest one is asked for.
    var count = (loaded?.count ?? 0) * 2 + count
    for case .ready(wanted, let other) in held.missing {
      count = max(count, other)
      self.held?.missing.remove(.ready(wanted, other))
    }
    self.held?.missing.insert(.ready(wanted, count))
    throw MissingRows()
  }
}

/// What a write is known to need before it runs. The verbs that a busy coordinator has most are named here, so that
/// their groups load once. What the others need is found out when they run.
package indirect enum KnownNeeds: Sendable {
  case nothing
  /// The write adds a row to the audit log.
  case audited(KnownNeeds)
  case submit([SubmissionOffer])
  case claim([Claim])
  case checkpoint([Checkpoint], WorkerProcess)
  case end([Ending], WorkerProcess)
  case notifications([NotificationKey])

  var keys: [RowKey] {
    switch self {
    case .nothing: []
    case .audited(let needs): [.audit] + needs.keys
    case .submit(let offers): offers.flatMap(Self.keys)
    case .claim(let claims): claims.flatMap(Self.keys)
    case .checkpoint(let checkpoints, let process):
      [.host(process.host)] + checkpoints.map { .progress($0.launch.request) }
        + checkpoints.filter { $0.result != nil }.map { .result($0.launch.request) }
    case .notifications(let keys): Set(keys.map(\.subject)).sorted().map { .notifications($0) }
    case .end(let endings, let process): [.host(process.host)] + endings.map { .identifierOf($0.launch.request) }
    }
  }

  private static func keys(_ offer: SubmissionOffer) -> [RowKey] {
    let keys: [RowKey] = [
      .submission(ByteText(offer.submission.id)), .identifier(offer.submission.identifier),
      .definition(offer.definition),
    ]
    return keys + (offer.host.map { [.host($0.lease.host)] } ?? [])
  }

  private static func keys(_ claim: Claim) -> [RowKey] {
    [
      .host(claim.lease.host), .ready(claim.requirementClass, claim.places.count + 1),
      .definition(claim.requirementClass.definition),
    ]
  }
}
