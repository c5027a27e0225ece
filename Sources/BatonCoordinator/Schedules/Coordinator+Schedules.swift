import BatonBase
package import BatonModel
import BatonStore
import BatonWire

/// A schedule that a person has paused or resumed.
package struct ChangedSchedule: Hashable, Sendable {
  package var identifier: JobIdentifier
  /// The pause that has begun or ended.
  package var pause: SchedulePause

  package init(identifier: JobIdentifier, pause: SchedulePause) { (self.identifier, self.pause) = (identifier, pause) }
}

/// Which times of a schedule get requests: those from `from` on and before `until`, as far as they have passed.
package struct BackfillOrder: Hashable, Sendable {
  package var identifier: JobIdentifier
  package var from: Timestamp
  package var until: Timestamp

  package init(identifier: JobIdentifier, from: Timestamp, until: Timestamp) {
    (self.identifier, self.from, self.until) = (identifier, from, until)
  }
}

/// What operators say of schedules.
extension Coordinator {
  /// Each schedule is changed in a transaction of its own. If one fails, those before it stay changed, and the call can
  /// be repeated.
  /// - Throws: `.invalid` for a reason that is empty or too long; `.notFound` if the pattern names no definition that
  ///   comes by itself; `.conflict` if none of those that are to be resumed is paused.
  package func setSchedules(
    _ pattern: IdentifierPattern, _ word: ScheduleWord, by principal: String
  ) async throws -> [ChangedSchedule] {
    do { try WireLimits.principal.check(name: principal) } catch { throw OperatorError.invalid(error.message) }
    try Self.check(word)
    let (named, standings) = try await translating {
      (try await self.store.definitions().map(\.definition), try await self.store.scheduleStandings())
    }
    let paused = standings.filter { $0.value.pause != nil }.keys
    // The definition of a paused schedule may have changed or gone since.
    var found = Set(word == .resume ? paused.filter { pattern.matches($0) } : [])
    for definition in named where definition.repeats && pattern.names(definition.pattern) {
      if let literal = definition.pattern.literal {
        found.insert(literal)
      } else if case .pause = word {
        found.formUnion(
          try await chains(of: pattern.literal.map { IdentifierPattern($0) } ?? definition.pattern, within: pattern))
      }
    }
    guard !found.isEmpty else { throw Self.nothingComes(below: pattern, named) }
    var changed: [ChangedSchedule] = []
    defer { scheduleWasSaid() }
    for identifier in found.sorted() {
      switch word {
      case .pause(let reason):
        let now = now().moment
        try await translating {
          try await self.store.pauseSchedule(of: identifier, by: principal, because: reason, at: now)
        }
        changed.append(
          ChangedSchedule(
            identifier: identifier,
            pause: SchedulePause(
              by: principal, since: standings[identifier]?.pause?.since ?? now.date, reason: reason)))
      case .resume:
        let ended = try await translating {
          try await self.store.resumeSchedule(of: identifier, at: self.now().moment)
        }
        if let ended { changed.append(ChangedSchedule(identifier: identifier, pause: ended)) }
      }
    }
    guard !changed.isEmpty else {
      throw OperatorError.conflict("no schedule of '\(pattern)' is paused; look at 'baton schedules'")
    }
    return changed
  }

  /// The identifiers of a wildcard that `repeat` has a request for.
  private func chains(of wildcard: IdentifierPattern, within pattern: IdentifierPattern) async throws -> [JobIdentifier]
  {
    let waiting = try await translating {
      try await self.store.requests(
        RequestFilter(states: [.scheduled, .ready], pattern: wildcard), after: nil, limit: Self.mostInstances + 1)
    }
    guard waiting.count <= Self.mostInstances else {
      throw OperatorError.invalid(
        "more than \(Self.mostInstances) requests of '\(wildcard)' wait, which are too many to look at; name a "
          + "narrower pattern")
    }
    return waiting.filter { $0.scheduledAt != nil && pattern.matches($0.identifier) }.map(\.identifier)
  }

  /// The most requests of a wildcard that one call looks at.
  private static let mostInstances = 10_000

