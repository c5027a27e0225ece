import BatonModel
import BatonStore

/// Launch time is counted per day of the steady clock, for the definition and for the host (contract, row 17).
extension StoreConformance {
  static let allowances: [Case] = [
    Case("launch time is charged to the definition and to the host, however the launch ended", rows: [17.1]) { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      try await s.toMorning()
      for (index, outcome) in [LaunchOutcome.finished, .failed("no"), .expired(.thermal)].enumerated() {
        try await s.submit("com.\(index)", to: definition)
        let launch = try await s.start(definition)
        s.advance(.seconds(10))
        s.stepWallClock(by: .seconds(-3600))
        try await s.end(launch, outcome)
        try await s.expectUse(.seconds(Int64(10 * (index + 1))), of: "com.*", "after \(outcome)")
        _ = try await s.store.cancel(.all, by: "ada", at: s.now)
      }
      try await s.submit("com.lost", to: definition)
      _ = try await s.start(definition)
      s.advance(.seconds(30))
      try await s.endLease()
      try await s.expectUse(.seconds(60), of: "com.*", "after a loss")
    },
    Case("launches that run together are charged each, and an ending that comes twice once") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      try await s.toMorning()
      for index in 0..<3 { try await s.submit("com.\(index)", to: definition) }
      let launches = try await s.claim(definition, places: 3).assignments.map(\.launch)
      let running = try await s.store.fleet().running
      try expect(running.map(\.startedSteady), Array(repeating: s.now.steady, count: 3), "when they started")
      s.advance(.seconds(10))
      let endings = launches.map { Ending(launch: $0, outcome: .finished) }
      _ = try await s.store.end(endings + endings, from: StoreScenario.worker, at: s.now)
      try await s.expectUse(.seconds(30), of: "com.*", "after three endings, each twice")
    },
    Case("hosts and definitions are charged for their own launches only") { s in
      let (one, first) = try await s.running("one")
      _ = one
      try await s.toMorning()
      let beta = HostName("beta")
      try await s.connect(beta, Incarnation("beta-1"))
      let two = try await s.define("two").id
      try await s.submit("two", to: two)
      let second = try await s.start(two, .background, on: beta, Incarnation("beta-1"))
      s.advance(.seconds(7))
      try await s.end(second, from: WorkerProcess(host: beta, incarnation: Incarnation("beta-1")))
      let fleet = try await s.store.fleet()
      try expect(fleet.use.keys.map(\.rawValue), ["two"], "definitions that were charged")
      try expect(fleet.hosts.map { $0.use.used(at: s.now.steady) }, [.zero, .seconds(7)], "the hosts")
      try await s.end(first)
      try expect(try await s.store.fleet().use.count, 2, "definitions that were charged in the end")
    },
    Case("a new day begins with nothing used, and a launch is charged to the day on which it ends") { s in
      let (definition, first) = try await s.running()
      try await s.toMorning()
      s.advance(.seconds(100))
      try await s.end(first)
      try await s.expectUse(
        .seconds(100), of: "job", "on the first day; time before midnight counts towards the previous day")
      s.advance(.seconds(86_400))
      try await s.expectUse(.zero, of: "job", "on the second day")
      try await s.submit("job", to: definition)
      let second = try await s.start(definition)
      s.advance(.seconds(5))
      try await s.end(second)
      try await s.expectUse(.seconds(5), of: "job", "after a launch on the second day")
    },
  ]
}

extension StoreScenario {
  /// Advances both clocks to the beginning of the next day of the steady clock.
  mutating func toMorning() async throws { advance(DailyUse.refill(after: now.steady) - now.steady) }

  /// The launch time used by the definition, and by each connected host, is `used`.
  func expectUse(_ used: Duration, of pattern: String, _ what: String) async throws {
    let fleet = try await store.fleet()
    try expect(
      fleet.use[try Self.pattern(pattern)]?.used(at: now.steady) ?? .zero, used, "what \(pattern) used \(what)")
    try expect(fleet.hosts.map { $0.use.used(at: now.steady) }, [used], "what the host used \(what)")
  }
}
