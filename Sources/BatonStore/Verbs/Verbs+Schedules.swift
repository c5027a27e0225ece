package import BatonModel

/// What a person has said of a schedule: that it is paused, or goes on.
///
/// A schedule concerns one identifier. Its row has the pause, so every verb that decides when a request of the
/// identifier starts has it too, and it stays whichever definition is applied.
extension Verbs {
  /// Pauses a schedule. The request of the calendar that waits starts when the schedule is resumed; what runs goes on.
  /// A schedule that is paused already stays paused since then, with the new reason.
  /// - Throws: `.refused` if the identifier has no definition that comes by itself.
  package func pauseSchedule(
    of identifier: JobIdentifier, by principal: String, because reason: String, at now: Moment
  ) throws {
    _ = try repeating(identifier)
    let known = try self.identifier(identifier) ?? added(identifier)
    let since = known.standing.pause?.since ?? now.date
    try prepare(.setPause).run(since, principal, reason, known.id)
    guard let waiting = known.waiting, waiting.scheduledAt != nil else { return }
    try note(.schedulePaused, detail: "\(principal): \(reason)", of: waiting.id, at: now)
    // A request whose transfers go on is looked at again when they have ended.
    if try waiting.hasTransfers && isMovingFiles(waiting) { return }
    guard let row = try prepare(.waitingRequestByID).first(waiting.id, row: Self.waiting) else { return }
    _ = try reconsider(row, from: waiting.state, at: now)
  }

  /// Ends the pause of a schedule. The request that has waited for this end is promoted, so that the times that have
  /// passed count as `missed` says.
  /// - Returns: the pause that has ended; `nil` if the schedule was not paused.
  package func resumeSchedule(of identifier: JobIdentifier, at now: Moment) throws -> SchedulePause? {
    guard let known = try self.identifier(identifier), let pause = known.standing.pause else { return nil }
    try prepare(.setPause).run(Timestamp?.none, String?.none, String?.none, known.id)
    guard let waiting = known.waiting, waiting.scheduledAt != nil else { return pause }
    try note(.scheduleResumed, detail: nil, of: waiting.id, at: now)
    guard try isPaused(waiting) else { return pause }
    try forgetPause(of: waiting)
    guard let row = try prepare(.waitingRequestByID).first(waiting.id, row: Self.waiting) else { return pause }
    // Promotion decides what `missed` and `overlap` say of a time that has passed. A request that has its files has had
    // its time before.
    if row.earliest.isDated, row.earliest.hasCome(at: now), !waiting.hasTransfers { return pause }
    _ = try reconsider(row, from: .scheduled, at: now)
    return pause
  }

  /// The schedules of which a person has said something: those that are paused, or of which a backfill goes on.
  package func scheduleStandings() throws -> [JobIdentifier: ScheduleStanding] {
    let rows = try prepare(.scheduleStandings).all { row in
      (JobIdentifier(trusted: row.text(0)), Self.standing(row, from: 1))
    }
    return Dictionary(rows) { first, _ in first }
  }

  /// The waiting request waits for its time again, and no longer for the end of a pause. Its wait then began with its
  /// time.
  func forgetPause(of waiting: IdentifierRow.Waiting) throws {
    if try isPaused(waiting) { try prepare(.forgetPause).run(waiting.id) }
  }

  private func isPaused(_ waiting: IdentifierRow.Waiting) throws -> Bool {
    guard waiting.state == .scheduled, waiting.scheduledAt != nil else { return false }
    return try prepare(.isPaused).first(waiting.id, Timestamp.distantFuture, row: { _ in true }) ?? false
  }

  private func isMovingFiles(_ waiting: IdentifierRow.Waiting) throws -> Bool {
    try prepare(.waitsForTransfers).first(waiting.id, Timestamp.distantFuture, row: { _ in true }) ?? false
  }

  /// The applied definition of an identifier, which comes by itself.
  func repeating(_ identifier: JobIdentifier) throws -> FrozenDefinition {
    guard let definition = try applied(for: identifier) else {
      throw StoreError(.notFound, "There is no definition of '\(identifier)'; look at 'baton schedules'.")
    }
    guard definition.definition.repeats else {
      throw StoreError(
        .refused,
        "'\(identifier)' does not come by itself: its definition has neither 'schedule' nor 'repeat'.")
    }
    return definition
  }

  /// The row of an identifier that has had no request.
  func added(_ identifier: JobIdentifier) throws -> IdentifierRow {
    let id = try draw(.identifier)
    try prepare(.insertIdentifier).run(id, identifier.rawValue, 0)
    return IdentifierRow(id: id, lastNumber: 0, history: LaunchHistory(lastFirstLaunch: nil, noDataInRow: 0))
  }

  /// Reads four columns: since when, by whom and why the schedule is paused, and the backfill.
  static func standing(_ row: Columns, from index: Int32) -> ScheduleStanding {
    ScheduleStanding(
      pause: row.optionalTime(index).map {
        SchedulePause(
          by: row.optionalText(index + 1) ?? "", since: $0, reason: row.optionalText(index + 2) ?? "")
      }, backfill: row.optionalText(index + 3).flatMap(Backfill.init(stored:)))
  }
}

extension BackfillMark {
  init(code: Int) {
    guard let mark = BackfillMark(rawValue: code) else {
      preconditionFailure("the schema allows no mark \(code) of a backfill")
    }
    self = mark
  }
}

extension Query {
  static let setPause = Query("UPDATE identifier SET paused_at = ?, paused_by = ?, paused_because = ? WHERE id = ?")
  static let isPaused = Query(
    "SELECT 1 FROM request WHERE id = ?1 AND state = 0 AND cause = 1 AND eligible_at = ?2 AND scheduled_at IS NOT NULL")
  static let forgetPause = Query("UPDATE request SET cause = 0 WHERE id = ?")
  static let scheduleStandings = Query(
    """
    SELECT name, paused_at, paused_by, paused_because, backfill FROM identifier
    WHERE paused_at IS NOT NULL OR backfill IS NOT NULL ORDER BY id
    """)
}
