/// Why the schedule of a job is paused. No request that the calendar has made, or `repeat`, starts while it is; what a
/// person submits starts as ever.
package struct SchedulePause: Hashable, Sendable {
  /// Who paused it.
  package var by: String
  package var since: Timestamp
  /// In the words of the one who paused it; not empty.
  package var reason: String

  package init(by: String, since: Timestamp, reason: String) {
    (self.by, self.since, self.reason) = (by, since, reason)
  }

  /// The longest reason, in bytes of UTF-8.
  package static let longestReason = 500

  /// The time since when it is paused, for people: `2026-03-01 06:30 UTC`.
  package var sinceInWords: String {
    let time = CivilTime(secondsSince1970: since.nanoseconds.dividedDown(by: 1_000_000_000))
    return "\(time.description.dropLast(3)) UTC"
  }
}

/// A change of a schedule that a person asks for.
package enum ScheduleWord: Hashable, Sendable {
  case pause(reason: String)
  case resume
}

/// What a schedule is about to do besides its times: whether it is paused, and which backfill goes on.
package struct ScheduleStanding: Hashable, Sendable {
  /// Since when and why the schedule is paused; `nil` if it is not.
  package var pause: SchedulePause?
  /// The backfill that goes on; `nil` if there is none.
  package var backfill: Backfill?

  package init(pause: SchedulePause? = nil, backfill: Backfill? = nil) {
    (self.pause, self.backfill) = (pause, backfill)
  }

  package var isUsual: Bool { pause == nil && backfill == nil }
}
