import BatonModel
import BatonStore

/// Limits by key: requests of any definitions with the same key share one limit.
extension StoreConformance {
  static let limitsByKey: [Case] = [
    Case("launches with one key do not exceed its limit, whichever definitions they have") { s in
      let acme = try await s.limited("import.*", "customer/${wildcard}", 2)
      let others = try await s.limited("export.*", "customer/${wildcard}", 2)
      try await s.connect()
      for name in ["import.acme", "import.bell"] { try await s.submit(name, to: acme) }
      let export = try await s.submit("export.acme", to: others).request
      let first = try await s.claim(acme, places: 9).assignments.map(\.launch)
      try expect(first.count, 2, "one for each customer")
      try expect(try await s.claim(others, places: 9).assignments.map(\.launch.request), [export], "within the limit")
      let third = try await s.submit("import.acme", to: acme).request
      try expect(try await s.state(third), .scheduled, "one of the identifier is live")
      let more = try await s.limited("report.*", "customer/${wildcard}", 2)
      let report = try await s.submit("report.acme", to: more).request
      try expect(try await s.claim(more, places: 9).assignments.isEmpty, "the limit is reached")
      try expect(
        try await s.record(report).waitsBecause,
        .limitReached(LimitObstacle(key: Self.acme, limit: 2, running: 2, position: 1)), "the obstacle")
      let answer = try await s.end(first[0])
      try expect(answer.makesRoom, "the end makes room")
      try expect(try await s.claim(more, places: 9).assignments.isEmpty, "it is called first")
      try expect(try await s.called().classes, [RequirementClass(definition: more, priority: .background): 1], "called")
      try expect(try await s.claim(more, places: 9).assignments.map(\.launch.request), [report], "it starts")
    },
    Case("those that a key keeps hold up no others, and start in their order") { s in
      let definition = try await s.limited("job.*", "shared", 1)
      try await s.connect()
      var requests: [RequestID] = []
      for index in 0..<5 { requests.append(try await s.submit("job.\(index)", to: definition).request) }
      var launches = try await s.claim(definition, places: 4).assignments.map(\.launch)
      try expect(launches.map(\.request), [requests[0]], "one starts")
      let others = try await s.claim(definition, places: 4)
      try expect(others.assignments.isEmpty && !others.hasMore, "the others are not ready any more")
      let positions = try await s.positions(requests)
      try expect(positions, [nil, 1, 2, 3, 4], "their places")
      try expect(try await s.count(.scheduled, of: "job.*"), 4, "they are counted as scheduled")
      for request in requests.dropFirst() {
        try await s.end(launches[0])
        // A younger one does not go before those that wait.
        let late = try await s.submit("job.late\(request)", to: definition).request
        try expect(try await s.claim(definition, places: 4).assignments.isEmpty, "nothing overtakes")
        _ = try await s.called()
        launches = try await s.claim(definition, places: 4).assignments.map(\.launch)
        try expect(launches.map(\.request), [request], "the next one")
        _ = try await s.store.cancel(.request(late), by: "ada", histories: [:], at: s.now)
      }
      try expect(try await s.count(.ready, of: "job.*"), 0, "none is ready")
    },
    Case("a class that cannot start does not block another one with the same key") { s in
      let stuck = try await s.limited("stuck.*", "shared", 1)
      let free = try await s.limited("free.*", "shared", 1)
      try await s.connect()
      let first = try await s.submit("free.1", to: free)
      try expect(first.state, .ready, "the first one")
      let launch = try await s.start(free)
      try await s.submit("stuck.1", to: stuck)
      let waiting = try await s.submit("free.2", to: free).request
      for one in [stuck, free] { _ = try await s.claim(one, places: 2) }
      try await s.end(launch)
      try expect(try await s.called().classes.count, 2, "the first of each class is called")
      try expect(try await s.claim(free).assignments.map(\.launch.request), [waiting], "whichever host comes first")
      try expect(try await s.claim(stuck).assignments.isEmpty, "the other one waits again")
    },
    Case("a cancelled request gives its turn to the next one") { s in
      let definition = try await s.limited("job.*", "shared", 1)
      try await s.connect()
      let requests = try await s.submitted(3, to: definition)
      let launch = try await s.start(definition)
      _ = try await s.claim(definition, places: 3)
      try await s.end(launch)
      _ = try await s.called()
      try expect(try await s.state(requests[1]), .ready, "it is called")
      _ = try await s.store.cancel(.request(requests[1]), by: "ada", histories: [:], at: s.now)
      let due = try await s.store.ready().nextDue
      try expect(due.hasCome(at: s.now), "those that wait are looked at")
      _ = try await s.called()
      try expect(try await s.claim(definition).assignments.map(\.launch.request), [requests[2]], "the next one")
    },
    Case("a ready request that has to wait again gives its turn to the next one") { s in
      let definition = try await s.limited("job.*", "shared", 1)
      try await s.connect()
      try await s.submit("job.0", to: definition)
      var launch = try await s.start(definition)
      // Each is called, and then waits for something else.
      let ways: [(String, (inout StoreScenario, RequestID) async throws -> Void)] = [
        (
          "it is replaced by one with a later date",
          { s, _ in
            let later = s.now.date + .seconds(3_600)
            let receipt = try await s.submit("job.1", to: definition) { $0.earliestBeginDate = .at(later) }
            try expect(receipt.due.hasCome(at: s.now), "its receipt tells when to look")
          }
        ),
        (
          "the wall clock was set back before its date",
          { s, _ in
            s.stepWallClock(by: .seconds(-7_200))
            let answer = try await s.claim(definition)
            try expect(answer.assignments.map(\.identifier), [], "nothing starts")
            try expect(answer.nextDue.hasCome(at: s.now), "the claim tells when to look")
          }
        ),
        (
          "another definition takes it to another key",
          { s, request in
            let other = try await s.limited("job.*", "other", 1)
            _ = try await s.store.redefine(request, as: other, at: s.now)
          }
        ),
      ]
      for (index, (way, change)) in ways.enumerated() {
        let date = s.now.date + .seconds(10)
        let first = try await s.submit("job.1", to: definition) { $0.earliestBeginDate = .at(date) }.request
        s.advance(.seconds(10))
        _ = try await s.called()
        let second = try await s.submit("job.next\(index)", to: definition).request
        try expect(try await s.claim(definition, places: 3).assignments.isEmpty, "\(way): both wait")
        try await s.end(launch)
        _ = try await s.called()
        try expect(try await s.state(first), .ready, "\(way): the first one is called")
        try await change(&s, first)
        let due = try await s.store.ready().nextDue
        try expect(due.hasCome(at: s.now), "\(way): those that wait are looked at")
        _ = try await s.called()
        launch = try require(try await s.claim(definition).assignments.first?.launch, "\(way): the next one starts")
        try expect(launch.request, second, "\(way): the next one")
        _ = try await s.store.cancel(.request(first), by: "ada", histories: [:], at: s.now)
      }
    },
    Case("a paused schedule gives its turn at a key to the next request") { s in
      let everyMinute = JobSchedule(cron: try CronExpression("* * * * *"))
      let definition = try await s.limited("job.*", "shared", 1) { $0.schedule = everyMinute }
      try await s.connect()
      try await s.submit("job.1", to: definition)
      try await s.end(try await s.start(definition))
      let calendar = try require(JobIdentifier("job.1"), "a name")
      let first = try require(try await s.store.request(calendar, number: nil)?.id, "the calendar's")
      try await s.submit("job.0", to: definition)
      let launch = try await s.start(definition)
      let after = try await s.store.request(try require(JobIdentifier("job.0"), "a name"), number: 2)
      _ = try await s.store.cancel(
        .request(try require(after?.id, "the next one")), by: "ada", histories: [:], at: s.now)
      s.advance(.seconds(120))
      _ = try await s.called()
      let next = try await s.submit("job.2", to: definition).request
      try expect(try await s.claim(definition, places: 3).assignments.isEmpty, "both wait")
      try await s.end(launch)
      _ = try await s.called()
      try expect(try await s.state(first), .ready, "the calendar's is called")
      try await s.store.pauseSchedule(of: calendar, by: "ada", because: "the disk is full", at: s.now)
      try expect(try await s.store.ready().nextDue.hasCome(at: s.now), "those that wait are looked at")
      _ = try await s.called()
      try expect(try await s.claim(definition).assignments.map(\.launch.request), [next], "the next one")
    },
    Case("starts of a rate come by the steady clock, and nothing but time is needed") { s in
      let rule = StartRate(limit: 6, per: .seconds(60), burst: 2)
      let definition = try await s.limited("job.*") { $0.rate = RateLimitByKey(key: KeyTemplate("api"), rule: rule) }
      try await s.connect()
      let requests = try await s.submitted(4, to: definition)
      let first = try await s.claim(definition, places: 9)
      try expect(first.assignments.map(\.launch.request), [requests[0], requests[1]], "the burst")
      try expect(try await s.called().nextDue, s.now.due(.seconds(10)), "when the next one may start")
      for launch in first.assignments.map(\.launch) { try await s.end(launch) }
      let waits = try await s.record(requests[3]).waitsBecause
      try expect(
        waits,
        .limitReached(
          LimitObstacle(
            key: LimitKey(.rate, "api"), limit: 6, per: .seconds(60), position: 2,
            until: s.now.steady + .seconds(20))), "the obstacle")
      s.stepWallClock(by: .seconds(3_600))
      _ = try await s.called()
      try expect(try await s.claim(definition).assignments.isEmpty, "the wall clock starts nothing")
      s.stepWallClock(by: .seconds(-7_200))
      s.advance(.seconds(10))
      try expect(try await s.called().classes.values.reduce(0, +), 1, "one is called")
      try expect(try await s.claim(definition, places: 9).assignments.map(\.launch.request), [requests[2]], "it starts")
      s.advance(.seconds(10))
      _ = try await s.called()
      try expect(try await s.claim(definition, places: 9).assignments.map(\.launch.request), [requests[3]], "the last")
    },
    Case("where definitions give one key different rates, each takes its own time of the line") { s in
      let (api, minute) = (KeyTemplate("api"), Duration.seconds(60))
      let slow = try await s.limited("slow.*") {
        $0.rate = RateLimitByKey(key: api, rule: StartRate(limit: 2, per: minute))
      }
      let fast = try await s.limited("fast.*") {
        $0.rate = RateLimitByKey(key: api, rule: StartRate(limit: 6, per: minute))
      }
      try await s.connect()
      try await s.submit("fast.1", to: fast)
      try await s.end(try await s.start(fast))
      let before = try await s.submit("slow.1", to: slow).request
      let behind = try await s.submit("fast.2", to: fast).request
      _ = try await s.claim(slow)
      _ = try await s.claim(fast)
      let first = try await s.record(before).waitsBecause?.clearsAt
      try expect(first, s.now.steady + .seconds(10), "after the start of the fast one")
      let second = try await s.record(behind).waitsBecause?.clearsAt
      try expect(second, s.now.steady + .seconds(40), "after the start of the slow one")
    },
    Case("each launch that starts counts for the rate, also one that goes on after an expiry") { s in
      let rule = StartRate(limit: 1, per: .seconds(10))
      let definition = try await s.limited("job.*") { $0.rate = RateLimitByKey(key: KeyTemplate("api"), rule: rule) }
      try await s.connect()
      let request = try await s.submit("job.1", to: definition).request
      try await s.end(try await s.start(definition), .expired(.draining))
      try expect(try await s.state(request), .ready, "it goes on")
      try expect(try await s.claim(definition).assignments.isEmpty, "its next launch waits for the rate")
      s.advance(.seconds(10))
      _ = try await s.called()
      try expect(try await s.claim(definition).assignments.first?.launch.number, 2, "the second launch")
    },
    Case("a request with both keys waits for the one, and leaves its turn at the other") { s in
      let rule = StartRate(limit: 1, per: .seconds(60))
      let definition = try await s.limited("job.*", "shared", 1) {
        $0.rate = RateLimitByKey(key: KeyTemplate("api/${wildcard}"), rule: rule)
      }
      try await s.connect()
      try await s.submit("job.a", to: definition)
      let launch = try await s.start(definition)
      let again = try await s.submit("job.a", to: definition).request
      let other = try await s.submit("job.b", to: definition).request
      _ = try await s.claim(definition, places: 3)
      let answer = try await s.end(launch)
      try expect(answer.released != nil, "the next request of the identifier is ready")
      _ = try await s.called()
      let started = try await s.claim(definition).assignments.map(\.launch.request)
      try expect(started, [other], "the rate of the first one does not keep the second")
      try expect(try await s.record(again).waitsBecause?.kind, .rateReached, "what the first one waits for")
    },
    Case("each shard of a request is a launch with its key") { s in
      let (definition, launch) = try await s.spreading(40, lanes: 4) {
        $0.concurrency = ConcurrencyLimit(key: KeyTemplate("shared"), limit: 2)
      }
      try expect(try await s.claim(definition, places: 9).assignments.count, 1, "one more shard")
      let shards = try require(try await s.record(launch.request).shards, "the shards")
      try expect(shards.lanesInUse, 4, "those that wait for the key keep their lanes")
      try await s.finish(launch)
      _ = try await s.called()
      try expect(try await s.claim(definition, places: 9).assignments.count, 1, "another one")
      let last = try await s.store.assignments(on: Self.host)
      try expect(last.count, 2, "never more than two")
    },
    Case("a person sets the limit of a key, and takes it back") { s in
      let definition = try await s.limited("job.*", "customer/acme", 1)
      try await s.connect()
      try await s.submitted(6, to: definition)
      _ = try await s.claim(definition, places: 9)
      let raised = try await s.store.setLimit(Self.acme, .concurrency(3), at: s.now)
      try expect(raised.setting, .concurrency(3), "what is set")
      _ = try await s.called()
      try expect(try await s.claim(definition, places: 9).assignments.count, 2, "two more at once")
      let listed = try await s.store.limits(beginningWith: "customer/", after: nil, limit: 9, at: s.now)
      try expect(
        listed,
        [LimitRecord(key: Self.acme, setting: .concurrency(3), last: .concurrency(3), running: 3, waiting: 3)],
        "the list")
      let lowered = try await s.store.setLimit(Self.acme, nil, at: s.now)
      try expect(lowered.setting, nil, "it is taken back")
      let running = try await s.store.assignments(on: Self.host).map(\.launch)
      try expect(running.count, 3, "what runs goes on")
      for launch in running {
        try expect(try await s.claim(definition, places: 9).assignments.isEmpty, "the limit is reached")
        try await s.end(launch)
        if launch != running.last { _ = try await s.called() }
      }
      _ = try await s.called()
      try expect(try await s.claim(definition, places: 9).assignments.count, 1, "one at a time again")
    },
    Case("a faster rate that is set holds at once") { s in
      let rule = StartRate(limit: 1, per: .seconds(86_400))
      let definition = try await s.limited("job.*") { $0.rate = RateLimitByKey(key: KeyTemplate("api"), rule: rule) }
      try await s.connect()
      try await s.submitted(3, to: definition)
      try expect(try await s.claim(definition, places: 9).assignments.count, 1, "one a day")
      let fast = StartRate(limit: 60, per: .seconds(60))
      _ = try await s.store.setLimit(LimitKey(.rate, "api"), .rate(fast), at: s.now)
      s.advance(.seconds(1))
      _ = try await s.called()
      try expect(try await s.claim(definition, places: 9).assignments.count, 1, "the second one")
    },
    Case("a submission that must start now is refused with the limit of its key") { s in
      let definition = try await s.limited("job.*", "shared", 1, kind: .continued) { $0.strategy = .fail }
      try await s.connect()
      var offer = try s.offer("job.1", to: definition)
      offer.host = s.place()
      try expect(try await s.answer(to: offer).launch != nil, "the first one starts")
      offer = try s.offer("job.2", to: definition)
      offer.host = s.place()
      guard case .refused(.immediateRunIneligible(let obstacles)) = try await s.answer(to: offer) else {
        throw Violation(description: "the second one was not refused")
      }
      try expect(obstacles.map(\.obstacle.kind), [.limitReached], "why")
    },
    Case("another priority, and another definition, take a waiting request into another line") { s in
      let definition = try await s.limited("job.*", "shared", 1)
      try await s.connect()
      let requests = try await s.submitted(4, to: definition)
      let launch = try await s.start(definition)
      _ = try await s.claim(definition, places: 9)
      _ = try await s.store.setPriority(requests[3], .utility)
      try expect(try await s.record(requests[3]).waitsBecause?.limitPosition, 1, "it goes first now")
      try await s.end(launch)
      try expect(try await s.called().classes.count, 2, "the first of both lines is called")
      try expect(try await s.start(definition, .utility).request, requests[3], "it starts")
      let changed = try await s.limited("job.*", "other", 1)
      let moved = try await s.store.redefine(requests[2], as: changed, at: s.now)
      try expect(moved.state, .ready, "under another key it need not wait")
      try expect(try await s.claim(changed).assignments.map(\.launch.request), [requests[2]], "it starts")
    },
    Case("keys that nothing needs any more are forgotten") { s in
      let definition = try await s.limited("job.*", "customer/${wildcard}", 1)
      try await s.connect()
      try await s.submit("job.acme", to: definition)
      try await s.end(try await s.start(definition))
      try expect(
        try await s.store.limits(beginningWith: "", after: nil, limit: 9, at: s.now).map(\.key), [Self.acme], "before")
      _ = try await s.store.prune(RetentionLimits(), at: s.now)
      try expect(try await s.store.limits(beginningWith: "", after: nil, limit: 9, at: s.now), [], "after")
    },
  ]

