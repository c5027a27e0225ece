import BatonModel
import BatonStore

/// Requests that are divided into shards.
extension StoreConformance {
  static let spreading: [Case] = [
    Case("a request is cut into shards at its first launch, and each is claimed as a request is") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 4)
      let record = try await s.record(launch.request)
      try expect(
        record.shards,
        ShardSummary(
          lanes: 4, lanesInUse: 4, total: 4, running: 1, ready: 3, unitsLeft: 28, hosts: 1), "the shards")
      try expect(record.progress.totalUnits, 40, "the total")
      let claimed = try await s.claim(definition, places: 9)
      try expect(
        claimed.assignments.map(\.shard),
        [
          Shard(index: 1, first: 3, end: 6), Shard(index: 2, first: 6, end: 9), Shard(index: 3, first: 9, end: 12),
        ], "the other shards")
      try expect(claimed.assignments.allSatisfy { $0.head == launch.request && $0.launch.number == 1 }, "their names")
      try expect(try await s.claim(definition).assignments.isEmpty, "no fifth shard starts on four lanes")
    },
    Case("a request is on the only host that runs shards of it, whichever had shard 0") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 2) { $0.spread?.shardSize = 20 }
      let beta = HostName("beta")
      try await s.connect(beta)
      _ = try require(try await s.claim(definition, on: beta).assignments.first, "the other shard")
      try expect(try await s.record(launch.request).shards?.hosts, 2, "the hosts, while both shards run")
      try await s.end(launch, .failed("no"))
      let record = try await s.record(launch.request)
      try expect(record.state, .running, "the request, while shard 0 waits for its retry")
      try expect(record.shards?.hosts, 1, "the hosts then")
      try expect(record.host, beta, "the host")
      let listed = try await s.store.requests(RequestFilter(host: beta), after: nil, limit: 9)
      try expect(listed.map(\.host), [beta], "the host in a list of what runs there")
    },
    Case("the end of a shard gives its lane to the next one, and the last end ends the request") { s in
      let (definition, launch) = try await s.spreading(24, lanes: 2)
      var open = [launch] + (try await s.claim(definition, places: 9).assignments.map(\.launch))
      var ended = 0
      while let one = open.first {
        open.removeFirst()
        let shard = try await s.finish(one)
        ended += 1
        open += try await s.claim(definition, places: 9).assignments.map(\.launch)
        try expect(open.count <= 2, "at most two shards run")
        try expect(shard.state.isEnded, open.isEmpty, "shard \(ended) ends the request only if it is the last")
      }
      let record = try await s.record(launch.request)
      try expect(record.state, .succeeded, "the request")
      try expect(record.progress.completedUnits, 24, "every unit")
      try expect(record.progress.batches, 24, "every batch")
      let shards = try await s.store.shards(of: launch.request, after: nil, limit: 100)
      try expect(shards.map(\.first).sorted().first, 0, "the first unit")
      try expect(s.coverage(shards), 0..<24, "the ranges of the shards meet")
    },
    Case("a shard is split beyond the batch that runs, and its launch learns the new end with its next commit") { s in
      let (definition, launch) = try await s.spreading(20, lanes: 2) { $0.spread?.shardSize = 10 }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      for batch in 0..<3 { try await s.commit(launch, batch) }
      try await s.finish(other)
      let shards = try await s.store.shards(of: launch.request, after: nil, limit: 9)
      try expect(shards.map { $0.first..<($0.end ?? 0) }, [0..<7, 10..<20, 7..<10], "half of the seven batches left")
      let third = try require(try await s.claim(definition).assignments.first, "the new shard")
      try expect(third.shard, Shard(index: 2, first: 7, end: 10), "the new shard")
      try expect(try await s.commit(launch, 3), .committed(batch: 3, end: 7), "the answer says the new end")
      try expect(try await s.commit(launch, 3), .committed(batch: 3, end: 7), "also when it is repeated")
    },
    Case("a launch cannot commit what a split has given away") { s in
      let (definition, launch) = try await s.spreading(20, lanes: 2) { $0.spread?.shardSize = 10 }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.finish(other)
      let end = try require(try await s.store.shards(of: launch.request, after: nil, limit: 1).first?.end, "the end")
      for batch in 0..<Int(end) { try await s.commit(launch, batch) }
      guard case .refused(let why) = try await s.commit(launch, Int(end)) else {
        throw Violation(description: "the batch of another shard was committed")
      }
      try expect(why.contains("another shard has these units"), "\"\(why)\" does not say why")
    },
    Case("a shard that is lost goes on at its checkpoint, and nothing else of the request changes") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 2)
      let other = try require(try await s.claim(definition).assignments.first, "the other shard")
      try await s.commit(other.launch, 0)
      try await s.commit(launch, 0)
      try await s.end(other.launch, .lost)
      let again = try require(try await s.claim(definition).assignments.first, "the next launch")
      try expect(again.launch, LaunchKey(request: other.launch.request, number: 2), "launch 2 of the same shard")
      try expect(again.shard, other.shard, "its range")
      try expect(again.progress.completedUnits, 1, "its checkpoint")
      try expect(try await s.commit(other.launch, 1), .superseded, "the launch before commits nothing")
      try expect(try await s.commit(launch, 1), .committed(batch: 1, end: 5), "shard 0 goes on")
    },
    Case("a shard that has used up its retries fails alone, and a retry runs only it") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) {
        $0.retry.limit = 0
        $0.spread?.shardSize = 4
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.commit(other, 0)
      let failed = try await s.end(other, .failed("no disk"))
      try expect(failed.state.isEnded, false, "the request goes on")
      for batch in 0..<4 { try await s.commit(launch, batch) }
      for one in try await s.claim(definition, places: 4).assignments { try await s.finish(one.launch) }
      try await s.finishAll(definition, from: launch)
      let record = try await s.record(launch.request)
      try expect(record.state, .failed, "the request")
      try expect(record.reason, "shard 1 of \(record.shards?.total ?? 0) failed: no disk", "the reason")
      let retried = try await s.store.retry(launch.request, skipping: .nothing, at: s.now)
      try expect(retried.state, .ready, "the request")
      let again = try await s.claim(definition, places: 9).assignments
      try expect(again.map(\.launch), [LaunchKey(request: other.request, number: 2)], "only the failed shard")
      try expect(again.first?.progress.completedUnits, 1, "at its checkpoint")
      try await s.finishAll(definition, from: again[0].launch)
      try expect(try await s.state(launch.request), .succeeded, "the request")
      try expect(try await s.record(launch.request).progress.completedUnits, 8, "every unit once")
    },
    Case("a retry skips the batch at which the failed shard stands") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) {
        $0.retry.limit = 0
        $0.spread?.shardSize = 4
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.end(other, .failed("bad item"))
      try await s.finishAll(definition, from: launch)
      _ = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now)
      let again = try require(try await s.claim(definition).assignments.first, "the failed shard")
      try expect(again.progress.completedUnits, 1, "it goes on after the skipped batch")
      try await s.finishAll(definition, from: again.launch)
      let record = try await s.record(launch.request)
      try expect(record.state, .succeeded, "the request")
      try expect(record.skippedUnits, 1, "the skipped unit")
      try expect([record.skippedBatches, record.skippedShards], [[0], [1]], "the skipped batch, and its shard")
      let listed = try await s.store.requests(RequestFilter(), after: nil, limit: 9)
      try expect(listed.map { [$0.skippedBatches, $0.skippedShards] }, [[[0], [1]]], "what a list says of it")
    },
    Case("of several failed shards, a retry skips a batch only of the shard that is named") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) {
        $0.retry.limit = 0
        $0.spread?.shardSize = 4
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.commit(other, 0)
      try await s.end(launch, .failed("bad item"))
      try await s.end(other, .failed("bad item"))
      // The lane that became free first got a part of the shard that ran.
      try await s.finishAll(definition, from: try await s.start(definition))
      try await expectRefusal(
        .refused,
        saying: ["2 shards of job (request 1) failed (0, 1), each at a batch of its own. Say with --shard which"]
      ) { _ = try await s.store.retry(launch.request, skipping: .nextBatch, at: s.now) }
      for absent in [2, -1] {
        try await expectRefusal(
          .refused, saying: ["Shard \(absent) of job (request 1) has not failed; what failed: 0, 1."]
        ) { _ = try await s.store.retry(launch.request, skipping: .nextBatchOfShard(absent), at: s.now) }
      }
      try expect(try await s.state(launch.request), .failed, "a refused retry changes nothing")
      _ = try await s.store.retry(launch.request, skipping: .nextBatchOfShard(1), at: s.now)
      let again = try await s.claim(definition, places: 9).assignments
      try expect(again.map(\.progress.completedUnits), [0, 2], "only shard 1 goes on after its batch")
      try expect(try await s.record(launch.request).skippedUnits, 1, "the skipped unit")
      let events = try await s.store.events(of: launch.request)
      try expect(events.contains { $0.detail == "1 of shard 1" }, true, "the record of what was skipped")
      try await s.finish(again[0].launch)
      try await s.finishAll(definition, from: again[1].launch)
      try expect(try await s.state(launch.request), .succeeded, "the request")
    },
    Case("a request that was not divided has no shard whose batch is skipped") { s in
      let (_, launch) = try await s.running { $0.retry.limit = 0 }
      try await s.end(launch, .failed("bad item"))
      try await expectRefusal(.refused, saying: ["was not divided, so it has no shard 0; leave --shard out"]) {
        _ = try await s.store.retry(launch.request, skipping: .nextBatchOfShard(0), at: s.now)
      }
    },
    Case("a divided request is found by the host of any shard that runs") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 3)
      let beta = HostName("beta")
      try await s.connect(beta)
      let other = try require(try await s.claim(definition, on: beta).assignments.first, "a shard on beta").launch
      let store = s.store
      func found(_ host: HostName, _ states: Set<RequestState> = []) async throws -> [RequestID] {
        try await store.requests(RequestFilter(states: states, host: host), after: nil, limit: 9).map(\.id)
      }
      for states in [[], [.running], Set(RequestState.allCases)] {
        try expect(try await found(StoreScenario.host, states), [launch.request], "the host of shard 0")
        try expect(try await found(beta, states), [launch.request], "the host of another shard, once")
      }
      try await s.end(other, .lost, from: WorkerProcess(host: beta, incarnation: StoreScenario.process))
      try expect(try await found(beta), [], "no shard runs there any more")
      try expect(try await found(StoreScenario.host), [launch.request], "shard 0 runs on")
    },
    Case("onShardFailure: stop ends the other shards, and makes no more") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 2) {
        $0.retry.limit = 0
        $0.spread?.onShardFailure = .stop
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      let answer = try await s.end(other, .failed("no disk"))
      try expect(answer.stops.map(\.launch), [launch], "the launches to stop")
      try expect(try await s.claim(definition).assignments.isEmpty, "no shard starts any more")
      let last = try await s.end(launch, .expired(.cancelled(by: "shard 1 failed")))
      try expect(last.state, .failed, "the request")
      let record = try await s.record(launch.request)
      try expect(record.reason, "shard 1 of 2 failed: no disk", "the reason names the shard that failed")
      let retried = try await s.store.retry(launch.request, skipping: .nothing, at: s.now)
      try expect(retried.shards?.ready, 2, "a retry goes on with both")
    },
    Case("cancelling ends the shards that wait, and the request ends with the last launch") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 3)
      let other = try require(try await s.claim(definition).assignments.first, "a second shard").launch
      let cancelled = try await s.store.cancel(.request(launch.request), by: "ada", at: s.now)
      let stopped = cancelled.compactMap { if case .stopping(let launch, _, _, _) = $0 { launch } else { nil } }
      try expect(Set(stopped), [launch, other], "the launches to stop")
      try expect(try await s.claim(definition).assignments.isEmpty, "nothing starts any more")
      try expect(try await s.end(launch, .expired(.cancelled(by: "ada"))).state.isEnded, false, "one still runs")
      try expect(try await s.end(other, .expired(.cancelled(by: "ada"))).state, .cancelled, "the last one ends it")
      try expect(try await s.state(launch.request), .cancelled, "the request")
      try expect(try await s.count(.running), 0, "nothing runs")
      try await s.submit(to: definition)
    },
    Case("cancelling everything takes each divided request once") { s in
      let (_, launch) = try await s.spreading(40, lanes: 3)
      let cancelled = try await s.store.cancel(.all, by: "ada", at: s.now)
      try expect(cancelled.count, 1, "one launch runs")
      try await s.end(launch, .expired(.cancelled(by: "ada")))
      try expect(try await s.state(launch.request), .cancelled, "the request")
    },
    Case("work without items has so many shards as it says, each with a cursor of its own") { s in
      let (definition, launch) = try await s.running { definition in
        definition.work = Work(command: ["/bin/true"])
        definition.spread = Spread(lanes: 2, shards: 3)
      }
      let other = try require(try await s.claim(definition, places: 9).assignments.first, "shard 1")
      try expect(other.shard, Shard(index: 1, first: 1, end: nil), "its shard")
      try await s.commit(other.launch, 0) {
        $0.cursor = [1]
        $0.completedUnits = 500
      }
      try expect(try await s.record(launch.request).progress.cursor, nil, "the cursor of shard 0")
      for one in [launch, other.launch] { try await s.end(one) }
      let last = try require(try await s.claim(definition).assignments.first, "shard 2")
      try expect(last.shard?.index, 2, "its number")
      try expect(try await s.end(last.launch).state, .succeeded, "the request")
    },
    Case("items that the first launch freezes are cut in the same transaction") { s in
      let (definition, launch) = try await s.running { definition in
        definition.work = Work(command: ["/bin/true"], items: .glob("*"), batchSize: 2)
        definition.spread = Spread(lanes: 2)
      }
      try expect(try await s.record(launch.request).shards?.total, 1, "before the items are known")
      let items = (0..<20).map { "item \($0)" }
      let answer = try await s.append(ItemPage(launch: launch, start: 0, items: items, isLast: true))
      try expect(answer, .committed(count: 20, isFrozen: true, end: 4, madeShards: true), "the answer")
      let other = try require(try await s.claim(definition).assignments.first, "the other shard")
      try expect(other.shard, Shard(index: 1, first: 4, end: 8), "batches are not cut")
      let found = try await s.store.items(of: other.launch, for: StoreScenario.worker, start: 4, count: 4)
      try expect(found, ["item 4", "item 5", "item 6", "item 7"], "its items")
    },
    Case("more lanes start at once, fewer stop what is too much") { s in
      let (definition, launch) = try await s.spreading(100, lanes: 2)
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      let more = try await s.store.setSpread(launch.request, lanes: 4, at: s.now)
      try expect(more.madeShards, "shards became ready")
      let new = try await s.claim(definition, places: 9).assignments.map(\.launch)
      try expect(new.count, 2, "two more")
      let fewer = try await s.store.setSpread(launch.request, lanes: 1, at: s.now)
      try expect(Set(fewer.stops.map(\.launch)), Set([other] + new), "all but shard 0 stop")
      for one in [other] + new { try await s.end(one, .expired(.laneLost)) }
      try expect(try await s.claim(definition).assignments.isEmpty, "none of them starts again")
      try expect(try await s.record(launch.request).shards?.lanesInUse, 1, "one lane is in use")
      let back = try await s.store.setSpread(launch.request, lanes: 3, at: s.now)
      try expect(back.madeShards, "two go on")
      try expect(try await s.claim(definition, places: 9).assignments.map(\.launch.number), [2, 2], "as launch 2")
    },
    Case("only a request whose definition says so takes a number of lanes") { s in
      let (_, launch) = try await s.running()
      try await expectRefusal(.refused, saying: ["work.spread"]) {
        _ = try await s.store.setSpread(launch.request, lanes: 4, at: s.now)
      }
      try await expectRefusal(.notFound) { _ = try await s.store.setSpread(RequestID(99), lanes: 4, at: s.now) }
    },
    Case("lists, counts and the names of requests know no shards") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 4)
      let waiting = try await s.submit(to: definition)
      try expect(waiting.number, 2, "the next request")
      let all = try await s.store.requests(RequestFilter(), after: nil, limit: 100)
      try expect(all.map(\.number), [1, 2], "all")
      let running = try await s.store.requests(RequestFilter(states: [.running]), after: nil, limit: 100)
      try expect(running.map(\.id), [launch.request], "those that run")
      try expect(try await s.count(.ready), 0, "shards are not counted as ready requests")
      try expect(try await s.count(.running), 1, "running")
      _ = try await s.claim(definition, places: 9)
      try expect(try await s.count(.running), 4, "each shard that runs counts for maxRunning")
      try expect(
        try await s.store.request(try StoreScenario.name("job"), number: nil)?.id, launch.request, "the live one")
      try await s.end(launch)
      let still = try await s.store.requests(RequestFilter(states: [.running]), after: nil, limit: 100)
      try expect(still.map(\.id), [launch.request], "it runs while a shard of it runs")
    },
    Case("maxRunning limits the shards that run") { s in
      let definition = try await s.define("job.*") { definition in
        definition.work = Work(command: ["/bin/true"], items: .range(1...40))
        definition.spread = Spread(lanes: 4)
        definition.maxRunning = 2
      }.id
      try await s.connect()
      try await s.submit("job.a", to: definition)
      try expect(try await s.claim(definition, places: 9).assignments.count, 1, "shard 0")
      try expect(try await s.claim(definition, places: 9).assignments.count, 1, "and one more")
      try expect(try await s.claim(definition, places: 9).assignments.count, 0, "and no third")
    },
    Case("each launch of a shard has its span, and the request has one end", queuesSpans: true) { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) { $0.spread?.shardSize = 4 }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.finish(other)
      try await s.finishAll(definition, from: launch)
      let sources = try await s.store.spans(of: launch.request)
      try expect(sources.filter { $0.key.parts.contains(.submit) }.count, 1, "submissions")
      try expect(sources.filter { $0.key.parts.contains(.complete) }.count, 1, "ends")
      let launches = sources.filter { $0.launch != nil && $0.key.parts.contains(.launch) }
      let total = try await s.record(launch.request).launches
      try expect(launches.count, total, "launches")
      try expect(Set(launches.map(\.trace.traceID)).count, 1, "one trace")
      try expect(Set(launches.map(\.shard)), Set(0..<(try await s.record(launch.request).shards?.total ?? 0)), "shards")
      let unsent = try await s.store.unsentSpans(limit: 100)
      try expect(unsent.filter { $0.key.parts.contains(.complete) }.count, 1, "ends to be sent")
    },
    Case("an ended request is deleted with its shards") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2)
      for one in try await s.claim(definition).assignments { try await s.finish(one.launch) }
      try await s.finishAll(definition, from: launch)
      s.advance(.seconds(3600))
      let limits = RetentionLimits(endedFor: .seconds(60))
      while try await s.store.prune(limits, at: s.now) {}
      try expect(try await s.store.request(launch.request), nil, "the request")
      try expect(try await s.store.shards(of: launch.request, after: nil, limit: 9).isEmpty, "its shards")
    },
  ]
}

