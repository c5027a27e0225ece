import BatonModel
import BatonStore

extension StoreConformance {
  static let checkpoints: [Case] = [
    Case("exactly the next batch is committed; the same one again is answered and changes nothing", rows: [31.1]) { s in
      let (_, launch) = try await s.running()
      try expect(try await s.commit(launch, 0) { $0.cursor = [1] }, .committed(batch: 0), "batch 0")
      try expect(try await s.commit(launch, 1) { $0.cursor = [2] }, .committed(batch: 1), "batch 1")
      try expect(try await s.commit(launch, 0) { $0.cursor = [9] }, .committed(batch: 0), "batch 0 again")
      try expect(try await s.record(launch.request).progress.cursor, [2], "the cursor")
      guard case .refused(let text) = try await s.commit(launch, 3), text.contains("2") else {
        throw Violation(description: "batch 3 was not refused before batch 2")
      }
      let progress = try await s.record(launch.request).progress
      try expect(progress, Progress(batches: 2, cursor: [2], completedUnits: 2, totalUnits: nil), "the progress")
    },
    Case("a superseded launch commits nothing, whether or not its successor runs", rows: [31.2]) { s in
      let (definition, first) = try await s.running()
      try await s.commit(first, 0) { $0.cursor = [1] }
      try await s.end(first, .lost)
      try expect(try await s.commit(first, 1), .superseded, "after its end")
      let second = try await s.start(definition)
      try expect(try await s.commit(first, 1), .superseded, "beside its successor")
      try expect(try await s.commit(LaunchKey(request: first.request, number: 3), 1), .superseded, "an unborn launch")
      try expect(try await s.commit(LaunchKey(request: RequestID(999), number: 1), 0), .superseded, "no request at all")
      try expect(try await s.commit(second, 1), .committed(batch: 1), "the successor")
      try expect(try await s.record(first.request).progress.batches, 2, "batches")
    },
    Case("a launch goes on where the last one stopped, and may not redo its batches") { s in
      let (definition, first) = try await s.running()
      try await s.commit(first, 0) { ($0.cursor, $0.completedUnits, $0.totalUnits) = ([5], 10, 247) }
      try await s.end(first, .expired(.powerLost))
      let second = try require(try await s.claim(definition).assignments.first, "the second launch")
      try expect(
        second.progress, Progress(batches: 1, cursor: [5], completedUnits: 10, totalUnits: 247), "what it is given")
      guard case .refused = try await s.commit(second.launch, 0) else {
        throw Violation(description: "a batch of an earlier launch was committed again")
      }
      try expect(try await s.commit(second.launch, 1), .committed(batch: 1), "the next batch")
      try await s.end(second.launch)
      let launches = try await s.store.launches(of: first.request)
      try expect(launches.map(\.firstBatch), [0, 1], "first batches")
      try expect(launches.map(\.batches), [1, 1], "batches")
    },
    Case("a cursor over the limit is refused with its size, the limit and the key; one at the limit is not") { s in
      let (_, launch) = try await s.running()
      let limit = Checkpoint.maximumCursorBytes
      guard
        case .refused(let text) = try await s.commit(launch, 0, { $0.cursor = Array(repeating: 1, count: limit + 1) })
      else { throw Violation(description: "a cursor over the limit was committed") }
      for word in ["\(limit + 1)", "\(limit)", "limits.checkpointBytes"] {
        try expect(text.contains(word), "\"\(text)\" does not say \(word)")
      }
      let answer = try await s.commit(launch, 0) { $0.cursor = Array(repeating: 1, count: limit) }
      try expect(answer, .committed(batch: 0), "a cursor at the limit")
      try expect(try await s.record(launch.request).progress.cursor?.count, limit, "its size")
    },
    Case("elements of one call are judged one by one, in order") { s in
      let (_, launch) = try await s.running()
      let stale = LaunchKey(request: launch.request, number: 9)
      let answers = try await s.store.checkpoint(
        [
          Checkpoint(launch: stale, batch: 0, completedUnits: 9),
          Checkpoint(launch: launch, batch: 0, completedUnits: 1),
          Checkpoint(launch: launch, batch: 1, completedUnits: 2),
        ], from: StoreScenario.worker, at: s.now)
      try expect(answers, [.superseded, .committed(batch: 0), .committed(batch: 1)], "the answers")
    },
    Case("the subtitle of a checkpoint replaces the definition's") { s in
      let (_, launch) = try await s.running("job", .processing) { $0.subtitle = "waiting" }
      try expect(try await s.record(launch.request).subtitle, "waiting", "the definition's")
      try await s.commit(launch, 0) { $0.subtitle = "10 of 20" }
      try await s.commit(launch, 1)
      try expect(try await s.record(launch.request).subtitle, "10 of 20", "the checkpoint's")
    },
    Case("a committed batch resets losses and strikes", rows: [29.3]) { s in
      let (definition, first) = try await s.running()
      try await s.end(first, .lost)
      try expect(try await s.record(first.request).ledger, Ledger(losses: 1, strikes: 1), "after the loss")
      try await s.commit(try await s.start(definition), 0)
      try expect(try await s.record(first.request).ledger, Ledger(), "after the batch")
    },
  ]
}
