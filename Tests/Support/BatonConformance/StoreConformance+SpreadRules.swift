import BatonModel
import BatonStore

/// What the rules about requests mean for a request with shards: the table in `Documentation/reference/scheduling.md`.
extension StoreConformance {
  static let spreadRules: [Case] = [
    Case("drain, evict, pause, preemption and the owner end one launch, and its shard is resumed on another host") {
      s in
      let (definition, launch) = try await s.spreading(40, lanes: 2) { $0.spread?.shardSize = 20 }
      let beta = HostName("beta")
      try await s.connect(beta)
      var other = try require(try await s.claim(definition, on: beta).assignments.first, "the other shard")
      let shard = try require(other.shard, "its shard")
      let reasons: [ExpiryReason] = [
        .draining, .evicted, .paused, .pausedByOwner, .powerLost, .networkLost, .hostBusy, .preempted, .budgetSpent,
      ]
      var host = beta
      for (index, reason) in reasons.enumerated() {
        let worker = WorkerProcess(host: host, incarnation: StoreScenario.process)
        try await s.commit(other.launch, index, from: worker)
        _ = try await s.store.noteExpiry(other.launch, reason, at: s.now)
        let answer = try await s.end(other.launch, .expired(reason), from: worker)
        try expect(answer.shardState, .ready, "the shard after \(reason.code)")
        try expect(answer.stops, [], "no other launch stops")
        try expect(try await s.state(launch.request), .running, "the request after \(reason.code)")
        host = host == beta ? StoreScenario.host : beta
        other = try require(try await s.claim(definition, on: host).assignments.first, "the next launch")
        try expect(other.launch.number, index + 2, "the number of the shard's launch")
        try expect(other.progress.completedUnits, Int64(index + 1), "its checkpoint")
        try expect(other.shard, shard, "its shard")
      }
      try expect(try await s.commit(launch, 0), .committed(batch: 0, end: shard.first), "shard 0 was left alone")
    },
    Case("a shard is quarantined for its own launches without a batch, and the others finish") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) { $0.spread?.shardSize = 4 }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      var next = other
      for strike in 1...3 {
        _ = try await s.store.noteExpiry(next, .budgetSpent, at: s.now)
        let answer = try await s.end(next, .expired(.budgetSpent))
        try expect(answer.shardState, strike < 3 ? .ready : .failed, "after \(strike) launches without a batch")
        try expect(answer.state.isEnded, false, "the request goes on")
        if strike < 3 { next = try require(try await s.claim(definition).assignments.first, "again").launch }
      }
      try await s.finishAll(definition, from: launch)
      let record = try await s.record(launch.request)
      try expect(record.state, .failed, "the request")
      try expect(record.progress.completedUnits, 4, "what the others have done")
    },
    Case("the allowance of a definition is charged with the launches of all shards together") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 3)
      let others = try await s.claim(definition, places: 9).assignments.map(\.launch)
      try await s.toMorning()
      s.advance(.seconds(10))
      for one in [launch] + others { try await s.end(one, .expired(.thermal)) }
      try await s.expectUse(.seconds(30), of: "job", "after three launches of ten seconds")
    },
    Case("strategy fail starts shard 0 at once, and the other shards wait for their hosts") { s in
      let definition = try await s.define("job", .continued) { definition in
        definition.strategy = .fail
        definition.work = Work(command: ["/bin/true"], items: .range(1...40))
        definition.spread = Spread(lanes: 3)
      }.id
      try await s.connect()
      let answer = try await s.answer(to: try s.offer("job", to: definition, on: s.place()))
      try expect(try answer.receipt.state, .running, "the request")
      let launch = try require(answer.launch, "the launch of shard 0")
      try expect(launch.shard?.index, 0, "its shard")
      try expect(launch.madeShards, "others are ready")
      let summary = try await s.record(launch.launch.request).shards
      try expect([summary?.running, summary?.ready], [1, 2], "the others wait")
      let others = try await s.claim(definition, .userInitiated, places: 9).assignments
      try expect(others.map(\.shard?.index), [1, 2], "they start as any ready request")
    },
    Case("a waiting request has no shards: it is replaced and poked as any, and keeps the lanes that were set") { s in
      let definition = try await s.define("job") { definition in
        definition.work = Work(command: ["/bin/true"], items: .range(1...40))
        definition.spread = Spread(lanes: 8)
      }.id
      try await s.connect()
      let waiting = try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      _ = try await s.store.setSpread(waiting.request, lanes: 2, at: s.now)
      try expect(try await s.submit("job", to: definition) { $0.payload = [7] }.replaced, true, "replaced")
      try expect(
        try await s.poke("job", to: definition, .immediate) { $0.payload = [8] }.request, waiting.request,
        "the poke joins it")
      try expect(try await s.store.shards(of: waiting.request, after: nil, limit: 9), [], "no shards")
      let launch = try await s.start(definition, try await s.record(waiting.request).priority)
      try expect(launch.request, waiting.request, "the request")
      let record = try await s.record(waiting.request)
      try expect(record.payload, [8], "the payload of the poke")
      try expect([record.shards?.lanes, record.shards?.lanesInUse], [2, 2], "the lanes")
    },
    Case("a request whose launches have committed nothing is divided whole by a new definition") { s in
      let first = try await s.define("job") { definition in
        definition.work = Work(command: ["/bin/true"])
        definition.retry.limit = 0
      }.id
      try await s.connect()
      let request = try await s.submit("job", to: first).request
      try await s.end(try await s.start(first), .failed("no"))
      let second = try await s.define("job") { definition in
        definition.work = Work(command: ["/bin/true"])
        definition.spread = Spread(lanes: 3, shards: 3)
      }.id
      _ = try await s.store.retry(request, skipping: .nothing, as: second, at: s.now)
      var launches = try await s.claim(second, places: 3).assignments.map(\.launch)
      launches += try await s.claim(second, places: 3).assignments.map(\.launch)
      try expect(launches.count, 3, "the shards that run")
      for launch in launches { try await s.end(launch) }
      try expect(try await s.state(request), .succeeded, "after the last shard")
    },
    Case("while a divided request is live the next one waits, and each shard's end leaves it waiting") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) { $0.spread?.shardSize = 4 }
      let next = try await s.submit("job", to: definition)
      try expect(try await s.record(next.request).waitsBecause, .waitsForLiveRequest(number: 1), "why it waits")
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      try await s.finish(other)
      try expect(try await s.state(next.request), .scheduled, "after the end of one shard")
      var open = [launch]
      while let one = open.popLast() {
        try await s.finish(one)
        open += try await s.claim(definition).assignments.map(\.launch).filter { $0.request != next.request }
        if try await s.state(launch.request).isEnded { break }
      }
      try expect(try await s.state(launch.request), .succeeded, "the divided request")
      try expect(try await s.state(next.request).isEnded, false, "the next one comes now")
      try expect(try await s.record(next.request).waitsBecause, nil, "nothing holds it")
    },
    Case("a poke while a divided request is live makes the next one, which waits for the last shard") { s in
      let (definition, launch) = try await s.spreading(8, lanes: 2) { $0.spread?.shardSize = 4 }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      let poked = try await s.poke("job", to: definition, .immediate) { $0.payload = [7] }
      try expect([launch.request, other.request].contains(poked.request), false, "it joins no shard")
      try expect(try await s.record(poked.request).waitsBecause, .waitsForLiveRequest(number: 1), "why it waits")
      let again = try await s.poke("job", to: definition, .immediate) { $0.payload = [8] }
      try expect([again.request == poked.request, again.replaced], [true, true], "another poke joins it")
      try expect(try await s.store.shards(of: poked.request, after: nil, limit: 9), [], "its shards")
      try expect(try await s.commit(other, 0), .committed(batch: 0, end: 8), "the shards go on")
      try await s.finish(other)
      try expect(try await s.state(poked.request), .scheduled, "after the end of one shard")
      var open = [launch]
      while let one = open.popLast() {
        try await s.finish(one)
        if try await s.state(launch.request).isEnded { break }
        try expect(try await s.state(poked.request), .scheduled, "before the end of the last shard")
        open += try await s.claim(definition, places: 9).assignments.map(\.launch)
      }
      try expect(try await s.state(launch.request), .succeeded, "the divided request")
      let record = try await s.record(poked.request)
      try expect([record.state], [.ready], "the next one")
      try expect(record.payload, [8], "the payload of the last poke")
      try expect(try await s.store.pokes(of: poked.request).count, 2, "its pokes")
    },
  ]
}
