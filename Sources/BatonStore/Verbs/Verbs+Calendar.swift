internal import BatonBase
internal import BatonModel

// What a schedule says of times that have passed, and of requests that overlap. The times themselves are computed by
// `JobSchedule.next(after:of:in:)`.

extension JobSchedule {
  /// The begin of the next request after a request of the chain; `nil` if the schedule has ended.
  /// - Parameter anchor: when the last request of the chain begins; `nil` if there is no chain.
  func next(after anchor: Earliest?, for identifier: JobIdentifier, at now: Moment) -> NextOfChain? {
    // With `all`, times that have passed come one after the other. A person may have asked for the request before its
    // time came: then that time is still to come.
    guard missed == .all, let anchor, anchor.isDated, anchor.hasCome(at: now) else {
      return first(for: identifier, at: now)
    }
    return next(after: anchor.at, for: identifier)
  }

  /// The first time from now on; `nil` if there is none.
  func first(for identifier: JobIdentifier, at now: Moment) -> NextOfChain? {
    next(after: now.date, for: identifier)
  }

  /// The run of the calendar that begins at this time, which was computed before.
  func run(at begin: Earliest, of identifier: JobIdentifier) -> NextOfChain {
    if let run = next(after: begin.at + .nanoseconds(-1), for: identifier), run.earliest == begin { return run }
    // It was computed by an earlier text of the schedule.
    return NextOfChain(earliest: begin, scheduledAt: begin.at)
  }

  private func next(after time: Timestamp, for identifier: JobIdentifier) -> NextOfChain? {
    nextRun(after: time, of: identifier, in: zone).map {
      NextOfChain(earliest: Earliest(at: $0.begins, isDated: true), scheduledAt: $0.time)
    }
  }

  /// The offsets of the time zone. A coordinator knows the zones of the definitions that it has accepted. A store that
  /// moves to a machine that does not know them any more keeps its chains, by the clock of UTC.
  var zone: ZoneOffsets { ZoneOffsets.named(timeZone) ?? .utc }

  /// The time after which a request that could not become ready counts as missed (`missed: skip`).
  static let patience = Duration.seconds(60)
}

extension Verbs {
  /// What became of a request whose date has come.
  enum Passed {
    /// It goes on as any other.
    case goesOn
    /// It has been given the next time of its schedule, or its chain has ended.
    case moved
  }

  /// Applies the schedule to a request whose date has come: a time that was missed is left out with `missed: skip`, and
  /// the live request is cancelled with `overlap: replace`.
  /// - Parameter stopped: gets what was cancelled.
  func applySchedule(
    to waiting: WaitingRequest, stopping stopped: inout [Cancellation], at now: Moment
  ) throws -> Passed {
    guard let schedule = try schedule(of: waiting), waiting.earliest.hasCome(at: now) else { return .goesOn }
    if schedule.missed == .skip, now.date - waiting.earliest.at > JobSchedule.patience {
      try moveOn(waiting, by: schedule, because: .missedTime, at: now)
      return .moved
    }
    if schedule.overlap == .replace, waiting.hasLiveRequest, waiting.mark != .follows,
      let live = try prepare(.liveBeside).first(waiting.id, row: { RequestID($0.int64(0)) })
    {
      stopped += try cancel(.request(live), by: "schedule", at: now)
    }
    return .goesOn
  }

  /// Applies `overlap: skip` to the request that waited for the end of the live one.
  /// - Returns: whether the request was given the next time of its schedule.
  func skipOverlap(_ waiting: WaitingRequest, at now: Moment) throws -> Bool {
    guard let schedule = try schedule(of: waiting), schedule.overlap == .skip, waiting.mark != .follows,
      waiting.earliest.hasCome(at: now)
    else { return false }
    try moveOn(waiting, by: schedule, because: .overlapped, at: now)
    return true
  }

  /// The schedule that has set the request's date; `nil` if a person or a poke has asked for the request.
  private func schedule(of waiting: WaitingRequest) throws -> JobSchedule? {
    guard !waiting.isResumption, waiting.scheduledAt != nil, waiting.mark != .isPart, waiting.earliest.isDated,
      waiting.earliest == waiting.anchor
    else { return nil }
    return try knownDefinition(waiting.requirementClass.definition).definition.schedule
  }

  /// Gives the request the next time of its schedule. If there is none, the request ends.
  private func moveOn(
    _ waiting: WaitingRequest, by schedule: JobSchedule, because event: RequestEvent, at now: Moment
  ) throws {
    guard let owner = try prepare(.ownerOfRequest).first(waiting.id, row: { ($0.int64(0), $0.text(1)) }) else { return }
    try note(event, detail: nil, of: waiting.id, at: now)
    try tellMissed(waiting, because: event, at: now)
    let identifier = JobIdentifier(trusted: owner.1)
    guard let next = schedule.first(for: identifier, at: now) else {
      _ = try cancel(.request(RequestID(waiting.id)), by: "schedule", at: now)
      return
    }
    try giveTime(next, to: waiting.id, .unrelated)
    try setAnchor(next.earliest, of: owner.0)
    let definition = try knownDefinition(waiting.requirementClass.definition).definition
    try setPatience(of: waiting.id, definition, next.earliest, at: now)
    var moved = waiting
    (moved.earliest, moved.anchor, moved.scheduledAt) = (next.earliest, next.earliest, next.scheduledAt)
    _ = try reconsider(moved, from: .scheduled, at: now)
  }
}

extension Query {
  static let ownerOfRequest = Query(
    "SELECT i.id, i.name FROM request r JOIN identifier i ON i.id = r.identifier WHERE r.id = ?")
  /// The live request of the identifier to which the request belongs.
  static let liveBeside = Query(
    """
    SELECT v.id FROM request r JOIN request v ON v.identifier = r.identifier
    WHERE r.id = ? AND v.launches > 0 AND v.state <= 2 AND v.id <> r.id AND v.head IS NULL
    """)
}
