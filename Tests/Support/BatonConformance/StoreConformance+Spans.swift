import BatonModel
import BatonStore

/// Spans wait in the store until a backend has confirmed them (promise P9). The stores of these cases queue spans.
extension StoreConformance {
  private static func spanCase(
    _ name: String, rows: [Double] = [], _ body: @escaping @Sendable (inout StoreScenario) async throws -> Void
  ) -> Case { Case(name, rows: rows, queuesSpans: true, body) }

  static let spans: [Case] = [
    spanCase("every occasion waits until it is confirmed, and only what was confirmed goes") { s in
      let (_, launch) = try await s.running()
      try await s.end(launch)
      let keys = try await s.unsent()
      try expect(keys.map(\.parts), [.submit, [.launch, .complete]], "the occasions")
      try expect(keys.map(\.launch), [0, 1], "their launches")
      try await s.store.confirmSpans([keys[1]])
      try expect(try await s.unsent(), [keys[0]], "what is left")
      try await s.store.confirmSpans(keys)
      try expect(try await s.unsent(), [], "what is left in the end")
    },
    spanCase("a launch that waited has its wait, and one that was started at once has none") { s in
      let definition = try await s.define().id
      try await s.connect()
      let waiting = try await s.submit("job", to: definition)
      s.advance(.seconds(3))
      let launch = try await s.start(definition)
      let source = try require(try await s.sources(of: launch.request, .wait).first, "the wait")
      try expect(source.launch?.wait?.readyAt, s.now.date + .seconds(-3), "since when")
      try expect(source.launch?.wait?.obstacles.isIncomplete, true, "nobody said what kept it")
      try await s.end(launch)
      var offer = try s.offer("job", to: definition)
      offer.host = s.place()
      let started = try require(try await s.answer(to: offer).launch, "a launch")
      try expect(try await s.sources(of: started.launch.request, .wait), [], "one that was started at once")
      try expect(waiting.request == launch.request, "it is the one that waited")
    },
    spanCase("a wait has the obstacles of its class from when it became ready, and what it waited for before") { s in
      let definition = try await s.define().id
      try await s.connect()
      try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      var history = WaitHistory(since: s.now.date)
      history.note([WaitReason("needsNetwork", hosts: ["ben"], hostCount: 2)], at: s.now.date)
      s.advance(.seconds(60))
      _ = try await s.store.promote(at: s.now, limit: 10)
      let ready = s.now.date
      s.advance(.seconds(5))
      history.note([WaitReason("slotsInUse")], at: s.now.date)
      let changed = s.now.date
      s.advance(.seconds(5))
      let assignment = try require(
        try await s.claim(definition, history: history).assignments.first, "an assignment")
      let wait = try require(
        try await s.sources(of: assignment.launch.request, .wait).first?.launch?.wait, "the wait")
      try expect(wait.readyAt, ready, "since when it was ready")
      try expect(wait.heldBy, "notBefore", "what it waited for before")
      try expect(
        wait.obstacles,
        WaitObstacles(events: [
          .init(at: ready, code: "needsNetwork", came: true, hosts: ["ben"], hostCount: 2),
          .init(at: changed, code: "needsNetwork", came: false),
          .init(at: changed, code: "slotsInUse", came: true),
        ]), "its obstacles")
    },
    spanCase("what a span says never changes, even if its request is retried") { s in
      let (definition, first) = try await s.running()
      _ = try await s.store.noteExpiry(first, .powerLost, at: s.now)
      try await s.store.note(.suspect, detail: "slow", of: first.request, at: s.now)
      try await s.end(first, .expired(.powerLost))
      let before = try await s.store.unsentSpans(limit: 10)
      s.advance(.seconds(1))
      try await s.store.note(.poked, detail: nil, of: first.request, at: s.now)
      let second = try await s.start(definition)
      try await s.end(second, .failed("no"))
      s.advance(.seconds(30))
      _ = try await s.store.promote(at: s.now, limit: 10)
      try await s.end(try await s.start(definition), .failed("no"))
      let failed = try await s.store.unsentSpans(limit: 20)
      _ = try await s.store.retry(first.request, skipping: .nothing, at: s.now)
      try await s.store.note(.suspect, detail: nil, of: first.request, at: s.now)
      s.advance(.seconds(1))
      try await s.end(try await s.start(definition))
      let after = try await s.store.unsentSpans(limit: 40)
      try expect(before.settled.allSatisfy(after.contains), "the first spans are as they were")
      try expect(failed.settled.allSatisfy(after.contains), "those of the failure are as they were after a retry")
      try expect(after.compactMap(\.completion?.state), [.failed, .succeeded], "both completions")
      try expect(before.last?.launchEvents.map(\.name), ["suspect"], "the first launch's events")
      try expect(
        after.filter { $0.key.parts == .wait }.map { $0.waitEvents.map(\.name) }, [["poked"], ["retried", "suspect"]],
        "what was noted while it waited")
    },
    spanCase("a transfer has a span when it has ended, and the launch that is told of it first is linked to it") { s in
      let (definition, request) = try await s.waiting(for: ["a", "b"])
      try await s.transferEnds(request, 0)
      try expect(try await s.sources(of: request, .transfer).map(\.key.launch), [0], "those that have ended")
      try await s.transferEnds(request, 0)
      try await s.transferEnds(request, 1, .cancelled)
      let sources = try await s.sources(of: request, .transfer)
      try expect(sources.map(\.key.launch), [0, 1], "both")
      try expect(sources.map(\.transfer?.host), [StoreScenario.host, StoreScenario.host], "where")
      try expect(sources.map(\.transfer?.status.state), [.ended(.done(StoreScenario.file)), .ended(.cancelled)], "how")
      try expect(sources[1].transfer?.transfer.url, "https://example.com/b", "what")
      _ = try await s.store.promote(at: s.now, limit: 10)
      try await s.end(try await s.start(definition), .expired(.draining))
      // The second launch is told of them again, because the first one has committed nothing.
      let second = try await s.start(definition)
      let first = try await s.sources(of: request, .launch)
      try expect(first.map { $0.startedBy.map(\.number) }, [[0, 1]], "what started the first launch")
      try expect(try await s.sources(of: request, .transfer), sources, "what is said of the transfers")
      try await s.end(second)
      let launches = try await s.sources(of: request, .launch)
      try expect(launches.map { $0.startedBy.map(\.number) }, [[0, 1], []], "what started each launch")
      try expect(launches[0], first[0], "what is said of the first launch")
      let shown = try await s.store.spans(of: request).filter { $0.key.parts == .transfer }
      try expect(shown, sources, "what people are shown")
      try await s.store.confirmSpans(sources.map(\.key))
      try expect(try await s.sources(of: request, .transfer), [], "what waits to be sent")
    },
    spanCase("transfers that a retry drops leave no spans to be sent") { s in
      let (definition, request) = try await s.waiting(for: ["a"])
      try await s.transferEnds(request, 0)
      _ = try await s.store.promote(at: s.now, limit: 10)
      for _ in 0..<2 {
        s.advance(.seconds(100))
        _ = try await s.store.promote(at: s.now, limit: 10)
        try await s.end(try await s.start(definition), .failed("no"))
      }
      _ = try await s.store.retry(request, skipping: .nothing, as: nil, at: s.now)
      try expect(try await s.sources(of: request, .transfer), [], "after the retry")
      _ = try await s.store.noteTransfers(TransferReport(released: [request]), from: StoreScenario.worker, at: s.now)
      _ = try await s.claim(definition)
      try await s.transferEnds(request, 0)
      try expect(try await s.sources(of: request, .transfer).map(\.key.launch), [0], "of the new transfer")
    },
    spanCase("what is said of a submission does not change with one that takes its place") { s in
      let first = try await s.define("com.*").id
      try await s.submit("com.a", to: first) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      let before = try await s.store.unsentSpans(limit: 10)
      let second = try await s.define("com.a").id
      try expect(try await s.submit("com.a", to: second).replaced, true, "replaced")
      try expect(try await s.store.unsentSpans(limit: 10), before, "the submission's span")
    },
    spanCase("the first launch tells every poke by its id, and the spans of what joined", rows: [41.5]) { s in
      let definition = try await s.define().id
      try await s.connect()
      let parents = (1...3).map { SpanID($0) }
      let first = try s.offer("job", to: definition, id: "first") {
        ($0.poke, $0.parentSpanID) = (.considerate, parents[0])
      }
      let second = try s.offer("job", to: definition, id: "second") {
        ($0.poke, $0.parentSpanID) = (.considerate, parents[1])
      }
      // A second poke from the same span is linked only once.
      let again = try s.offer("job", to: definition, id: "again") {
        ($0.poke, $0.parentSpanID, $0.trace) = (.considerate, parents[1], second.submission.trace)
      }
      let third = try s.offer("job", to: definition, id: "third") { $0.poke = .considerate }
      let fourth = try s.offer("job", to: definition, id: "fourth") { $0.parentSpanID = parents[2] }
      for offer in [first, second, second, again, third, fourth] { _ = try await s.answer(to: offer) }
      let launch = try await s.start(definition)
      try await s.end(launch, .expired(.hostBusy))
      let source = try require(try await s.sources(of: launch.request, .launch).first, "the launch")
      let spans = [second, fourth].map { offer in
        TraceContext(
          traceID: offer.submission.trace.traceID, spanID: offer.submission.parentSpanID ?? SpanID(0), isSampled: true)
      }
      let pokes = ["first", "second", "again", "third"]
      try expect(source.joined, JoinedSubmissions(pokes: pokes, spans: spans), "what joined")
      try await s.end(try await s.start(definition))
      let later = try await s.sources(of: launch.request, .launch).dropFirst()
      try expect(later.map(\.joined), [JoinedSubmissions()], "what the second launch says of it")
    },
    spanCase("a request that never started tells at its end what joined it, and the oldest are dropped") {
      s in
      let definition = try await s.define().id
      let count = JoinedSubmissions.limit + 2
      var request: RequestID?
      for number in 1...count {
        let offer = try s.offer("job", to: definition, id: "poke-\(number)") { $0.poke = .considerate }
        request = try await s.answer(to: offer).receipt.request
      }
      let id = try require(request, "the request")
      _ = try await s.store.cancel(.request(id), by: "ada", at: s.now)
      let joined = try require(try await s.sources(of: id, .complete).first, "its end").joined
      try expect(joined.dropped, 2, "how many were dropped")
      try expect(joined.pokes, (3...count).map { "poke-\($0)" }, "the pokes")
    },
    spanCase("launches name the one before, and failures their type") { s in
      let (definition, first) = try await s.running()
      let failure = Ending(launch: first, outcome: .failed("exit 3"), errorType: "exit 3")
      _ = try await s.store.end([failure], from: StoreScenario.worker, at: s.now)
      s.advance(.seconds(30))
      _ = try await s.store.promote(at: s.now, limit: 10)
      let second = try await s.start(definition)
      let lost = try await s.endLease()
      try expect(lost.map(\.launch), [second], "the lost launch")
      let launches = try await s.sources(of: first.request, .launch).compactMap(\.launch)
      try expect(launches.map(\.errorType), ["exit 3", "lost"], "their error types")
      try expect(launches.map(\.previousSpanID), [nil, launches[0].record.spanID], "what they resume")
    },
    spanCase("each launch of a divided request has its shard, and each end of the request how many there were") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) {
        $0.retry.limit = 0
        $0.spread?.shardSize = 4
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.end(other, .failed("no"))
      try await s.finishAll(definition, from: launch)
      let failed = try require(try await s.record(launch.request).shards, "the shards")
      _ = try await s.store.retry(launch.request, skipping: .nothing, at: s.now)
      try await s.finishAll(definition, from: try await s.start(definition))
      let succeeded = try require(try await s.record(launch.request).shards, "the shards after the retry")
      let shards = try await s.store.shards(of: launch.request, after: nil, limit: 99)
      let unsent = try await s.store.unsentSpans(limit: 100)
      let shown = try await s.store.spans(of: launch.request)
      for (sources, name) in [(unsent, "what is to be sent"), (shown, "what people are shown")] {
        let launches = sources.filter { $0.key.parts.contains(.launch) }
        try expect(Set(launches.map(\.shard)), Set(0..<succeeded.total), "the shards, in \(name)")
        for source in launches {
          try expect(source.isSpread, true, "whether the request is divided, in \(name)")
          try expect(source.key.request, shards.first { $0.index == source.shard }?.id, "the row, in \(name)")
        }
        let ends = sources.filter { $0.key.parts.contains(.complete) }
        try expect(ends.map(\.completion?.state), [.failed, .succeeded], "the ends, in \(name)")
        try expect(ends.map(\.completion?.shards), [failed.total, succeeded.total], "how many shards, in \(name)")
        try expect(ends.map(\.launch), [nil, nil], "an end of the whole request has no launch, in \(name)")
      }
      let (_, plain) = try await s.running("plain")
      try await s.end(plain)
      let source = try require(try await s.sources(of: plain.request, .complete).first, "one that is not divided")
      try expect([source.isSpread, source.completion?.shards == nil], [false, true], "what it says of shards")
    },
    spanCase("a request that is cancelled while it waits has that wait, and its completion") { s in
      // Two other definitions come first, so that the definition and the request have different numbers.
      for name in ["a", "b"] { try await s.define(name) }
      let definition = try await s.define().id
      let receipt = try await s.submit("job", to: definition)
      var history = WaitHistory(since: s.now.date)
      history.note([WaitReason("noHosts")], at: s.now.date)
      s.advance(.seconds(9))
      _ = try await s.store.cancel(
        .request(receipt.request), by: "ada",
        histories: [RequirementClass(definition: definition, priority: .background): history], at: s.now)
      let source = try require(try await s.store.unsentSpans(limit: 10).last, "the completion")
      try expect(source.key.parts, [.complete, .vainWait], "the occasion")
      try expect(source.wait?.obstacles.events.map(\.code), ["noHosts"], "why it waited")
      try expect(source.completion, .init(state: .cancelled, reason: "ada", at: s.now.date), "the completion")
      let held = try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      _ = try await s.store.cancel(.request(held.request), by: "ada", at: s.now)
      try expect(try await s.unsent().last?.parts, .complete, "one that was not ready has no wait")
    },
    spanCase("a request that is not sampled has no spans to send, and its trace can be read all the same") { s in
      let definition = try await s.define().id
      try await s.connect()
      let receipt = try await s.submit("job", to: definition) { $0.trace.isSampled = false }
      try await s.end(try await s.start(definition))
      try expect(try await s.unsent(), [], "what is to be sent")
      let parts = try await s.store.spans(of: receipt.request).map(\.key.parts)
      try expect(parts, [.submit, [.wait, .launch], .complete], "what can be read")
    },
    spanCase("rejected spans are not sent again, and are counted as long as their request is kept") { s in
      let (_, launch) = try await s.running()
      try await s.end(launch)
      let keys = try await s.unsent()
      try await s.store.rejectSpans(keys, because: "HTTP 400: no", at: s.now)
      try expect(try await s.unsent(), [], "what is to be sent")
      let queue = try await s.store.spanQueue()
      try expect(queue, SpanQueueRecord(unsent: 0, rejected: 2, lastRejection: "HTTP 400: no"), "the queue")
      s.advance(.seconds(10))
      _ = try await s.store.prune(RetentionLimits(endedFor: .seconds(1)), at: s.now)
      try expect(try await s.store.spanQueue().rejected, 0, "after its request is gone")
    },
    spanCase("a request stays until its spans were sent, or were dropped because it took too long") { s in
      let (_, launch) = try await s.running()
      try await s.end(launch)
      s.advance(.seconds(100))
      let limits = RetentionLimits(endedFor: .seconds(1), endedCount: 0)
      _ = try await s.store.prune(limits, at: s.now)
      try expect(try await s.unsent().count, 2, "what is to be sent")
      _ = try await s.record(launch.request)
      s.stepWallClock(by: .seconds(9 * 365 * 86_400))
      let young = try await s.store.dropUnsentSpans(endedBefore: s.now.steady + .seconds(-200), beyond: 9, limit: 9)
      try expect(young, 0, "what is young enough stays")
      let old = try await s.store.dropUnsentSpans(endedBefore: s.now.steady, beyond: 9, limit: 9)
      try expect(old, 2, "what is too old goes")
      _ = try await s.store.prune(limits, at: s.now)
      try expect(try await s.store.request(launch.request), nil, "its request")
    },
    spanCase("of more unsent spans than may be kept, the oldest go") { s in
      let definition = try await s.define("com.*").id
      for index in 0..<6 { try await s.submit("com.\(index)", to: definition) }
      let kept = try await s.unsent().suffix(2)
      let epoch = Timestamp(nanoseconds: 0)
      try expect(try await s.store.dropUnsentSpans(endedBefore: epoch, beyond: 2, limit: 3), 3, "one step")
      try expect(try await s.store.dropUnsentSpans(endedBefore: epoch, beyond: 2, limit: 3), 1, "the next step")
      try expect(try await s.unsent(), Array(kept), "what is left")
    },
  ]
}

extension StoreScenario {
  func unsent() async throws -> [SpanKey] { try await store.unsentSpans(limit: 100).map(\.key) }

  /// The spans of a request that wait to be sent and whose key contains these parts.
  func sources(of request: RequestID, _ parts: SpanParts) async throws -> [SpanSource] {
    try await store.unsentSpans(limit: 100).filter { $0.key.request == request && $0.key.parts.isSuperset(of: parts) }
  }
}

extension [SpanSource] {
  /// The occasions without those of waits. The launch that ended a wait still runs, so the values of its row can still
  /// change.
  fileprivate var settled: Self { filter { $0.key.parts != .wait } }
}
