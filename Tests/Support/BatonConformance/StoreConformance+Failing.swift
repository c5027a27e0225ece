import BatonModel
import BatonStore

/// Strategy `fail`: a request that cannot start at once is refused with all its obstacles and leaves nothing in the
/// store (contract, row 35).
extension StoreConformance {
  static let failing: [Case] = [
    Case("strategy fail starts at once on the host that is offered") { s in
      let definition = try await s.define("job", .continued) { $0.strategy = .fail }.id
      try await s.connect()
      let offer = try s.offer("job", to: definition, on: s.place()) {
        $0.earliestBeginDate = .afterSubmission(.seconds(60))
      }
      let answer = try await s.answer(to: offer)
      try expect(try answer.receipt.state, .running, "the state")
      try expect(answer.launch?.identifier, try StoreScenario.name("job"), "the launch")
      try expect(try await s.answer(to: offer).isRepeat, true, "the same submission again")
    },
    Case("strategy fail is refused while a request of the identifier is live") { s in
      let definition = try await s.define("job", .continued) { $0.strategy = .fail }.id
      try await s.connect()
      let launch = try require(
        try await s.answer(to: try s.offer("job", to: definition, on: s.place())).launch, "the first launch")
      let second = try s.offer("job", to: definition, on: s.place())
      try await s.expectIneligible(second, [HostObstacle(host: nil, obstacle: .waitsForLiveRequest(number: 1))])
      try await s.end(launch.launch)
      try expect(try await s.answer(to: second).receipt.number, 2, "the number once it is free")
    },
    Case("strategy fail is refused while a request of the identifier waits, and does not replace it") {
      s in
      let queueing = try await s.define("job", .continued).id
      let waiting = try await s.submit("job", to: queueing) { $0.payload = [1] }
      let failing = try await s.define("job", .continued) { $0.strategy = .fail }.id
      try await s.connect()
      try await s.expectIneligible(
        try s.offer("job", to: failing, on: s.place()),
        [HostObstacle(host: nil, obstacle: .waitsForLiveRequest(number: 1))])
      let record = try await s.record(waiting.request)
      try expect(record.payload, [1], "the payload of the one that waits")
      try expect(record.definition, queueing, "its definition")
      try expect(try await s.store.events(of: waiting.request), [], "its events")
    },
    Case(
      "strategy fail is refused while launches are spaced; the refusal has the end of the spacing on the wall clock",
      rows: [15.1]
    ) { s in
      let failing = try await s.define("job", .continued) { $0.strategy = .fail }.id
      try await s.connect()
      let first = try await s.answer(to: try s.offer("job", to: failing, on: s.place()) { $0.poke = .considerate })
      guard case .accepted(_, _, let started?, _) = first else { throw Violation(description: "\(first)") }
      try await s.end(started.launch)
      let until = s.now.date + .seconds(900)
      try await s.expectIneligible(
        try s.offer("job", to: failing, on: s.place()) { $0.poke = .considerate },
        [HostObstacle(host: nil, obstacle: .rateLimited(until: until))])
    },
    Case("a refusal has the request's own obstacles and those of every host") { s in
      let definition = try await s.define("job", .continued) { $0.strategy = .fail }.id
      try await s.connect()
      let first = try await s.answer(to: try s.offer("job", to: definition, on: s.place()))
      try expect(first.isRepeat, false, "the first one")
      let hosts = [
        HostObstacle(host: StoreScenario.host, obstacle: .lowPowerMode),
        HostObstacle(host: HostName("beta"), obstacle: .hostGone),
      ]
      var offer = try s.offer("job", to: definition)
      offer.refusal = .immediateRunIneligible(hosts)
      try await s.expectIneligible(
        offer, [HostObstacle(host: nil, obstacle: .waitsForLiveRequest(number: 1))] + hosts)
      offer.refusal = .unavailable("the fleet is paused")
      try expect(try await s.answer(to: offer), .refused(.unavailable("the fleet is paused")), "another refusal")
    },
    Case("strategy fail without a host is refused, and so is one for a host that is gone") { s in
      let definition = try await s.define("job", .continued) { $0.strategy = .fail }.id
      try await s.expectIneligible(
        try s.offer("job", to: definition), [HostObstacle(host: nil, obstacle: .noHosts)])
      try await s.expectIneligible(
        try s.offer("job", to: definition, on: s.place()),
        [HostObstacle(host: StoreScenario.host, obstacle: .hostGone)])
      try await s.connect()
      try await s.store.setEvicted(try StoreScenario.pattern("job"), from: StoreScenario.host, true)
      try await s.expectIneligible(
        try s.offer("job", to: definition, on: s.place()),
        [HostObstacle(host: StoreScenario.host, obstacle: .evicted)])
    },
  ]
}

extension StoreScenario {
  /// An offer of a submission together with a host to start on.
  mutating func offer(
    _ name: String, to definition: DefinitionID, on place: SubmissionOffer.Offer,
    _ change: (inout Submission) -> Void = { _ in }
  ) throws -> SubmissionOffer {
    var offer = try offer(name, to: definition, change)
    offer.host = place
    return offer
  }

  /// Checks that the submission is refused with exactly these obstacles, and that the store is unchanged.
  func expectIneligible(_ offer: SubmissionOffer, _ obstacles: [HostObstacle]) async throws {
    let (counts, fleet) = (try await store.counts(), try await store.fleet())
    let identifier = offer.submission.identifier
    let before: RequestRecord? = try await store.request(identifier, number: nil)
    try expect(try await answer(to: offer), .refused(.immediateRunIneligible(obstacles)), "the refusal")
    try expect(try await store.counts(), counts, "what is counted")
    try expect(try await store.fleet(), fleet, "the fleet")
    try expect(try await store.request(identifier, number: nil), before, "the request of the identifier")
  }
}
