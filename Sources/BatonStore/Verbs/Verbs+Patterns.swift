internal import BatonModel

/// A row of `pattern`, with the number of its requests in each state: the sum of the shares of all coordinators.
struct PatternRow {
  /// The number of the applied definition; `nil` after `remove`.
  var definition: Int64?
  var counts: StateCounts

  var pending: Int { counts[.scheduled] + counts[.ready] }
}

/// What one coordinator has counted for one pattern. Its numbers may be negative; the sums of all shares are not.
struct Share {
  var counts = StateCounts()
  /// The use of the definition's daily allowance by the launches whose ends this coordinator has stored.
  var use = DailyUse()
}

/// The number of requests in each state, indexed by the state's code. It is a vector, because each transition changes
/// two of the numbers.
struct StateCounts: Hashable {
  private var values = SIMD8<Int>()

  init() {}
  private init(values: SIMD8<Int>) { self.values = values }

  subscript(state: RequestState) -> Int {
    get { values[state.code] }
    set { values[state.code] = newValue }
  }

  var unfinished: Int { self[.scheduled] + self[.ready] + self[.running] }

  /// Counts a request that changed its state; `nil` stands for a request that does not exist.
  mutating func move(from old: RequestState?, to new: RequestState?) {
    if let old { self[old] -= 1 }
    if let new { self[new] += 1 }
  }

  static func + (one: StateCounts, other: StateCounts) -> StateCounts {
    StateCounts(values: one.values &+ other.values)
  }
}

extension Verbs {
  /// The row of a pattern. Throws `.corrupt` if there is none.
  func pattern(_ id: Int64) throws -> PatternRow {
    if let known = patterns[id] { return known }
    try need(.pattern(id))
    let (own, epoch) = (try share(id), tenure?.epoch ?? -1)
    let row = try prepare(.pattern).first(id, epoch) { row in
      PatternRow(definition: row.optionalInt64(0), counts: Self.stateCounts(row, from: 1) + own.counts)
    }
    guard let row else { throw StoreError(.corrupt, "A definition in the database names a pattern that is not there.") }
    patterns[id] = row
    return row
  }

  /// This coordinator's share of a pattern.
  private func share(_ id: Int64) throws -> Share {
    if let known = shares[id] { return known }
    guard let tenure else { return Share() }
    try need(.pattern(id))
    let share = try prepare(.share).first(id, tenure.epoch) { row in
      Share(counts: Self.stateCounts(row, from: 0), use: Self.use(row, from: 6))
    }
    shares[id] = share ?? Share()
    return share ?? Share()
  }

  /// Changes this coordinator's share of a pattern.
  func change(_ id: Int64, _ body: (inout Share) -> Void) throws {
    var share = try share(id)
    body(&share)
    shares[id] = share
    changedShares.insert(id)
  }

  /// Counts a request that changed its state from `old` to `new`. `nil` stands for a request that does not exist before
  /// or afterwards.
  func count(pattern id: Int64, from old: RequestState?, to new: RequestState?) throws {
    guard old != new else { return }
    if old?.isPending == true { pendingChange -= 1 }
    if new?.isPending == true { pendingChange += 1 }
    try change(id) { $0.counts.move(from: old, to: new) }
    patterns[id]?.counts.move(from: old, to: new)
    let change = (new?.isPending == true ? 1 : 0) - (old?.isPending == true ? 1 : 0)
    if change != 0 { try notePending(change, pattern: id) }
  }

  /// The number of pending requests in the store.
  func pendingInAll() throws -> Int {
    if let known = pendingBefore { return known + pendingChange }
    let before = try prepare(.pendingInAll).first { $0.int(0) } ?? 0
    pendingBefore = before
    return before + pendingChange
  }

  func write(_ share: Share, of pattern: Int64) throws {
    guard let tenure else { throw StoreError(.corrupt, "Something was counted without a tenure.") }
    let counts = share.counts
    try prepare(.setShare).run(
      pattern, tenure.epoch, counts[.scheduled], counts[.ready], counts[.running], counts[.succeeded], counts[.failed],
      counts[.cancelled], share.use.day, share.use.used.nanoseconds)
  }

  /// Reads six columns, one for each state in the order of the codes.
  static func stateCounts(_ row: Columns, from index: Int32) -> StateCounts {
    var counts = StateCounts()
    for state in RequestState.allCases { counts[state] = row.int(index + Int32(state.code)) }
    return counts
  }
}

extension Query {
  /// The applied definition, and the sums of the shares of the other coordinators.
  static let pattern = Query(
    """
    SELECT p.definition, CAST(coalesce(sum(s.scheduled), 0) AS bigint), CAST(coalesce(sum(s.ready), 0) AS bigint),
      CAST(coalesce(sum(s.running), 0) AS bigint), CAST(coalesce(sum(s.succeeded), 0) AS bigint),
      CAST(coalesce(sum(s.failed), 0) AS bigint), CAST(coalesce(sum(s.cancelled), 0) AS bigint)
    FROM pattern p LEFT JOIN share s ON s.pattern = p.id AND s.coordinator <> ?2
    WHERE p.id = ?1 GROUP BY p.id
    """)
  static let share = Query(
    """
    SELECT scheduled, ready, running, succeeded, failed, cancelled, use_day, used FROM share
    WHERE pattern = ? AND coordinator = ?
    """)
  static let setShare = Query(
    """
    INSERT INTO share (pattern, coordinator, scheduled, ready, running, succeeded, failed, cancelled, use_day, used)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (pattern, coordinator) DO UPDATE SET scheduled = excluded.scheduled, ready = excluded.ready,
      running = excluded.running, succeeded = excluded.succeeded, failed = excluded.failed,
      cancelled = excluded.cancelled, use_day = excluded.use_day, used = excluded.used
    """)
  static let pendingInAll = Query(
    "SELECT coalesce(sum(pending), 0) FROM coordinator WHERE is_settled = 0")
}
