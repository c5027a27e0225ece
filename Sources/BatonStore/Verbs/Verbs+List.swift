package import BatonModel

/// Which requests a list contains. An empty set of states means all states.
package struct RequestFilter: Hashable, Sendable {
  package var states: Set<RequestState>
  package var pattern: IdentifierPattern?
  /// Only requests that run on this host or ran there last. A divided request runs where a shard of it runs; while none
  /// does, the host of its shard 0 counts.
  package var host: HostName?
  /// Only requests of this kind.
  package var kind: JobKind?
  /// Only requests that this principal has submitted.
  package var submitter: String?
  /// Only requests of the flow with this number.
  package var flow: RequestID?
  /// Whether the list begins with the newest request. In a list of ended requests alone this is the one that ended
  /// last, in any other list the one that was submitted last. Otherwise a list begins with the request that was
  /// submitted first.
  package var isNewestFirst: Bool

  package init(
    states: Set<RequestState> = [], pattern: IdentifierPattern? = nil, host: HostName? = nil, kind: JobKind? = nil,
    submitter: String? = nil, flow: RequestID? = nil, isNewestFirst: Bool = false
  ) {
    (self.states, self.pattern, self.host) = (states, pattern, host)
    (self.kind, self.submitter, self.flow, self.isNewestFirst) = (kind, submitter, flow, isNewestFirst)
  }

  /// Whether the list is narrowed by what no index knows.
  package var isNarrowed: Bool { kind != nil || submitter != nil }

  /// Whether a request matches everything but the flow.
  func matches(_ record: RequestRecord) -> Bool {
    (states.isEmpty || states.contains(record.state)) && pattern.map { $0.matches(record.identifier) } ?? true
      && host.map { $0 == record.host } ?? true && kind.map { $0 == record.kind } ?? true
      && submitter.map { $0 == record.principal } ?? true
  }

  package var order: ListOrder {
    guard isNewestFirst else { return .submittedFirst }
    return !states.isEmpty && states.allSatisfy(\.isEnded) ? .endedLast : .submittedLast
  }
}

/// What a list of requests begins with.
package enum ListOrder: Int, CaseIterable, Sendable {
  case submittedFirst, submittedLast, endedLast

  /// Whether `one` stands before `other` in a list of this order.
  package func precedes(_ one: RequestRecord, _ other: RequestRecord) -> Bool {
    switch self {
    case .submittedFirst: return one.id < other.id
    case .submittedLast: return other.id < one.id
    case .endedLast:
      let (end, otherEnd) = (one.endedSteady ?? .distantFuture, other.endedSteady ?? .distantFuture)
      return (otherEnd, other.id) < (end, one.id)
    }
  }
}