  private static func check(_ word: ScheduleWord) throws {
    guard case .pause(let reason) = word else { return }
    guard !reason.allSatisfy(\.isWhitespace) else {
      throw OperatorError.invalid("a pause needs a reason, for those who find the schedule paused: --reason TEXT")
    }
    guard reason.utf8.count <= SchedulePause.longestReason, !reason.unicodeScalars.contains("\0") else {
      throw OperatorError.invalid(
        "the reason of a pause has at most \(SchedulePause.longestReason) bytes, and no NUL character")
    }
  }

  private static func nothingComes(below pattern: IdentifierPattern, _ known: [Definition]) -> OperatorError {
    guard known.contains(where: { pattern.names($0.pattern) }) else {
      return .notFound("there is no job '\(pattern)': look at 'baton schedules'")
    }
    return .notFound(
      "'\(pattern)' does not come by itself: its definition has neither 'schedule' nor 'repeat'; look at "
        + "'baton schedules'")
  }

  /// Nothing is begun in a rehearsal.
  /// - Throws: `.notFound` if no definition of the identifier is applied; `.conflict` if it has no schedule, or if a
  ///   backfill of it goes on; `.invalid` if no time lies in the range, or too many do.
  package func backfill(
    _ order: BackfillOrder, by principal: String, isRehearsal: Bool
  ) async throws -> BackfillPlan {
    do { try WireLimits.principal.check(name: principal) } catch { throw OperatorError.invalid(error.message) }
    let identifier = order.identifier
    let definitions = try await translating { try await self.store.definitions().map(\.definition) }
    guard let definition = definitions.first(where: { $0.pattern.literal == identifier }) else {
      throw OperatorError.notFound("there is no definition of '\(identifier)': look at 'baton schedules'")
    }
    guard let schedule = definition.schedule else {
      throw OperatorError.conflict(
        "'\(identifier)' has no 'schedule', so there are no times to backfill; look at 'baton schedules'")
    }
    let now = now().moment
    let plan = try Self.plan(order, schedule, at: now.date)
    if isRehearsal { return plan }
    let backfill = Backfill(
      by: principal, startedAt: now.date, from: order.from, until: min(order.until, now.date), total: plan.count)
    try await translating {
      try await self.store.startBackfill(
        of: identifier, backfill, seed: .new(under: nil, self.settings.sampler), at: now)
    }
    scheduleWasSaid()
    return plan
  }

  /// The times of the range that have passed.
  private static func plan(
    _ order: BackfillOrder, _ schedule: JobSchedule, at now: Timestamp
  ) throws -> BackfillPlan {
    guard order.from < order.until else {
      throw OperatorError.invalid("the range of the backfill is empty: --from has to be before --to")
    }
    guard Definition.Limits.contains(order.from) else {
      throw OperatorError.invalid(
        "the range of the backfill begins at \(order.from.utc); --from must be from 1970 to 2260")
    }
    let zone = ZoneOffsets.named(schedule.timeZone) ?? .utc
    guard let plan = schedule.backfill(from: order.from, until: min(order.until, now), in: zone) else {
      throw OperatorError.invalid(
        "no time of the schedule of '\(order.identifier)' that has passed lies between \(order.from.utc) and "
          + "\(order.until.utc): \(schedule.cron.text) \(schedule.timeZone)")
    }
    guard plan.count <= Backfill.most else {
      throw OperatorError.invalid(
        "more than \(Backfill.most) times of the schedule of '\(order.identifier)' lie between \(order.from.utc) and "
          + "\(order.until.utc); choose a shorter range, and backfill the rest afterwards")
    }
    return plan
  }

  /// - Throws: `.conflict` if no backfill of the identifier goes on.
  package func stopBackfill(of identifier: JobIdentifier) async throws -> Backfill {
    let ended = try await translating { try await self.store.stopBackfill(of: identifier, at: self.now().moment) }
    guard let ended else {
      throw OperatorError.conflict("no backfill of '\(identifier)' goes on; look at 'baton schedules'")
    }
    scheduleWasSaid()
    return ended
  }

  private func scheduleWasSaid() {
    decide { $0.core.schedulesChanged() }
    watchers.changed(.definitions)
  }
}
