import BatonModel
import BatonStore

extension StoreConformance {
  static let dispatching: [Case] = [
    Case("the oldest ready request of a class starts first, and a resumed one keeps its place by age") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      for name in ["com.a", "com.b", "com.c"] { try await s.submit(name, to: definition) }
      let first = try require(try await s.claim(definition).assignments.first, "an assignment")
      try expect(first.identifier.rawValue, "com.a", "what starts first")
      try await s.end(first.launch, .expired(.hostBusy))
      let two = try await s.claim(definition, places: 2)
      try expect(two.assignments.map(\.identifier.rawValue), ["com.a", "com.b"], "what starts next")
      try expect(two.assignments.map(\.launch.number), [2, 1], "launch numbers")
      try expect(two.hasMore, true, "hasMore")
      let last = try await s.claim(definition, places: 2)
      try expect(last.assignments.map(\.identifier.rawValue), ["com.c"], "what is left")
      try expect(last.hasMore, false, "hasMore at the end")
    },
    Case("a launch repeats a batch if the one before ended in the middle of one, and only then") { s in
      var (s, definition) = (s, try await s.define("com.*").id)
      try await s.connect()
      try await s.submit("com.a", to: definition)
      var launch = try require(try await s.claim(definition).assignments.first, "an assignment")
      try expect([launch.repeatsBatch, launch.resumedAfter != nil], [false, false], "a first launch")
      let ends: [(LaunchOutcome, isGraceful: Bool, repeats: Bool)] = [
        (.expired(.hostBusy), true, false), (.expired(.hostBusy), false, true), (.lost, false, true),
        (.expired(.draining), true, false),
      ]
      for (outcome, isGraceful, repeats) in ends {
        try await s.end(launch.launch, outcome, isGraceful: isGraceful)
        s.advance(.seconds(3))
        // After a loss the request waits for its backoff, which is not a wait for a host.
        if outcome == .lost { s.advance(.seconds(3600)) }
        _ = try await s.store.promote(at: s.now, limit: 10)
        launch = try require(try await s.claim(definition).assignments.first, "an assignment after \(outcome.code)")
        try expect(launch.repeatsBatch, repeats, "repeatsBatch after \(outcome.code), graceful \(isGraceful)")
        if outcome != .lost { try expect(launch.resumedAfter, .seconds(3), "resumedAfter") }
        let again = try await s.store.assignments(on: StoreScenario.host)
        try expect(again.map(\.repeatsBatch), [repeats], "repeatsBatch, told again")
      }
    },
    Case("the longest wait is found behind a request that was resumed") { s in
      var (s, definition) = (s, try await s.define("com.*").id)
      try await s.connect()
      for name in ["com.a", "com.b"] { try await s.submit(name, to: definition) }
      let submitted = s.now.date
      let launch = try require(try await s.claim(definition).assignments.first, "an assignment")
      s.advance(.seconds(100))
      try await s.end(launch.launch, .expired(.hostBusy))
      let ready = RequirementClass(definition: definition, priority: .background)
      try expect(try await s.store.oldestReady(of: [ready]), submitted, "since when com.b waits")
    },
    Case("priorities are classes of their own") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      try await s.submit("com.low", to: definition)
      try await s.submit("com.high", to: definition) { $0.priority = .userInitiated }
      let high = RequirementClass(definition: definition, priority: .userInitiated)
      let low = RequirementClass(definition: definition, priority: .background)
      try expect(try await s.store.fleet().readyClasses, [high, low], "the ready classes")
      try expect(try await s.store.ready().classes, [high, low], "the ready classes alone")
      try expect(
        try await s.claim(definition, .userInitiated, places: 5).assignments.map(\.identifier.rawValue), ["com.high"],
        "the claimed ones")
    },
    Case("a claim and the fleet name the first request of a class, and since when it waits by the steady clock") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      let ready = RequirementClass(definition: definition, priority: .background)
      for name in ["com.a", "com.b", "com.c"] {
        try await s.submit(name, to: definition)
        s.advance(.seconds(100))
      }
      try await s.submit("com.high", to: definition) { $0.priority = .utility }
      s.stepWallClock(by: .seconds(5_000))
      let launch = try require(try await s.claim(definition).assignments.first, "an assignment")
      let second = s.now.steady + .seconds(-200)
      let answer = try await s.claim(definition, principals: [])
      try expect(answer.first?.since, second, "since when com.b waits, which may not run there")
      try expect(answer.first, try await s.store.fleet().firstReady[ready], "the fleet says the same")
      try expect(answer.first, try await s.store.ready().first[ready], "and so do the ready classes")
      try await s.end(launch.launch, .expired(.hostBusy))
      let resumed = try await s.store.ready().first[ready]
      try expect(resumed, WaitingHead(launch.launch.request, since: s.now.steady), "the oldest is first again")
      let all = try await s.claim(definition, places: 9)
      try expect(all.first, nil, "none is left")
      try expect(all.assignments.count, 3, "all of the class, and none of another one")
    },
    Case("the first request of a class that waited for a date does not say since when") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      let past = s.now.date + .seconds(-86_400)
      try await s.submit("com.a", to: definition) { $0.earliestBeginDate = .at(past) }
      let ready = RequirementClass(definition: definition, priority: .background)
      let first = try require(try await s.store.fleet().firstReady[ready], "the first request")
      try expect(first.since, nil, "since when it waits")
    },
    Case("nothing starts on a drained host, or while the fleet is paused, whatever was decided before") { s in
      let definition = try await s.define("com.*").id
      let urgent = try await s.define("urgent", .continued) { $0.strategy = .fail }.id
      try await s.connect()
      try await s.submit("com.ready", to: definition)
      let words: [(Obstacle, on: HostName?, (Bool) async throws -> Void)] = [
        (
          .hostDraining, on: StoreScenario.host,
          { [s] in try await s.store.setDraining(StoreScenario.host, $0, at: s.now) }
        ),
        (.fleetPaused, on: nil, { [s] in try await s.store.setPaused($0) }),
      ]
      for (obstacle, host, say) in words {
        try await say(true)
        let answer = try await s.claim(definition)
        try expect([answer.assignments.isEmpty, answer.hasMore], [true, true], "nothing, and hasMore: \(obstacle)")
        var offer = try s.offer("com.\(obstacle.code)", to: definition)
        offer.host = s.place()
        let submitted = try await s.answer(to: offer)
        try expect(try submitted.receipt.state, .ready, "the offered one waits: \(obstacle)")
        var immediate = try s.offer("urgent", to: urgent)
        immediate.host = s.place()
        try expect(
          try await s.answer(to: immediate),
          .refused(.immediateRunIneligible([HostObstacle(host: host, obstacle: obstacle)])), "the one that must start")
        try await say(false)
      }
      let names = try await s.claim(definition, places: 9).assignments.map(\.identifier.rawValue)
      try expect(names, ["com.ready", "com.hostDraining", "com.fleetPaused"], "when all words are taken back")
    },
    Case("an incarnation that holds no lease claims nothing") { s in
      let definition = try await s.define().id
      try await s.submit("job", to: definition)
      try expect(try await s.claim(definition).assignments, [], "claimed without a lease")
      try await s.connect()
      let stranger = try await s.claim(definition, on: StoreScenario.host, Incarnation("alpha-0"))
      try expect(stranger.assignments, [], "claimed with another's lease")
      try expect(stranger.hasMore, true, "hasMore")
    },
    Case("many claimers start each request exactly once") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      for index in 0..<30 { try await s.submit("com.\(index)", to: definition) }
      let claims = (0..<50).map { _ in
        Claim(
          requirementClass: RequirementClass(definition: definition, priority: .background), lease: s.lease(),
          places: [Claim.Place(gpus: [], spanID: s.drawSpan())])
      }
      let (store, now) = (s.store, s.now)
      let launches = try await withThrowingTaskGroup(of: [Assignment].self) { group in
        for claim in claims { group.addTask { try await store.claim([claim], at: now).flatMap(\.assignments) } }
        return try await group.reduce(into: [] as [LaunchKey]) { $0 += $1.map(\.launch) }
      }
      try expect(launches.count, 30, "launches")
      try expect(Set(launches).count, 30, "distinct launches")
      try expect(try await s.count(.running, of: "com.*"), 30, "running requests")
    },
    Case("promotion goes in steps, in the order of dates, and says when to come again") { s in
      let definition = try await s.define("com.*").id
      for index in [3, 1, 2] {
        try await s.submit("com.\(index)", to: definition) {
          $0.earliestBeginDate = .afterSubmission(.seconds(Int64(index)))
        }
      }
      s.advance(.seconds(10))
      let step = try await s.store.promote(at: s.now, limit: 2)
      try expect(step.classes.values.reduce(0, +), 2, "promoted in the first step")
      try expect(step.nextDue, s.now.due(.seconds(-7)), "when to come again")
      let ready = try await s.store.requests(RequestFilter(states: [.ready]), after: nil, limit: 9)
      try expect(ready.map(\.identifier.rawValue), ["com.1", "com.2"], "who came first")
      try expect(try await s.store.promote(at: s.now, limit: 2).nextDue == NextDue(), "more is waiting")
    },
    Case("the fleet record has what a coordinator needs to start") { s in
      let (definition, launch) = try await s.running()
      try await s.submit("job", to: definition)
      let other = try await s.define("other.*").id
      try await s.submit("other.ready", to: other)
      try await s.submit("other.later", to: other) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      try await s.store.setPaused(true)
      _ = try await s.store.noteExpiry(launch, .evicted, at: s.now)
      let fleet = try await s.store.fleet()
      try expect(fleet.storeIncarnation.isEmpty, false, "an empty incarnation")
      try expect(fleet.isPaused, true, "isPaused")
      try expect(fleet.hosts.map(\.name), [StoreScenario.host], "hosts")
      try expect(fleet.running.map(\.launch), [launch], "running launches")
      try expect(fleet.running.map(\.expiring), [.evicted], "their expiry")
      try expect(fleet.readyClasses, [RequirementClass(definition: other, priority: .background)], "ready classes")
      try expect(Set(fleet.definitions.keys), [definition, other], "definitions")
      try expect(fleet.nextDue, s.now.due(.seconds(60)), "the next date")
      try await s.store.setPaused(false)
      try expect(try await s.store.fleet().isPaused, false, "isPaused after resuming")
    },
  ]
}
