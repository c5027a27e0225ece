import BatonModel
import BatonStore

/// Results: what a request gives, and what those that wait for it get.
extension StoreConformance {
  static let results: [Case] = [
    Case("the last result that was saved is the request's once it has succeeded, and what waits for it gets it") { s in
      let flow = try await s.flow([Member("fetch"), Member("other"), Member("report", after: "other", "fetch")])
      try await s.connect()
      let fetch = try await s.start(flow.definitions[0])
      try await s.commit(fetch, 0) { $0.result = JobResult(trusted: Array("1".utf8)) }
      try await s.commit(fetch, 1) { $0.result = JobResult(trusted: Array(#"{"rows":  2}"#.utf8)) }
      try await s.commit(fetch, 2)
      try expect(try await s.record(flow.receipts[0].request).result, nil, "before the end")
      try await s.end(fetch)
      try expect(try await s.record(flow.receipts[0].request).result?.text, #"{"rows":  2}"#, "the result")
      try await s.end(try await s.start(flow.definitions[1]))
      let report = try await s.claim(flow.definitions[2]).assignments
      try expect(
        report.map(\.inputs),
        [
          [
            RequestInput(JobIdentifier("other")!, number: 1, state: .succeeded),
            RequestInput(
              JobIdentifier("fetch")!, number: 1, state: .succeeded,
              result: JobResult(trusted: Array(#"{"rows":  2}"#.utf8))),
          ]
        ], "the inputs, in the order of 'after'")
      try expect(try await s.store.assignments(on: StoreScenario.host).map(\.inputs), report.map(\.inputs), "again")
      try expect(
        try await s.store.members(of: flow.receipts[0].request).map(\.result), [nil, nil, nil], "a list has no results")
    },
    Case("a result is kept with its checkpoint: a later launch need not give it again, and one that is late gives none")
    {
      s in
      let flow = try await s.flow([Member("fetch"), Member("report", after: "fetch")])
      try await s.connect()
      let first = try await s.start(flow.definitions[0])
      try await s.commit(first, 0) { $0.result = JobResult(trusted: Array("1".utf8)) }
      try await s.end(first, .expired(.draining))
      let second = try await s.start(flow.definitions[0])
      let late = try await s.commit(first, 1) { $0.result = JobResult(trusted: Array("2".utf8)) }
      try expect(late, .superseded, "the answer to the launch before")
      let refused = try await s.commit(second, 5) { $0.result = JobResult(trusted: Array("3".utf8)) }
      guard case .refused = refused else { throw Violation(description: "a batch was left out: \(refused)") }
      try await s.end(second)
      let inputs = try await s.claim(flow.definitions[1]).assignments.flatMap(\.inputs)
      try expect(inputs.map { $0.result?.text }, ["1"], "the result")
    },
    Case("a result that comes with the end of its launch is there when what waits for it starts") { s in
      let flow = try await s.flow([Member("fetch"), Member("report", after: "fetch")])
      try await s.connect()
      let launch = try await s.start(flow.definitions[0])
      var last = Checkpoint(launch: launch, batch: 0, completedUnits: 1, reachesEnd: true)
      last.result = JobResult(trusted: Array("[7]".utf8))
      _ = try await s.store.end(
        [Ending(launch: launch, outcome: .finished)], after: [last], from: StoreScenario.worker, at: s.now)
      let inputs = try await s.claim(flow.definitions[1]).assignments.flatMap(\.inputs)
      try expect(inputs.map { $0.result?.text }, ["[7]"], "the result")
    },
    Case("a request that has failed or was cancelled gives no result, and each launch is told the same") { s in
      let flow = try await s.flow([
        Member("fetch") { $0.retry.limit = 0 }, Member("repair", after: "fetch", on: .failure) { $0.retry.limit = 0 },
      ])
      try await s.connect()
      let launch = try await s.start(flow.definitions[0])
      try await s.commit(launch, 0) { $0.result = JobResult(trusted: Array("1".utf8)) }
      try await s.end(launch, .failed("no"))
      try expect(try await s.record(flow.receipts[0].request).result, nil, "the result of one that has failed")
      let wanted = RequestInput(JobIdentifier("fetch")!, number: 1, state: .failed)
      let repair = try require(try await s.claim(flow.definitions[1]).assignments.first, "the repair")
      try expect(repair.inputs, [wanted], "the inputs")
      // The failed one is retried and succeeds meanwhile.
      _ = try await s.store.retry(flow.receipts[0].request, skipping: .nothing, as: nil, at: s.now)
      try await s.end(try await s.start(flow.definitions[0]))
      try expect(try await s.record(flow.receipts[0].request).result?.text, "1", "the result, which was kept")
      try await s.end(repair.launch, .expired(.draining))
      let again = try require(try await s.claim(flow.definitions[1]).assignments.first, "the repair again")
      try expect(again.inputs, [wanted], "the inputs of the next launch")
    },
    Case("each shard gives a result of its own, and all shards of one that waits get the same inputs") { s in
      let flow = try await s.flow([
        Member("work") { definition in
          definition.work = Work(command: ["true"], items: nil, batchSize: 1)
          definition.spread = Spread(lanes: 3, shards: 3)
        },
        Member("sum", after: "work") { definition in
          definition.work = Work(command: ["true"], items: nil, batchSize: 1)
          definition.spread = Spread(lanes: 2, shards: 2)
        },
      ])
      try await s.connect()
      let first = try await s.claim(flow.definitions[0], places: 3).assignments
      let shards = first + (try await s.claim(flow.definitions[0], places: 3).assignments)
      try expect(shards.count, 3, "the shards")
      for one in shards.reversed() {
        let shard = one.shard?.index ?? -1
        // The second shard gives none.
        try await s.commit(one.launch, 0) {
          if shard != 1 { $0.result = JobResult(trusted: Array("\(shard * 10)".utf8)) }
        }
        try await s.end(one.launch)
      }
      try expect(try await s.record(flow.receipts[0].request).result, nil, "a divided request has no own result")
      let listed = try await s.store.shards(of: flow.receipts[0].request, after: nil, limit: 10)
      try expect(listed.map { $0.result?.text }, ["0", nil, "20"], "the results of the shards")
      try expect(listed.map(\.resultBytes), [1, nil, 2], "their sizes")
      var sums = try await s.claim(flow.definitions[1], places: 2).assignments
      sums += try await s.claim(flow.definitions[1], places: 2).assignments
      let wanted = RequestInput(
        JobIdentifier("work")!, number: 1, state: .succeeded,
        shards: [(0, "0"), (2, "20")].map { shard, text in
          RequestInput.ShardResult(shard: shard, result: JobResult(trusted: Array(text.utf8)))
        })
      try expect(sums.map(\.inputs), [[wanted], [wanted]], "the inputs of both shards")
      try expect(
        try await s.store.members(of: flow.receipts[0].request).count, 2, "the shards are no members of the flow")
    },
    Case("a launch gets at most 1 MiB of results, and is told that others are left out") { s in
      let names = (0..<18).map { "part\($0)" }
      let parts = names.map { Member($0) }
      var last = Member("sum", after: names[0])
      last.after = names
      let flow = try await s.flow(parts + [last])
      try await s.connect()
      let large = JobResult(trusted: [UInt8](repeating: UInt8(ascii: "7"), count: JobResult.maximumBytes))
      for (index, definition) in flow.definitions.dropLast().enumerated() {
        let launch = try await s.start(definition)
        // The first one gives nothing, so 16 fit.
        if index > 0 { try await s.commit(launch, 0) { $0.result = large } }
        try await s.end(launch)
      }
      let inputs = try await s.claim(flow.definitions[18]).assignments.flatMap(\.inputs)
      try expect(inputs.count, 18, "the inputs")
      try expect(inputs.map(\.isCut), [Bool](repeating: false, count: 17) + [true], "which are cut")
      try expect(inputs.map(\.resultBytes).reduce(0, +), JobResult.maximumInputBytes, "the bytes of all")
    },
    Case("the job that follows a success gets its result with the facts, unless it is too large") { s in
      let size = JobResult.maximumBytes
      for (result, wanted) in [
        (#"{"rows":2}"#, #","result":{"rows":2}}"#), (nil, #"}"#),
        (String(repeating: "7", count: size), #","resultBytes":\#(size)}"#),
      ] {
        let next = try await s.define("next").id
        let (_, launch) = try await s.running { $0.onSuccess = FollowUp("next") }
        if let result { try await s.commit(launch, 0) { $0.result = JobResult(trusted: Array(result.utf8)) } }
        let followed = try require(try await s.end(launch).followed.first, "what has followed")
        let payload = String(decoding: try await s.record(followed.request).payload ?? [], as: UTF8.self)
        try expect(payload.hasSuffix(wanted), true, "the payload: \(payload.suffix(200))")
        try await s.end(try await s.start(next))
      }
    },
    Case("a request is kept as long as one that has waited for it may get its result, and its result goes with it") {
      s in
      let flow = try await s.flow([Member("fetch"), Member("report", after: "fetch")])
      try await s.connect()
      let launch = try await s.start(flow.definitions[0])
      try await s.commit(launch, 0) { $0.result = JobResult(trusted: Array("1".utf8)) }
      try await s.end(launch)
      var limits = RetentionLimits()
      limits.endedFor = .seconds(60)
      s.advance(.seconds(3_600))
      _ = try await s.store.prune(limits, at: s.now)
      try expect(try await s.state(flow.receipts[0].request), .succeeded, "the one that is awaited")
      let selection = PruneSelection()
      try expect(try await s.store.prune(selection, isRehearsal: false, at: s.now).count, 0, "what a person deletes")
      let report = try await s.claim(flow.definitions[1]).assignments
      try expect(report.flatMap(\.inputs).map { $0.result?.text }, ["1"], "the result")
      if let report = report.first { try await s.end(report.launch) }
      s.advance(.seconds(3_600))
      _ = try await s.store.prune(limits, at: s.now)
      try expect(try await s.store.request(flow.receipts[0].request)?.state, nil, "when both have ended")
    },
    Case("a newer submission that takes a member out of its flow takes its inputs away") { s in
      let flow = try await s.flow([Member("fetch"), Member("report", after: "fetch")])
      try await s.connect()
      let launch = try await s.start(flow.definitions[0])
      try await s.commit(launch, 0) { $0.result = JobResult(trusted: Array("1".utf8)) }
      try await s.end(launch)
      try await s.submit("report", to: flow.definitions[1])
      let inputs = try await s.claim(flow.definitions[1]).assignments.map(\.inputs)
      try expect(inputs, [[]], "the inputs")
    },
  ]
}
