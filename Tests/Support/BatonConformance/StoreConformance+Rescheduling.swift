import BatonModel
import BatonStore

/// A waiting request that is given another definition starts when the new text says so.
extension StoreConformance {
  static let rescheduling: [Case] = [
    Case("a refresh that waits for its spacing is ready as soon as its new definition lifts the spacing") { s in
      let (old, first) = try await s.running("job", .refresh)
      try await s.end(first)
      let waiting = try await s.submit("job", to: old)
      let until = s.now.steady + .seconds(900)
      try expect(try await s.record(waiting.request).waitsBecause, .rateLimited(until: until), "before")
      let frequent = try await s.define("job", .refresh) { $0.allowFrequent = true }.id
      let freed = try await s.store.redefine(waiting.request, as: frequent, at: s.now)
      try expect([freed.state.rawValue, freed.waitsBecause?.code], ["ready", nil], "with the spacing lifted")
      try expect(try await [s.count(.ready), s.count(.scheduled)], [1, 0], "the counts")
      let spaced = try await s.store.redefine(
        waiting.request, as: try await s.define("job", .refresh).id, at: s.now)
      try expect(spaced.waitsBecause, .rateLimited(until: until), "with the spacing back")
      try expect(try await [s.count(.ready), s.count(.scheduled)], [0, 1], "the counts again")
      let again = try await s.define("job", .refresh) { $0.allowFrequent = true }.id
      _ = try await s.store.redefine(waiting.request, as: again, at: s.now)
      try expect(try await s.start(again, .utility).request, waiting.request, "what starts")
    },
    Case("a waiting request follows the begin date and the priority of its new definition") { s in
      let (early, late) = (s.now.date + .seconds(3600), s.now.date + .seconds(7200))
      let old = try await s.define { $0.earliestBeginDate = .at(early) }.id
      let waiting = try await s.submit("job", to: old)
      let new = try await s.define { ($0.earliestBeginDate, $0.priority) = (.at(late), .utility) }.id
      let moved = try await s.store.redefine(waiting.request, as: new, at: s.now)
      try expect(moved.waitsBecause, .notBefore(late), "the later date")
      try expect(moved.priority, .utility, "the priority")
      let delayed = try await s.define { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }.id
      s.advance(.seconds(20))
      let record = try await s.store.redefine(waiting.request, as: delayed, at: s.now)
      try expect(record.eligibleAt, s.now.steady + .seconds(40), "a delay counts from the submission")
      let free = try await s.store.redefine(waiting.request, as: try await s.define().id, at: s.now)
      try expect(free.state, .ready, "without a date")
    },
    Case("what a submission or an operator has set stays where the new definition says the same as the old one") { s in
      let old = try await s.define().id
      let date = s.now.date + .seconds(60)
      let waiting = try await s.submit("job", to: old) { $0.earliestBeginDate = .at(date) }
      _ = try await s.store.setPriority(waiting.request, .userInitiated)
      let new = try await s.define { $0.title = "Another" }.id
      let record = try await s.store.redefine(waiting.request, as: new, at: s.now)
      try expect(record.waitsBecause, .notBefore(date), "the date of the submission")
      try expect(record.priority, .userInitiated, "the priority of the operator")
    },
    Case("the next request of a chain follows the interval and the date of its new definition") { s in
      let old = try await s.define { $0.repeatEvery = .seconds(3600) }.id
      try await s.connect()
      let begun = s.now
      try await s.end(try await s.start(old))
      let next = try require(try await s.store.waiting(try StoreScenario.name("job")), "the next request")
      try expect(next.eligibleAt, begun.steady + .seconds(3600), "before")
      s.advance(.seconds(60))
      let slow = try await s.define { $0.repeatEvery = .seconds(7200) }.id
      let later = try await s.store.redefine(next.id, as: slow, at: s.now)
      try expect(later.eligibleAt, begun.steady + .seconds(7200), "with the longer interval")
      let date = s.now.date + .seconds(500)
      let dated = try await s.define { ($0.repeatEvery, $0.earliestBeginDate) = (.seconds(7200), .at(date)) }.id
      let moved = try await s.store.redefine(next.id, as: dated, at: s.now)
      try expect(moved.waitsBecause, .notBefore(date), "with the date")
      s.advance(.seconds(500))
      _ = try await s.promote()
      try await s.end(try await s.start(dated))
      let last = try require(try await s.store.waiting(try StoreScenario.name("job")), "the last request")
      try expect(last.waitsBecause, .notBefore(date + .seconds(7200)), "the chain is counted from the new date")
    },
    Case("the first request of a chain follows its date, and no interval") { s in
      let (early, late) = (s.now.date + .seconds(100), s.now.date + .seconds(5000))
      let first = try require(
        try await s.define { ($0.repeatEvery, $0.earliestBeginDate) = (.seconds(3600), .at(early)) }.submitted,
        "the first request")
      let slow = try await s.define { ($0.repeatEvery, $0.earliestBeginDate) = (.seconds(7200), .at(early)) }.id
      let same = try await s.store.redefine(first.request, as: slow, at: s.now)
      try expect(same.waitsBecause, .notBefore(early), "with another interval")
      let dated = try await s.define { ($0.repeatEvery, $0.earliestBeginDate) = (.seconds(7200), .at(late)) }.id
      let moved = try await s.store.redefine(first.request, as: dated, at: s.now)
      try expect(moved.waitsBecause, .notBefore(late), "with another date")
      try await s.connect()
      s.advance(.seconds(5000))
      _ = try await s.promote()
      try await s.end(try await s.start(dated))
      let next = try require(try await s.store.waiting(try StoreScenario.name("job")), "the next request")
      try expect(next.waitsBecause, .notBefore(late + .seconds(7200)), "the next one is counted from the later date")
    },
    Case("a request that waits for its retry follows the backoff of its new definition") { s in
      let (_, launch) = try await s.running { $0.retry = RetryRule(limit: 3, backoff: .seconds(3600)) }
      try await s.end(launch, .failed("no"))
      let ended = s.now.steady
      s.advance(.seconds(20))
      let new = try await s.define { $0.retry = RetryRule(limit: 3, backoff: .seconds(60)) }.id
      let record = try await s.store.redefine(launch.request, as: new, at: s.now)
      try expect(record.waitsBecause, .backingOff(until: ended + .seconds(60)), "the end of its wait")
      s.advance(.seconds(40))
      try expect(try await s.promote(), ["job"], "promoted")
    },
    Case("a request that waits for its retry becomes due, and keeps what its ledger counts") { s in
      let (definition, launch) = try await s.running { $0.retry = RetryRule(limit: 1, backoff: .seconds(3600)) }
      try await s.commit(launch, 0)
      try await s.end(launch, .failed("no"))
      let record = try await s.store.retry(launch.request, skipping: .nothing, at: s.now)
      try expect([record.state.rawValue, record.waitsBecause?.code], ["ready", nil], "what became of it")
      try expect([record.ledger.failures, record.progress.batches], [1, 1], "failures and batches")
      try expect(try await [s.count(.ready), s.count(.scheduled)], [1, 0], "the counts")
      try expect(try await s.store.events(of: launch.request).map(\.name), ["retried"], "events")
      let (store, now) = (s.store, s.now)
      try await expectRefusal(.refused, saying: ["is ready", "waits for its retry"]) {
        _ = try await store.retry(launch.request, skipping: .nothing, at: now)
      }
      try await s.end(try await s.start(definition), .failed("no"))
      try expect(try await s.state(launch.request), .failed, "after the last retry")
    },
    Case("the shards of a request that wait for their retries become due together") { s in
      let definition = try await s.define { definition in
        definition.retry = RetryRule(limit: 3, backoff: .seconds(3600))
        (definition.work, definition.spread) = (
          Work(command: ["x"], items: .range(1...10), batchSize: 5), Spread(lanes: 2)
        )
      }.id
      try await s.connect()
      let request = try await s.submit("job", to: definition).request
      let launches = [try await s.start(definition), try await s.start(definition)]
      for launch in launches { try await s.end(launch, .failed("no")) }
      try expect(try await s.record(request).waitsBecause?.kind, .backingOff, "before")
      let record = try await s.store.retry(request, skipping: .nothing, at: s.now)
      try expect([record.state.rawValue, String(record.shards?.ready ?? 0)], ["ready", "2"], "after")
      let again = [try await s.start(definition), try await s.start(definition)]
      try expect(Set(again.map(\.request)), Set(launches.map(\.request)), "what starts")
    },
  ]
}
