package import BatonModel

extension Verbs {
  /// Cursors and payloads are left out: `request` answers them.
  package func requests(_ filter: RequestFilter, after: RequestID?, limit: Int) throws -> [RequestRecord] {
    let after = after?.rawValue ?? 0
    // Each state is a range of an index in the order of ids, so every list but a filtered one reads what it answers.
    let states: [RequestState?] = filter.states.isEmpty ? [nil] : filter.states.sorted { $0.code < $1.code }
    let names = try names(of: filter)
    var found: [RequestRecord] = []
    for state in states {
      found += try list(state, names, filter.host, after: after, limit: limit)
    }
    return try found.sorted { $0.id < $1.id }.prefix(limit).compactMap { try complete($0) }
  }

  private func list(
    _ state: RequestState?, _ names: NameRange, _ host: HostName?, after: Int64, limit: Int
  ) throws -> [RequestRecord] {
    let query = Query.list(names: names, state: state != nil, host: host != nil)
    return try prepare(query).all(
      after, limit, names.lower, names.upper, state?.code, host?.rawValue, row: Self.record)
  }

  /// Whether to start from the names or from the requests: a wildcard may match ten identifiers or a million.
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

/// Identifiers from `lower` to `upper`, both included; identifiers are ASCII.
struct NameRange {
  enum Kind: Int { case every, few, many }
  var kind: Kind
  var lower: String?
  var upper: String?
  static let few = 1000
}

extension Query {
  static let countNames = Query(
    "SELECT count(*) FROM (SELECT 1 FROM identifier WHERE name >= ? AND name <= ? LIMIT ?)")

  /// One query for each combination that can be asked for.
  static func list(names: NameRange, state: Bool, host: Bool) -> Query {
    lists[names.kind.rawValue * 4 + (state ? 2 : 0) + (host ? 1 : 0)]
  }

  static let lists: [Query] = [NameRange.Kind.every, .few, .many].flatMap { kind in
    [(false, false), (false, true), (true, false), (true, true)].map { state, host in
      Query(listText(kind, state: state, host: host))
    }
  }

  /// A `+` keeps SQLite from using an index for a condition; the last condition only names every parameter, because all
  /// of them are bound.
  private static func listText(_ kind: NameRange.Kind, state: Bool, host: Bool) -> String {
    let fromNames = kind == .few
    var conditions = [fromNames || host && !state ? "+r.id > ?1" : "r.id > ?1"]
    switch kind {
    case .every: break
    case .few: conditions.append("r.identifier IN (SELECT id FROM identifier WHERE name >= ?3 AND name <= ?4)")
    case .many: conditions.append("+i.name >= ?3 AND +i.name <= ?4")
    }
    if state { conditions.append("\(fromNames ? "+" : "")r.state = ?5") }
    if host { conditions.append("\(fromNames || state ? "+" : "")r.host = (SELECT id FROM host WHERE name = ?6)") }
    return """
      \(recordColumns(withBlobs: false)) \(recordTables)
      WHERE \(conditions.joined(separator: " AND ")) AND coalesce(?3, ?4, ?5, ?6, 0) IS NOT NULL
      ORDER BY r.id LIMIT ?2
      """
  }
}
