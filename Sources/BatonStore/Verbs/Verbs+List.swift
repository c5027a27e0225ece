package import BatonModel

/// Which requests a list contains. An empty set of states means all states.
package struct RequestFilter: Hashable, Sendable {
  package var states: Set<RequestState>
  package var pattern: IdentifierPattern?
  /// Only requests that run on this host or ran there last. A divided request runs where a shard of it runs; while none
  /// does, the host of its shard 0 counts.
  package var host: HostName?

  package init(states: Set<RequestState> = [], pattern: IdentifierPattern? = nil, host: HostName? = nil) {
    self.states = states
    self.pattern = pattern
    self.host = host
  }
}

extension Verbs {
  /// The requests that match `filter`, in the order of their ids. Cursors and payloads are left out; `request` returns
  /// them.
  package func requests(_ filter: RequestFilter, after: RequestID?, limit: Int) throws -> [RequestRecord] {
    let after = after?.rawValue ?? 0
    let names = try names(of: filter)
    var found: [RequestRecord] = []
    for source in ListSource.sources(of: filter, startsFromNames: names.kind == .few) {
      found += try list(source, names, filter, after: after, limit: limit)
    }
    // Two sources may have the same request.
    let ordered = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }.values.sorted { $0.id < $1.id }
    return try ordered.prefix(limit).compactMap { try complete($0) }
  }

  /// The requests that one source lists.
  private func list(
    _ source: ListSource, _ names: NameRange, _ filter: RequestFilter, after: Int64, limit: Int
  ) throws -> [RequestRecord] {
    // The index of ready requests is in the order of ids only within one class, so each class is listed by itself.
    let classes: [RequirementClass?] = source == .ready ? try readyClasses(for: filter.pattern) : [nil]
    let prepared = try prepare(Query.list(source, names.kind))
    let states = filter.states.isEmpty ? nil : filter.states.reduce(0) { $0 | 1 << $1.code }
    return try classes.flatMap { requirementClass in
      try prepared.all(
        after, limit, names.lower, names.upper, states, filter.host?.rawValue,
        requirementClass?.definition.rawValue, requirementClass?.priority.rawValue, row: Self.record)
    }
  }

  /// The ready classes whose definitions may have identifiers of this pattern.
  private func readyClasses(for pattern: IdentifierPattern?) throws -> [RequirementClass] {
    guard let pattern else { return try readyHeads().keys.sorted() }
    return try readyHeads().keys.sorted().filter { requirementClass in
      let own = try knownDefinition(requirementClass.definition).definition.pattern
      return own.covers(pattern) || pattern.covers(own)
    }
  }

  /// Decides whether a list starts from the identifiers or from the requests: a wildcard may match ten identifiers or a
  /// million.
  private func names(of filter: RequestFilter) throws -> NameRange {
    guard let pattern = filter.pattern else { return NameRange(kind: .every) }
    if let literal = pattern.literal { return NameRange(kind: .few, lower: literal.rawValue, upper: literal.rawValue) }
    let prefix = String(pattern.rawValue.dropLast())
    var range = NameRange(kind: .few, lower: prefix, upper: prefix + "\u{7F}")
    let count = try prepare(.countNames).first(range.lower, range.upper, NameRange.few + 1) { $0.int(0) } ?? 0
    if count > NameRange.few { range.kind = .many }
    return range
  }
}

/// The index that a list is read from. Each index either returns requests in the order of their ids, or contains no
/// more requests than are kept after their end.
enum ListSource: Int, CaseIterable {
  /// All requests, by id.
  case every
  /// The requests of the identifiers that were asked for.
  case names
  /// The requests that run on a host or ran there last.
  case host
  /// The requests of which a shard runs on a host.
  case shards
  case scheduled
  /// The ready requests of one class.
  case ready
  case running
  case succeeded
  case failed
  case cancelled

  /// The indexes that together contain all requests of the filter.
  static func sources(of filter: RequestFilter, startsFromNames: Bool) -> [ListSource] {
    if startsFromNames { return [.names] }
    if filter.states.isEmpty { return filter.host == nil ? [.every] : [.host, .shards] }
    return filter.states.sorted { $0.code < $1.code }.map { state in
      switch state {
      case .scheduled: .scheduled
      case .ready: .ready
      case .running: .running
      case .succeeded: .succeeded
      case .failed: .failed
      case .cancelled: .cancelled
      }
    }
  }

  var tables: String {
    switch self {
    case .every, .names, .host, .shards, .scheduled, .ready, .succeeded, .failed, .cancelled: "FROM request r"
    case .running: "FROM request r"
    }
  }

  /// `+ 0` keeps the database from searching by that column, where another column narrows the search more.
  var condition: String {
    switch self {
    case .every: "r.id > ?1"
    case .names: "r.id > ?1"
    case .host: "r.host = (SELECT id FROM host WHERE name = ?6) AND r.id > ?1"
    case .shards: "r.id IN (\(Query.requestsWithShardOnHost)) AND r.id > ?1"
    case .scheduled: "r.state = 0 AND r.id > ?1"
    case .ready: "r.state = 1 AND r.definition = ?7 AND r.priority = ?8 AND r.id > ?1"
    case .running: "r.id IN (\(Query.requestsThatRun)) AND r.id > ?1"
    case .succeeded: "\(Query.endedSteady("r")) >= 0 AND r.ended_at IS NOT NULL AND r.state + 0 = 3 AND r.id + 0 > ?1"
    case .failed: "r.state >= 4 AND r.state = 4 AND r.id > ?1"
    case .cancelled: "r.state >= 4 AND r.state = 5 AND r.id > ?1"
    }
  }
}

