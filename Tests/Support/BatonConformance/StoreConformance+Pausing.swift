import BatonModel
import BatonStore

/// Schedules that a person has paused. The scenario begins on Tuesday, 14 November 2023, at 23:13:20 in Berlin.
extension StoreConformance {
  static let pausing: [Case] = [
    Case("no request of the calendar starts while its schedule is paused, and it says why") { s in
      let first = try require(try await s.schedule("0 * * * *").submitted, "the first request")
      try await s.connect()
      let since = s.now.date
      try await s.pause("job")
      let pause = SchedulePause(by: "ada", since: since, reason: "the disk is full")
      s.advance(.seconds(3 * 3600))
      try expect(try await s.promote(), [], "promoted")
      let record = try await s.record(first.request)
      try expect([record.waitsBecause], [.schedulePaused(pause)], "what it waits for")
      try expect(record.state, .scheduled, "its state")
      try expect(
        try await s.store.scheduleStandings(), [try StoreScenario.name("job"): .init(pause: pause)], "standings")
      try expect(try await s.store.fleet().nextDue, NextDue(), "something waits for a time")
      try expect(
        try await s.store.events(of: first.request).map(\.name), [RequestEvent.schedulePaused.rawValue], "its events")
      try expect(try await s.resume("job"), pause, "the pause that ended")
      try expect(try await s.promote(), ["job"], "promoted after the pause")
      try expect(try await s.store.scheduleStandings(), [:], "standings after the pause")
      let started = try await s.startScheduled()
      try expect(
        try await s.record(started.request).scheduledAt, since + .seconds(2800), "the time for which it stands")
    },
    Case("the times that pass during a pause count as missed says") { s in
      for missed in MissedRuns.allCases {
        let name = "com.\(missed.rawValue)"
        let first = try require(
          try await s.schedule("0 * * * *", of: name) { $0.missed = missed }.submitted, "the first request")
        let hour = s.now.date + .seconds(2800)
        try await s.connect()
        var later = s
        try await later.pause(name)
        later.advance(.seconds(2800 + 2 * 3600 + 1800))
        _ = try await later.resume(name)
        let next = hour + .seconds(3 * 3600)
        try expect(try await later.promote(), missed == .skip ? [] : [name], "promoted, \(missed)")
        switch missed {
        case .once:
          try expect(
            try await later.end(try await later.startScheduled(name)).nextDue, NextDue(date: next), "the next one")
        case .all:
          for number in 1...3 {
            let launch = try await later.startScheduled(name)
            try expect(
              try await later.record(launch.request).scheduledAt, hour + .seconds(Int64(number - 1) * 3600),
              "the time of request \(number)")
            let ended = try await later.end(launch)
            if number == 3 { try expect(ended.nextDue, NextDue(date: next), "the next one") }
          }
        case .skip:
          let record = try await later.record(first.request)
          try expect([record.waitsBecause], [.notBefore(next)], "what it waits for")
          try expect(record.scheduledAt, next, "the time for which it stands")
        }
        _ = try await later.store.cancel(.all, by: "ada", at: later.now)
      }
    },
    Case("a request that waits for a host is held, and starts after the pause") { s in
      let definition = try await s.schedule("0 * * * *").id
      try await s.connect()
      s.advance(.seconds(2800))
      try expect(try await s.promote(), ["job"], "promoted")
      try await s.pause("job")
      let claim = try await s.claim(definition)
      try expect(claim.assignments.isEmpty && !claim.hasMore, "it starts")
      try expect(try await s.count(.ready), 0, "ready requests")
      _ = try await s.resume("job")
      try expect(try await s.promote(), ["job"], "promoted after the pause")
      _ = try await s.start(definition)
    },
    Case("what a person submits starts during a pause, and the time of the calendar is held") { s in
      let definition = try await s.schedule("0 * * * *").id
      try await s.connect()
      try await s.pause("job")
      let receipt = try await s.submit("job", to: definition)
      try expect([receipt.state], [.ready], "what the person submitted")
      let launch = try await s.start(definition)
      try expect(try await s.record(launch.request).scheduledAt, nil, "the time for which it stands")
      try await s.end(launch)
      let next = try require(try await s.store.request(try StoreScenario.name("job"), number: 2), "the next request")
      try expect(next.waitsBecause?.kind, .schedulePaused, "what the next one waits for")
      s.advance(.seconds(7200))
      try expect(try await s.promote(), [], "promoted")
    },
    Case("what runs goes on during a pause, with its retries") { s in
      let definition = try await s.schedule("0 * * * *").id
      try await s.connect()
      s.advance(.seconds(2800))
      _ = try await s.promote()
      let launch = try await s.startScheduled()
      try await s.pause("job")
      try await s.end(launch, .expired(.evicted))
      let again = try await s.start(definition)
      try expect(again, LaunchKey(request: launch.request, number: 2), "the next launch")
      try await s.end(again)
      s.advance(.seconds(7200))
      try expect(try await s.promote(), [], "promoted")
    },
    Case("a pause outlasts a changed definition, and is not asked for twice") { s in
      let first = try require(try await s.schedule("0 * * * *").submitted, "the first request")
      let since = s.now.date
      try await s.pause("job")
      s.advance(.seconds(60))
      let new = try await s.schedule("30 * * * *").id
      _ = try await s.store.redefine(first.request, as: new, at: s.now)
      try expect(try await s.record(first.request).waitsBecause?.kind, .schedulePaused, "what it waits for")
      try await s.pause("job", because: "maintenance")
      let standing = try await s.store.scheduleStandings()[try StoreScenario.name("job")]
      try expect(
        [standing?.pause], [SchedulePause(by: "ada", since: since, reason: "maintenance")], "the pause")
      s.advance(.seconds(7200))
      try expect(try await s.promote(), [], "promoted")
      _ = try await s.resume("job")
      try expect(try await s.promote(), ["job"], "promoted after the pause")
    },
    Case("a job with repeat comes once after a pause, and then at its next times") { s in
      let definition = try await s.define { $0.repeatEvery = .seconds(3600) }.id
      try await s.connect()
      let begun = s.now
      try await s.end(try await s.start(definition))
      try await s.pause("job")
      s.advance(.seconds(3 * 3600 + 1800))
      try expect(try await s.promote(), [], "promoted")
      let due = try await s.store.fleet().nextDue
      try expect(due, NextDue(), "something waits for a time")
      _ = try await s.resume("job")
      try expect(try await s.count(.ready), 1, "ready after the pause")
      let launch = try await s.start(definition)
      try expect(
        try await s.record(launch.request).scheduledAt, begun.date + .seconds(3600), "the time for which it stands")
      try expect(try await s.end(launch).nextDue, begun.due(.seconds(4 * 3600)), "the next one")
    },
    Case("a request of a paused schedule that waits for the one before is held after its end") { s in
      try await s.schedule("0 * * * *")
      try await s.connect()
      s.advance(.seconds(2800))
      _ = try await s.promote()
      let launch = try await s.startScheduled()
      s.advance(.seconds(3600))
      _ = try await s.promote()
      try await s.pause("job")
      try await s.end(launch)
      let next = try require(try await s.store.request(try StoreScenario.name("job"), number: 2), "the next request")
      try expect(next.waitsBecause?.kind, .schedulePaused, "what it waits for")
      _ = try await s.resume("job")
      try expect(try await s.promote(), ["job"], "promoted after the pause")
    },
    Case("only a job that comes by itself is paused, and only a paused one resumed") { s in
      try await s.define()
      try await expectRefusal(.refused, saying: ["neither 'schedule' nor 'repeat'"]) { try await s.pause("job") }
      try await expectRefusal(.notFound) { try await s.pause("other") }
      try expect(try await s.resume("job"), nil, "the pause that ended")
    },
    Case("a schedule can be paused before it has had a request") { s in
      let end = s.now.date + .seconds(60)
      let applied = try await s.schedule("0 * * * *") { $0.until = end }
      try expect(applied.submitted == nil, "a schedule that is over submits")
      try await s.pause("job")
      let next = try await s.schedule("0 * * * *")
      let first = try require(next.submitted, "the first request")
      try expect(first.number, 1, "its number")
      try expect(try await s.record(first.request).waitsBecause?.kind, .schedulePaused, "what it waits for")
    },
  ]
}

extension StoreScenario {
  func pause(_ name: String, because reason: String = "the disk is full") async throws {
    try await store.pauseSchedule(of: try Self.name(name), by: "ada", because: reason, at: now)
  }

  func resume(_ name: String) async throws -> SchedulePause? {
    try await store.resumeSchedule(of: try Self.name(name), at: now)
  }
}