  private static let acme = LimitKey(.concurrency, "customer/acme")
  private static let host = StoreScenario.host
}

extension Obstacle {
  fileprivate var limitPosition: Int? { if case .key(let limit) = detail { limit.position } else { nil } }
}

extension StoreScenario {
  /// Defines a job with a limited concurrency.
  fileprivate mutating func limited(
    _ pattern: String, _ key: String? = nil, _ limit: Int = 1, kind: JobKind = .processing,
    _ change: (inout Definition) -> Void = { _ in }
  ) async throws -> DefinitionID {
    try await define(pattern, kind) { definition in
      definition.concurrency = key.map { ConcurrencyLimit(key: KeyTemplate($0), limit: limit) }
      change(&definition)
    }.id
  }

  /// Submits requests of different identifiers below `job`.
  @discardableResult
  fileprivate mutating func submitted(_ count: Int, to definition: DefinitionID) async throws -> [RequestID] {
    var requests: [RequestID] = []
    for index in 0..<count { requests.append(try await submit("job.\(index)", to: definition).request) }
    return requests
  }

  /// Makes ready what is due.
  fileprivate func called() async throws -> Promotion { try await store.promote(at: now, limit: 100) }

  fileprivate func positions(_ requests: [RequestID]) async throws -> [Int?] {
    var found: [Int?] = []
    for request in requests { found.append(try await record(request).waitsBecause?.limitPosition) }
    return found
  }
}
