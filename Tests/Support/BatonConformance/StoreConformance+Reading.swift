import BatonModel
import BatonStore

extension StoreConformance {
  static let reading: [Case] = [
    Case("an identifier means its live request, else its waiting one, else the last to end") { s in
      let (definition, first) = try await s.running()
      let job = try StoreScenario.name("job")
      let (store, now) = (s.store, s.now)
      func current() async throws -> Int? {
        let record: RequestRecord? = try await store.request(job, number: nil)
        return record?.number
      }
      let second = try await s.submit("job", to: definition)
      try expect(try await current(), 1, "with a live and a waiting one")
      _ = try await store.cancel(.request(second.request), by: "ada", at: now)
      try await s.submit("job", to: definition)
      s.advance(.seconds(1))
      try await s.end(first)
      try expect(try await current(), 3, "with a waiting one")
      _ = try await store.cancel(.identifier(job), by: "ada", at: now)
      try expect(try await current(), 1, "the last to end")
      try expect(try await store.request(job, number: 2)?.id, second.request, "by its number")
      try expect(try await store.request(job, number: 9) == nil, "a number that is not there")
      try expect(try await store.request(try StoreScenario.name("nobody"), number: nil) == nil, "nobody")
    },
    Case("lists filter by state, pattern and host, in pages by id") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      for index in 0..<9 { try await s.submit("com.\(index % 2 == 0 ? "even" : "odd").\(index)", to: definition) }
      let running = try await s.claim(definition, places: 3).assignments.map(\.launch.request)
      let store = s.store
      func list(_ filter: RequestFilter, after: RequestID? = nil, limit: Int = 100) async throws -> [RequestID] {
        try await store.requests(filter, after: after, limit: limit).map(\.id)
      }
      let all = try await list(RequestFilter())
      try expect(all.count, 9, "all")
      try expect(all, all.sorted(), "their order")
      try expect(try await list(RequestFilter(), after: all[3], limit: 2), [all[4], all[5]], "a page")
      try expect(try await list(RequestFilter(states: [.running])), running, "the running ones")
      try expect(try await list(RequestFilter(host: StoreScenario.host)), running, "those on the host")
      try expect(try await list(RequestFilter(host: HostName("beta"))), [], "those on another host")
      let pending = RequestFilter(states: [.ready, .scheduled], pattern: try StoreScenario.pattern("com.odd.*"))
      try expect(try await list(pending), [all[3], all[5], all[7]], "the odd pending ones")
      try expect(try await list(pending, after: all[3], limit: 1), [all[5]], "a page of them")
      let one = RequestFilter(pattern: try StoreScenario.pattern("com.even.4"))
      try expect(try await list(one), [all[4]], "one identifier")
      let ready = RequestFilter(states: [.ready, .running], host: StoreScenario.host)
      try expect(try await list(ready), running, "by state and host")
      let every = RequestFilter(states: Set(RequestState.allCases), pattern: try StoreScenario.pattern("com.*"))
      try expect(try await list(every), all, "all by pattern and state")
    },
    Case("lists begin with the newest request if asked to, in pages by id") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      for index in 0..<9 { try await s.submit("com.\(index % 2 == 0 ? "even" : "odd").\(index)", to: definition) }
      let running = try await s.claim(definition, places: 3).assignments.map(\.launch.request)
      let store = s.store
      func list(
        _ states: Set<RequestState> = [], _ pattern: String? = nil, host: HostName? = nil, after: RequestID? = nil,
        limit: Int = 100
      ) async throws -> [RequestID] {
        let filter = RequestFilter(
          states: states, pattern: try pattern.map(StoreScenario.pattern), host: host, isNewestFirst: true)
        return try await store.requests(filter, after: after, limit: limit).map(\.id)
      }
      let all = try await list()
      try expect(all.count, 9, "all")
      try expect(all, all.sorted(by: >), "their order")
      try expect(try await list(after: all[3], limit: 2), [all[4], all[5]], "a page")
      try expect(try await list(after: all[8]), [], "the page after the last one")
      try expect(try await list([.running]), running.reversed(), "the running ones")
      try expect(try await list([.running], after: running[2]), [running[1], running[0]], "a page of them")
      try expect(try await list(host: StoreScenario.host), running.reversed(), "those on the host")
      try expect(try await list([.ready, .running]), all, "two states")
      try expect(
        try await list([.ready, .scheduled], "com.odd.*", limit: 2), [all[1], all[3]], "the odd pending ones")
      try expect(try await list([.ready], "com.odd.*", after: all[3]), [all[5]], "a page of them")
    },
    Case("a list of ended requests begins with the one that ended last") { s in
      let definition = try await s.define("com.*") { $0.retry = RetryRule(limit: 0) }.id
      try await s.connect()
      for index in 0..<6 { try await s.submit("com.\(index % 2 == 0 ? "even" : "odd").\(index)", to: definition) }
      let launches = try await s.claim(definition, places: 6).assignments.map(\.launch)
      let outcomes: [LaunchOutcome] = [.finished, .failed("no"), .finished, .finished, .failed("no"), .finished]
      // The last one ends first; those in the middle end at the same time.
      for index in [5, 1, 3, 2, 0] {
        if index != 3 { s.advance(.seconds(1)) }
        try await s.end(launches[index], outcomes[index])
      }
      let ids = launches.map(\.request)
      let store = s.store
      func list(
        _ states: Set<RequestState>, _ pattern: String? = nil, host: HostName? = nil, after: RequestID? = nil,
        limit: Int = 100
      ) async throws -> [RequestID] {
        let filter = RequestFilter(
          states: states, pattern: try pattern.map(StoreScenario.pattern), host: host, isNewestFirst: true)
        return try await store.requests(filter, after: after, limit: limit).map(\.id)
      }
      let ended: Set<RequestState> = [.succeeded, .failed, .cancelled]
      let order = [0, 2, 3, 1, 5].map { ids[$0] }
      try expect(try await list(ended), order, "all that ended")
      try expect(try await list(ended, after: order[1], limit: 2), [order[2], order[3]], "a page between equal ends")
      try expect(try await list(ended, after: order[4]), [], "the page after the last one")
      try expect(try await list(ended, after: RequestID(999)), [], "the page after one that was removed")
      try expect(try await list([.succeeded]), [0, 2, 3, 5].map { ids[$0] }, "those that succeeded")
      try expect(try await list([.failed]), [ids[1]], "those that failed")
      try expect(try await list(ended, host: StoreScenario.host), order, "those on the host")
      try expect(try await list(ended, "com.odd.*", limit: 2), [ids[3], ids[1]], "those of a pattern")
    },
    Case("a record in a list is equal to the record that is read alone, except for its cursor and payload") { s in
      let (definition, launch) = try await s.running()
      try await s.commit(launch, 0) { ($0.cursor, $0.totalUnits) = ([1], 5) }
      try await s.submit("job", to: definition) { $0.payload = [2] }
      for listed in try await s.store.requests(RequestFilter(), after: nil, limit: 9) {
        var alone = try await s.record(listed.id)
        (alone.progress.cursor, alone.payload) = (nil, nil)
        try expect(listed, alone, "the record of \(listed.id)")
      }
    },
    Case("what has no history has an empty one") { s in
      try expect(try await s.store.launches(of: RequestID(9)), [], "launches")
      try expect(try await s.store.events(of: RequestID(9)), [], "events")
      try expect(try await s.store.output(of: LaunchKey(request: RequestID(9), number: 1)), [], "output")
      try expect(try await s.store.items(of: RequestID(9), start: 0, count: 9), [], "items")
      try expect(try await s.store.assignments(on: HostName("nobody")), [], "assignments")
    },
    Case("a batch count is right while the launch still runs") { s in
      let (_, launch) = try await s.running()
      for batch in 0..<3 { try await s.commit(launch, batch) }
      try expect(try await s.store.launches(of: launch.request).map(\.batches), [3], "batches")
    },
  ]
}
