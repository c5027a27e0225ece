import BatonModel
import BatonStore

/// What a refresh found decides how soon the next refresh starts (contract, row 42).
extension StoreConformance {
  static let refreshing: [Case] = [
    Case("refreshes that find nothing come less often, up to four times, until one finds something", rows: [42.2]) {
      s in
      let definition = try await s.define("job", .refresh).id
      try await s.connect()
      for (result, spacing) in [
        (RefreshResult.noData, 900), (.noData, 1800), (.noData, 3600), (.noData, 3600), (.newData, 900), (.noData, 900),
      ] {
        try await s.expectSpacing(.seconds(spacing), after: result, of: definition)
      }
    },
    Case("what is lengthened is the interval of its repetition, if that is the longer one") { s in
      let definition = try await s.define("job", .refresh) { $0.repeatEvery = .seconds(1200) }.id
      try await s.connect()
      let begun = s.now
      try await s.end(try await s.start(definition, .utility), .finished, .noData)
      s.advance(.seconds(1200))
      try expect(try await s.promote(), ["job"], "the second refresh")
      let second = try await s.end(try await s.start(definition, .utility), .finished, .noData)
      try expect(second.nextDue, begun.due(.seconds(1200 + 2400)), "when the third one is due")
    },
    Case("with allowFrequent the interval of its repetition is lengthened too", rows: [42.2]) { s in
      let definition = try await s.define("job", .refresh) { ($0.repeatEvery, $0.allowFrequent) = (.seconds(60), true) }
        .id
      try await s.connect()
      for (result, spacing) in [(RefreshResult.noData, 60), (.noData, 120), (.noData, 240), (.noData, 240)] {
        let launch = try await s.start(definition, .utility)
        let begun = s.now
        let ended = try await s.end(launch, .finished, result)
        // The chain asks for the next refresh after a minute, but the spacing makes it wait longer.
        let due = spacing == 60 ? begun.due(.seconds(60)) : begun.due(.seconds(spacing))
        try expect(ended.nextDue, due, "when the next one is due after \(spacing) s")
        s.advance(.seconds(spacing))
        _ = try await s.promote()
      }
    },
    Case("a frequent refresh without repetition comes less often than it came, as far as 15 minutes") { s in
      let definition = try await s.define("job", .refresh) { $0.allowFrequent = true }.id
      try await s.connect()
      try await s.end(try await s.startedRefresh(definition), .finished, .noData)
      s.advance(.seconds(60))
      for spacing in [120, 240, 240] {
        try await s.end(try await s.startedRefresh(definition), .finished, .noData)
        let next = try await s.submit("job", to: definition)
        try expect(next.due, s.now.due(.seconds(spacing)), "when the next one is due")
        s.advance(.seconds(spacing))
        _ = try await s.promote()
      }
      try await s.end(try await s.start(definition, .utility), .finished, .newData)
      try expect(try await s.submit("job", to: definition).state, .ready, "the next one after new data")
    },
    Case(
      "a frequent refresh that submits the next one while it runs is spaced like one that submits it after its end",
      rows: [42.2]
    ) { s in
      let definition = try await s.define("job", .refresh) { $0.allowFrequent = true }.id
      try await s.connect()
      try await s.end(try await s.startedRefresh(definition), .finished, .noData)
      s.advance(.seconds(60))
      let second = try await s.startedRefresh(definition)
      try expect(try await s.submit("job", to: definition).state, .scheduled, "the next one beside the live one")
      let ended = try await s.end(second, .finished, .noData)
      try expect(ended.nextDue, s.now.due(.seconds(120)), "when the next one is due")
    },
    Case("a refresh without a result counts as having found something") { s in
      let definition = try await s.define("job", .refresh).id
      try await s.connect()
      for (result, spacing) in [(RefreshResult.noData, 900), (.noData, 1800), (nil, 900), (.noData, 900)] {
        try await s.expectSpacing(.seconds(spacing), after: result, of: definition)
      }
    },
    Case("a refresh that reports a failure failed, and is tried again by the retry rule") { s in
      let (definition, launch) = try await s.running("job", .refresh)
      let answer = try await s.end(launch, .finished, .failed)
      try expect([answer.state], [.scheduled], "the state")
      try expect(answer.nextDue, s.now.due(.seconds(30)), "when it is tried again")
      let history = try await s.store.launches(of: launch.request)
      try expect(history.map(\.outcome), [.failed], "the launch's outcome")
      try expect(history.map(\.reason), ["the refresh reported that it failed"], "its reason")
      s.advance(.seconds(30))
      try expect(try await s.promote(), ["job"], "promoted")
      try expect(
        try await s.end(try await s.start(definition, .utility), .finished, .failed).state, .failed, "after the second")
      try expect(try await s.record(launch.request).ledger.failures, 2, "failures")
    },
    Case("a launch that did not finish says nothing of what is new") { s in
      let (definition, first) = try await s.running("job", .refresh)
      try await s.end(first, .finished, .noData)
      s.advance(.seconds(3600))
      try await s.submit("job", to: definition)
      let second = try await s.start(definition, .utility)
      try await s.end(second, .expired(.hostBusy))
      try await s.end(try await s.start(definition, .utility), .lost)
      try await s.end(try await s.start(definition, .utility), .finished, .noData)
      let next = try await s.submit("job", to: definition)
      try expect(next.due, s.now.due(.seconds(1800)), "when the next one is due")
    },
    Case("results of jobs that are not spaced change nothing") { s in
      let (frequent, first) = try await s.running("job", .refresh) { $0.allowFrequent = true }
      let (processing, second) = try await s.running("other")
      for launch in [first, second] { try await s.end(launch, .finished, .noData) }
      try expect(try await s.submit("job", to: frequent).state, .ready, "a frequent refresh")
      try expect(try await s.submit("other", to: processing).state, .ready, "a processing job")
    },
  ]
}

extension StoreScenario {
  @discardableResult
  func end(_ launch: LaunchKey, _ outcome: LaunchOutcome, _ result: RefreshResult?) async throws -> EndingAnswer {
    let ending = Ending(launch: launch, outcome: outcome, result: result)
    return try require(try await store.end([ending], from: Self.worker, at: now).first, "end's answer")
  }

  /// Submits a refresh and starts it. If a request waits already, that one is started.
  fileprivate mutating func startedRefresh(_ definition: DefinitionID) async throws -> LaunchKey {
    try await submit("job", to: definition)
    return try await start(definition, .utility)
  }

  /// Runs one refresh that ends with `result`, checks that the next one waits for `spacing` from the first one's start,
  /// and advances the clocks until the next one is ready.
  fileprivate mutating func expectSpacing(
    _ spacing: Duration, after result: RefreshResult?, of definition: DefinitionID
  ) async throws {
    try await submit("job", to: definition)
    try await end(try await start(definition, .utility), .finished, result)
    let next = try await submit("job", to: definition)
    try expect(next.due, now.due(spacing), "when the next one is due after \(String(describing: result))")
    advance(spacing)
    _ = try await promote()
  }
}
