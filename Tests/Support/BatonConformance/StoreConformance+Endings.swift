import BatonModel
import BatonStore

extension StoreConformance {
  static let endings: [Case] = [
    Case("a finished launch ends its request as succeeded") { s in
      let (_, launch) = try await s.running()
      s.advance(.seconds(9))
      let answer = try await s.end(launch)
      try expect([answer.wasLive, answer.state == .succeeded], [true, true], "the answer")
      let record = try await s.record(launch.request)
      try expect(record.endedAt, s.now.date, "when it ended")
      try expect([record.outcome, record.reason], ["succeeded", nil], "outcome and reason")
      try expect(record.host, StoreScenario.host, "where it ran last")
      let history = try await s.store.launches(of: launch.request)
      try expect(history.map(\.outcome), [.finished], "the launch's outcome")
      try expect(history.map(\.endedAt), [s.now.date], "the launch's end")
    },
    Case("an ending that comes twice, or from a superseded launch, changes nothing and says what is true") { s in
      let (definition, first) = try await s.running()
      try await s.end(first, .lost)
      let second = try await s.start(definition)
      let stale = try await s.end(first, .finished)
      try expect([stale.wasLive, stale.state == .running], [false, true], "a stale ending")
      try await s.end(second)
      let again = try await s.end(second, .failed("late"))
      try expect([again.wasLive, again.state == .succeeded], [false, true], "a repeated ending")
      try expect(try await s.store.launches(of: first.request).map(\.outcome), [.lost, .finished], "the outcomes")
      let unknown = try await s.end(LaunchKey(request: RequestID(999), number: 1))
      try expect(unknown.wasLive, false, "an ending of no request")
    },
    Case("a failure is retried after its backoff as often as the rule says, then the request fails") { s in
      let (definition, first) = try await s.running()
      let answer = try await s.end(first, .failed("boom"))
      try expect(answer.state, .scheduled, "after the first failure")
      try expect(answer.nextDue, s.now.due(.seconds(30)), "when it goes on")
      try expect(
        try await s.record(first.request).waitsBecause, .backingOff(until: s.now.steady + .seconds(30)), "its obstacle")
      s.advance(.seconds(30))
      _ = try await s.store.promote(at: s.now, limit: 10)
      try await s.end(try await s.start(definition), .failed("boom again"))
      let record = try await s.record(first.request)
      try expect(record.state, .failed, "after the second failure")
      try expect([record.outcome, record.reason], ["failed", "boom again"], "outcome and reason")
      try expect(record.ledger.failures, 2, "failures")
    },
    Case("an expiry goes on from its checkpoint and uses no retry", rows: [30.2]) { s in
      let (definition, first) = try await s.running { $0.retry.limit = 0 }
      try expect(try await s.end(first, .expired(.thermal)).state, .ready, "after an expiry")
      let record = try await s.record(first.request)
      try expect([record.outcome, record.reason], ["expired", "thermal"], "outcome and reason")
      try expect(record.ledger.failures, 0, "failures")
      _ = try await s.start(definition)
    },
    Case("the first loss resumes at once, later ones back off, three without a batch are too many", rows: [29.3]) { s in
      let (definition, first) = try await s.running()
      try expect(try await s.end(first, .lost).state, .ready, "after the first loss")
      let second = try await s.end(try await s.start(definition), .lost)
      try expect(second.nextDue, s.now.due(.seconds(1)), "after the second loss")
      s.advance(.seconds(1))
      _ = try await s.store.promote(at: s.now, limit: 10)
      try expect(try await s.end(try await s.start(definition), .lost).state, .failed, "after the third loss")
      try expect(try await s.record(first.request).reason?.contains("quarantined"), true, "the reason says so")
    },
    Case("a request whose checkpoint reached the end succeeds, however its launch ended") { s in
      for outcome in [LaunchOutcome.lost, .failed("SIGTERM"), .expired(.draining)] {
        let name = "job-\(outcome.code)"
        let (_, launch) = try await s.running(name)
        try await s.commit(launch, 0) { $0.reachesEnd = true }
        try expect(try await s.end(launch, outcome).state, .succeeded, "after \(outcome)")
        let kept = try await s.store.launches(of: launch.request).first?.outcome
        try expect(kept, outcome == .lost ? .lost : .finished, "the launch's outcome after \(outcome)")
      }
    },
    Case("an error text is kept, but no more than 4096 bytes of it") { s in
      let (_, launch) = try await s.running { $0.retry.limit = 0 }
      try await s.end(launch, .failed(String(repeating: "é", count: 4096)))
      try expect(try await s.record(launch.request).reason?.utf8.count, 4096, "bytes of the request's reason")
      try expect(try await s.store.launches(of: launch.request).first?.reason?.utf8.count, 4096, "of the launch's")
    },
    Case("the first reason of an expiry stays, and only a running launch has one", rows: [27.1]) { s in
      let (_, launch) = try await s.running()
      s.advance(.seconds(1))
      let since = s.now.date
      try expect(try await s.store.noteExpiry(launch, .powerLost, at: s.now) != nil, true, "the first note")
      s.advance(.seconds(1))
      let second = try await s.store.noteExpiry(launch, .cancelled(by: "ada"), at: s.now)
      try expect(second, try await s.store.assignments(on: StoreScenario.host).first?.subject, "the second note")
      let history = try await s.store.launches(of: launch.request)
      try expect(history.map(\.expiringReason), [.powerLost], "the reason")
      try expect(history.map(\.expiringSince), [since], "since when")
      try expect(
        try await s.store.assignments(on: StoreScenario.host).map(\.pendingExpiry), [.powerLost], "the assignment's")
      try await s.end(launch, .expired(.powerLost))
      try expect(try await s.store.noteExpiry(launch, .paused, at: s.now), nil, "a note after the end")
      // The launch ended by this reason before the reason was noted. The store still answers the launch's names, so
      // that the log contains both.
      try expect(try await s.store.noteExpiry(launch, .powerLost, at: s.now), second, "the reason that it ended for")
    },
    Case("an ending that counts names the launch as its assignment does") { s in
      let (_, launch) = try await s.running()
      let subject = try await s.store.assignments(on: StoreScenario.host).first?.subject
      let ending = Ending(launch: launch, outcome: .expired(.draining), isGraceful: true)
      try expect(
        try await s.store.end([ending], from: StoreScenario.worker, at: s.now).map(\.subject), [subject],
        "of the first ending")
      try expect(
        try await s.store.end([ending], from: StoreScenario.worker, at: s.now).map(\.subject), [nil],
        "of the same once more")
    },
    Case("a last checkpoint is committed with its ending, and one that is refused makes the launch fail") { s in
      let (definition, first) = try await s.running { $0.retry.limit = 0 }
      let last = Checkpoint(launch: first, batch: 0, completedUnits: 1, totalUnits: 1, reachesEnd: true)
      func end(_ launch: LaunchKey, after checkpoint: Checkpoint) async throws -> EndingAnswer {
        let ending = Ending(launch: launch, outcome: .finished)
        return try require(
          try await s.store.end([ending], after: [checkpoint], from: StoreScenario.worker, at: s.now).first,
          "the answer")
      }
      let answer = try await end(first, after: last)
      try expect(answer.checkpoint, .committed(batch: 0), "the checkpoint's answer")
      try expect(answer.state, .succeeded, "the request")
      try expect(try await s.record(first.request).progress.batches, 1, "batches")
      try expect(try await s.store.launches(of: first.request).map(\.batches), [1], "the launch's batches")
      // The answer got lost, and the worker says both again.
      let again = try await end(first, after: last)
      try expect([again.wasLive, again.checkpoint == .superseded], [false, true], "the same again")
      try expect(try await s.record(first.request).progress.batches, 1, "batches")

      try await s.submit("job", to: definition)
      let second = try await s.start(definition)
      let skipping = Checkpoint(launch: second, batch: 3, completedUnits: 4, totalUnits: 4, reachesEnd: true)
      let refused = try await end(second, after: skipping)
      try expect(refused.state, .failed, "a batch was skipped")
      try expect(try await s.record(second.request).reason?.contains("batch 3 is refused"), true, "why it failed")

      try await s.submit("job", to: definition)
      let third = try await s.start(definition)
      try await s.end(third, .lost)
      let stale = try await end(third, after: Checkpoint(launch: third, batch: 0, completedUnits: 1, reachesEnd: true))
      try expect([stale.wasLive, stale.checkpoint == .superseded], [false, true], "of a launch that is over")
    },
    Case("an ungraceful end is recorded as one", rows: [28.3]) { s in
      let (_, launch) = try await s.running()
      _ = try await s.store.end(
        [Ending(launch: launch, outcome: .expired(.budgetSpent), isGraceful: false)], from: StoreScenario.worker,
        at: s.now)
      try expect(try await s.store.launches(of: launch.request).map(\.isGraceful), [false], "isGraceful")
    },
    Case("counts follow every transition") { s in
      let (definition, launch) = try await s.running { $0.retry.limit = 0 }
      try await s.submit("job", to: definition)
      try expect(try await [s.count(.running), s.count(.scheduled)], [1, 1], "while running")
      try await s.end(launch, .failed("no"))
      try expect(try await [s.count(.failed), s.count(.ready), s.count(.running)], [1, 1, 0], "after the failure")
      _ = try await s.store.cancel(.all, by: "ada", at: s.now)
      try expect(try await [s.count(.failed), s.count(.cancelled), s.count(.ready)], [1, 1, 0], "after cancelling")
    },
  ]
}
