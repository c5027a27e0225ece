import BatonModel
import BatonStore

extension StoreConformance {
  static let repeating: [Case] = [
    Case("apply submits the first request of a repeating definition, once, with the seed's trace") { s in
      var definition = Definition(pattern: try StoreScenario.pattern("job"), kind: .processing)
      definition.repeatEvery = .seconds(3600)
      let seed = s.drawTrace()
      let first = try require(
        try await s.store.apply([definition], seeds: [seed], at: s.now).first?.submitted, "the first request")
      try expect(first.number, 1, "its number")
      try expect(try await s.record(first.request).trace, seed, "its trace")
      let again = try await s.store.apply([definition], seeds: [s.drawTrace()], at: s.now)
      try expect(again.first?.submitted == nil, "a second one was submitted")
    },
    Case("the transaction that starts a first launch submits the next request, one interval later", rows: [9.1]) { s in
      let definition = try await s.define { $0.repeatEvery = .seconds(3600) }.id
      try await s.connect()
      let begun = s.now
      let claim = try await s.claim(definition)
      let launch = try require(claim.assignments.first, "the assignment").launch
      let next = try require(try await s.store.request(try StoreScenario.name("job"), number: 2), "the next request")
      try expect(next.waitsBecause, .waitsForLiveRequest(number: 1), "what it waits for")
      try expect(next.trace.traceID != (try await s.record(launch.request).trace.traceID), "it shares the trace")
      try expect(try await s.end(launch).nextDue, begun.due(.seconds(3600)), "when it is eligible")
    },
    Case("a second launch of the same request submits nothing", rows: [9.1]) { s in
      let definition = try await s.define { $0.repeatEvery = .seconds(3600) }.id
      try await s.connect()
      try await s.end(try await s.start(definition), .expired(.evicted))
      _ = try await s.start(definition)
      try expect(try await s.store.requests(RequestFilter(), after: nil, limit: 10).count, 2, "requests")
    },
    Case("missed repetitions are not caught up") { s in
      let definition = try await s.define { $0.repeatEvery = .seconds(3600) }.id
      try await s.connect()
      let begun = s.now
      s.advance(.seconds(3 * 3600 + 1800))
      try expect(
        try await s.end(try await s.start(definition)).nextDue, begun.due(.seconds(4 * 3600)), "the next date")
    },
    Case("cancelling a repeating identifier ends the chain until it is applied again") { s in
      let definition = try await s.define { $0.repeatEvery = .seconds(3600) }.id
      try await s.connect()
      let launch = try await s.start(definition)
      let cancelled = try await s.store.cancel(.identifier(try StoreScenario.name("job")), by: "ada", at: s.now)
      try expect(cancelled.count, 2, "what was cancelled")
      try await s.end(launch, .expired(.cancelled(by: "ada")))
      try expect(try await s.count(.cancelled), 2, "cancelled requests")
      try expect(try await s.store.fleet().nextDue == NextDue(), "something still waits for a time")
      let again = try await s.define { $0.repeatEvery = .seconds(3600) }
      try expect(again.submitted?.number, 3, "the request submitted by applying it again")
    },
    Case("the next request is of the definition that is applied when it is submitted") { s in
      let old = try await s.define { $0.repeatEvery = .seconds(3600) }.id
      let new = try await s.define { ($0.repeatEvery, $0.title) = (.seconds(60), "new") }.id
      try await s.connect()
      try await s.end(try await s.start(old))
      let next = try require(try await s.store.request(try StoreScenario.name("job"), number: nil), "the next request")
      try expect(next.definition, new, "its definition")
    },
  ]
}
