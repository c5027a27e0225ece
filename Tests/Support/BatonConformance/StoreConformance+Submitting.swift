import BatonModel
import BatonStore

extension StoreConformance {
  static let submitting: [Case] = [
    Case("a submission is there with all that was submitted", rows: [12.1]) { s in
      let definition = try await s.define("job", .continued) { ($0.title, $0.subtitle) = ("Title", "Sub") }.id
      let offer = try s.offer("job", to: definition) { $0.payload = [1, 0, 255] }
      let receipt = try await s.answer(to: offer).receipt
      try expect(receipt.number, 1, "the number")
      try expect(receipt.state, .ready, "the state")
      let record = try await s.record(receipt.request)
      try expect(record.payload, [1, 0, 255], "the payload")
      try expect(record.trace, offer.submission.trace, "the trace")
      try expect(record.principal, "ada", "the principal")
      try expect(record.priority, .userInitiated, "the priority that follows the kind")
      try expect([record.title, record.subtitle], ["Title", "Sub"], "the texts")
      try expect(record.submittedAt, s.now.date, "the time of submission")
      try expect(record.waitsBecause == nil, "a ready request has an obstacle")
    },
    Case("the same submission id gets the same answer and makes no second request") { s in
      let definition = try await s.define().id
      let offer = try s.offer("job", to: definition, id: "same")
      let first = try await s.answer(to: offer)
      let second = try await s.answer(to: offer)
      try expect(try second.receipt, try first.receipt, "the second answer")
      try expect([first.isRepeat, second.isRepeat], [false, true], "isRepeat")
      try expect(try await s.count(.ready), 1, "requests")
    },
    Case("ids whose bytes differ are different, also if Unicode takes them for the same text") { s in
      let definition = try await s.define("job.*").id
      let (short, long) = ("\u{E9}", "e\u{301}")
      try await s.submit("job.a", to: definition, id: long)
      let offers = [
        try s.offer("job.b", to: definition, id: short), try s.offer("job.a", to: definition, id: long),
      ]
      let answers = try await s.store.submit(offers, at: s.now)
      try expect(answers.map(\.isRepeat), [false, true], "what was submitted before")
    },
    Case("the answer has the trace of its request, also after a replacement, a poke that joined, and again") { s in
      let definition = try await s.define().id
      let first = try s.offer("job", to: definition, id: "first")
      let trace = first.submission.trace.traceID
      try expect(try await s.answer(to: first).receipt.traceID, trace, "the first answer")
      try expect(try await s.submit("job", to: definition).traceID, trace, "after a replacement")
      let poke = try s.offer("job", to: definition, id: "poke") { $0.poke = .considerate }
      try expect(try await s.answer(to: poke).receipt.traceID, trace, "after a poke that joined")
      for offer in [first, poke] { try expect(try await s.answer(to: offer).receipt.traceID, trace, "said again") }
      let record = try await s.record(try await s.answer(to: first).receipt.request)
      try expect(record.trace.traceID, trace, "the trace of the request")
    },
    Case("the same id within one call makes one request") { s in
      let definition = try await s.define().id
      let offer = try s.offer("job", to: definition, id: "same")
      let answers = try await s.store.submit([offer, offer], at: s.now)
      try expect(answers.map(\.isRepeat), [false, true], "isRepeat")
      try expect(try await s.count(.ready), 1, "requests")
    },
    Case("a known id gets its answer also after replacement, completion, and with strategy fail") { s in
      let definition = try await s.define().id
      try await s.connect()
      var offer = try s.offer("job", to: definition, id: "first")
      let first = try await s.answer(to: offer).receipt
      try await s.submit("job", to: definition, id: "second")
      try expect(try await s.answer(to: offer).receipt, first, "the answer after replacement")
      try await s.end(try await s.start(definition))
      offer.refusal = .immediateRunIneligible([])
      try expect(try await s.answer(to: offer).receipt, first, "the answer after completion")
      try expect(try await s.count(.succeeded), 1, "requests in all")
    },
    Case("a refused submission leaves nothing behind and its id may be used again", rows: [35.3]) { s in
      let definition = try await s.define().id
      var offer = try s.offer("job", to: definition, id: "id")
      let refusal = Refusal.immediateRunIneligible([HostObstacle(host: nil, obstacle: .noHosts)])
      offer.refusal = refusal
      try expect(try await s.answer(to: offer), .refused(refusal), "the answer")
      try expect(try await s.store.counts(), [], "what is counted")
      try expect(try await s.store.request(try StoreScenario.name("job"), number: nil) == nil, "a request is there")
      offer.refusal = nil
      let accepted = try await s.answer(to: offer)
      try expect(try accepted.receipt.number, 1, "the number afterwards")
      try expect(accepted.isRepeat, false, "isRepeat afterwards")
    },
    Case("what is too large or not defined is refused and disturbs no other element of the call", rows: [1.3]) { s in
      let definition = try await s.define("com.*").id
      let large = try s.offer("com.large", to: definition) { $0.payload = Array(repeating: 1, count: 65_537) }
      let noID = try s.offer("com.id", to: definition, id: "")
      let undefined = try s.offer("com.undefined", to: DefinitionID(999))
      let fits = try s.offer("com.fits", to: definition) { $0.payload = Array(repeating: 1, count: 65_536) }
      let answers = try await s.store.submit([large, noID, undefined, fits], at: s.now)
      guard case .refused(.unavailable(let text)) = answers[0], text.contains("65537"), text.contains("65536") else {
        throw Violation(description: "a payload of 65537 bytes was answered with \(answers[0])")
      }
      guard case .refused = answers[1] else { throw Violation(description: "an empty id was accepted") }
      try expect(answers[2], .refused(.notPermitted(undefined.submission.identifier, nearest: nil)), "undefined")
      try expect(try answers[3].receipt.number, 1, "the one that fits")
      try expect(try await s.count(.ready, of: "com.*"), 1, "requests")
    },
    Case("the pending limit of a definition refuses new requests, but not replacements", rows: [6.1, 6.3]) { s in
      let definition = try await s.define("com.*") { $0.pendingLimit = 2 }.id
      let (a, b, c) = (
        try s.offer("com.a", to: definition), try s.offer("com.b", to: definition), try s.offer("com.c", to: definition)
      )
      let answers = try await s.store.submit([a, b, c], at: s.now)
      try expect(answers[2], .refused(.tooManyPending(limit: "pendingLimit", allowed: 2, pending: 2)), "the third")
      try expect(try await s.submit("com.a", to: definition).replaced, true, "a replacement")
      try await s.connect()
      _ = try await s.start(definition)
      try expect(try await s.submit("com.c", to: definition).number, 1, "one after a launch made room")
    },
    Case("a request with no obstacle starts on the offered host in the transaction that submits it") { s in
      let definition = try await s.define().id
      try await s.connect()
      var offer = try s.offer("job", to: definition) { $0.payload = [7] }
      offer.host = s.place()
      let answer = try await s.answer(to: offer)
      let launch = try require(answer.launch, "the launch")
      try expect(try answer.receipt.state, .running, "the state")
      try expect(launch.launch, LaunchKey(request: try answer.receipt.request, number: 1), "the launch number")
      try expect(launch.payload, [7], "its payload")
      try expect(launch.trace.spanID, offer.host?.spanID, "its span")
      try expect(launch.trace.traceID, offer.submission.trace.traceID, "its trace")
      try expect(launch.repeatsBatch, false, "repeatsBatch")
      try expect(try await s.store.assignments(on: StoreScenario.host), [launch], "what runs there")
      let again = try await s.answer(to: offer)
      try expect(try again.receipt, try answer.receipt, "the repeated answer")
      try expect(try await s.store.launches(of: launch.launch.request).count, 1, "launches after the repetition")
    },
    Case("an offered host is ignored by a request that has to wait, and one without a lease gets nothing") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      var later = try s.offer("com.later", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
      later.host = s.place()
      var stranger = try s.offer("com.stranger", to: definition)
      stranger.host = s.place(on: StoreScenario.host, Incarnation("alpha-0"))
      let answers = try await s.store.submit([later, stranger], at: s.now)
      try expect(try answers.map { try $0.receipt.state }, [.scheduled, .ready], "their states")
      try expect(answers.compactMap(\.launch), [], "launches")
    },
  ]
}
