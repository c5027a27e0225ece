import BatonBase
package import BatonCoordinator
package import BatonModel

extension JSONValue {
  package init(_ pause: SchedulePause?) {
    guard let pause else {
      self = .null
      return
    }
    self = [
      "by": JSONValue(pause.by), "since": JSONValue(pause.since), "reason": JSONValue(pause.reason),
    ]
  }

  package init(_ backfill: Backfill?) {
    guard let backfill else {
      self = .null
      return
    }
    self = [
      "by": JSONValue(backfill.by), "startedAt": JSONValue(backfill.startedAt), "from": JSONValue(backfill.from),
      "until": JSONValue(backfill.until), "lastTime": JSONValue(backfill.after), "made": JSONValue(backfill.made),
      "total": JSONValue(backfill.total),
    ]
  }

  /// A schedule whose pause has begun or ended.
  package init(_ changed: ChangedSchedule, isPaused: Bool) {
    self = [
      "identifier": JSONValue(changed.identifier.rawValue), "isPaused": .bool(isPaused),
      "paused": JSONValue(changed.pause),
    ]
  }

  /// A backfill that has begun, or would.
  package init(_ plan: BackfillPlan, of identifier: JobIdentifier, isRehearsal: Bool) {
    self = [
      "identifier": JSONValue(identifier.rawValue), "begun": .bool(!isRehearsal), "total": JSONValue(plan.count),
      "first": JSONValue(plan.first), "last": JSONValue(plan.last),
    ]
  }

  /// A backfill that was stopped.
  package init(stopped backfill: Backfill, of identifier: JobIdentifier) {
    self = ["identifier": JSONValue(identifier.rawValue), "stopped": .bool(true), "backfill": JSONValue(backfill)]
  }
}

/// The range of a backfill as people write it: dates of the schedule's time zone, or times of RFC 3339 in UTC.
package struct BackfillRange: Hashable, Sendable {
  package var from: Timestamp
  /// The first time beyond the range.
  package var until: Timestamp

  package struct Mistake: Error, CustomStringConvertible {
    package var description: String
  }

  /// - Parameters:
  ///   - from: a date, which begins at midnight, or a time.
  ///   - to: a date, which belongs to the range as a whole, or a time, which belongs to it.
  ///   - timeZone: the time zone of the schedule.
  package init(from: String, to: String, timeZone: String) throws(Mistake) {
    self.from = try Self.time(from, isEnd: false, timeZone)
    until = try Self.time(to, isEnd: true, timeZone)
  }

  private static func time(_ text: String, isEnd: Bool, _ timeZone: String) throws(Mistake) -> Timestamp {
    if let time = Timestamp(rfc3339: text) { return isEnd ? time + .nanoseconds(1) : time }
    guard let date = CivilDate(text) else {
      throw Mistake(
        description: "'\(String(text.prefix(40)).onOneLine)' is neither a date such as 2026-01-31 nor a time such as "
          + "2026-01-31T02:00:00Z")
    }
    guard let zone = ZoneOffsets.named(timeZone) else {
      throw Mistake(
        description:
          "this machine does not know the time zone \(timeZone) of the schedule; write the times in UTC, such "
          + "as 2026-01-31T02:00:00Z")
    }
    let day = CivilDate(daysSince1970: date.daysSince1970 + (isEnd ? 1 : 0))
    let (nanoseconds, overflow) = zone.instant(of: CivilTime(day)).multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { throw Mistake(description: "'\(text)' is out of range: write a year from 1678 to 2261") }
    return Timestamp(nanoseconds: nanoseconds)
  }
}

extension Backfill {
  /// How far the backfill has come, for people: `backfill 12 of 31`.
  package var words: String { "backfill \(made) of \(max(made, total))" }
}
