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
  ]
}
