import BatonModel
import BatonStore

extension StoreConformance {
  static let waiting: [Case] = [
    Case("submitting a waiting identifier replaces it: same request and trace, newest parameters", rows: [7.2]) { s in
      let old = try await s.define().id
      let first = try await s.submit("job", to: old) { $0.payload = [1] }
      let trace = try await s.record(first.request).trace
      let new = try await s.define { $0.title = "newer" }.id
      s.advance(.seconds(5))
      let second = try await s.submit("job", to: new) { submission in
        (submission.payload, submission.priority, submission.principal) = (nil, .userInitiated, "bob")
        submission.earliestBeginDate = .afterSubmission(.seconds(60))
      }
      try expect(second.replaced, true, "replaced")
      try expect([second.request.rawValue, Int64(second.number)], [first.request.rawValue, 1], "request and number")
      let record = try await s.record(first.request)
      try expect(record.trace, trace, "the trace")
      try expect(record.payload == nil, "the old payload is still there")
      try expect(record.definition, new, "the definition")
      try expect(record.priority, .userInitiated, "the priority")
      try expect(record.principal, "bob", "the principal")
      try expect(record.waitsBecause, .notBefore(s.now.steady + .seconds(60)), "the obstacle")
      try expect(try await s.store.events(of: first.request).map(\.name), ["replaced"], "events")
      try expect(try await s.store.counts().map(\.count), [1], "requests")
    },
    Case("submitting never touches the live request: one waits behind it until it ends", rows: [7.1, 7.3]) { s in
      let (definition, launch) = try await s.running()
      try await s.commit(launch, 0) { $0.cursor = [42] }
      let waiting = try await s.submit("job", to: definition)
      try expect([waiting.number, waiting.replaced ? 1 : 0], [2, 0], "the waiting one")
      try expect(waiting.eligibleAt, .distantFuture, "when it is eligible")
      try expect(try await s.record(waiting.request).waitsBecause, .waitsForLiveRequest(number: 1), "its obstacle")
      try expect(try await s.record(launch.request).progress.cursor, [42], "the live one's checkpoint")
      try expect(try await s.claim(definition).assignments, [], "what can be claimed")
      try expect(try await s.store.promote(at: s.now + .seconds(86_400), limit: 10).classes, [:], "what time promotes")
      let ending = try await s.end(launch)
      try expect(ending.released, RequirementClass(definition: definition, priority: .background), "the class released")
      try expect(try await s.state(waiting.request), .ready, "the waiting one afterwards")
      try expect(try await s.start(definition), LaunchKey(request: waiting.request, number: 1), "its launch")
    },
    Case("a live request between launches holds the waiting one back too", rows: [7.3]) { s in
      let (definition, launch) = try await s.running()
      let waiting = try await s.submit("job", to: definition)
      let ending = try await s.end(launch, .expired(.hostBusy))
      try expect(ending.released == nil, "the waiting one was released by an expiry")
      try expect(try await s.start(definition).request, launch.request, "what starts next")
      try expect(try await s.state(waiting.request), .scheduled, "the waiting one")
    },
    Case("a released request still waits for its own date") { s in
      let (definition, launch) = try await s.running()
      let waiting = try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      let ending = try await s.end(launch)
      try expect(ending.nextDue, s.now.due(.seconds(60)), "when it is eligible")
      try expect(
        try await s.record(waiting.request).waitsBecause, .notBefore(s.now.steady + .seconds(60)), "its obstacle")
    },
    Case("earliestBeginDate is a lower bound, the submission's before the definition's") { s in
      let definition = try await s.define { $0.earliestBeginDate = .afterSubmission(.seconds(100)) }.id
      let receipt = try await s.submit("job", to: definition)
      try expect(receipt.eligibleAt, s.now.date + .seconds(100), "the definition's")
      let date = s.now.date + .seconds(50)
      try expect(try await s.submit("job", to: definition) { $0.earliestBeginDate = .at(date) }.eligibleAt, date, "own")
      let early = try await s.store.promote(at: s.now + .seconds(49), limit: 10)
      try expect(early.classes, [:], "promoted too early")
      try expect(early.nextDue, NextDue(date: date), "when to come again")
      let due = try await s.store.promote(at: s.now + .seconds(50), limit: 10)
      try expect(due.classes, [RequirementClass(definition: definition, priority: .background): 1], "promoted in time")
      try expect(due.nextDue == NextDue(), "there is a next time with nothing waiting")
      try expect(try await s.state(receipt.request), .ready, "the state")
    },
    Case("continued jobs ignore earliestBeginDate", rows: [12.2]) { s in
      let definition = try await s.define("job", .continued).id
      let receipt = try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      try expect(receipt.state, .ready, "the state")
      let date = s.now.date + .seconds(60)
      let other = try await s.define("other", .continued) { $0.earliestBeginDate = .at(date) }.id
      try expect(try await s.submit("other", to: other).state, .ready, "the definition's")
    },
    Case("first launches of refresh requests are 15 minutes apart, resumptions are not", rows: [10.2, 10.3, 15.1]) {
      s in
      let (definition, launch) = try await s.running("job", .refresh)
      let first = s.now
      s.advance(.seconds(60))
      try await s.end(launch, .expired(.hostBusy))
      let resumed = try await s.start(definition, .utility)
      try await s.end(resumed)
      let next = try await s.submit("job", to: definition)
      try expect(next.eligibleAt, first.date + .seconds(900), "when the next one is eligible")
      try expect(
        try await s.record(next.request).waitsBecause, .rateLimited(until: first.steady + .seconds(900)), "its obstacle"
      )
      try expect(try await s.store.promote(at: first + .seconds(899), limit: 9).classes, [:], "promoted too early")
      try expect(try await s.store.promote(at: first + .seconds(900), limit: 9).classes.count, 1, "promoted in time")
    },
    Case("a refresh request that waited behind the live one is spaced when it is released") { s in
      let (definition, launch) = try await s.running("job", .refresh)
      let first = s.now
      try await s.submit("job", to: definition)
      s.advance(.seconds(10))
      try expect(try await s.end(launch).nextDue, first.due(.seconds(900)), "when it is eligible")
    },
    Case("allowFrequent lifts the spacing, and other kinds have none", rows: [10.2]) { s in
      let (frequent, launch) = try await s.running("job", .refresh) { $0.allowFrequent = true }
      try await s.end(launch)
      try expect(try await s.submit("job", to: frequent).state, .ready, "a frequent refresh")
      let (processing, other) = try await s.running("other")
      try await s.end(other)
      try expect(try await s.submit("other", to: processing).state, .ready, "a processing job")
    },
    Case("numbers of an identifier grow for ever, also when its requests are pruned") { s in
      let (definition, launch) = try await s.running()
      try await s.end(launch)
      _ = try await s.store.prune(RetentionLimits(endedCount: 0), at: s.now)
      try expect(try await s.store.request(launch.request) == nil, "a pruned request is there")
      let next = try await s.submit("job", to: definition)
      try expect(next.number, 2, "the next number")
      try expect(next.request != launch.request, "a request id came again")
    },
  ]
}
