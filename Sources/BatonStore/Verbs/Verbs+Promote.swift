package import BatonModel

/// When the next scheduled request may become ready. There are two times, because a date that a person wrote down is
/// compared with the wall clock, and everything else with the steady clock. A time is `nil` if nothing waits for it.
package struct NextDue: Hashable, Sendable {
  package var steady: Timestamp?
  package var date: Timestamp?

  package init(steady: Timestamp? = nil, date: Timestamp? = nil) {
    self.steady = steady
    self.date = date
  }

  /// Whether one of the times has come.
  package func hasCome(at now: Moment) -> Bool {
    steady.map { $0 <= now.steady } ?? false || date.map { $0 <= now.date } ?? false
  }

  /// Keeps the earlier time of both, for each clock.
  package mutating func join(_ other: NextDue) {
    steady = [steady, other.steady].compactMap { $0 }.min()
    date = [date, other.date].compactMap { $0 }.min()
  }
}

/// The answer to `Store.promote`: how many requests of each class became ready, and when to promote again.
package struct Promotion: Hashable, Sendable {
  package var classes: [RequirementClass: Int]
  package var nextDue = NextDue()
  /// The live requests that gave way to the next ones of their schedules (`overlap: replace`).
  package var replaced: [Cancellation] = []
}

/// The columns of a pending request that decide when it may start.
struct WaitingRequest {
  var id: Int64
  var requirementClass: RequirementClass
  /// Whether the request was launched before and waits to be resumed.
  var isResumption: Bool
  /// Whether the row is a shard of a divided request, which `SpreadRow` counts.
  var isDivided: Bool
  var earliest: Earliest
  /// When the last request of the identifier's chain begins; `nil` if there is no chain.
  var anchor: Earliest?
  var poke: PokePriority?
  var history: LaunchHistory
  var hasLiveRequest: Bool
  /// How many other requests of its flow it waits for.
  var waitsFor: Int
  /// The time of the calendar, or of `repeat`, for which the request stands; `nil` if none does.
  var scheduledAt: Timestamp?
  var mark = BackfillMark.unrelated
  /// Whether the schedule of the identifier is paused.
  var isPaused = false
  /// Whether a host carries out transfers of the request.
  var hasTransfers = false
}

extension Verbs {
  package func promote(at now: Moment, limit: Int) throws -> Promotion {
    try demandStewardship()
    try need(.due(now, limit))
    let due = try prepare(.due).all(now.steady, limit, row: Self.waiting)
    let dated = try prepare(.dueDates).all(now.date, limit - due.count, row: Self.waiting)
    try need(
      (due + dated).filter { $0.hasTransfers && !$0.isResumption && holds(.identifierOf(RequestID($0.id))) }
        .map { .transfers(RequestID($0.id)) })
    var promotion = Promotion(classes: [:])
    for (requests, isDated) in [(due, false), (dated, true)] {
      for request in requests where holds(.identifierOf(RequestID(request.id))) {
        if isDated, try applySchedule(to: request, stopping: &promotion.replaced, at: now) == .moved { continue }
        guard let waiting = isDated ? try prepare(.waitingRequestByID).first(request.id, row: Self.waiting) : request
        else { continue }
        if try reconsider(waiting, from: .scheduled, at: now).state == .ready {
          promotion.classes[request.requirementClass, default: 0] += 1
        }
      }
    }
    for (requirementClass, count) in try callWaiting(at: now) {
      promotion.classes[requirementClass, default: 0] += count
    }
    promotion.nextDue = try nextDue()
    return promotion
  }

  /// Decides again whether a request is ready, from everything that may keep it waiting. A time may have come on one
  /// clock and not on the other, or the wall clock was set back.
  /// - Parameter old: the state of the request before.
  func reconsider(_ request: WaitingRequest, from old: RequestState, at now: Moment) throws -> Readiness {
    let definition = try knownDefinition(request.requirementClass.definition)
    var readiness =
      request.isResumption
      ? Readiness.resumption(after: .zero, at: now)
      : Readiness.firstLaunch(
        earliest: request.earliest,
        spacedUntil: request.history.spacedUntil(definition.definition, poke: request.poke),
        isHeld: request.hasLiveRequest || request.waitsFor > 0,
        overlap: definition.definition.schedule?.overlap ?? .wait,
        isPaused: request.isPaused && request.scheduledAt != nil, at: now)
    if !request.isResumption, request.hasTransfers, readiness.state == .ready {
      try need(.transfers(RequestID(request.id)))
      let book = TransferBook(try transferRows(of: RequestID(request.id)).map(\.entry))
      if book.turn == .wait { readiness = .waitingForTransfers }
    }
    try prepare(.setReadiness).run(
      readiness.state.code, readiness.cause?.rawValue, readiness.eligibleAt, request.id, now.date)
    if !request.isDivided { try count(pattern: definition.pattern, from: old, to: readiness.state) }
    if old == .ready, readiness.state != .ready, definition.definition.hasKeys {
      try passTurn(of: RequestID(request.id), at: now)
    }
    return readiness
  }

