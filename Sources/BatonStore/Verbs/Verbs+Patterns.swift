internal import BatonModel

/// A row of `pattern`: the definition that is applied, the number of requests in each state, and the launch time used
/// today.
struct PatternRow {
  /// The number of the applied definition; `nil` after `remove`.
  var definition: Int64?
  var counts: StateCounts
  /// The use of the definition's daily allowance.
  var use: DailyUse

  var pending: Int { counts[.scheduled] + counts[.ready] }
}

/// The number of requests in each state, indexed by the state's code. It is a vector, because each transition changes
/// two of the numbers.
struct StateCounts: Hashable {
  private var values = SIMD8<Int>()

  subscript(state: RequestState) -> Int {
    get { values[state.code] }
    set { values[state.code] = newValue }
  }

  var unfinished: Int { self[.scheduled] + self[.ready] + self[.running] }
}

extension Verbs {
  /// The row of a pattern. Throws `.corrupt` if there is none.
  func pattern(_ id: Int64) throws -> PatternRow {
    if let known = patterns[id] { return known }
    guard let row = try prepare(.pattern).first(id, row: Self.patternRow) else {
      throw StoreError(.corrupt, "A definition in the database names a pattern that is not there.")
    }
    patterns[id] = row
    return row
  }

  /// Counts a request that changed its state from `old` to `new`. `nil` stands for a request that does not exist before
  /// or afterwards.
  func count(pattern id: Int64, from old: RequestState?, to new: RequestState?) throws {
    guard old != new else { return }
    var row = try pattern(id)
    if let old { row.counts[old] -= 1 }
    if let new { row.counts[new] += 1 }
    patterns[id] = row
    changedPatterns.insert(id)
    let change = (new?.isPending == true ? 1 : 0) - (old?.isPending == true ? 1 : 0)
    if let total = pendingTotal { pendingTotal = total + change }
  }

  /// The number of pending requests in the store.
  func pendingInAll() throws -> Int {
    if let known = pendingTotal { return known }
    try flush()
    let total = try prepare(.pendingInAll).first { $0.int(0) } ?? 0
    pendingTotal = total
    return total
  }

  func write(_ row: PatternRow, of pattern: Int64) throws {
    let counts = row.counts
    try prepare(.setPatternCounts).run(
      counts[.scheduled], counts[.ready], counts[.running], counts[.succeeded], counts[.failed], counts[.cancelled],
      row.use.day, row.use.used.nanoseconds, pattern)
  }

  private static func patternRow(_ row: Columns) -> PatternRow {
    PatternRow(definition: row.optionalInt64(0), counts: stateCounts(row, from: 1), use: use(row, from: 7))
  }

  /// Reads six columns, one for each state in the order of the codes.
  static func stateCounts(_ row: Columns, from index: Int32) -> StateCounts {
    var counts = StateCounts()
    for state in RequestState.allCases { counts[state] = row.int(index + Int32(state.code)) }
    return counts
  }
}

extension Query {
  static let pattern = Query(
    """
    SELECT definition, scheduled, ready, running, succeeded, failed, cancelled, use_day, used FROM pattern WHERE id = ?
    """)
  static let setPatternCounts = Query(
    """
    UPDATE pattern SET scheduled = ?, ready = ?, running = ?, succeeded = ?, failed = ?, cancelled = ?, use_day = ?,
      used = ?
    WHERE id = ?
    """)
  static let pendingInAll = Query("SELECT coalesce(sum(scheduled + ready), 0) FROM pattern")
}
