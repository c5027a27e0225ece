import BatonModel
import BatonStore

/// A repaired definition can be given to a request that was started under an older one.
extension StoreConformance {
  static let redefining: [Case] = [
    Case("a request that waits takes another priority, and is ready in its class") { s in
      let definition = try await s.define("job.*") { $0.priority = .utility }.id
      try await s.connect()
      let first = try await s.submit("job.first", to: definition)
      let second = try await s.submit("job.second", to: definition)
      let record = try await s.store.setPriority(second.request, .userInitiated)
      try expect([record.state.rawValue, record.priority.name], ["ready", "userInitiated"], "the answer")
      let launch = try await s.start(definition, .userInitiated)
      try expect(launch.request, second.request, "what starts")
      try await expectRefusal(.refused) { _ = try await s.store.setPriority(second.request, .background) }
      try expect(try await s.record(first.request).state, .ready, "the other one")
      try await expectRefusal(.notFound) { _ = try await s.store.setPriority(RequestID(99), .utility) }
    },
    Case("a retry under a new definition keeps the checkpoint, the items and the spans of earlier launches") { s in
      let (old, launch) = try await s.running { $0.failing(["tpyo"]) }
      try await s.commit(launch, 0) { $0.completedUnits = 4 }
      try await s.end(launch, .failed("no"))
      let before = try await s.store.spans(of: launch.request)
      let new = try await s.define { $0.failing(["typo"]) }.id
      let record = try await s.store.retry(launch.request, skipping: .nothing, as: new, at: s.now)
      try expect(record.definition, new, "its definition")
      try expect([record.progress.batches, Int(record.progress.completedUnits)], [1, 4], "its checkpoint")
      try expect(try await s.store.events(of: launch.request).map(\.name), ["redefined", "retried"], "events")
      try expect(try await s.claim(old).assignments.count, 0, "launches of the old definition")
      let next = try require(try await s.claim(new).assignments.first, "the next launch")
      try expect(next.definition, new, "the definition of the next launch")
      let after = try await s.store.spans(of: launch.request).filter { $0.key.launch == 1 }
      try expect(
        Set(after.map(\.definition)), Set(before.filter { $0.key.launch == 1 }.map(\.definition)),
        "what launch 1 ran under")
    },
    Case("a definition with other items or another batch size is refused, with what differs") { s in
      let (old, launch) = try await s.running { $0.failing(["x"]) }
      try await s.commit(launch, 0) { $0.completedUnits = 4 }
      try await s.end(launch, .failed("no"))
      let (store, now) = (s.store, s.now)
      let size = try await s.define { $0.failing(["x"], batchSize: 5) }.id
      try await expectRefusal(.refused, saying: ["job", "'batchSize' was 4 and is 5", "from the beginning"]) {
        _ = try await store.retry(launch.request, skipping: .nothing, as: size, at: now)
      }
      let items = try await s.define { $0.failing(["x"], items: .glob("*.raw")) }.id
      try await expectRefusal(.refused, saying: ["'items' were the range 1...10 and are the glob '*.raw'"]) {
        _ = try await store.retry(launch.request, skipping: .nothing, as: items, at: now)
      }
      let handler = try await s.define { $0.retry.limit = 0 }.id
      try await expectRefusal(.refused, saying: ["'work' was a command and is none"]) {
        _ = try await store.retry(launch.request, skipping: .nothing, as: handler, at: now)
      }
      try expect(try await s.record(launch.request).definition, old, "its definition")
      try expect(try await s.store.events(of: launch.request), [], "events after a refusal")
    },
    Case("before the first batch any definition is taken, and the items are expanded again") { s in
      let (_, launch) = try await s.running { $0.failing(["x"], items: .glob("*.jgp")) }
      _ = try await s.store.appendItems(
        ItemPage(launch: launch, start: 0, items: ["a.jgp"], isLast: true), from: StoreScenario.worker, at: s.now)
      try await s.end(launch, .failed("no"))
      let new = try await s.define { $0.failing(["x"], items: .glob("*.jpg")) }.id
      let record = try await s.store.retry(launch.request, skipping: .nothing, as: new, at: s.now)
      try expect(record.frozenItems == nil, "the old items are still there")
      let next = try await s.start(new)
      let answer = try await s.store.appendItems(
        ItemPage(launch: next, start: 0, items: ["b.jpg"], isLast: true), from: StoreScenario.worker, at: s.now)
      try expect(answer, .committed(count: 1, isFrozen: true), "the new items")
    },
    Case("the definition that a request has already, or one that is not applied, is refused") { s in
      let (old, launch) = try await s.running { $0.failing(["x"]) }
      try await s.end(launch, .failed("no"))
      let (store, now) = (s.store, s.now)
      try await expectRefusal(.refused, saying: ["job", "already", "baton apply"]) {
        _ = try await store.retry(launch.request, skipping: .nothing, as: old, at: now)
      }
      let second = try await s.define { $0.failing(["y"]) }.id
      try await s.define { $0.failing(["z"]) }
      try await expectRefusal(.refused, saying: ["job", "was changed"]) {
        _ = try await store.retry(launch.request, skipping: .nothing, as: second, at: now)
      }
      try expect(try await s.state(launch.request), .failed, "its state")
    },
    Case("a request between two launches takes a new definition at once, one that runs or has ended does not") { s in
      let (_, launch) = try await s.running { $0.failing(["x"], limit: 3) }
      let new = try await s.define { $0.failing(["y"], limit: 3) }.id
      let (store, now) = (s.store, s.now)
      try await expectRefusal(.refused, saying: ["job", "running", "baton drain"]) {
        _ = try await store.redefine(launch.request, as: new, at: now)
      }
      try await s.end(launch, .expired(.draining))
      let record = try await s.store.redefine(launch.request, as: new, at: s.now)
      try expect([record.state], [.ready], "its state")
      try expect(try await s.count(.ready), 1, "what is counted")
      let next = try await s.start(new)
      try expect(next.number, 2, "the launch under the new definition")
      try await s.end(next)
      let newest = try await s.define { $0.failing(["z"], limit: 3) }.id
      try await expectRefusal(.refused, saying: ["job", "succeeded"]) {
        _ = try await store.redefine(launch.request, as: newest, at: now)
      }
      try await expectRefusal(.notFound, saying: ["99"]) {
        _ = try await store.redefine(RequestID(99), as: newest, at: now)
      }
    },
    Case("while a launch runs its request has no outcome of an earlier one") { s in
      let (definition, launch) = try await s.running { $0.failing(["x"], limit: 3) }
      try await s.end(launch, .expired(.draining))
      try expect(try await s.record(launch.request).outcome, "expired", "between two launches")
      _ = try await s.start(definition)
      let record = try await s.record(launch.request)
      try expect([record.outcome, record.reason], [nil, nil], "while it runs")
    },
    Case("a checkpoint that only says that the end is reached counts no batch") { s in
      let (_, launch) = try await s.running()
      try await s.commit(launch, 0) { $0.cursor = [1] }
      for _ in 1...2 {
        let answer = try await s.commit(launch, 1) {
          ($0.cursor, $0.completedUnits, $0.reachesEnd, $0.isEndOnly) = ([1], 1, true, true)
        }
        try expect(answer, .committed(batch: 1), "its answer, also to a repetition")
      }
      try await s.end(launch)
      try expect(try await s.record(launch.request).progress.batches, 1, "the batches of the request")
      try expect(try await s.store.launches(of: launch.request).map(\.batches), [1], "the batches of the launch")
    },
    Case("the last request that was launched is found behind one that waits, and the last with output") { s in
      let (definition, first) = try await s.running { $0.failing(["x"]) }
      let name = try StoreScenario.name("job")
      try await s.store.appendOutput([OutputChunk(launch: first, bytes: [65])], from: StoreScenario.worker)
      try await s.end(first)
      try await s.submit("job", to: definition)
      let second = try await s.start(definition)
      try await s.submit("job", to: definition)
      try expect(try await s.store.lastLaunched(name)?.number, 2, "while it runs")
      try await s.end(second)
      let (last, waiting) = (try await s.store.lastLaunched(name), try await s.store.waiting(name))
      try expect([last?.number, waiting?.number], [2, 3], "after its end")
      try expect(try await s.store.lastOutput(of: name, before: 3), 1, "the last that wrote something")
      try expect(try await s.store.lastOutput(of: name, before: 1), nil, "before the first")
      let other = try await s.store.lastLaunched(try StoreScenario.name("other"))
      try expect(other == nil, "a request of an identifier that was never submitted")
    },
  ]
}

extension Definition {
  /// Changes the definition to a command with ten items in batches of four that is tried once by default. Different
  /// commands make two definitions different.
  fileprivate mutating func failing(
    _ command: [String], items: Items = .range(1...10), batchSize: Int = 4, limit: Int = 0
  ) {
    retry.limit = limit
    work = Work(command: command, items: items, batchSize: batchSize)
  }
}
