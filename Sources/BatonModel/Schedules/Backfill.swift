/// Requests for the times of a schedule that have passed, one after the other, the earliest first.
package struct Backfill: Hashable, Sendable, Codable {
  /// Who asked for it.
  package var by: String
  package var startedAt: Timestamp
  /// No time before this one has a request.
  package var from: Timestamp
  /// No time from this one on has a request.
  package var until: Timestamp
  /// The last time whose request was launched; `nil` if none was.
  package var after: Timestamp?
  /// How many times have had a request that was launched.
  package var made: Int
  /// How many times lie in the range by the schedule that was applied at the start.
  package var total: Int
  /// Whether the job had a request of the calendar when the backfill began. The calendar then goes on with its own
  /// times.
  package var hasChain: Bool

  package init(
    by: String, startedAt: Timestamp, from: Timestamp, until: Timestamp, after: Timestamp? = nil, made: Int = 0,
    total: Int, hasChain: Bool = false
  ) {
    (self.by, self.startedAt, self.from, self.until) = (by, startedAt, from, until)
    (self.after, self.made, self.total, self.hasChain) = (after, made, total, hasChain)
  }

  /// The most times of one backfill.
  package static let most = 10_000
}

/// What a backfill has to do.
package struct BackfillPlan: Hashable, Sendable {
  package var count: Int
  package var first: Timestamp
  package var last: Timestamp

  package init(count: Int, first: Timestamp, last: Timestamp) {
    (self.count, self.first, self.last) = (count, first, last)
  }
}

/// What a backfill request stands for, in the row of the request. The numbers are part of the schema: never change one.
package enum BackfillMark: Int, Hashable, Sendable {
  /// The request has nothing to do with a backfill.
  case unrelated = 0
  /// The request stands for a time of a backfill.
  case isPart = 1
  /// The request is the calendar's own, and was submitted when a request of a backfill started. It waits for the end of
  /// that request, with each value of `overlap`.
  case follows = 2
}

extension JobSchedule {
  /// The times of the calendar, without jitter, from `from` on and before `until`.
  /// - Parameter zone: the offsets of `timeZone`.
  /// - Returns: `nil` if there is none. At most `Backfill.most + 1` are counted.
  package func backfill(from begin: Timestamp, until end: Timestamp, in zone: ZoneOffsets) -> BackfillPlan? {
    var plan: BackfillPlan?
    var last = begin + .nanoseconds(-1)
    let times = CalendarTimes(cron, in: zone, excluding: Set(exclude))
    while let time = nominal(after: last, among: times), time < end {
      plan = BackfillPlan(count: (plan?.count ?? 0) + 1, first: plan?.first ?? time, last: time)
      last = time
      if let plan, plan.count > Backfill.most { return plan }
    }
    return plan
  }

  /// The first time of the calendar after `time`, without jitter and not before `from`; `nil` if there is none until
  /// `until`, or within 50 years.
  package func nominal(after time: Timestamp, in zone: ZoneOffsets) -> Timestamp? {
    nominal(after: time, among: CalendarTimes(cron, in: zone, excluding: Set(exclude)))
  }

  private func nominal(after time: Timestamp, among times: CalendarTimes) -> Timestamp? {
    let begin = max(time, from.map { $0 + .nanoseconds(-1) } ?? time)
    guard let next = times.next(after: begin) else { return nil }
    return until.map { next > $0 } ?? false ? nil : next
  }
}
