/// When the requests of a job come, by the clock and the calendar of a time zone: the mapping `schedule` of a job file.
///
/// The times are those of `CalendarTimes`, which says what happens on the days on which summer time begins and ends.
package struct JobSchedule: Hashable, Sendable, Codable {
  package var cron: CronExpression
  /// The name of a time zone of the IANA, such as `Europe/Berlin`.
  package var timeZone: String
  /// The longest time by which a run comes later than the calendar says. Each run has a delay of its own, which stays
  /// the same, so that jobs of many identifiers do not come all at once.
  package var jitter: Duration
  /// The local dates on which nothing comes.
  package var exclude: [CivilDate]
  package var missed: MissedRuns
  package var overlap: Overlap
  /// Nothing comes before this time.
  package var from: Timestamp?
  /// Nothing comes after this time.
  package var until: Timestamp?

  package init(
    cron: CronExpression, timeZone: String = "UTC", jitter: Duration = .zero, exclude: [CivilDate] = [],
    missed: MissedRuns = .once, overlap: Overlap = .wait, from: Timestamp? = nil, until: Timestamp? = nil
  ) {
    (self.cron, self.timeZone, self.jitter, self.exclude) = (cron, timeZone, jitter, exclude)
    (self.missed, self.overlap, self.from, self.until) = (missed, overlap, from, until)
  }
}

/// A time of a schedule.
package struct ScheduledRun: Hashable, Sendable {
  /// The time of the calendar, for which the run stands.
  package var time: Timestamp
  /// When it begins: the time and its jitter.
  package var begins: Timestamp
}

/// What happens to the times of a schedule that pass while no coordinator runs, while a request of the job runs on, or
/// while the schedule is paused.
package enum MissedRuns: String, Hashable, Sendable, Codable, CaseIterable {
  /// One request stands for all of them, as soon as it can start.
  case once
  /// Each of them has a request, one after the other.
  case all
  /// They are left out. A request that could not become ready within a minute of its time, because no coordinator ran,
  /// gets the next time.
  case skip
}

/// What happens when the time of a request comes and the request before it has not ended.
package enum Overlap: String, Hashable, Sendable, Codable, CaseIterable {
  /// It waits for the end of the one before, and then starts.
  case wait
  /// It is left out, and gets the next time that comes after the end of the one before.
  case skip
  /// The one before is cancelled. It may run on for its closing window.
  case replace
}

extension JobSchedule {
  /// The first time after `time` that is not before `from`, with its jitter; `nil` if there is none until `until`, or
  /// within 50 years.
  /// - Parameter zone: the offsets of `timeZone`.
  package func next(after time: Timestamp, of identifier: JobIdentifier, in zone: ZoneOffsets) -> Timestamp? {
    nextRun(after: time, of: identifier, in: zone)?.begins
  }

  /// The first run after `time` that is not before `from`; `nil` if there is none until `until`, or within 50 years.
  /// - Parameter zone: the offsets of `timeZone`.
  package func nextRun(after time: Timestamp, of identifier: JobIdentifier, in zone: ZoneOffsets) -> ScheduledRun? {
    let times = CalendarTimes(cron, in: zone, excluding: Set(exclude))
    // A run whose jitter has not passed yet is still to come.
    var begin = max(time, from.map { $0 + .nanoseconds(-1) } ?? time) + (.zero - jitter)
    while let nominal = times.next(after: begin) {
      if let until, nominal > until { return nil }
      let run = nominal + Jitter.delay(of: identifier.rawValue, at: nominal, atMost: jitter)
      if run > time, from.map({ nominal >= $0 }) ?? true { return ScheduledRun(time: nominal, begins: run) }
      begin = nominal
    }
    return nil
  }

  /// The longest jitter. It is at most the time between two runs too, so that no run passes the one before it.
  package static let longestJitter = Duration.seconds(86_400)
  /// The most dates in `exclude`.
  package static let mostExcluded = 366

  /// Checks what no single value says.
  func validate() throws(DefinitionProblem) {
    if !(Duration.zero...Self.longestJitter).contains(jitter) {
      throw DefinitionProblem("schedule.jitter", "must be from 0s to 24h")
    }
    if exclude.count > Self.mostExcluded {
      throw DefinitionProblem("schedule.exclude", "has \(exclude.count) dates; \(Self.mostExcluded) are the most")
    }
    if timeZone.isEmpty || timeZone.utf8.count > 64 || !timeZone.utf8.allSatisfy(Self.isZoneCharacter) {
      throw DefinitionProblem("schedule.timeZone", "must be the name of a time zone, such as Europe/Berlin")
    }
    for (field, date) in [("schedule.from", from), ("schedule.until", until)] {
      if let date, !Definition.Limits.contains(date) {
        throw DefinitionProblem(field, "must be a date from 1970 to 2260")
      }
    }
    if let from, let until, until <= from {
      throw DefinitionProblem("schedule.until", "is not after 'schedule.from'")
    }
  }

  private static func isZoneCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "+"):
      true
    default: false
    }
  }
}

// A store and the wire have the texts.

extension CronExpression: Codable {
  package init(from decoder: any Decoder) throws { self = try Self(decoder.singleValueContainer().decode(String.self)) }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension CivilDate: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let date = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "a date is not of the form 2026-12-25")
    }
    self = date
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
