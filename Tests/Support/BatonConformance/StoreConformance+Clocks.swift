import BatonModel
import BatonStore

/// Steps of the wall clock: an hour and a day, forward and back. No time passes during a step.
private let steps: [Duration] = [.seconds(3600), .seconds(-3600), .seconds(86_400), .seconds(-86_400)]

/// Delays, spacing and backoff are measured with the steady clock. A step of the wall clock changes none of them
/// (promise P7).
extension StoreConformance {
  static let clocks: [Case] = [
    Case("a delay is as long as it was asked for, however the wall clock is set", rows: [13.1]) { s in
      let definition = try await s.define("com.*").id
      for (index, step) in steps.enumerated() {
        let receipt = try await s.submit("com.\(index)", to: definition) {
          $0.earliestBeginDate = .afterSubmission(.seconds(60))
        }
        try expect(receipt.due, s.now.due(.seconds(60)), "when it is due")
        s.stepWallClock(by: step)
        try await s.expectReady(receipt.request, after: .seconds(60), "a delay, with a step of \(step)")
      }
    },
    Case("a delay in the definition of a repeating job is measured like any other") { s in
      for (index, step) in steps.enumerated() {
        let applied = try await s.define("job-\(index)") {
          ($0.earliestBeginDate, $0.repeatEvery) = (.afterSubmission(.seconds(60)), .seconds(3600))
        }
        let first = try require(applied.submitted, "the first request")
        s.stepWallClock(by: step)
        try await s.expectReady(first.request, after: .seconds(60), "a first request, with a step of \(step)")
      }
    },
    Case("a step of the wall clock does not change the spacing") { s in
      for (index, step) in steps.enumerated() {
        let (definition, launch) = try await s.running("job-\(index)", .refresh)
        try await s.end(launch)
        let next = try await s.submit("job-\(index)", to: definition)
        try expect(
          try await s.record(next.request).waitsBecause, .rateLimited(until: s.now.steady + .seconds(900)),
          "its obstacle")
        s.stepWallClock(by: step)
        try await s.expectReady(next.request, after: .seconds(900), "spacing, with a step of \(step)")
      }
    },
    Case("a step of the wall clock does not change the wait before a retry") { s in
      for (index, step) in steps.enumerated() {
        let (_, launch) = try await s.running("job-\(index)")
        try expect(try await s.end(launch, .failed("once")).nextDue, s.now.due(.seconds(30)), "when it is due")
        s.stepWallClock(by: step)
        try await s.expectReady(launch.request, after: .seconds(30), "backoff, with a step of \(step)")
      }
    },
    Case("what waits for the live request is released by its end, however the wall clock is set") { s in
      for (index, step) in steps.enumerated() {
        let (definition, launch) = try await s.running("job-\(index)")
        let waiting = try await s.submit("job-\(index)", to: definition)
        try expect([waiting.due], [NextDue()], "when it is due")
        s.stepWallClock(by: step)
        try expect(try await s.promote(), [], "promoted by a step of \(step)")
        try await s.end(launch)
        try expect(try await s.state(waiting.request), .ready, "after the end, with a step of \(step)")
      }
    },
    Case("a submission id is kept for its time, however the wall clock is set") { s in
      let definition = try await s.define().id
      let offer = try s.offer("job", to: definition, id: "kept")
      let first = try await s.answer(to: offer).receipt
      for step in steps {
        s.stepWallClock(by: step * 365)
        _ = try await s.store.prune(RetentionLimits(), at: s.now)
        try expect(try await s.answer(to: offer).isRepeat, true, "a repetition after a step of \(step * 365)")
      }
      try expect(try await s.answer(to: offer).receipt.eligibleAt, first.eligibleAt, "the answer")
      s.advance(.seconds(8 * 86_400))
      _ = try await s.store.prune(RetentionLimits(), at: s.now)
      try expect(try await s.answer(to: offer).isRepeat, false, "a repetition after eight days")
    },
    Case("events are recorded on the wall clock, and the time in a receipt is on the wall clock") { s in
      let definition = try await s.define().id
      try await s.connect()
      s.stepWallClock(by: .seconds(-3600))
      let receipt = try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      try expect(receipt.eligibleAt, s.now.date + .seconds(60), "the receipt's time")
      let record = try await s.record(receipt.request)
      try expect([record.submittedAt, record.eligibleAt], [s.now.date, s.now.steady + .seconds(60)], "the record")
      let shown = record.onWallClock(at: s.now)
      try expect([shown.submittedAt, shown.eligibleAt], [s.now.date, s.now.date + .seconds(60)], "the record shown")
      try expect(shown.waitsBecause, .notBefore(s.now.date + .seconds(60)), "its obstacle shown")
      try await s.submit("job", to: definition)
      let launch = try await s.start(definition)
      _ = try await s.store.noteExpiry(launch, .draining, at: s.now)
      try await s.end(launch, .expired(.draining))
      let history = try require(try await s.store.launches(of: launch.request).first, "the launch")
      let times = [history.startedAt, history.endedAt, history.expiringSince]
      try expect(times, [s.now.date, s.now.date, s.now.date], "the launch's times")
      try expect(try await s.store.events(of: launch.request).map(\.at), [s.now.date], "the event's")
    },
    Case("the clock that was kept last is answered when a coordinator starts", rows: [13.2]) { s in
      try expect(try await s.store.fleet().clock == nil, "a new store has a clock")
      for boot in ["first", "second"] {
        var reading = ClockReading(moment: s.now, boot: boot, instant: Instant(nanoseconds: 42))
        try await s.store.saveClock(reading)
        let kept = try await s.store.fleet()
        reading.steward = kept.epoch
        try expect(kept.clock, reading, "the reading")
        s.advance(.seconds(30))
      }
    },
  ]
}

extension StoreScenario {
  /// Promotes, and returns the identifiers whose requests became ready, in the order of the requests' ids.
  func promote() async throws -> [String] {
    let before = try await store.requests(RequestFilter(states: [.ready]), after: nil, limit: 1000).map(\.id)
    _ = try await store.promote(at: now, limit: 1000)
    let after = try await store.requests(RequestFilter(states: [.ready]), after: nil, limit: 1000)
    return after.filter { !before.contains($0.id) }.map(\.identifier.rawValue)
  }

  /// Checks that the request is not ready one second before `delay` is over, and is ready when `delay` is over.
  mutating func expectReady(_ request: RequestID, after delay: Duration, _ what: String) async throws {
    try expect(try await promote(), [], "\(what): ready at once")
    advance(delay + .seconds(-1))
    try expect(try await promote(), [], "\(what): ready a second early")
    advance(.seconds(1))
    try expect(try await promote(), [try await record(request).identifier.rawValue], "\(what): ready in time")
  }
}
