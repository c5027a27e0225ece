package import BatonModel

/// A limit by key, as it is read and shown.
package struct LimitRecord: Hashable, Sendable {
  package var key: LimitKey
  /// What a person has set; `nil` if the definitions say it.
  package var setting: LimitSetting?
  /// What has limited the last launch with the key; `nil` if there was none.
  package var last: LimitSetting?
  /// How many launches with the key run; 0 for a rate.
  package var running: Int
  /// How many requests wait for the key, counted up to `LimitObstacle.lastPosition`.
  package var waiting: Int
  /// When the next one may start, on the steady clock; `nil` for a concurrency, and if one may start now.
  package var nextAt: Timestamp?

  package init(
    key: LimitKey, setting: LimitSetting? = nil, last: LimitSetting? = nil, running: Int = 0, waiting: Int = 0,
    nextAt: Timestamp? = nil
  ) {
    (self.key, self.setting, self.last) = (key, setting, last)
    (self.running, self.waiting, self.nextAt) = (running, waiting, nextAt)
  }

  /// The record with its time on the wall clock, for people.
  package func onWallClock(at now: Moment) -> LimitRecord {
    var record = self
    record.nextAt = nextAt.map { now.date(ofSteady: $0) }
    return record
  }

  /// The limit that holds.
  package var limit: LimitSetting? { setting ?? last }
}

/// The line in which the row of a request or of a shard waits.
struct KeyWait: Hashable, Sendable {
  var key: LimitKey
  var row: RequestID
  var requirementClass: RequirementClass
}

extension Verbs {
  /// Keys that launches have had lately, or for which a person has set a limit, in the order of their texts.
  /// - Parameters:
  ///   - beginning: what the keys begin with.
  ///   - after: the key after which the page begins.
  package func limits(
    beginningWith beginning: String, after: LimitKey?, limit: Int, at now: Moment
  ) throws -> [LimitRecord] {
    var found: [LimitRecord] = []
    for kind in LimitKind.allCases {
      let first = LimitKey(kind, beginning).name
      let from = after.map { max(first, LimitKey(kind, $0.text).name) } ?? first
      let rows = try prepare(.limitPage).all(from, LimitKey(kind, beginning + "\u{10FFFF}").name, limit + 1) {
        Self.limitRow($0)
      }
      found += try rows.filter { row in after.map { $0 < row.key } ?? true }.map { try record($0, at: now) }
    }
    return Array(found.sorted { $0.key < $1.key }.prefix(limit))
  }

  /// How many requests and shards wait for keys, by the code of their obstacle, together counted up to `most`.
  package func waitingForKeys(most: Int) throws -> [String: Int] {
    let counts = try prepare(.countHeld).all(most) { row in
      (code: LimitKey(name: row.text(0)).obstacle.rawValue, count: row.int(1))
    }
    return Dictionary(counts.map { ($0.code, $0.count) }, uniquingKeysWith: +)
  }

  /// Sets the limit of a key, for all definitions; `nil` leaves it to the definitions again.
  package func setLimit(_ key: LimitKey, _ setting: LimitSetting?, at now: Moment) throws -> LimitRecord {
    var row = try limitRow(key)
    row.setting = setting
    // The next launch tells what its definition says.
    if setting == nil { row.last = nil }
    if case .rate(let rule) = setting {
      // What was used of the rate before may have filled a slower bucket for a long time.
      row.fullAt = min(row.fullAt, now.steady + .nanoseconds(rule.interval.nanoseconds * Int64(rule.burst)))
    }
    if try !lines(of: key).isEmpty { row.look(at: now.steady) }
    try write(row)
    return try record(row, at: now)
  }

  private func record(_ row: LimitRow, at now: Moment) throws -> LimitRecord {
    var record = LimitRecord(key: row.key, setting: row.setting, last: row.last, running: row.running)
    if case .rate(let rule) = record.limit {
      let next = rule.earliest(fullAt: row.fullAt)
      record.nextAt = next > now.steady ? next : nil
    }
    record.waiting = try held == nil ? waiting(in: lines(of: row.key)) : 0
    return record
  }

