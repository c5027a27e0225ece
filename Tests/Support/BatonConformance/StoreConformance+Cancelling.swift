import BatonModel
import BatonStore

extension StoreConformance {
  static let cancelling: [Case] = [
    Case("what waits is cancelled at once, what runs is stopped and ends cancelled", rows: [34.1]) { s in
      let (definition, launch) = try await s.running()
      let waiting = try await s.submit("job", to: definition)
      let job = try StoreScenario.name("job")
      let cancelled = try await s.store.cancel(.identifier(job), by: "ada", at: s.now)
      try expect(
        cancelled,
        [.ended(waiting.request, job, number: 2), .stopping(launch, job, number: 1, host: StoreScenario.host)],
        "the answer")
      let record = try await s.record(waiting.request)
      try expect(record.state, .cancelled, "the waiting one")
      try expect([record.outcome, record.reason], ["cancelled", "ada"], "its outcome and reason")
      try expect(
        try await s.store.assignments(on: StoreScenario.host).map(\.pendingExpiry), [.cancelled(by: "ada")],
        "the launch")
      try expect(try await s.end(launch, .expired(.cancelled(by: "ada"))).state, .cancelled, "the running one")
    },
    Case("a cancelled request ends cancelled however its last launch ended") { s in
      for outcome in [LaunchOutcome.expired(.powerLost), .failed("killed"), .lost] {
        let (_, launch) = try await s.running("job-\(outcome.code)")
        _ = try await s.store.noteExpiry(launch, .powerLost, at: s.now)
        _ = try await s.store.cancel(.request(launch.request), by: "ada", at: s.now)
        _ = try await s.store.cancel(.request(launch.request), by: "bob", at: s.now)
        try expect(try await s.record(launch.request).ledger.cancelledBy, "ada", "who cancelled")
        try expect(try await s.store.launches(of: launch.request)[0].expiringReason, .powerLost, "the launch's reason")
        try expect(try await s.end(launch, outcome).state, .cancelled, "after \(outcome)")
      }
    },
    Case("a live request between launches is cancelled at once, and the waiting one is released") { s in
      let (definition, launch) = try await s.running()
      let waiting = try await s.submit("job", to: definition)
      try await s.end(launch, .failed("once"))
      let cancelled = try await s.store.cancel(.request(launch.request), by: "ada", at: s.now)
      try expect(cancelled, [.ended(launch.request, try StoreScenario.name("job"), number: 1)], "the answer")
      try expect(try await s.state(waiting.request), .ready, "the waiting one")
      try expect(try await s.count(.cancelled), 1, "cancelled requests")
    },
    Case("cancelling everything leaves nothing that waits and stops all that runs", rows: [8.3]) { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      for index in 0..<5 { try await s.submit("com.\(index)", to: definition) }
      try await s.submit("com.later", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      let running = try await s.claim(definition, places: 2).assignments.map(\.launch)
      try await s.submit("com.0", to: definition)
      let cancelled = try await s.store.cancel(.all, by: "ada", at: s.now)
      try expect(cancelled.count, 7, "the answers")
      let stopping = cancelled.compactMap { if case .stopping(let launch, _, _, _) = $0 { launch } else { nil } }
      try expect(stopping, running, "the launches to stop")
      try expect(try await s.count(.cancelled, of: "com.*"), 5, "cancelled requests")
      try expect(try await s.count(.running, of: "com.*"), 2, "running requests")
    },
    Case("cancelling what has ended, or is not there, does nothing") { s in
      let (_, launch) = try await s.running()
      try await s.end(launch)
      try expect(try await s.store.cancel(.request(launch.request), by: "ada", at: s.now), [], "an ended request")
      try expect(try await s.store.cancel(.request(RequestID(99)), by: "ada", at: s.now), [], "no request")
      let nobody = try StoreScenario.name("nobody")
      try expect(try await s.store.cancel(.identifier(nobody), by: "ada", at: s.now), [], "no identifier")
      try expect(try await s.state(launch.request), .succeeded, "the ended request")
    },
  ]
}
