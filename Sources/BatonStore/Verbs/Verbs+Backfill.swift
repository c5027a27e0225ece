package import BatonModel

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Requests for times of a schedule that have passed.
///
/// A backfill is a range in the row of its identifier, and how far it has come. The next of its requests is submitted
/// when the one before starts, as those of the calendar are, so no crash breaks the row. The time of the calendar that
/// comes next stays the chain's anchor meanwhile. When that time comes, its request goes before the backfill's.
extension Verbs {
  /// Begins a backfill.
  /// - Parameters:
  ///   - backfill: the range, and how many times lie in it.
  ///   - seed: the trace of the first request, if it is submitted now.
  /// - Throws: `.refused` if the identifier has no schedule, if a backfill of it goes on, or if no time lies in the
  ///   range.
  package func startBackfill(
    of identifier: JobIdentifier, _ backfill: Backfill, seed: TraceContext, at now: Moment
  ) throws {
    let definition = try repeating(identifier)
    guard let schedule = definition.definition.schedule else {
      throw StoreError(.refused, "'\(identifier)' has 'repeat' and no 'schedule', so there are no times to backfill.")
    }
    let known = try self.identifier(identifier) ?? added(identifier)
    if let other = known.standing.backfill { throw StoreError(.refused, other.refusal(identifier)) }
    var backfill = backfill
    backfill.hasChain = known.waiting != nil
    guard let first = backfill.next(in: schedule) else {
      throw StoreError(.refused, "No time of the schedule of '\(identifier)' lies in the range of the backfill.")
    }
    try write(backfill, of: known.id)
    // What a person has asked for goes first, and so does a request whose time has come. The backfill begins when that
    // request starts.
    guard try known.waiting.map({ try isStillToCome($0, at: now) }) ?? true else { return }
    let new = NewRequest(
      identifier: identifier, definition: definition, priority: definition.definition.priority, payload: nil,
      earliest: Earliest(at: first, isDated: true), principal: backfill.by, trace: seed, parentSpanID: nil,
      scheduledAt: first, mark: .isPart)
    _ = try enqueue(new, as: known, at: now)
  }

  /// Ends a backfill. What runs goes on; the request that waits stands for the next time of the calendar again.
  /// - Returns: how far the backfill had come; `nil` if there was none.
  package func stopBackfill(of identifier: JobIdentifier, at now: Moment) throws -> Backfill? {
    guard let known = try self.identifier(identifier), let backfill = known.standing.backfill else { return nil }
    try write(nil, of: known.id)
    guard let waiting = known.waiting, waiting.mark == .isPart else { return backfill }
    let id = RequestID(waiting.id)
    guard backfill.hasChain, let anchor = known.anchor,
      let schedule = try knownDefinition(waiting.definition).definition.schedule
    else {
      _ = try cancel(.request(id), by: "backfill", at: now)
      return backfill
    }
    try need(.transfers(id))
    if waiting.hasTransfers { try dropTransfers(of: id) }
    try giveTime(schedule.run(at: anchor, of: identifier), to: waiting.id, .unrelated)
    guard let row = try prepare(.waitingRequestByID).first(waiting.id, row: Self.waiting) else { return backfill }
    _ = try reconsider(row, from: waiting.state, at: now)
    return backfill
  }

  /// Whether the request is one of the calendar that waits for its time.
  private func isStillToCome(_ waiting: IdentifierRow.Waiting, at now: Moment) throws -> Bool {
    guard waiting.scheduledAt != nil, waiting.state == .scheduled, !waiting.hasTransfers,
      let row = try prepare(.waitingRequestByID).first(waiting.id, row: Self.waiting)
    else { return false }
    return !row.earliest.hasCome(at: now)
  }

