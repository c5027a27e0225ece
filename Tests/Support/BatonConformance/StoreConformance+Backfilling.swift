import BatonModel
import BatonStore

/// Requests for times of a schedule that have passed. The scenario begins on Tuesday, 14 November 2023, at 23:13:20 in
/// Berlin.
extension StoreConformance {
  static let backfilling: [Case] = [
    Case("a backfill runs the times that have passed, the earliest first, and then the calendar goes on") { s in
      try await s.schedule("0 2 * * *")
      try await s.connect()
      let two = s.now.date + .seconds(2 * 3600 + 2800)
      try await s.backfill(days: 3)
      for day in [3, 2, 1] {
        try expect(try await s.promote(), [], "promoted")
        let launch = try await s.startScheduled()
        let record = try await s.record(launch.request)
        try expect(record.scheduledAt, two + .seconds(Int64(-86_400 * day)), "the time for which it stands")
        try expect(record.isBackfill && record.principal == "bob", "it is the backfill's")
        let standing = try await s.standing()
        try expect(standing?.backfill?.made, day == 1 ? nil : 4 - day, "how far it has come")
        s.advance(.seconds(60))
        let ended = try await s.end(launch)
        if day == 1 { try expect(ended.nextDue, NextDue(date: two), "when the calendar's own is due") }
      }
      try expect(try await s.standing() == nil, "the backfill has not ended")
      s.advance(two - s.now.date)
      try expect(try await s.promote(), ["job"], "promoted at the calendar's time")
      let own = try await s.record(try await s.startScheduled().request)
      try expect(own.scheduledAt == two && !own.isBackfill, "the calendar's own")
    },
    Case("a time of the calendar that comes during a backfill has its request, whatever overlap says") { s in
      for overlap in Overlap.allCases {
        let name = "com.\(overlap.rawValue)"
        try await s.schedule("0 2 * * *", of: name) { $0.overlap = overlap }
        try await s.connect()
        let two = s.now.date + .seconds(2 * 3600 + 2800)
        var later = s
        try await later.backfill(name, days: 4)
        var times: [Timestamp?] = []
        // The first of four runs for three hours, so the time of the calendar comes meanwhile.
        for hours in [3, 1, 1, 1, 1] {
          let launch = try await later.startScheduled(name)
          times.append(try await later.record(launch.request).scheduledAt)
          later.advance(.seconds(Int64(hours) * 3600))
          let promotion = try await later.store.promote(at: later.now, limit: 10)
          try expect(promotion.replaced.count, 0, "what was cancelled, \(overlap)")
          try await later.end(launch)
        }
        let days = [-4, -3, 0, -2, -1].map { two + .seconds(Int64($0) * 86_400) }
        try expect(times, days, "the times in their order, \(overlap)")
        let next = try await later.store.waiting(try StoreScenario.name(name))
        try expect([next?.waitsBecause], [.notBefore(two + .seconds(86_400))], "what waits afterwards, \(overlap)")
        _ = try await later.store.cancel(.all, by: "ada", at: later.now)
      }
    },
    Case("a backfill that is stopped leaves the calendar as it was") { s in
      let first = try require(try await s.schedule("0 2 * * *").submitted, "the first request")
      try await s.connect()
      let two = s.now.date + .seconds(2 * 3600 + 2800)
      try await s.backfill(days: 3)
      let stopped = try await s.store.stopBackfill(of: try StoreScenario.name("job"), at: s.now)
      try expect(stopped?.made, 0, "how far it had come")
      let record = try await s.record(first.request)
      try expect([record.waitsBecause], [.notBefore(two)], "what waits")
      try expect(record.scheduledAt == two && !record.isBackfill, "the time for which it stands")
      try expect(try await s.store.stopBackfill(of: try StoreScenario.name("job"), at: s.now) == nil, "stopped twice")
      try expect(try await s.store.fleet().nextDue, NextDue(date: two), "when it is due")
    },
    Case("a request of the backfill that runs goes on when the backfill is stopped") { s in
      try await s.schedule("0 2 * * *")
      try await s.connect()
      let two = s.now.date + .seconds(2 * 3600 + 2800)
      try await s.backfill(days: 3)
      let launch = try await s.startScheduled()
      let stopped = try await s.store.stopBackfill(of: try StoreScenario.name("job"), at: s.now)
      try expect(stopped?.made, 1, "how far it had come")
      try expect(try await s.end(launch).nextDue, NextDue(date: two), "when the calendar's own is due")
    },
    Case("what a person submits goes before the next request of a backfill, which is not lost") { s in
      let definition = try await s.schedule("0 2 * * *").id
      try await s.connect()
      let two = s.now.date + .seconds(2 * 3600 + 2800)
      try await s.backfill(days: 2)
      try await s.submit("job", to: definition)
      var times: [Timestamp?] = []
      for _ in 0..<3 {
        let launch = try await s.startScheduled()
        times.append(try await s.record(launch.request).scheduledAt)
        try await s.end(launch)
      }
      try expect(times, [nil, two + .seconds(-2 * 86_400), two + .seconds(-86_400)], "the times in their order")
      let next = try await s.store.waiting(try StoreScenario.name("job"))
      try expect([next?.waitsBecause], [.notBefore(two)], "what waits afterwards")
    },
    Case("a request whose time has come goes before a backfill") { s in
      try await s.schedule("0 * * * *")
      try await s.connect()
      s.advance(.seconds(2800))
      let hour = s.now.date
      try await s.backfill(days: 1, total: 24)
      _ = try await s.promote()
      let own = try await s.startScheduled()
      try expect(try await s.record(own.request).scheduledAt, hour, "the first one")
      try await s.end(own)
      let second = try await s.record(try await s.startScheduled().request)
      try expect(second.scheduledAt, hour + .seconds(-24 * 3600), "the second one")
    },
    Case("a request of a backfill that fails does not end the backfill") { s in
      try await s.schedule("0 2 * * *")
      try await s.connect()
      try await s.backfill(days: 2)
      let launch = try await s.startScheduled()
      try await s.end(launch, .failed("it broke"))
      s.advance(.seconds(30))
      _ = try await s.promote()
      let again = try await s.startScheduled()
      try expect(again.number, 2, "the launch that retries")
      try await s.end(again, .failed("it broke"))
      try expect(try await s.record(launch.request).state, .failed, "the first one")
      try expect(try await s.record(try await s.startScheduled().request).isBackfill, "the second one")
    },
    Case("cancelling the waiting request ends the backfill") { s in
      try await s.schedule("0 2 * * *")
      try await s.backfill(days: 2)
      _ = try await s.store.cancel(.identifier(try StoreScenario.name("job")), by: "ada", at: s.now)
      try expect(try await s.standing() == nil, "the backfill goes on")
    },
    Case("a pause holds a backfill") { s in
      try await s.schedule("0 2 * * *")
      try await s.connect()
      try await s.backfill(days: 2)
      try await s.pause("job")
      try expect(try await s.count(.ready), 0, "ready requests")
      _ = try await s.resume("job")
      try expect(try await s.promote(), ["job"], "promoted after the pause")
      try expect(try await s.record(try await s.startScheduled().request).isBackfill, "it is the backfill's")
    },
    Case("a schedule that has ended can be backfilled, and stays ended") { s in
      let end = s.now.date + .seconds(-60)
      try await s.schedule("0 2 * * *") { $0.until = end }
      try await s.connect()
      try await s.backfill(days: 2)
      for _ in 0..<2 { try await s.end(try await s.startScheduled()) }
      try expect(try await s.standing() == nil, "the backfill has not ended")
      try expect(try await s.store.waiting(try StoreScenario.name("job")) == nil, "something waits")
    },
    Case("a new schedule counts for the times of a backfill that are left") { s in
      let first = try require(try await s.schedule("0 2 * * *").submitted, "the first request")
      let two = s.now.date + .seconds(2 * 3600 + 2800)
      try await s.connect()
      try await s.backfill(days: 2)
      let new = try await s.schedule("0 3 * * *").id
      _ = try await s.store.redefine(first.request, as: new, at: s.now)
      let record = try await s.record(first.request)
      try expect(record.scheduledAt, two + .seconds(3600 - 2 * 86_400), "the time for which it stands")
      try expect(record.isBackfill, "it is the backfill's")
      for _ in 0..<2 { try await s.end(try await s.start(new)) }
      let next = try await s.store.waiting(try StoreScenario.name("job"))
      try expect([next?.waitsBecause], [.notBefore(two + .seconds(3600))], "what waits afterwards")
    },
    Case("a backfill ends when a flow cancels the request that has taken the place of its own") { s in
      let earlier = try require(JobReference("first"), "a reference")
      let schedule = JobSchedule(cron: try CronExpression("0 2 * * *"), timeZone: "Europe/Berlin")
      _ = try await s.define { $0.schedule = schedule }
      try await s.backfill(days: 3)
      let changed = try await s.define { $0.after = [Dependency(earlier)] }
      let first = try await s.define("first") { $0.retry.limit = 0 }
      let offers = [try s.offer("first", to: first.id), try s.offer(to: changed.id)]
      _ = try await s.store.submitFlow(offers, at: s.now)
      try await s.connect()
      try await s.end(try await s.start(first.id), .failed("no"))
      try expect(try await s.store.waiting(try StoreScenario.name("job")) == nil, true, "the flow has cancelled it")
      try expect(try await s.standing()?.backfill, nil, "the backfill, of which nothing submits the next request")
    },
    Case("a backfill is refused without a calendar, without times, and beside another one") { s in
      try await s.define("com.plain")
      try await s.define("com.repeat") { $0.repeatEvery = .seconds(60) }
      try await s.schedule("0 2 * * *")
      try await expectRefusal(.refused, saying: ["neither"]) { try await s.backfill("com.plain", days: 2) }
      try await expectRefusal(.refused, saying: ["'repeat'"]) { try await s.backfill("com.repeat", days: 2) }
      try await expectRefusal(.notFound) { try await s.backfill("com.other", days: 2) }
      try await expectRefusal(.refused, saying: ["No time"]) { try await s.backfill(days: 0) }
      try await s.backfill(days: 2)
      try await expectRefusal(.refused, saying: ["0 of 2", "--stop"]) { try await s.backfill(days: 2) }
    },
  ]
}

extension StoreScenario {
  /// Begins a backfill of the last days.
  fileprivate mutating func backfill(_ name: String = "job", days: Int, total: Int? = nil) async throws {
    try await store.startBackfill(
      of: try Self.name(name),
      Backfill(
        by: "bob", startedAt: now.date, from: now.date + .seconds(Int64(-86_400 * days)), until: now.date,
        total: total ?? days), seed: drawTrace(), at: now)
  }

  fileprivate func standing(_ name: String = "job") async throws -> ScheduleStanding? {
    try await store.scheduleStandings()[try Self.name(name)]
  }
}
