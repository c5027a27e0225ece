import BatonModel
import BatonStore

/// Pokes are coalesced: many pokes start few launches, the last payload wins, and every poke's id is kept (contract,
/// row 41).
extension StoreConformance {
  static let pokes: [Case] = [
    Case("an id that stands for another identifier is refused, rather than answered and dropped") { s in
      let (one, two) = (try await s.define("one").id, try await s.define("two").id)
      let first = try await s.submit("one", to: one, id: "same") { $0.poke = .considerate }
      guard case .refused(.unavailable(let text)) = try await s.answer(to: s.offer("two", to: two, id: "same")) else {
        throw StoreConformance.Violation(description: "the id of another identifier was taken")
      }
      try expect(text.contains("'same'"), "\"\(text)\" does not name the id")
      try expect(try await s.submit("one", to: one, id: "same").request, first.request, "the answer to its own")
    },
    Case("a poke starts a request at once if none was poked lately, whatever its definition's date") { s in
      let definition = try await s.define { $0.earliestBeginDate = .afterSubmission(.seconds(7200)) }.id
      try await s.connect()
      var offer = try s.offer("job", to: definition, id: "poke") {
        ($0.poke, $0.payload, $0.earliestBeginDate) = (.considerate, [1], .afterSubmission(.seconds(60)))
      }
      offer.host = s.place()
      let answer = try await s.answer(to: offer)
      try expect(try answer.receipt.state, .running, "the state")
      let record = try await s.record(try answer.receipt.request)
      try expect([record.poke], [.considerate], "the mark")
      try expect(record.payload, [1], "the payload")
      try expect(
        try await s.store.pokes(of: record.id),
        [PokeRecord(id: "poke", at: s.now.date, priority: .considerate, principal: "ada")], "the pokes")
      try expect(try await s.store.events(of: record.id), [], "the events")
    },
    Case("a poke joins the request that waits: the last payload wins, and the newest definition", rows: [41.3]) { s in
      let old = try await s.define().id
      let first = try await s.poke("job", to: old) { $0.payload = [1] }
      let trace = try await s.record(first.request).trace
      let new = try await s.define { $0.title = "newer" }.id
      s.advance(.seconds(5))
      let second = try await s.poke("job", to: new) {
        ($0.payload, $0.principal, $0.priority) = ([2], "bob", .userInitiated)
      }
      try expect([second.replaced, second.request == first.request], [true, true], "replaced, and the same request")
      var record = try await s.record(first.request)
      try expect(record.payload, [2], "the payload")
      try expect([record.definition], [new], "the definition")
      try expect(record.priority, .userInitiated, "the priority")
      try expect(record.trace, trace, "the trace")
      try await s.poke("job", to: new) { $0.principal = "" }
      record = try await s.record(first.request)
      try expect(record.payload == nil, "a poke without a payload left the old one")
      let events = try await s.store.events(of: first.request)
      try expect(events.map(\.name), ["poked", "poked"], "the events")
      try expect(events.map(\.detail), ["bob", nil], "who poked")
      try expect(try await s.store.counts().map(\.count), [1], "requests")
      try expect(try await s.store.pokes(of: first.request).map(\.principal), ["ada", "bob", ""], "the pokes")
    },
    Case("a poke joins a submission that waits for its date, and makes it wait no longer") { s in
      let definition = try await s.define().id
      let date = s.now.date + .seconds(9)
      let waiting = try await s.submit("job", to: definition) { $0.earliestBeginDate = .at(date) }
      let poked = try await s.poke("job", to: definition)
      try expect([poked.state == .ready, poked.request == waiting.request], [true, true], "ready, the same request")
      s.stepWallClock(by: .seconds(-3600))
      try await s.connect()
      try expect(try await s.start(definition).request, waiting.request, "what starts")
    },
    Case("the same poke again gets the same answer and is one poke") { s in
      let definition = try await s.define().id
      let first = try await s.poke("job", to: definition)
      let offer = try s.offer("job", to: definition, id: "again") { ($0.poke, $0.payload) = (.considerate, [1]) }
      let joined = try await s.answer(to: offer).receipt
      try await s.poke("job", to: definition) { $0.payload = [2] }
      let again = try await s.answer(to: offer)
      try expect(again.isRepeat, true, "isRepeat")
      try expect([try again.receipt.request, joined.request], [first.request, first.request], "the request")
      try expect(try again.receipt.replaced, true, "replaced")
      try expect(try await s.record(first.request).payload, [2], "the payload")
      try expect(try await s.store.pokes(of: first.request).count, 3, "the pokes")
    },
    Case("a submission takes the place of a poked request as it would of any other") { s in
      let definition = try await s.define().id
      try await s.connect()
      try await s.poke("job", to: definition)
      try await s.end(try await s.start(definition))
      let poked = try await s.poke("job", to: definition)
      try expect(poked.state, .scheduled, "the poked one")
      let submitted = try await s.submit("job", to: definition)
      try expect([submitted.replaced, submitted.state == .ready], [true, true], "replaced, ready")
      try expect(try await s.record(poked.request).poke == nil, "the mark is still there")
      try expect(try await s.store.pokes(of: poked.request).count, 1, "the pokes that it stands for")
      try expect(try await s.store.events(of: poked.request).map(\.name), ["replaced"], "the events")
    },
    Case("a poke counts as pending, and one that joins takes no more room") { s in
      let definition = try await s.define("com.*") { $0.pendingLimit = 1 }.id
      try await s.poke("com.a", to: definition)
      try expect(try await s.poke("com.a", to: definition).replaced, true, "a poke that joins")
      let offer = try s.offer("com.b", to: definition) { $0.poke = .immediate }
      try expect(
        try await s.answer(to: offer), .refused(.tooManyPending(limit: "pendingLimit", allowed: 1, pending: 1)),
        "a poke that does not")
    },
  ]
}

extension StoreScenario {
  @discardableResult
  mutating func poke(
    _ name: String, to definition: DefinitionID, _ priority: PokePriority = .considerate,
    _ change: (inout Submission) -> Void = { _ in }
  ) async throws -> SubmissionReceipt {
    try await submit(name, to: definition) {
      $0.poke = priority
      change(&$0)
    }
  }
}
