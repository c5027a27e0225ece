import BatonModel
import BatonStore

/// A date that a person wrote down is compared with the wall clock, also after the wall clock was set.
extension StoreConformance {
  static let dates: [Case] = [
    Case("a date is compared with the wall clock, however it is set") { s in
      let definition = try await s.define().id
      let date = s.now.date + .seconds(7200)
      let receipt = try await s.submit("job", to: definition) { $0.earliestBeginDate = .at(date) }
      try expect([receipt.eligibleAt], [date], "the receipt's time")
      try expect(receipt.due, NextDue(date: date), "when it is due")
      s.advance(.seconds(3600))
      s.stepWallClock(by: .seconds(-86_400))
      s.advance(.seconds(7200))
      try expect(try await s.promote(), [], "promoted although the date is a day off again")
      let record = try await s.record(receipt.request)
      try expect([record.waitsBecause], [.notBefore(date)], "its obstacle")
      try expect(record.onWallClock(at: s.now), record, "the record shown")
      s.stepWallClock(by: .seconds(86_400 - 3600 - 1))
      try expect(try await s.promote(), [], "promoted a second early")
      s.stepWallClock(by: .seconds(1))
      try expect(try await s.promote(), ["job"], "promoted in time")
    },
    Case("the date of a definition is one of the wall clock too") { s in
      let date = s.now.date + .seconds(60)
      let applied = try await s.define { ($0.earliestBeginDate, $0.repeatEvery) = (.at(date), .seconds(3600)) }
      try expect(try require(applied.submitted, "the first request").due, NextDue(date: date), "when it is due")
      s.stepWallClock(by: .seconds(60))
      try expect(try await s.promote(), ["job"], "promoted")
    },
    Case("a ready request whose date has not come any more is not claimed but waits for it") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      let date = s.now.date + .seconds(60)
      let dated = try await s.submit("com.dated", to: definition) { $0.earliestBeginDate = .at(date) }
      s.advance(.seconds(60))
      try expect(try await s.promote(), ["com.dated"], "promoted")
      try await s.submit("com.other", to: definition)
      s.stepWallClock(by: .seconds(-3600))
      let claim = try await s.claim(definition)
      try expect(claim.assignments.map(\.identifier.rawValue), ["com.other"], "what started")
      try expect([claim.nextDue], [NextDue(date: date)], "when to come again")
      try expect(claim.hasMore, false, "hasMore")
      try expect(try await s.record(dated.request).waitsBecause, .notBefore(date), "its obstacle")
      try expect(try await [s.count(.scheduled, of: "com.*"), s.count(.running, of: "com.*")], [1, 1], "the counts")
      try expect(try await s.store.fleet().nextDue, NextDue(date: date), "the fleet's next date")
      s.stepWallClock(by: .seconds(3600))
      try expect(try await s.promote(), ["com.dated"], "promoted again")
      try expect(try await s.start(definition).request, dated.request, "what started then")
    },
    Case("one claim schedules at most 500 rounds of requests again, and the next claim continues") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      let date = s.now.date
      let offers = try (0..<1100).map { index in
        try s.offer("com.\(index)", to: definition) { $0.earliestBeginDate = .at(date) }
      }
      _ = try await s.store.submit(offers, at: s.now)
      s.stepWallClock(by: .seconds(-3600))
      var claims = 1
      while try await s.claim(definition).hasMore { claims += 1 }
      try expect(claims < 1100, "\(claims) claims put 1100 requests back")
      try expect(try await [s.count(.scheduled, of: "com.*"), s.count(.ready, of: "com.*")], [1100, 0], "the counts")
      s.stepWallClock(by: .seconds(3600))
      _ = try await s.store.promote(at: s.now, limit: 2000)
      try expect(try await s.count(.ready, of: "com.*"), 1100, "promoted")
    },
    Case("a request that was launched goes on, whatever became of its date") { s in
      let definition = try await s.define().id
      try await s.connect()
      let date = s.now.date
      try await s.submit("job", to: definition) { $0.earliestBeginDate = .at(date) }
      let launch = try await s.start(definition)
      s.stepWallClock(by: .seconds(-86_400))
      try expect(try await s.end(launch, .expired(.hostBusy)).state, .ready, "after an expiry")
      let second = try await s.start(definition)
      try expect(try await s.end(second, .failed("no")).nextDue, s.now.due(.seconds(30)), "after a failure")
      s.advance(.seconds(30))
      try expect(try await s.promote(), ["job"], "promoted")
    },
    Case("a first launch waits for its date and for its spacing, whichever is longer") { s in
      let (definition, launch) = try await s.running("job", .refresh)
      try await s.end(launch)
      let (date, spaced) = (s.now.date + .seconds(60), s.now.steady + .seconds(900))
      let next = try await s.submit("job", to: definition) { $0.earliestBeginDate = .at(date) }
      try expect(next.due, NextDue(steady: spaced), "when it is due")
      s.stepWallClock(by: .seconds(-3600))
      s.advance(.seconds(900))
      try expect(try await s.promote(), [], "promoted before its date")
      try expect(try await s.record(next.request).waitsBecause, .notBefore(date), "its obstacle then")
      s.advance(.seconds(60 + 3600 - 900))
      try expect(try await s.promote(), ["job"], "promoted at its date")
    },
    Case("a date that comes by a step leaves the spacing to be waited for") { s in
      let (definition, launch) = try await s.running("job", .refresh)
      try await s.end(launch)
      let (date, spaced) = (s.now.date + .seconds(86_400), s.now.steady + .seconds(900))
      let next = try await s.submit("job", to: definition) { $0.earliestBeginDate = .at(date) }
      try expect(next.due, NextDue(date: date), "when it is due")
      s.stepWallClock(by: .seconds(86_400))
      try expect(try await s.promote(), [], "promoted by a step")
      let record = try await s.record(next.request)
      try expect([record.waitsBecause], [.rateLimited(until: spaced)], "its obstacle then")
      try expect(record.onWallClock(at: s.now).eligibleAt, s.now.date + .seconds(900), "the record shown")
      try expect(try await s.store.fleet().nextDue, NextDue(steady: spaced), "the fleet's next time")
      s.advance(.seconds(900))
      try expect(try await s.promote(), ["job"], "promoted when both were over")
    },
    Case("a dated request that waited for the live one waits for its date afterwards") { s in
      let (definition, launch) = try await s.running()
      let date = s.now.date + .seconds(60)
      let waiting = try await s.submit("job", to: definition) { $0.earliestBeginDate = .at(date) }
      try expect([waiting.due], [NextDue()], "when it is due")
      try expect(try await s.end(launch).nextDue, NextDue(date: date), "when it is due after the end")
      s.advance(.seconds(60))
      try expect(try await s.promote(), ["job"], "promoted")
    },
    Case("one call promotes by both clocks, at most `limit` requests, and says when to come again") { s in
      let definition = try await s.define("com.*").id
      let date = s.now.date + .seconds(1)
      for index in 0..<3 {
        try await s.submit("com.dated-\(index)", to: definition) { $0.earliestBeginDate = .at(date) }
        try await s.submit("com.delayed-\(index)", to: definition) {
          $0.earliestBeginDate = .afterSubmission(.seconds(1))
        }
      }
      s.advance(.seconds(1))
      let step = try await s.store.promote(at: s.now, limit: 4)
      try expect(step.classes.values.reduce(0, +), 4, "promoted in the first step")
      try expect([step.nextDue.hasCome(at: s.now)], [true], "whether to come again at once")
      let rest = try await s.store.promote(at: s.now, limit: 4)
      try expect([rest.classes.values.reduce(0, +), try await s.count(.ready, of: "com.*")], [2, 6], "in the second")
      try expect(rest.nextDue, NextDue(), "when to come again")
    },
    Case("a request cancelled while it waits for a date still says which") { s in
      let definition = try await s.define().id
      let date = s.now.date + .seconds(60)
      let receipt = try await s.submit("job", to: definition) { $0.earliestBeginDate = .at(date) }
      _ = try await s.store.cancel(.request(receipt.request), by: "ada", at: s.now)
      try expect(try await s.record(receipt.request).onWallClock(at: s.now).eligibleAt, date, "its date")
      try expect(try await s.store.fleet().nextDue, NextDue(), "what is left to wait for")
    },
  ]
}