  /// What comes after the request that starts now, while a backfill goes on: the next time of the calendar if it has
  /// come, and otherwise the next time of the backfill.
  /// - Parameter begin: the next request of the calendar; `nil` if there is none.
  /// - Returns: the request that is submitted now; `nil` if there is none.
  func nextOfBackfill(
    after last: Candidate, _ known: IdentifierRow, _ backfill: Backfill, _ schedule: JobSchedule, begin: NextOfChain?,
    at now: Moment
  ) throws -> NextOfChain? {
    var backfill = backfill
    if last.mark == .isPart { backfill.count(last.scheduledAt) }
    // A request that a person has asked for begins a chain that was cancelled again, and the schedule can end.
    if last.mark != .isPart { backfill.hasChain = begin != nil }
    guard let time = backfill.next(in: schedule) else {
      try write(nil, of: known.id)
      return begin
    }
    try write(backfill, of: known.id)
    if let begin, begin.earliest.hasCome(at: now) { return begin }
    if let begin { try setAnchor(begin.earliest, of: known.id) }
    return NextOfChain(
      earliest: Earliest(at: time, isDated: true), scheduledAt: time, mark: .isPart, principal: backfill.by)
  }

  /// A waiting request of a backfill gets its time by the new schedule.
  func moveInBackfill(_ request: LaunchedRequest, to schedule: JobSchedule, at now: Moment) throws -> Bool {
    guard let known = try identifier(request.identifier), known.waiting?.mark == .isPart,
      let backfill = known.standing.backfill
    else { return false }
    if backfill.hasChain, let next = schedule.first(for: request.identifier, at: now) {
      try setAnchor(next.earliest, of: known.id)
    }
    if let time = backfill.next(in: schedule) {
      let run = NextOfChain(earliest: Earliest(at: time, isDated: true), scheduledAt: time)
      try giveTime(run, to: request.id.rawValue, .isPart)
      return true
    }
    try write(nil, of: known.id)
    return false
  }

  /// Writes for which time a waiting request stands, and when it begins.
  func giveTime(_ run: NextOfChain, to request: Int64, _ mark: BackfillMark) throws {
    try prepare(.setScheduled).run(run.earliest.at, run.earliest.isDated, run.scheduledAt, mark.rawValue, request)
  }

  /// Forgets the backfill of an identifier whose waiting request is cancelled: nothing submits the next one.
  func endBackfill(of identifier: Int64) throws { try prepare(.endBackfill).run(identifier) }

  private func write(_ backfill: Backfill?, of identifier: Int64) throws {
    try prepare(.setBackfill).run(try backfill?.stored, identifier)
  }
}

/// A request of a chain that is about to be submitted.
struct NextOfChain {
  var earliest: Earliest
  /// The time for which it stands, on the wall clock.
  var scheduledAt: Timestamp
  var mark = BackfillMark.unrelated
  /// Who asked for it; `nil` if that is who asked for the one before.
  var principal: String?
}

extension Backfill {
  init?(stored text: String) {
    guard let read = try? JSONDecoder().decode(Backfill.self, from: Data(text.utf8)) else { return nil }
    self = read
  }

  fileprivate var stored: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }

  /// The next time of the schedule that has had no request that was launched; `nil` if there is none.
  func next(in schedule: JobSchedule) -> Timestamp? {
    let next = schedule.nominal(
      after: max(after ?? from + .nanoseconds(-1), from + .nanoseconds(-1)), in: schedule.zone)
    return next.flatMap { $0 < until ? $0 : nil }
  }

  /// The request for this time is launched.
  fileprivate mutating func count(_ time: Timestamp?) {
    made += 1
    if let time { after = max(after ?? time, time) }
  }

  fileprivate func refusal(_ identifier: JobIdentifier) -> String {
    """
    A backfill of '\(identifier)' goes on already: \(made) of \(total) times. Wait for its end, or stop it (baton \
    schedules backfill \(identifier) --stop).
    """
  }
}

extension Query {
  static let setBackfill = Query("UPDATE identifier SET backfill = ? WHERE id = ?")
  static let endBackfill = Query("UPDATE identifier SET backfill = NULL WHERE id = ? AND backfill IS NOT NULL")
  static let setScheduled = Query(
    "UPDATE request SET earliest_at = ?, is_dated = ?, scheduled_at = ?, backfill = ? WHERE id = ?")
}
