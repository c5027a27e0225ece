import BatonModel
import BatonStore

extension StoreConformance {
  static let retention: [Case] = [
    Case("ended requests go when they are old enough, in small steps, with all that belongs to them") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      var launches: [LaunchKey] = []
      for index in 0..<5 {
        try await s.submit("com.\(index)", to: definition) { $0.payload = [1] }
        let launch = try await s.start(definition)
        try await s.append([OutputChunk(launch: launch, bytes: [1])])
        _ = try await s.append(ItemPage(launch: launch, start: 0, items: ["a"], isLast: true))
        try await s.commit(launch, 0)
        try await s.end(launch)
        launches.append(launch)
      }
      let limits = RetentionLimits(endedFor: .seconds(60), step: 2)
      try expect(try await s.store.prune(limits, at: s.now + .seconds(60)), false, "pruned before their time")
      var steps = 1
      while try await s.store.prune(limits, at: s.now + .seconds(61)) { steps += 1 }
      try expect(steps, 3, "steps")
      try expect(try await s.count(.succeeded, of: "com.*"), 0, "what is counted")
      for launch in launches {
        try expect(try await s.store.request(launch.request) == nil, "request \(launch.request) is there")
        try expect(try await s.store.output(of: launch), [], "output of \(launch)")
        try expect(try await s.store.items(of: launch.request, start: 0, count: 9), [], "items of \(launch)")
        try expect(try await s.end(launch).wasLive, false, "a late ending")
      }
    },
    Case("of too many ended requests the oldest go, and what is unfinished stays") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      for index in 0..<4 {
        try await s.submit("com.\(index)", to: definition)
        s.advance(.seconds(1))
        try await s.end(try await s.start(definition))
      }
      try await s.submit("com.waiting", to: definition)
      while try await s.store.prune(RetentionLimits(endedCount: 2), at: s.now) {}
      let left = try await s.store.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue)
      try expect(left, ["com.2", "com.3", "com.waiting"], "what is left")
    },
    Case("how long an ended request is kept does not follow the wall clocks, which may be years apart") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      // Coordinators have ended them whose clocks are right, two years late, and three years early.
      for (name, years) in [("com.a", 0), ("com.b", -2), ("com.c", 3)] {
        try await s.submit(name, to: definition)
        let launch = try await s.start(definition)
        s.stepWallClock(by: .seconds(years * 365 * 86_400))
        try await s.end(launch)
        s.stepWallClock(by: .seconds(-years * 365 * 86_400))
        s.advance(.seconds(1))
      }
      let succeeded = RequestFilter(states: [.succeeded])
      func left(_ s: StoreScenario) async throws -> [String] {
        try await s.store.requests(succeeded, after: nil, limit: 9).map(\.identifier.rawValue)
      }
      // The clock of the steward is ahead of theirs.
      s.stepWallClock(by: .seconds(9 * 365 * 86_400))
      _ = try await s.store.prune(RetentionLimits(), at: s.now)
      try expect(try await left(s), ["com.a", "com.b", "com.c"], "what is left of the young ones")
      _ = try await s.store.prune(RetentionLimits(endedCount: 2), at: s.now)
      try expect(try await left(s), ["com.b", "com.c"], "what is left of too many")
      // Their time is over, although the clock of the steward says that they have not ended yet.
      s.advance(.seconds(31 * 86_400))
      s.stepWallClock(by: .seconds(-20 * 365 * 86_400))
      _ = try await s.store.prune(RetentionLimits(), at: s.now)
      try expect(try await left(s), [], "what is left after their time")
    },
    Case("a request that was retried is kept from its last end on") { s in
      let definition = try await s.define("com.*") { $0.retry.limit = 0 }.id
      try await s.connect()
      try await s.submit("com.a", to: definition)
      let request = try await s.end(try await s.start(definition), .failed("broken")).request
      s.advance(.seconds(100))
      _ = try await s.store.retry(request, skipping: .nothing, at: s.now)
      try await s.end(try await s.start(definition))
      let limits = RetentionLimits(endedFor: .seconds(60))
      _ = try await s.store.prune(limits, at: s.now + .seconds(59))
      try expect(try await s.store.request(request) == nil, false, "it is gone")
      _ = try await s.store.prune(limits, at: s.now + .seconds(61))
      try expect(try await s.store.request(request) == nil, true, "it is gone")
    },
    Case("a submission id is remembered for its time, also when its request is gone, and not longer") { s in
      let definition = try await s.define().id
      try await s.connect()
      let offer = try s.offer("job", to: definition, id: "kept")
      let first = try await s.answer(to: offer).receipt
      try await s.end(try await s.start(definition))
      let limits = RetentionLimits(endedFor: .seconds(1), submissionsFor: .seconds(100))
      s.advance(.seconds(50))
      _ = try await s.store.prune(limits, at: s.now)
      try expect(try await s.store.request(first.request) == nil, "the request is there")
      // The trace id was deleted together with the request.
      var kept = first
      kept.traceID = nil
      try expect(try await s.answer(to: offer).receipt, kept, "the answer within its time")
      s.advance(.seconds(51))
      _ = try await s.store.prune(limits, at: s.now)
      let later = try await s.answer(to: offer)
      try expect([later.isRepeat ? 1 : 0, try later.receipt.number], [0, 2], "the answer after its time")
    },
  ]
}