  private func waiting(in lines: [KeyLine]) throws -> Int {
    try lines.reduce(0) { count, line in
      let left = LimitObstacle.lastPosition - count
      return try left > 0 ? count + waiting(in: line, before: RequestID(.max), most: left) : count
    }
  }

  private func waiting(in line: KeyLine, before row: RequestID, most: Int) throws -> Int {
    let one = line.requirementClass
    return try prepare(.countWaiting).first(
      line.name, one.definition.rawValue, one.priority.rawValue, row.rawValue, most
    ) { $0.int(0) } ?? 0
  }

  /// Says which limit keeps a scheduled request from starting.
  func addLimit(to record: inout RequestRecord, _ definition: Definition) throws {
    guard let wait = record.heldBy else { return }
    record.heldBy = nil
    let row = try limitRow(wait.key)
    record.waitsBecause = row.obstacle(for: definition, at: try held == nil ? place(of: wait, row) : nil)
    record.eligibleAt = record.waitsBecause?.clearsAt ?? .distantFuture
  }

  /// The place of a request among those that wait for its key, from 1: those of a higher priority go first, and older
  /// ones of the same priority. `nil` beyond the last place that is counted.
  private func place(of wait: KeyWait, _ row: LimitRow) throws -> LinePlace? {
    var place = LinePlace()
    for line in try lines(of: wait.key) where line.requirementClass.priority >= wait.requirementClass.priority {
      let isHigher = line.requirementClass.priority > wait.requirementClass.priority
      let count = try waiting(
        in: line, before: isHigher ? RequestID(.max) : wait.row, most: LimitObstacle.lastPosition + 1 - place.position)
      place.position += count
      if place.position > LimitObstacle.lastPosition { return nil }
      // Each definition has a rate of its own, unless a person has set one for all.
      let definition = try knownDefinition(line.requirementClass.definition).definition
      if case .rate(let rule) = row.limit(for: definition) {
        place.taken += .nanoseconds(rule.interval.nanoseconds * Int64(count))
      }
    }
    return place
  }

  /// The first shard of a request that waits for a key; `nil` if none does.
  func heldShard(of head: Int64) throws -> KeyWait? {
    try prepare(.heldShard).first(head, Timestamp.heldByKey) { row in
      KeyWait(
        key: LimitKey(name: row.text(1)), row: RequestID(row.int64(0)),
        requirementClass: RequirementClass(
          definition: DefinitionID(row.int64(2)), priority: Priority(code: row.int(3))))
    }
  }
}

extension Query {
  static let limitPage = Query(
    "SELECT \(limitColumns) FROM limit_key WHERE name >= ? AND name < ? ORDER BY name LIMIT ?")
  /// A name begins with its kind.
  static let countHeld = Query(
    """
    SELECT substr(waits_on, 1, instr(waits_on, ':')), count(*)
    FROM (SELECT waits_on FROM request WHERE \(isHeldByKey) LIMIT ?) AS waiting GROUP BY 1
    """,
    elsewhere: """
      SELECT substr(waits_on, 1, strpos(waits_on, ':')), count(*)
      FROM (SELECT waits_on FROM request WHERE \(isHeldByKey) LIMIT ?1) AS waiting GROUP BY 1
      """)
  static let countWaiting = Query(
    """
    SELECT count(*) FROM (SELECT 1 FROM request WHERE \(waits) AND id < ?4 LIMIT ?5) AS waiting
    """)
  static let heldShard = Query(
    """
    SELECT id, waits_on, definition, priority FROM (
      SELECT id, waits_on, definition, priority FROM request WHERE id = ?1 AND state = 0 AND eligible_at = ?2
      UNION ALL
      SELECT id, waits_on, definition, priority FROM request
        WHERE head = ?1 AND state = 0 AND state <= 2 AND eligible_at = ?2) AS waiting
    ORDER BY id LIMIT 1
    """)
}