  /// The next times at which a scheduled request may become ready.
  func nextDue() throws -> NextDue {
    let steady = try prepare(.nextEligible).first { $0.time(0) }
    let date = try prepare(.nextDate).first { $0.time(0) }
    var due = NextDue(
      steady: steady.map { $0 >= .heldByKey } == true ? nil : steady, date: date == .distantFuture ? nil : date)
    due.join(NextDue(steady: try nextDueOfLimits()))
    return due
  }

  static func waiting(_ row: Columns) -> WaitingRequest {
    WaitingRequest(
      id: row.int64(0),
      requirementClass: RequirementClass(
        definition: DefinitionID(row.int64(1)), priority: Priority(code: row.int(2))),
      // A shard waits for nothing that its request has waited for.
      isResumption: row.int(3) > 0 || !row.isNull(11), isDivided: !row.isNull(11),
      earliest: Earliest(at: row.time(4), isDated: row.bool(5)),
      anchor: row.optionalTime(12).map { Earliest(at: $0, isDated: row.bool(13)) }, poke: row.poke(6),
      history: LaunchHistory(
        lastFirstLaunch: row.optionalTime(7), noDataInRow: row.int(8),
        usualInterval: row.optionalInt64(10).map { .nanoseconds($0) }),
      hasLiveRequest: row.bool(9), waitsFor: row.int(17), scheduledAt: row.optionalTime(14),
      mark: BackfillMark(code: row.int(15)), isPaused: !row.isNull(16), hasTransfers: !row.isNull(18))
  }
}

extension Query {
  /// The columns that `Verbs.waiting` reads.
  /// - Parameter requests: the table `request` under the name `r`.
  static func waitingColumns(of requests: String) -> String {
    """
    SELECT r.id, r.definition, r.priority, r.launches, r.earliest_at, r.is_dated, r.poke, i.last_first_launch_at,
      i.no_data_in_row, EXISTS (SELECT 1 FROM request v WHERE v.identifier = r.identifier AND v.launches > 0
        AND v.state <= 2 AND v.id <> r.id AND v.head IS NULL),
      i.usual_interval, r.first_unit, i.anchor_at, i.anchor_is_dated, r.scheduled_at, r.backfill, i.paused_at,
      r.waits_for, r.files_on
    FROM \(requests) JOIN identifier i ON i.id = r.identifier
    """
  }
  static let due = Query(
    waitingColumns(of: "request r")
      + " WHERE r.state = 0 AND r.eligible_at <= ? ORDER BY r.eligible_at LIMIT ?")
  static let dueDates = Query(
    waitingColumns(of: "request r")
      + """
       WHERE r.state = 0 AND r.cause = 0 AND r.is_dated = 1 AND r.earliest_at <= ? ORDER BY r.earliest_at LIMIT ?
      """)
  static let waitingRequestByID = Query(waitingColumns(of: "request r") + " WHERE r.id = ? AND r.state <= 1")
  static let heldRequest = Query(
    waitingColumns(of: "request r")
      + " WHERE r.identifier = ? AND r.launches = 0 AND r.state <= 1 AND r.head IS NULL AND r.cause = 3")
  static let setReadiness = Query(
    """
    UPDATE request SET state = ?1, cause = ?2, eligible_at = ?3, held_by = coalesce(cause, held_by),
      ready_at = CASE WHEN ?1 = 1 THEN coalesce(ready_at, ?5) END
    WHERE id = ?4
    """)
  static let nextEligible = Query(
    "SELECT eligible_at FROM request WHERE state = 0 ORDER BY eligible_at LIMIT 1")
  static let nextDate = Query(
    """
    SELECT earliest_at FROM request WHERE state = 0 AND cause = 0 AND is_dated = 1
    ORDER BY earliest_at LIMIT 1
    """)
}