extension StoreScenario {
  /// Starts a job with so many items, in batches of one, on so many lanes.
  mutating func spreading(
    _ items: Int64, lanes: Int, _ change: (inout Definition) -> Void = { _ in }
  ) async throws -> (definition: DefinitionID, launch: LaunchKey) {
    try await running { definition in
      definition.work = Work(command: ["/bin/true"], items: .range(1...items))
      definition.spread = Spread(lanes: lanes)
      change(&definition)
    }
  }

  /// Commits the rest of a shard's batches, as its launch would, and ends the launch.
  @discardableResult
  func finish(_ launch: LaunchKey) async throws -> EndingAnswer {
    var progress = try await progress(of: launch)
    while progress.completed < progress.length {
      let answer = try await commit(launch, progress.batches) { $0.completedUnits = progress.completed + 1 }
      guard case .committed(_, let end) = answer else {
        throw StoreConformance.Violation(description: "batch \(progress.batches) of \(launch): \(answer)")
      }
      progress.length = try require(end, "the end of the shard") - progress.first
      progress.batches += 1
      progress.completed += 1
    }
    return try await end(launch)
  }

  /// Finishes a launch, and then all that become ready, until nothing is ready.
  mutating func finishAll(_ definition: DefinitionID, from launch: LaunchKey) async throws {
    try await finish(launch)
    while let next = try await claim(definition).assignments.first { try await finish(next.launch) }
  }

  private func progress(
    of launch: LaunchKey
  ) async throws -> (first: Int64, length: Int64, batches: Int, completed: Int64) {
    let assignment = try await store.assignments(on: Self.host).first { $0.launch == launch }
    let running = try require(assignment, "the assignment of \(launch)")
    let shard = try require(running.shard, "the shard of \(launch)")
    return (
      shard.first, try require(shard.length, "its length"), running.progress.batches, running.progress.completedUnits
    )
  }

  /// The range that the shards cover together; empty if they overlap or leave a gap.
  func coverage(_ shards: [ShardRecord]) -> Range<Int64> {
    var end: Int64 = 0
    for shard in shards.sorted(by: { $0.first < $1.first }) {
      guard shard.first == end, let own = shard.end else { return 0..<0 }
      end = own
    }
    return 0..<end
  }
}
