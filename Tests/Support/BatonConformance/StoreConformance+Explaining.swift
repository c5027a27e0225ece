import BatonModel
import BatonStore

/// What `explain` and `show` say beyond the requests themselves: positions, reports of hosts, and events.
extension StoreConformance {
  static let explaining: [Case] = [
    Case("the position of a ready request is how many of its class are older", rows: [8.2]) { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      var requests: [RequestID] = []
      for index in 0..<4 { requests.append(try await s.submit("com.\(index)", to: definition).request) }
      let urgent = try await s.submit("com.urgent", to: definition) { $0.priority = .userInitiated }
      try expect(try await s.positions(of: requests + [urgent.request]), [0, 1, 2, 3, 0], "positions")
      let launch = try await s.start(definition)
      try expect(try await s.positions(of: requests), [nil, 0, 1, 2], "positions while the first one runs")
      try await s.end(launch)
      try expect(try await s.positions(of: [requests[0], RequestID(99)]), [nil, nil], "of what is not pending")
    },
    Case("the position of a scheduled request counts what is ready and what comes before it", rows: [8.2]) { s in
      let definition = try await s.define("com.*").id
      let other = try await s.define("other").id
      s.stepWallClock(by: .seconds(3600))
      try await s.store.saveClock(ClockReading(moment: s.now, boot: "boot", instant: Instant(nanoseconds: 0)))
      try await s.submit("com.ready", to: definition)
      try await s.submit("other", to: other)
      let dates = [30, 10].map { s.now.date + .seconds($0) }
      var requests: [RequestID] = []
      for (index, wish) in [
        EarliestBeginDate.afterSubmission(.seconds(40)), .at(dates[0]), .afterSubmission(.seconds(20)), .at(dates[1]),
      ].enumerated() {
        requests.append(try await s.submit("com.\(index)", to: definition) { $0.earliestBeginDate = wish }.request)
      }
      try expect(try await s.positions(of: requests), [4, 3, 2, 1], "positions")
    },
    Case("a request that waits for the live one comes after all that wait for a time") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      try await s.submit("com.a", to: definition)
      _ = try await s.start(definition)
      let held = try await s.submit("com.a", to: definition)
      try await s.submit("com.b", to: definition)
      try await s.submit("com.c", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      let date = s.now.date + .seconds(60)
      try await s.submit("com.d", to: definition) { $0.earliestBeginDate = .at(date) }
      try expect(try await s.positions(of: [held.request]), [3], "its position")
    },
    Case("the last report of a host is kept, also after the host has gone") { s in
      let (first, second) = (StoreScenario.word("1.0", slots: 2), StoreScenario.word("1.1", slots: 4))
      try await s.connect(report: first)
      try expect(try await s.store.fleet().hosts.map(\.word), [first], "what it said when it connected")
      s.advance(.seconds(5))
      try await s.store.noteReports([s.lease(): second, s.lease(HostName("nobody")): first], at: s.now)
      let host = try require(try await s.store.fleet().hosts.first, "the host")
      try expect([host.word], [second], "what it said next")
      try expect(host.lastSeenAt, s.now.date, "when it was seen")
      try await s.endLease()
      try await s.connect(StoreScenario.host, Incarnation("alpha-2"))
      try expect(try await s.store.fleet().hosts.map(\.word), [second], "what is known of it after that")
    },
    Case("how long batches usually take is kept for a definition that is there") { s in
      try await s.define("com.*")
      let (known, unknown) = (try StoreScenario.pattern("com.*"), try StoreScenario.pattern("org.*"))
      try expect(try await s.store.fleet().usualBatches, [:], "at first")
      for seconds in [5, 7] {
        try await s.store.notePace([known: .seconds(seconds), unknown: .seconds(1)])
        try expect(try await s.store.fleet().usualBatches, [known: .seconds(seconds)], "what is kept")
      }
    },
    Case("what is noted stands in the history of its request, in order, while that is kept") { s in
      let receipt = try await s.submit("job", to: try await s.define().id)
      try await s.store.note(.suspect, detail: "slow", of: receipt.request, at: s.now)
      s.advance(.seconds(1))
      try await s.store.note(.suspect, detail: nil, of: receipt.request, at: s.now)
      try await s.store.note(.suspect, detail: nil, of: RequestID(99), at: s.now)
      let earlier = EventRecord(at: s.now.date + .seconds(-1), name: "suspect", detail: "slow")
      try expect(
        try await s.store.events(of: receipt.request), [earlier, EventRecord(at: s.now.date, name: "suspect")], "events"
      )
      try expect(try await s.store.events(of: RequestID(99)), [], "events of no request")
    },
    Case("a handler that ignored its deadline is named with its host", rows: [36.2]) { s in
      let (definition, first) = try await s.running()
      _ = try await s.store.noteExpiry(first, .thermal, at: s.now)
      _ = try await s.store.end(
        [Ending(launch: first, outcome: .expired(.thermal), isGraceful: false)], from: StoreScenario.worker, at: s.now)
      let event = EventRecord(at: s.now.date, name: "ignoredExpiry", detail: StoreScenario.host.rawValue)
      try expect(try await s.store.events(of: first.request), [event], "events")
      // Neither a graceful end nor the loss of a worker adds another event.
      let second = try await s.start(definition)
      _ = try await s.store.noteExpiry(second, .thermal, at: s.now)
      try await s.end(second, .expired(.thermal))
      let third = try await s.start(definition)
      _ = try await s.store.noteExpiry(third, .thermal, at: s.now)
      try await s.endLease()
      try expect(try await s.store.events(of: first.request), [event], "events after others")
    },
    Case("an ending that arrives before the message that its launch was asked to stop records the expiry") { s in
      let (_, launch) = try await s.running()
      let reason = ExpiryReason.simulated(as: .powerLost)
      _ = try await s.store.end(
        [Ending(launch: launch, outcome: .expired(reason), isGraceful: false)], from: StoreScenario.worker, at: s.now)
      _ = try await s.store.noteExpiry(launch, .thermal, at: s.now)
      let record = try require(try await s.store.launches(of: launch.request).first, "the launch")
      try expect(record.expiringReason, reason, "why it was asked to stop")
      try expect(record.expiringSince, s.now.date, "since when")
      try expect(try await s.store.events(of: launch.request).map(\.name), ["ignoredExpiry"], "events")
    },
  ]
}

extension StoreScenario {
  func positions(of requests: [RequestID]) async throws -> [Int?] {
    var found: [Int?] = []
    for request in requests { found.append(try await store.position(of: request)) }
    return found
  }

  static func word(_ version: String, slots: Int) -> HostWord {
    var conditions = Conditions.assumed
    conditions.isIdle = Reading(true, source: "logind")
    let capabilities = Capabilities(slots: slots, handlers: [IdentifierPattern(trusted: "com.*")])
    return HostWord(version: version, capabilities: capabilities, conditions: conditions)
  }
}
