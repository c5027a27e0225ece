package import BatonModel

extension Verbs {
  /// How many requests of the same class start before it: those that are ready and older, and, if it is scheduled,
  /// those that become eligible earlier. Dates and times of the steady clock are compared by the last stored reading of
  /// the clocks. Counting stops at `countLimit`: the answer `countLimit + 1` stands for more.
  package func position(of request: RequestID) throws -> Int? {
    guard let record = try self.request(request) else { return nil }
    let (definition, priority) = (record.definition.rawValue, record.priority.rawValue)
    switch record.state {
    case .ready: return try prepare(.readyBefore).first(definition, priority, request.rawValue) { $0.int(0) }
    case .scheduled:
      // Those that wait for its key, also of other classes.
      if case .key(let limit) = record.waitsBecause?.detail {
        return limit.position.map { $0 - 1 } ?? Self.countLimit + 1
      }
      return try scheduledPosition(of: record)
    case .running, .succeeded, .failed, .cancelled: return nil
    }
  }

  private func scheduledPosition(of record: RequestRecord) throws -> Int {
    let (definition, priority) = (record.definition.rawValue, record.priority.rawValue)
    let moment = try clock()?.moment ?? Moment(Timestamp(nanoseconds: 0))
    let (steady, date) =
      record.isDated
      ? (Earliest(at: record.eligibleAt, isDated: true).steady(at: moment), record.eligibleAt)
      : (record.eligibleAt, moment.date(ofSteady: record.eligibleAt))
    let ready = try prepare(.readyBefore).first(definition, priority, Int64.max) { $0.int(0) } ?? 0
    let timed = try prepare(.eligibleBefore).first(steady, definition, priority) { $0.int(0) } ?? 0
    let dated = try prepare(.datedBefore).first(date, definition, priority) { $0.int(0) } ?? 0
    return min(ready + timed + dated, Self.countLimit + 1)
  }
}

extension Query {
  static let readyBefore = capped(
    "state = 1 AND definition = ?1 AND priority = ?2 AND id < ?3",
    // A list of one, as in `ListSource.planned`.
    elsewhere: "state = 1 AND definition = ANY (ARRAY[?1]) AND priority = ?2 AND id < ?3")
  static let eligibleBefore = capped("state = 0 AND eligible_at < ?1 AND definition = ?2 AND priority = ?3")
  static let datedBefore = capped(
    "state = 0 AND cause = 0 AND is_dated = 1 AND earliest_at < ?1 AND definition = ?2 AND priority = ?3")

  /// Counts the requests that satisfy the condition, as far as anything waits for the number.
  private static func capped(_ condition: String, elsewhere: String? = nil) -> Query {
    let text = { (condition: String) in
      "SELECT count(*) FROM (SELECT 1 FROM request WHERE \(condition) LIMIT \(Verbs.countLimit + 1)) AS found"
    }
    return Query(text(condition), elsewhere: elsewhere.map(text))
  }
}
