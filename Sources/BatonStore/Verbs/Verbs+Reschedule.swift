internal import BatonModel

/// When the waiting request of an identifier begins under another definition, and where its chain is counted from.
///
/// Where the new text says something else than the old one about the begin date or the repetition, the request follows
/// the new text. A date that a submission has brought stays if the text is the same there.
struct Reschedule: Hashable {
  var earliest: Earliest
  /// `nil` if the chain is counted from where it was, or there is none.
  var anchor: Earliest?

  /// - Parameters:
  ///   - earliest: when the request begins under the old definition.
  ///   - submittedAt: when the request was submitted, on both clocks.
  init(_ earliest: Earliest, submittedAt: Moment, from old: Definition, to new: Definition, at now: Moment) {
    let (before, after) = (old.allowed(old.earliestBeginDate), new.allowed(new.earliestBeginDate))
    let isFirst = earliest.isNear(Earliest(before, submittedAt: submittedAt))
    self.earliest = earliest
    if before != after, isFirst || after?.isDate == true {
      let moved = Earliest(after, submittedAt: submittedAt)
      // A chain that has begun goes on at the next time that is counted from the new date.
      self.earliest = isFirst ? moved : new.repeatEvery.map { Chain.next(from: moved, every: $0, at: now) } ?? moved
    } else if !isFirst, let last = earliest.last(of: old.repeatEvery, at: now), let interval = new.repeatEvery,
      interval != old.repeatEvery
    {
      self.earliest = Chain.next(from: last, every: interval, at: now)
    }
    anchor = new.repeatEvery == nil || self.earliest == earliest && old.repeatEvery != nil ? nil : self.earliest
  }
}

extension EarliestBeginDate {
  fileprivate var isDate: Bool {
    switch self {
    case .at: true
    case .afterSubmission: false
    }
  }
}

extension Earliest {
  /// Whether both are the same time. Times on the steady clock are compared roughly, because the wall clock says when a
  /// request was submitted.
  fileprivate func isNear(_ other: Earliest) -> Bool {
    guard isDated == other.isDated else { return false }
    return isDated ? at == other.at : at < other.at + .seconds(1) && other.at < at + .seconds(1)
  }

  /// The time of the chain before this one, which has come; `nil` if this time has come, or the one before has not.
  fileprivate func last(of interval: Duration?, at now: Moment) -> Earliest? {
    guard let interval, !hasCome(at: now) else { return nil }
    let last = Earliest(at: at + (.zero - interval), isDated: isDated)
    return last.hasCome(at: now) ? last : nil
  }
}

extension Verbs {
  /// Decides again when a pending request starts, after it was given another definition: its begin date, its place in
  /// the chain, the spacing of a refresh, its transfers, and the wait for a retry.
  func reschedule(_ request: LaunchedRequest, from old: Definition, to new: Definition, at now: Moment) throws {
    guard request.launches == 0, !request.isSpread else {
      if new.retry != old.retry { try moveRetries(of: request, from: old, to: new, at: now) }
      return
    }
    if request.hasTransfers {
      // Its time has come before. Transfers of the same text go on, others begin again.
      guard new.transfers != old.transfers else { return }
      try need(.transfers(request.id))
      try dropTransfers(of: request.id)
    }
    guard var waiting = try prepare(.waitingRequestByID).first(request.id.rawValue, row: Self.waiting) else { return }
    // A poke asks for a start now, so the date of the definition does not count.
    if waiting.poke == nil { waiting.earliest = try move(request, waiting.earliest, from: old, to: new, at: now) }
    _ = try reconsider(waiting, from: request.state, at: now)
  }

  /// Writes when the request begins under the new definition.
  private func move(
    _ request: LaunchedRequest, _ earliest: Earliest, from old: Definition, to new: Definition, at now: Moment
  ) throws -> Earliest {
    let date = try prepare(.submittedAt).first(request.id.rawValue) { $0.time(0) } ?? now.date
    let submittedAt = Moment(date: date, steady: now.steady + min(.zero, date - now.date))
    if let schedule = new.schedule {
      guard schedule != old.schedule else { return earliest }
      if try moveInBackfill(request, to: schedule, at: now) {
        return try prepare(.waitingRequestByID).first(request.id.rawValue, row: Self.waiting)?.earliest ?? earliest
      }
      guard let next = schedule.first(for: request.identifier, at: now) else { return earliest }
      try giveTime(next, to: request.id.rawValue, .unrelated)
      try setAnchor(next.earliest, of: request.identifierID)
      return next.earliest
    }
    let moved = Reschedule(earliest, submittedAt: submittedAt, from: old, to: new, at: now)
    if moved.earliest != earliest {
      try prepare(.setEarliest).run(moved.earliest.at, moved.earliest.isDated, request.id.rawValue)
    }
    if let anchor = moved.anchor { try setAnchor(anchor, of: request.identifierID) }
    return moved.earliest
  }

  /// Counts the waits after failures from the ends of the launches again, by the rule of the new definition.
  private func moveRetries(
    of request: LaunchedRequest, from old: Definition, to new: Definition, at now: Moment
  ) throws {
    for id in try shardIDs(of: request) {
      let found = try prepare(.waitAfterFailure).first(id, Timestamp.distantFuture) { ($0.time(0), $0.int(1)) }
      guard let (eligibleAt, failures) = found, failures > 0 else { continue }
      let (before, after) = (
        old.retry.wait(after: failures, of: RequestID(id)), new.retry.wait(after: failures, of: RequestID(id))
      )
      try prepare(.setEligible).run(eligibleAt + (after - before), id)
    }
  }

  /// Makes the request due now if it waits for its next launch after a failed or lost one, and those of its shards that
  /// do.
  /// - Returns: whether anything waited.
  func makeRetryDue(_ request: LaunchedRequest, at now: Moment) throws -> Bool {
    guard request.state.isPending else { return false }
    var hasWaited = false
    for id in try shardIDs(of: request) {
      guard let waiting = try prepare(.backingOff).first(id, Timestamp.distantFuture, row: Self.waiting) else {
        continue
      }
      _ = try reconsider(waiting, from: .scheduled, at: now)
      hasWaited = true
    }
    if hasWaited { try note(.retried, detail: nil, of: request.id.rawValue, at: now) }
    return hasWaited
  }
}

extension Query {
  static let setEarliest = Query("UPDATE request SET earliest_at = ?, is_dated = ? WHERE id = ?")
  static let waitAfterFailure = Query(
    """
    SELECT eligible_at, failures FROM request
    WHERE id = ?1 AND state = 0 AND cause = 2 AND outcome = 'failed' AND eligible_at < ?2
    """)
  /// A request that waits for its transfers, or for a lane, waits for no time.
  static let backingOff = Query(
    waitingColumns(of: "request r")
      + """
       WHERE r.id = ?1 AND r.state = 0 AND r.cause = 2 AND (r.outcome = 'failed' OR r.outcome = 'lost')
        AND r.eligible_at < ?2
      """)
}