extension ListSource {
  var order: String {
    switch self {
    case .succeeded: "r.id + 0"
    case .every, .names, .host, .shards, .scheduled, .ready, .running, .failed, .cancelled: "r.id"
    }
  }

  /// The condition and the order for a planner that chooses indexes by statistics. A column that is compared with a
  /// list of one belongs to the order, and only the index of the source has this order. With `=` the order of the
  /// primary key would do too, and a plan that walks it throws away all older requests.
  var planned: (condition: String, order: String) {
    switch self {
    case .host: ("r.host = ANY (ARRAY[(SELECT id FROM host WHERE name = ?6)]) AND r.id > ?1", "r.host, r.id")
    case .ready:
      ("r.state = 1 AND r.definition = ANY (ARRAY[?7]) AND r.priority = ?8 AND r.id > ?1", "r.definition, r.id")
    case .failed: ("r.state >= 4 AND r.state = ANY (ARRAY[4]::bigint[]) AND r.id > ?1", "r.state, r.id")
    case .cancelled: ("r.state >= 4 AND r.state = ANY (ARRAY[5]::bigint[]) AND r.id > ?1", "r.state, r.id")
    case .every, .names, .shards, .scheduled, .running, .succeeded: (condition, order)
    }
  }
}

/// A range of identifier names, from `lower` to `upper` inclusive. Identifiers are ASCII, so their byte order is the
/// order of the index.
struct NameRange {
  /// Whether the range contains all identifiers, at most `few` of them, or more.
  enum Kind: Int, CaseIterable { case every, few, many }
  var kind: Kind
  var lower: String?
  var upper: String?
  static let few = 1000
}

extension Query {
  static let countNames = Query(
    "SELECT count(*) FROM (SELECT 1 FROM identifier WHERE name >= ? AND name <= ? LIMIT ?) AS found")

  static func list(_ source: ListSource, _ names: NameRange.Kind) -> Query {
    lists[names.rawValue * ListSource.allCases.count + source.rawValue]
  }

  /// One query for each combination of a source and a range.
  static let lists: [Query] = NameRange.Kind.allCases.flatMap { names in
    ListSource.allCases.map { source in
      let planned = source.planned
      return Query(
        listText(source, names, source.condition, source.order),
        elsewhere: listText(source, names, planned.condition, planned.order))
    }
  }

  /// The requests after `?1` that have an open launch, or a shard that has one. The rows of shards come after theirs.
  static let requestsThatRun = """
    SELECT coalesce(p.head, p.id) FROM launch l JOIN request p ON p.id = l.request
    WHERE l.ended_at IS NULL AND l.request > ?1
    """

  /// The requests after `?1` of which a shard that is not their own has an open launch on the host `?6`.
  static let requestsWithShardOnHost = """
    SELECT p.head FROM launch l JOIN request p ON p.id = l.request
    WHERE l.ended_at IS NULL AND l.request > ?1 AND l.host = (SELECT id FROM host WHERE name = ?6)
      AND p.head IS NOT NULL
    """

  /// 1 if a shard of the request that is not its own runs on the host `?6`. It is a value and no `EXISTS`, which
  /// PostgreSQL may answer by reading the shards of all requests.
  private static let shardOnHost = """
    (SELECT 1 FROM request p JOIN launch l ON l.request = p.id
      WHERE p.head = r.id AND p.state = 2 AND l.ended_at IS NULL AND l.host = (SELECT id FROM host WHERE name = ?6)
      LIMIT 1)
    """

  /// The state of a request: it runs while a shard of it runs.
  static let shownState = """
    CASE WHEN r.first_unit IS NOT NULL AND r.state <= 1 AND EXISTS (
        SELECT 1 FROM request p WHERE p.head = r.id AND p.state = 2) THEN 2
      ELSE r.state END
    """

  /// `+ 0` and `|| ''` keep the database from searching by that column. The last condition is always true; it names
  /// every parameter, because all of them are bound.
  private static func listText(
    _ source: ListSource, _ names: NameRange.Kind, _ condition: String, _ order: String
  ) -> String {
    let nameCondition =
      switch names {
      case .every: ""
      case .few: "AND r.identifier IN (SELECT id FROM identifier WHERE name >= ?3 AND name <= ?4)"
      case .many: "AND i.name || '' >= ?3 AND i.name || '' <= ?4"
      }
    return """
      \(recordColumns(withBlobs: false)) \(source.tables) \(recordJoins)
      WHERE \(condition) AND r.head IS NULL AND (?5 IS NULL OR (?5 >> CAST(\(shownState) AS integer)) & 1 = 1)
        \(nameCondition)
        AND (?6 IS NULL OR r.host + 0 = (SELECT id FROM host WHERE name = ?6) OR \(shardOnHost) = 1)
        AND (coalesce(?3, ?4, ?6) IS NOT NULL OR coalesce(?5, ?7, ?8, 0) IS NOT NULL)
      ORDER BY \(order) LIMIT ?2
      """
  }
}
