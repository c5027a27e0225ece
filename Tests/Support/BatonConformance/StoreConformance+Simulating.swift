import BatonModel
import BatonStore

/// A simulated launch or expiry is marked as simulated, and does not count towards quarantine (contract, row 43).
extension StoreConformance {
  static let simulating: [Case] = [
    Case("a simulated launch starts what waits for a delay, a date or a retry, and is marked") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      let date = s.now.date + .seconds(60)
      let dated = try await s.submit("com.dated", to: definition) { $0.earliestBeginDate = .at(date) }
      let delayed = try await s.submit("com.delayed", to: definition) {
        $0.earliestBeginDate = .afterSubmission(.seconds(60))
      }
      let ready = try await s.submit("com.ready", to: definition)
      let retried = try await s.submit("com.retried", to: definition)
      _ = try await s.store.launchNow(retried.request, on: s.place(), at: s.now)
      try await s.end(LaunchKey(request: retried.request, number: 1), .failed("once"))
      for request in [dated.request, delayed.request, ready.request, retried.request] {
        let given = try await s.store.launchNow(request, on: s.place(), at: s.now)
        try expect([given.isSimulated, given.launch.request == request], [true, true], "the assignment")
        try expect(try await s.state(request), .running, "the state of \(given.identifier)")
        let history = try await s.store.launches(of: request)
        try expect(history.last?.isSimulated, true, "the launch of \(given.identifier)")
        try expect(
          try await s.store.events(of: request).last,
          EventRecord(at: s.now.date, name: "simulatedLaunch", detail: StoreScenario.host.rawValue), "its event")
      }
      try expect(
        try await s.store.assignments(on: StoreScenario.host).map(\.isSimulated), [true, true, true, true], "all")
      try expect(try await [s.count(.running, of: "com.*"), s.count(.scheduled, of: "com.*")], [4, 0], "the counts")
      try expect(try await s.store.fleet().nextDue, NextDue(), "what is left to wait for")
    },
    Case("a launch that is not simulated is not marked") { s in
      let (_, launch) = try await s.running()
      try expect(try await s.store.launches(of: launch.request).map(\.isSimulated), [false], "the launch")
      try expect(try await s.store.assignments(on: StoreScenario.host).map(\.isSimulated), [false], "the assignment")
    },
    Case("a simulated launch is refused for what is not pending or waits for a live request") { s in
      let (definition, launch) = try await s.running()
      let waiting = try await s.submit("job", to: definition)
      let (store, now, place) = (s.store, s.now, s.place())
      try await expectRefusal(.refused, saying: ["job", "running"]) {
        _ = try await store.launchNow(launch.request, on: place, at: now)
      }
      try await expectRefusal(.refused, saying: ["job", "request 1"]) {
        _ = try await store.launchNow(waiting.request, on: place, at: now)
      }
      try await expectRefusal(.notFound, saying: ["99"]) {
        _ = try await store.launchNow(RequestID(99), on: place, at: now)
      }
      try await s.end(launch)
      let stranger = s.place(on: StoreScenario.host, Incarnation("alpha-0"))
      try await expectRefusal(.moved, saying: ["alpha", "lease"]) {
        _ = try await store.launchNow(waiting.request, on: stranger, at: now)
      }
      try expect(try await s.store.events(of: waiting.request), [], "events after refusals")
      try expect(try await s.state(waiting.request), .ready, "the state after refusals")
    },
    Case("a simulated launch that comes to nothing brings no request nearer to quarantine") { s in
      let receipt = try await s.submit("job", to: try await s.define().id)
      try await s.connect()
      for outcome in [
        LaunchOutcome.lost, .expired(.budgetSpent), .expired(.stalled), .expired(.simulated(as: .stalled)),
      ] {
        for _ in 0..<4 {
          let launch = try await s.store.launchNow(receipt.request, on: s.place(), at: s.now).launch
          try expect(try await s.end(launch, outcome).state, .ready, "after \(outcome)")
        }
      }
      try expect(try await s.record(receipt.request).ledger, Ledger(), "its ledger")
    },
    Case("a simulated launch that fails ends by the retry rule") { s in
      let receipt = try await s.submit("job", to: try await s.define().id)
      try await s.connect()
      for state in [RequestState.scheduled, .failed] {
        let launch = try await s.store.launchNow(receipt.request, on: s.place(), at: s.now).launch
        try expect(try await s.end(launch, .failed("no")).state, state, "the state")
      }
    },
    Case("a simulated expiry is no strike, and its history says what was simulated") { s in
      let (_, launch) = try await s.running()
      let reason = ExpiryReason.simulated(as: .powerLost)
      _ = try await s.store.noteExpiry(launch, reason, at: s.now)
      try expect(try await s.store.assignments(on: StoreScenario.host).map(\.pendingExpiry), [reason], "the assignment")
      try expect(try await s.store.fleet().running.map(\.expiring), [reason], "the fleet record")
      try expect(try await s.end(launch, .expired(reason)).state, .ready, "the state")
      let history = try require(try await s.store.launches(of: launch.request).first, "the launch")
      try expect([history.expiringReason], [reason], "the launch's expiry")
      try expect(history.outcome, .expired, "the outcome")
      try expect(history.reason, "simulated (powerLost)", "the reason")
      let record = try await s.record(launch.request)
      try expect([record.reason], ["simulated (powerLost)"], "the request's reason")
      try expect(record.ledger, Ledger(), "its ledger")
    },
    Case("a simulated expiry for no reason says so") { s in
      let (_, launch) = try await s.running()
      _ = try await s.store.noteExpiry(launch, .simulated(as: nil), at: s.now)
      try await s.end(launch, .expired(.simulated(as: nil)))
      let history = try require(try await s.store.launches(of: launch.request).first, "the launch")
      try expect([history.expiringReason], [.simulated(as: nil)], "the launch's expiry")
      try expect(history.reason, "simulated", "its reason")
    },
    Case("a simulated first launch is a first launch: it spaces, and submits the next one") { s in
      let applied = try await s.define("job", .refresh) {
        ($0.earliestBeginDate, $0.repeatEvery) = (.afterSubmission(.seconds(60)), .seconds(120))
      }
      try await s.connect()
      let first = try require(applied.submitted, "the first request").request
      let launch = try await s.store.launchNow(first, on: s.place(), at: s.now)
      let next = try require(try await s.store.request(try StoreScenario.name("job"), number: 2), "the next request")
      try expect(next.waitsBecause, .waitsForLiveRequest(number: 1), "what it waits for")
      try expect(try await s.end(launch.launch).nextDue, s.now.due(.seconds(900)), "when it is due")
    },
  ]
}
