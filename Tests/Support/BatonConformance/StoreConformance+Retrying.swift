import BatonModel
import BatonStore

extension StoreConformance {
  static let retrying: [Case] = [
    Case("a failed request goes on from its checkpoint, under its trace, with a clean ledger") { s in
      let (definition, launch) = try await s.running { $0.retry.limit = 0 }
      try await s.commit(launch, 0) { $0.cursor = [6] }
      let trace = try await s.record(launch.request).trace
      try await s.end(launch, .failed("no"))
      let record = try await s.store.retry(launch.request, skipping: .nothing, at: s.now)
      try expect(record.state, .ready, "the state")
      try expect(record.ledger, Ledger(), "the ledger")
      try expect(record.trace, trace, "the trace")
      try expect(record.endedAt == nil, "it still has an end")
      try expect(try await s.store.events(of: launch.request).map(\.name), ["retried"], "events")
      let next = try require(try await s.claim(definition).assignments.first, "the next launch")
      try expect(next.launch.number, 2, "its number")
      try expect(next.progress.cursor, [6], "its cursor")
      try expect(try await [s.count(.failed), s.count(.running)], [0, 1], "the counts")
    },
    Case("skipping a batch records it and goes on after it, by units of the work, never past its total") { s in
      let (definition, launch) = try await s.running { definition in
        definition.retry.limit = 0
        definition.work = Work(command: ["x"], items: .range(1...10), batchSize: 4)
      }
      try await s.commit(launch, 0) { $0.completedUnits = 4 }
      try await s.end(launch, .failed("no"))
      let first = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now)
      try expect([first.progress.batches, Int(first.progress.completedUnits)], [2, 8], "after the first skip")
      try await s.end(try await s.start(definition), .failed("no"))
      let second = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now)
      try expect([second.progress.batches, Int(second.progress.completedUnits)], [3, 10], "after the second skip")
      try expect([first.skippedBatches, second.skippedBatches], [[1], [1, 2]], "the batches that are skipped")
      try expect([first.skippedUnits, second.skippedUnits], [4, 6], "their units")
      try expect([first.doneUnits, second.doneUnits], [4, 4], "the units that were done")
      let listed = try await s.store.requests(RequestFilter(), after: nil, limit: 9)
      try expect(listed.map(\.skippedBatches), [[1, 2]], "what a list says of it")
      let events = try await s.store.events(of: launch.request)
      try expect(events.map(\.name), ["retried", "skippedBatch", "retried", "skippedBatch"], "events")
      try expect(events.map(\.detail), [nil, "1", nil, "2"], "the batches skipped")
    },
    Case("the very first batch can be skipped too") { s in
      let (definition, launch) = try await s.running { $0.retry.limit = 0 }
      try await s.end(launch, .failed("no"))
      let record = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now)
      try expect(record.progress, Progress(batches: 1), "the progress")
      try expect(try await s.commit(try await s.start(definition), 1), .committed(batch: 1), "the next batch")
      let after = try await s.record(launch.request)
      try expect([record.skippedBatches, after.skippedBatches], [[0], [0]], "what is skipped stays so")
    },
    Case("a command in one piece has no batch to skip, until it has kept a cursor") { s in
      let (definition, launch) = try await s.running { definition in
        definition.retry.limit = 0
        definition.work = Work(command: ["x"])
      }
      try await s.end(launch, .failed("no"))
      try await expectRefusal(
        .refused,
        saying: ["job (request 1) has no batch to skip", "Retry it without --skip-batch", "--with-new-definition"]
      ) { _ = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now) }
      try expect(try await s.state(launch.request), .failed, "a refused retry changes nothing")
      try expect(try await s.store.events(of: launch.request), [], "events after a refusal")
      _ = try await s.store.retry(launch.request, skipping: .nothing, at: s.now)
      let again = try await s.start(definition)
      try await s.commit(again, 0) { $0.cursor = [6] }
      try await s.end(again, .failed("no"))
      let record = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now)
      try expect([record.progress.batches, record.skippedBatches.count], [2, 1], "after the skip")
    },
    Case("a request that waits for its retry skips its batch too, and is due now") { s in
      let (definition, launch) = try await s.running { definition in
        definition.retry = RetryRule(limit: 3, backoff: .seconds(3600))
        definition.work = Work(command: ["x"], items: .range(1...10), batchSize: 4)
      }
      try await s.end(launch, .failed("no"))
      let record = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now)
      try expect(
        [record.state, record.waitsBecause?.code == nil ? .ready : .scheduled], [.ready, .ready], "the state")
      try expect([record.progress.batches, Int(record.progress.completedUnits)], [1, 4], "after the skip")
      try expect(record.skippedBatches, [0], "the batch that is skipped")
      let events = try await s.store.events(of: launch.request)
      try expect(events.map(\.name), ["retried", "skippedBatch"], "events")
      let next = try require(try await s.claim(definition).assignments.first, "the next launch")
      try expect(next.progress.batches, 1, "where it goes on")
    },
    Case("a request that waits for its retry is refused what only a failed one gets, with the way") { s in
      let (_, launch) = try await s.running { definition in
        definition.retry = RetryRule(limit: 3, backoff: .seconds(3600))
        definition.work = Work(command: ["x"])
      }
      try await s.end(launch, .failed("no"))
      let new = try await s.define { $0.work = Work(command: ["y"]) }.id
      let (store, now) = (s.store, s.now)
      try await expectRefusal(.refused, saying: ["waits for its retry", "'baton apply FILE --refreeze'"]) {
        _ = try await store.retry(launch.request, skipping: .nothing, as: new, at: now)
      }
      try await expectRefusal(.refused, saying: ["was not divided, so it has no shard 2"]) {
        _ = try await store.retry(launch.request, skipping: .nextBatchOfShard(2), at: now)
      }
      try await expectRefusal(.refused, saying: ["has no batch to skip"]) {
        _ = try await store.retry(launch.request, skipping: .nextBatch, at: now)
      }
      try expect(try await s.record(launch.request).waitsBecause?.kind, .backingOff, "a refusal changes nothing")
      try expect(try await s.store.events(of: launch.request), [], "events after the refusals")
    },
    Case("a first batch that is skipped has no more units than there are items") { s in
      let (_, launch) = try await s.running { definition in
        definition.retry.limit = 0
        definition.work = Work(command: ["x"], items: .range(1...3), batchSize: 4)
      }
      try await s.end(launch, .failed("no"))
      let record = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now)
      try expect([record.progress.completedUnits, record.skippedUnits, record.doneUnits], [3, 3, 0], "the units")
    },
    Case("a retried request is live again: the waiting one waits for it") { s in
      let (definition, launch) = try await s.running { $0.retry.limit = 0 }
      try await s.end(launch, .failed("no"))
      let waiting = try await s.submit("job", to: definition)
      try expect(waiting.state, .ready, "before the retry")
      _ = try await s.store.retry(launch.request, skipping: .nothing, at: s.now)
      try expect(try await s.record(waiting.request).waitsBecause, .waitsForLiveRequest(number: 1), "after the retry")
      try await s.end(try await s.start(definition))
      try expect(try await s.state(waiting.request), .ready, "after its end")
    },
    Case("only a failed request of an identifier that has no live one can be retried") { s in
      let (definition, first) = try await s.running { $0.retry.limit = 0 }
      let (store, now) = (s.store, s.now)
      try await expectRefusal(.refused, saying: ["job", "running"]) {
        _ = try await store.retry(first.request, skipping: .nothing, at: now)
      }
      try await expectRefusal(.notFound, saying: ["99"]) {
        _ = try await store.retry(RequestID(99), skipping: .nothing, at: now)
      }
      try await s.end(first, .failed("no"))
      try await s.submit("job", to: definition)
      let second = try await s.start(definition)
      try await expectRefusal(.refused, saying: ["job", "live"]) {
        _ = try await store.retry(first.request, skipping: .nextBatch, at: now)
      }
      try expect(try await s.store.events(of: first.request), [], "events after a refusal")
      try await s.end(second)
      _ = try await s.store.retry(first.request, skipping: .nothing, at: s.now)
    },
    Case("a failure that the rule does not cover ends the request, and others are tried again") { s in
      let (definition, launch) = try await s.running { $0.retry.on = [.exit(75)] }
      let first = try await s.end(launch, .failed("later"), kind: .exit(75))
      try expect(first.state, .scheduled, "after a failure that is covered")
      s.advance(.seconds(30))
      _ = try await s.store.promote(at: s.now, limit: 9)
      let second = try await s.end(try await s.start(definition), .failed("no"), kind: .exit(1))
      try expect(second.state, .failed, "after another one")
      let reason = try await s.record(launch.request).reason
      try expect(reason, "not tried again after 'exit 1', as 'retry' says: no", "the reason")
    },
    Case("waits before retries have a longest one, and a time of their own") { s in
      let (definition, launch) = try await s.running { definition in
        definition.retry = RetryRule(limit: 9, backoff: .seconds(10))
        (definition.retry.maxBackoff, definition.retry.jitter) = (.seconds(15), .seconds(4))
      }
      var (launches, waits) = ([launch], [] as [Duration])
      for _ in 0..<3 {
        let answer = try await s.end(launches[launches.count - 1], .failed("no"))
        let due = try require(answer.nextDue.steady, "when it is due")
        waits.append(due - s.now.steady)
        s.advance(waits[waits.count - 1])
        _ = try await s.store.promote(at: s.now, limit: 9)
        launches.append(try await s.start(definition))
      }
      var rule = RetryRule(limit: 9, backoff: .seconds(10))
      (rule.maxBackoff, rule.jitter) = (.seconds(15), .seconds(4))
      try expect(waits, (1...3).map { rule.wait(after: $0, of: launch.request) }, "the waits")
    },
    Case("a batch that fails again and again is skipped, as often as the definition says, and then the request fails") {
      s in
      let (definition, launch) = try await s.running { definition in
        definition.retry = RetryRule(limit: 1, backoff: .zero)
        (definition.retry.skipBatchAfter, definition.retry.skipLimit) = (2, 2)
        definition.work = Work(command: ["x"], items: .range(1...10), batchSize: 2)
      }
      try await s.commit(launch, 0) { $0.completedUnits = 2 }
      try await s.end(launch, .failed("no"))
      try expect(try await s.record(launch.request).skippedBatches, [], "after the first failure")
      // The launch that committed batch 0 and then failed counts for batch 1.
      try await s.end(try await s.start(definition), .failed("no"))
      var record = try await s.record(launch.request)
      try expect(record.skippedBatches, [1], "after the second failure")
      try expect([record.progress.batches, Int(record.progress.completedUnits)], [2, 4], "where it goes on")
      try expect(record.state, .ready, "the state")
      try await s.end(try await s.start(definition), .failed("no"))
      try await s.end(try await s.start(definition), .failed("no"))
      try expect(try await s.record(launch.request).skippedBatches, [1, 2], "after two more")
      try await s.end(try await s.start(definition), .failed("no"))
      try await s.end(try await s.start(definition), .failed("the third"))
      record = try await s.record(launch.request)
      try expect(record.state, .failed, "after the last")
      try expect([record.reason, "\(record.skippedBatches)"], ["the third", "[1, 2]"], "no third batch is skipped")
      try expect(
        try await s.store.events(of: launch.request).map(\.name), ["skippedBatch", "skippedBatch"], "the events")
    },
    Case("only the failure of a batch skips it, and nothing is skipped before the items are known") { s in
      let (definition, launch) = try await s.running { definition in
        definition.retry = RetryRule(limit: 9, backoff: .zero)
        definition.retry.skipBatchAfter = 1
        definition.work = Work(command: ["x"], items: .glob("*.jpg"), batchSize: 2)
      }
      try await s.end(launch, .failed("no folder"), kind: FailureKind(rawValue: "badItems"))
      try await s.end(try await s.start(definition), .failed("no"), kind: .exit(1))
      try expect(try await s.record(launch.request).skippedBatches, [], "before the items are known")
      let third = try await s.start(definition)
      _ = try await s.append(ItemPage(launch: third, start: 0, items: ["a", "b", "c"], isLast: true))
      try await s.end(third, .failed("no program"), kind: FailureKind(rawValue: "notFound"))
      try expect(try await s.record(launch.request).skippedBatches, [], "after a failure of the host")
      for _ in 0..<2 { try await s.end(try await s.start(definition), .failed("no"), kind: .exit(1)) }
      var record = try await s.record(launch.request)
      try expect([record.skippedBatches, [Int(record.progress.completedUnits)]], [[0, 1], [3]], "after both batches")
      try await s.end(try await s.start(definition), .failed("no"), kind: .exit(1))
      record = try await s.record(launch.request)
      try expect(record.skippedBatches, [0, 1], "at the end of the items")
    },
    Case("a shard skips its own batches") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) { definition in
        definition.spread?.shardSize = 4
        definition.retry = RetryRule(limit: 1, backoff: .zero)
        definition.retry.skipBatchAfter = 1
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.commit(other, 0) { $0.completedUnits = 1 }
      let end = try await s.end(other, .failed("no"))
      try expect(end.shardState, .ready, "the shard after its failure")
      let again = try require(try await s.claim(definition).assignments.first, "the shard again")
      try expect(again.launch, LaunchKey(request: other.request, number: 2), "it is the same")
      try expect(
        [again.progress.batches, Int(again.progress.completedUnits)], [2, 2], "it goes on after its second batch")
      try expect(try await s.record(launch.request).skippedUnits, 1, "the units of the request that are skipped")
    },
  ]
}