extension Verbs {
  /// The requests that match a filter without kind and submitter, in its order.
  func listed(_ filter: RequestFilter, after: RequestID?, limit: Int) throws -> [RequestRecord] {
    guard let position = try position(after, in: filter.order) else { return [] }
    let names = try names(of: filter)
    var found: [RequestRecord] = []
    for source in ListSource.sources(of: filter, startsFromNames: names.kind == .few) {
      if source == .scheduled, let pattern = filter.pattern, try !hasScheduled(pattern) { continue }
      found += try list(source, names, filter, after: position, limit: limit)
    }
    // Two sources may have the same request.
    let ordered = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }.values.sorted(by: filter.order.precedes)
    return try ordered.prefix(limit).compactMap { try complete($0) }
  }

  /// Where the page after a request begins; `nil` if there is none.
  func position(_ after: RequestID?, in order: ListOrder) throws -> ListPosition? {
    switch order {
    case .submittedFirst: return ListPosition(id: after?.rawValue ?? 0)
    case .submittedLast: return ListPosition(id: after?.rawValue ?? .max)
    case .endedLast:
      guard let after else { return ListPosition(id: .max) }
      return try prepare(.endOfRequest).first(after.rawValue) { ListPosition(id: after.rawValue, end: $0.int64(0)) }
    }
  }

  /// The requests that one source lists.
  private func list(
    _ source: ListSource, _ names: NameRange, _ filter: RequestFilter, after position: ListPosition, limit: Int
  ) throws -> [RequestRecord] {
    // The index of ready requests is in the order of ids only within one class, so each class is listed by itself.
    let classes: [RequirementClass?] = source == .ready ? try readyClasses(for: filter.pattern) : [nil]
    let prepared = try prepare(Query.list(source, names.kind, filter.order))
    let states = filter.states.isEmpty ? nil : filter.states.reduce(0) { $0 | 1 << $1.code }
    return try classes.flatMap { requirementClass in
      try prepared.all(
        position.id, limit, names.lower, names.upper, states, filter.host?.rawValue,
        requirementClass?.definition.rawValue, requirementClass?.priority.rawValue, position.end, row: Self.record)
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

  /// Whether a request is scheduled whose identifier may match the pattern, by the counts of the definitions. The index
  /// of scheduled requests knows no definitions, so a list of none would look at all of them.
  private func hasScheduled(_ pattern: IdentifierPattern) throws -> Bool {
    try counts().contains { one in
      one.state == .scheduled && (one.pattern.covers(pattern) || pattern.covers(one.pattern))
    }
  }

  /// Decides whether a list starts from the identifiers or from the requests: a wildcard may match ten identifiers or a
  /// million.
  func names(of filter: RequestFilter) throws -> NameRange {
    guard let pattern = filter.pattern else { return NameRange(kind: .every) }
    if let literal = pattern.literal { return NameRange(kind: .few, lower: literal.rawValue, upper: literal.rawValue) }
    let prefix = String(pattern.rawValue.dropLast())
    var range = NameRange(kind: .few, lower: prefix, upper: prefix + "\u{7F}")
    let count = try prepare(.countNames).first(range.lower, range.upper, NameRange.few + 1) { $0.int(0) } ?? 0
    if count > NameRange.few { range.kind = .many }
    return range
  }
}

/// The last request of the page before: its id, and its end by the steady clock, which counts in the order of ends
/// only.
struct ListPosition {
  var id: Int64
  var end = Int64.max
}

/// The index that a list is read from. Each index either returns requests in the order of the list, or contains no more
/// requests than run at once or are kept after their end.
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
  /// All requests that have ended, by their ends.
  case ended
  /// All requests that failed or were cancelled.
  case unsuccessful

  /// The indexes that together contain all requests of the filter.
  static func sources(of filter: RequestFilter, startsFromNames: Bool) -> [ListSource] {
    if startsFromNames { return [.names] }
    if filter.order == .endedLast {
      if filter.host != nil { return [.host] }
      return [filter.states.contains(.succeeded) ? .ended : .unsuccessful]
    }
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

  /// Which requests the index is searched for. `+ 0` keeps the database from searching by that column, where another
  /// column narrows the search more.
  private func condition(_ order: ListOrder) -> String {
    switch self {
    case .every, .names: "1 = 1"
    case .host: "r.host = (SELECT id FROM host WHERE name = ?6)"
    case .shards: "r.id IN (\(Query.requestsWithShardOnHost)\(order.launchBound))"
    case .scheduled: "r.state = 0"
    case .ready: "r.state = 1 AND r.definition = ?7 AND r.priority = ?8"
    case .running: "r.id IN (\(Query.requestsThatRun)\(order.launchBound))"
    case .succeeded, .ended: "\(Query.endedSteady("r")) >= 0 AND r.ended_at IS NOT NULL"
    case .failed: "r.state >= 4 AND r.state = 4"
    case .cancelled: "r.state >= 4 AND r.state = 5"
    case .unsuccessful: "r.state >= 4"
    }
  }

  /// The condition, and the columns before the id by which the index is ordered, for a planner that chooses indexes by
  /// statistics. A column that is compared with a list of one belongs to the order, and only the index of the source
  /// has this order. With `=` the order of the primary key would do too, and a plan that walks it throws away all older
  /// requests.
  private func planned(_ order: ListOrder) -> (condition: String, columns: String) {
    switch self {
    case .host: ("r.host = ANY (ARRAY[(SELECT id FROM host WHERE name = ?6)])", "r.host")
    case .ready: ("r.state = 1 AND r.definition = ANY (ARRAY[?7]) AND r.priority = ?8", "r.definition")
    case .failed: ("r.state >= 4 AND r.state = ANY (ARRAY[4]::bigint[])", "r.state")
    case .cancelled: ("r.state >= 4 AND r.state = ANY (ARRAY[5]::bigint[])", "r.state")
    case .every, .names, .shards, .scheduled, .running, .succeeded, .ended, .unsuccessful: (condition(order), "")
    }
  }

  /// The condition and the order of a page after the position `?1` and `?9`.
  func page(_ order: ListOrder) -> ListPage {
    ListPage(condition: "\(condition(order)) AND \(rest(order))", order: orderText(order))
  }

  /// `page`, for a planner that chooses indexes by statistics.
  func plannedPage(_ order: ListOrder) -> ListPage {
    let planned = planned(order)
    let columns = planned.columns.isEmpty || order == .endedLast ? "" : planned.columns + order.direction + ", "
    return ListPage(condition: "\(planned.condition) AND \(rest(order))", order: columns + orderText(order))
  }

  /// The requests behind the position.
  private func rest(_ order: ListOrder) -> String {
    // Requests that succeeded are found by their ends and then sorted, because far more requests may have an id before
    // theirs.
    switch order {
    case .submittedFirst: return self == .succeeded ? "r.state + 0 = 3 AND r.id + 0 > ?1" : "r.id > ?1"
    case .submittedLast: return self == .succeeded ? "r.state + 0 = 3 AND r.id + 0 < ?1" : "r.id < ?1"
    case .endedLast:
      let end = end
      return "r.ended_at IS NOT NULL AND \(end) <= ?9 AND (\(end) < ?9 OR r.id < ?1)"
    }
  }

  private func orderText(_ order: ListOrder) -> String {
    switch order {
    case .submittedFirst, .submittedLast: (self == .succeeded ? "r.id + 0" : "r.id") + order.direction
    case .endedLast: "\(end) DESC, r.id DESC"
    }
  }

  /// When a request ended. Only the source of all ended requests is searched by it.
  var end: String { Query.endedSteady("r") + (self == .ended ? "" : " + 0") }
}

/// What a query of a list says of one page.
struct ListPage {
  var condition: String
  var order: String
}

extension ListOrder {
  fileprivate var direction: String { self == .submittedFirst ? "" : " DESC" }

  /// Leaves out launches of requests that stand before the page. The rows of shards come after those of their requests,
  /// so this is sound in one direction only.
  fileprivate var launchBound: String { self == .submittedFirst ? " AND l.request > ?1" : "" }
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

  static func list(_ source: ListSource, _ names: NameRange.Kind, _ order: ListOrder) -> Query {
    lists[
      (order.rawValue * NameRange.Kind.allCases.count + names.rawValue) * ListSource.allCases.count + source.rawValue]
  }

  /// One query for each combination of an order, a range and a source.
  static let lists: [Query] = ListOrder.allCases.flatMap { order in
    NameRange.Kind.allCases.flatMap { names in
      ListSource.allCases.map { source in
        Query(
          listText(names, source.page(order)), elsewhere: listText(names, source.plannedPage(order)))
      }
    }
  }

  /// When a request ended, by the steady clock.
  static let endOfRequest = Query("SELECT \(endedSteady("r")) FROM request r WHERE r.id = ? AND r.ended_at IS NOT NULL")

  /// The requests that have an open launch, or a shard that has one.
  static let requestsThatRun = """
    SELECT coalesce(p.head, p.id) FROM launch l JOIN request p ON p.id = l.request WHERE l.ended_at IS NULL
    """

  /// The requests of which a shard that is not their own has an open launch on the host `?6`.
  static let requestsWithShardOnHost = """
    SELECT p.head FROM launch l JOIN request p ON p.id = l.request
    WHERE l.ended_at IS NULL AND l.host = (SELECT id FROM host WHERE name = ?6) AND p.head IS NOT NULL
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

  /// `+ 0` keeps the database from searching by that column. Where a wildcard has many identifiers, the name is a value
  /// that is asked for each request, because PostgreSQL may answer a join by reading all identifiers first. The last
  /// condition is always true; it names every parameter, because all of them are bound.
  static func listText(_ names: NameRange.Kind, _ page: ListPage, _ more: String = "") -> String {
    let nameCondition =
      switch names {
      case .every: ""
      case .few: "AND r.identifier IN (SELECT id FROM identifier WHERE name >= ?3 AND name <= ?4)"
      case .many: "AND (SELECT n.name BETWEEN ?3 AND ?4 FROM identifier n WHERE n.id = r.identifier)"
      }
    return """
      \(recordColumns(withBlobs: false)) FROM request r \(recordJoins)
      WHERE \(page.condition) AND r.head IS NULL AND (?5 IS NULL OR (?5 >> CAST(\(shownState) AS integer)) & 1 = 1)
        \(nameCondition)
        AND (?6 IS NULL OR r.host + 0 = (SELECT id FROM host WHERE name = ?6) OR \(shardOnHost) = 1)
        AND (coalesce(?3, ?4, ?6) IS NOT NULL OR coalesce(?5, ?7, ?8, ?9, 0) IS NOT NULL) \(more)
      ORDER BY \(page.order) LIMIT ?2
      """
  }
}
