import BatonModel
import BatonStore

/// Requests that come by the calendar. The scenario begins on Tuesday, 14 November 2023, at 23:13:20 in Berlin.
extension StoreConformance {
  static let calendar: [Case] = [
    Case("the first request comes at the next time of the zone, and the next one when it starts") { s in
      let first = try require(try await s.schedule("0 2 * * *").submitted, "the first request")
      let two = s.now.date + .seconds(2 * 3600 + 2800)
      try expect(first.due, NextDue(date: two), "when the first one is due")
      try await s.connect()
      s.advance(two - s.now.date)
      try expect(try await s.promote(), ["job"], "promoted")
      let ended = try await s.end(try await s.startScheduled())
      try expect(ended.nextDue, NextDue(date: two + .seconds(86_400)), "when the next one is due")
    },
    Case("a wall clock that is set back begins no second request for the same time") { s in
      try await s.schedule("0 2 * * *")
      try await s.connect()
      let two = s.now.date + .seconds(2 * 3600 + 2800)
      s.advance(two - s.now.date)
      _ = try await s.promote()
      let launch = try await s.startScheduled()
      s.stepWallClock(by: .seconds(-1800))
      try expect(try await s.end(launch).nextDue, NextDue(date: two + .seconds(86_400)), "when the next one is due")
      s.advance(.seconds(3600))
      try expect(try await s.promote(), [], "promoted")
    },
    Case("a request that is asked for early leaves the time of the calendar") { s in
      let definition = try await s.schedule("0 2 * * *").id
      try await s.connect()
      let two = s.now.date + .seconds(2 * 3600 + 2800)
      try await s.submit("job", to: definition)
      try expect(try await s.end(try await s.startScheduled()).nextDue, NextDue(date: two), "when the next one is due")
    },
    Case("times that were missed begin one request, each of them one, or none") { s in
      for missed in MissedRuns.allCases {
        let name = "com.\(missed.rawValue)"
        let first = try require(
          try await s.schedule("0 * * * *", of: name) { $0.missed = missed }.submitted, "the first request")
        let hour = s.now.date + .seconds(2800)
        try expect(first.due, NextDue(date: hour), "when the first one is due, \(missed)")
        try await s.connect()
        // The coordinator is away from 23:13 until 9:30.
        var later = s
        later.advance(.seconds(2800 + 9 * 3600 + 1800))
        let ten = hour + .seconds(10 * 3600)
        try expect(try await later.promote(), missed == .skip ? [] : [name], "promoted, \(missed)")
        switch missed {
        case .once:
          try expect(
            try await later.end(try await later.startScheduled(name)).nextDue, NextDue(date: ten),
            "when the next one is due")
        case .all:
          for number in 2...10 {
            try await later.end(try await later.startScheduled(name))
            let next = try await later.store.request(try StoreScenario.name(name), number: number)
            try expect(next?.state, .ready, "request \(number) for a time that was missed")
          }
          try expect(
            try await later.end(try await later.startScheduled(name)).nextDue, NextDue(date: ten),
            "when the next one is due")
        case .skip:
          let record = try await later.record(first.request)
          try expect([record.waitsBecause], [.notBefore(ten)], "what it waits for")
          try expect(
            try await later.store.events(of: first.request).map(\.name), [RequestEvent.missedTime.rawValue],
            "its events")
        }
        _ = try await later.store.cancel(.all, by: "ada", at: later.now)
      }
    },
    Case("a request whose time comes while the one before runs waits, is left out, or replaces it") { s in
      for overlap in Overlap.allCases {
        let name = "com.\(overlap.rawValue)"
        try await s.schedule("0 * * * *", of: name) { $0.overlap = overlap }
        try await s.connect()
        let hour = s.now.date + .seconds(2800)
        var later = s
        later.advance(.seconds(2800))
        _ = try await later.promote()
        let launch = try await later.startScheduled(name)
        later.advance(.seconds(3600))
        let promotion = try await later.store.promote(at: later.now, limit: 10)
        let stopped = promotion.replaced.map { if case .stopping(launch, _, _, _) = $0 { true } else { false } }
        try expect(stopped, overlap == .replace ? [true] : [], "what was cancelled, \(overlap)")
        later.advance(.seconds(60))
        let ended = try await later.end(
          launch, overlap == .replace ? .expired(.cancelled(by: "schedule")) : .finished)
        let next = try require(
          try await later.store.request(try StoreScenario.name(name), number: 2), "the next request, \(overlap)")
        switch overlap {
        case .wait, .replace: try expect(next.state, .ready, "the next one, \(overlap)")
        case .skip:
          try expect([next.waitsBecause], [.notBefore(hour + .seconds(2 * 3600))], "what the next one waits for")
          try expect(ended.nextDue.date, hour + .seconds(2 * 3600), "when it is due")
        }
        _ = try await later.store.cancel(.all, by: "ada", at: later.now)
      }
    },
    Case("a schedule that has ended submits nothing") { s in
      let end = s.now.date + .seconds(7200)
      try await s.schedule("0 * * * *") { $0.until = end }
      try await s.connect()
      for hour in 0..<2 {
        s.advance(.seconds(hour == 0 ? 2800 : 3600))
        try expect(try await s.promote(), ["job"], "promoted")
        try await s.end(try await s.startScheduled())
      }
      try expect(try await s.store.fleet().nextDue == NextDue(), "something still waits for a time")
      let again = try await s.schedule("0 * * * *") { $0.until = end }
      try expect(again.submitted == nil, "applying it again submitted a request")
    },
    Case("the new schedule counts for the request that waits, if it is given the new definition") { s in
      let first = try require(try await s.schedule("0 2 * * *").submitted, "the first request")
      let new = try await s.schedule("0 3 * * *").id
      _ = try await s.store.redefine(first.request, as: new, at: s.now)
      let record = try await s.record(first.request)
      try expect(
        [record.waitsBecause], [.notBefore(s.now.date + .seconds(3 * 3600 + 2800))], "what it waits for")
    },
  ]
}

extension StoreScenario {
  /// Applies a job of kind processing with a schedule in Berlin.
  @discardableResult
  mutating func schedule(
    _ cron: String, of pattern: String = "job", _ change: (inout JobSchedule) -> Void = { _ in }
  ) async throws -> AppliedDefinition {
    var schedule = JobSchedule(cron: try CronExpression(cron), timeZone: "Europe/Berlin")
    change(&schedule)
    return try await define(pattern) { $0.schedule = schedule }
  }

  /// Starts the request of the identifier that is ready.
  mutating func startScheduled(_ name: String = "job") async throws -> LaunchKey {
    let record = try require(try await store.request(try Self.name(name), number: nil), "the request of \(name)")
    return try await start(record.definition)
  }
}
