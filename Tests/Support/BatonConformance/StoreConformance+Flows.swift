import BatonModel
import BatonStore

/// Flows: requests that are submitted together, and wait for each other.
extension StoreConformance {
  static let flows: [Case] = [
    Case("a member of a flow starts when those before it have succeeded") { s in
      let flow = try await s.flow([Member("fetch"), Member("work", after: "fetch"), Member("report", after: "work")])
      try expect(Set(flow.receipts.map(\.flow)), [flow.receipts[0].request], "the number of the flow")
      try expect(try await s.states(flow), [.ready, .scheduled, .scheduled], "at first")
      let waiting = try await s.record(flow.receipts[1].request)
      try expect(waiting.waitsBecause, .waitsForOthers(["fetch (request 1)"]), "what it waits for")
      try expect(waiting.waitsFor.map(\.state), [.open], "the wait")
      try await s.connect()
      s.advance(.seconds(3_600))
      _ = try await s.promote()
      try expect(try await s.states(flow), [.ready, .scheduled, .scheduled], "no time starts it")
      let answer = try await s.end(try await s.start(flow.definitions[0]))
      try expect(answer.flow.released.map(\.request), [flow.receipts[1].request], "what the end has released")
      try expect(try await s.states(flow), [.succeeded, .ready, .scheduled], "after the first")
      try expect(try await s.record(flow.receipts[1].request).waitsFor.map(\.state), [.met], "the wait")
      try await s.end(try await s.start(flow.definitions[1]))
      try await s.end(try await s.start(flow.definitions[2]))
      try expect(try await s.states(flow), [.succeeded, .succeeded, .succeeded], "at the end")
      try expect(
        try await s.store.members(of: flow.receipts[0].request).map(\.id), flow.receipts.map(\.request), "its members")
    },
    Case("a member waits for all that it names, whichever ends first") { s in
      let flow = try await s.flow([Member("a"), Member("b"), Member("c", after: "a", "b")])
      try await s.connect()
      try await s.end(try await s.start(flow.definitions[1]))
      try expect(try await s.states(flow), [.ready, .succeeded, .scheduled], "after one of both")
      let last = try await s.record(flow.receipts[2].request)
      try expect(last.waitsBecause, .waitsForOthers(["a (request 1)"]), "what it waits for")
      try await s.end(try await s.start(flow.definitions[0]))
      try expect(try await s.states(flow)[2], .ready, "after both")
    },
    Case("what cannot start any more is cancelled with the reason, and so is what waits for it") { s in
      let flow = try await s.flow([
        Member("fetch") { $0.retry.limit = 0 }, Member("work", after: "fetch"), Member("report", after: "work"),
        Member("repair", after: "fetch", on: .failure), Member("tidy", after: "report", on: .any),
      ])
      try await s.connect()
      let answer = try await s.end(try await s.start(flow.definitions[0]), .failed("no"))
      try expect(
        try await s.states(flow), [.failed, .cancelled, .cancelled, .ready, .ready], "after the failure")
      try expect(
        answer.flow.cancelled.count, 2, "what the end has cancelled")
      let work = try await s.record(flow.receipts[1].request)
      try expect(work.reason, "fetch (request 1) has failed", "the reason")
      try expect(
        try await s.record(flow.receipts[2].request).reason, "work (request 1) was cancelled", "the reason of the next")
      try expect(try await s.count(.cancelled, of: "work"), 1, "the count of cancelled ones")
      try expect(try await s.count(.scheduled, of: "work"), 0, "the count of scheduled ones")
    },
    Case("cancelling a flow ends all of it at once, and releases nothing") { s in
      let flow = try await s.flow([
        Member("fetch"), Member("other"), Member("work", after: "fetch"),
        Member("tidy", after: "work", "other", on: .any), Member("report", after: "tidy", on: .any),
        Member("next", after: "work"),
      ])
      let elsewhere = try await s.flow([Member("alone")])
      try await s.connect()
      let running = try await s.start(flow.definitions[0])
      try await s.end(try await s.start(flow.definitions[1]))
      let answers = try await s.store.cancel(.flow(flow.receipts[0].request), by: "ana", at: s.now)
      try expect(answers.count, 5, "what is cancelled: \(answers)")
      try expect(
        try await s.states(flow), [.running, .succeeded, .cancelled, .cancelled, .cancelled, .cancelled], "the states")
      for receipt in flow.receipts.dropFirst(2) {
        try expect(try await s.record(receipt.request).reason, "ana", "who has cancelled it")
      }
      for name in ["work", "tidy", "report", "next"] {
        try expect(try await s.count(.cancelled, of: name), 1, "the count of cancelled ones of \(name)")
        try expect(try await s.count(.scheduled, of: name), 0, "the count of scheduled ones of \(name)")
      }
      let answer = try await s.end(running, .expired(.cancelled(by: "ana")))
      try expect(answer.flow.released.map(\.request), [], "what the end of the one that ran has released")
      try expect(try await s.states(flow)[0], .cancelled, "the one that ran")
      try expect(try await s.states(elsewhere), [.ready], "another flow")
      let again = try await s.store.cancel(.flow(flow.receipts[0].request), by: "ana", at: s.now)
      try expect(again, [], "nothing is left")
    },
    Case("cancelling everything cancels once what the end of another one cancels or releases", queuesSpans: true) { s in
      let flow = try await s.flow([
        Member("a") { $0.earliestBeginDate = .afterSubmission(.seconds(600)) }, Member("b", after: "a"),
        Member("c", after: "b"), Member("d", after: "a", on: .any),
      ])
      let cancelled = try await s.store.cancel(.all, by: "ana", at: s.now)
      try expect(cancelled.count, 4, "what was cancelled: \(cancelled)")
      try expect(try await s.states(flow), [.cancelled, .cancelled, .cancelled, .cancelled], "the states")
      for name in ["a", "b", "c", "d"] {
        try expect(try await s.count(.cancelled, of: name), 1, "the count of cancelled ones of \(name)")
        for state in [RequestState.scheduled, .ready] {
          try expect(try await s.count(state, of: name), 0, "the count of \(state) ones of \(name)")
        }
      }
    },
    Case("a member that its flow and then a person cancels has one span of its end to send", queuesSpans: true) { s in
      let flow = try await s.flow([Member("a") { $0.retry.limit = 0 }, Member("b", after: "a")])
      try await s.connect()
      try await s.end(try await s.start(flow.definitions[0]), .failed("no"))
      try expect(try await s.states(flow), [.failed, .cancelled], "after the failure")
      _ = try await s.store.retry(flow.receipts[0].request, skipping: .nothing, as: nil, at: s.now)
      try expect(try await s.states(flow), [.ready, .scheduled], "after the retry")
      _ = try await s.store.cancel(.request(flow.receipts[1].request), by: "ana", at: s.now)
      try expect(try await s.states(flow), [.ready, .cancelled], "after the cancellation")
      let ends = try await s.unsent().filter { $0.request == flow.receipts[1].request && $0.parts == .complete }
      try expect(ends.count, 1, "the spans of its end")
    },
    Case("a success cancels what waits for a failure") { s in
      let flow = try await s.flow([Member("fetch"), Member("repair", after: "fetch", on: .failure)])
      try await s.connect()
      try await s.end(try await s.start(flow.definitions[0]))
      try expect(try await s.states(flow), [.succeeded, .cancelled], "the states")
    },
    Case("a failure that is tried again cancels nothing") { s in
      let flow = try await s.flow([Member("fetch"), Member("work", after: "fetch")])
      try await s.connect()
      try await s.end(try await s.start(flow.definitions[0]), .failed("no"))
      try expect(try await s.states(flow), [.scheduled, .scheduled], "after the first failure")
      s.advance(.seconds(60))
      _ = try await s.promote()
      try await s.end(try await s.start(flow.definitions[0]))
      try expect(try await s.states(flow), [.succeeded, .ready], "after the retry")
    },
    Case("the retry of a failed member lets the flow go on, and nothing that succeeded runs again") { s in
      let flow = try await s.flow([
        Member("a"), Member("b", after: "a") { $0.retry.limit = 0 }, Member("c", after: "b"),
        Member("d", after: "c"), Member("e", after: "b", on: .failure),
      ])
      try await s.connect()
      try await s.end(try await s.start(flow.definitions[0]))
      for _ in 0..<2 {
        try await s.end(try await s.start(flow.definitions[1]), .failed("no"))
        try expect(
          try await s.states(flow).prefix(4), [.succeeded, .failed, .cancelled, .cancelled], "after the failure")
        _ = try await s.store.retry(flow.receipts[1].request, skipping: .nothing, as: nil, at: s.now)
        try expect(
          try await s.states(flow).prefix(4), [.succeeded, .ready, .scheduled, .scheduled], "after the retry")
      }
      try expect(try await s.states(flow)[4], .ready, "what has followed the failure stays")
      for definition in flow.definitions[1...3] { try await s.end(try await s.start(definition)) }
      try expect(
        try await s.states(flow).prefix(4), [.succeeded, .succeeded, .succeeded, .succeeded], "at the end")
    },
    Case("a retry leaves a member cancelled if a later request of it waits, and says so") { s in
      let flow = try await s.flow([Member("a") { $0.retry.limit = 0 }, Member("b", after: "a")])
      try await s.connect()
      try await s.end(try await s.start(flow.definitions[0]), .failed("no"))
      try await s.submit("b", to: flow.definitions[1])
      _ = try await s.store.retry(flow.receipts[0].request, skipping: .nothing, as: nil, at: s.now)
      try expect(try await s.states(flow), [.ready, .cancelled], "the states")
      try expect(
        try await s.store.events(of: flow.receipts[0].request).map { "\($0.name) \($0.detail ?? "")" },
        ["retried ", "notFollowed b (request 1): a later request of it waits"], "the events")
    },
    Case("a person's cancellation of a member cancels what needs its success") { s in
      let flow = try await s.flow([Member("a"), Member("b", after: "a"), Member("c", after: "a", on: .any)])
      let cancelled = try await s.store.cancel(.request(flow.receipts[0].request), by: "ann", histories: [:], at: s.now)
      try expect(cancelled.count, 2, "what was cancelled")
      try expect(try await s.states(flow), [.cancelled, .cancelled, .ready], "the states")
    },
    Case("all members are accepted or none, and an id that comes again gets the same answers") { s in
      let flow = try await s.flow([Member("a"), Member("b", after: "a") { $0.pendingLimit = 1 }])
      let again = try await s.store.submitFlow(flow.offers, at: s.now)
      try expect(try again.map { try $0.receipt.request }, flow.receipts.map(\.request), "the same requests")
      try expect(again.allSatisfy(\.isRepeat), "they are not repeats")
      try expect(try again.map { try $0.receipt.flow }, flow.receipts.map(\.flow), "the number of the flow")
      let definition = try await s.define("c.*") { $0.pendingLimit = 1 }.id
      let offers = [try s.offer("c.1", to: definition), try s.offer("c.2", to: definition)]
      let refused = try await s.store.submitFlow(offers, at: s.now)
      try expect(refused.count, 2, "the refusals")
      guard case .refused(.unavailable(let text)) = refused[0], case .refused(.tooManyPending) = refused[1] else {
        throw Violation(description: "not refused: \(refused)")
      }
      try expect(text, "nothing of the flow was submitted, because c.2 was refused", "the other's refusal")
      try expect(try await s.count(.ready, of: "c.*"), 0, "what was accepted")
    },
    Case("a flow whose members cannot be put into an order is refused") { s in
      let flow = try await s.offers([Member("a", after: "b"), Member("b", after: "a")]).offers
      for answer in try await s.store.submitFlow(flow, at: s.now) {
        guard case .refused(.unusable(_, let problem)) = answer else { throw Violation(description: "\(answer)") }
        try expect("\(problem)".contains("a comes after b comes after a"), "the circle: \(problem)")
      }
      let lone = try await s.offers([Member("c", after: "z")]).offers
      guard case .refused(.unusable) = try await s.store.submitFlow(lone, at: s.now)[0] else {
        throw Violation(description: "a job waits for one that is not in the flow")
      }
    },
    Case("a newer flow takes the place of members that wait, and leaves those that run") { s in
      let members = [Member("a"), Member("b", after: "a")]
      let first = try await s.flow(members)
      try await s.connect()
      let launch = try await s.start(first.definitions[0])
      let second = try await s.flow(members)
      try expect(second.receipts[1].request, first.receipts[1].request, "the request that waited")
      try await s.end(launch)
      try expect(
        try await s.record(second.receipts[1].request).state, .scheduled, "it waits for the newer one, not the older")
      try await s.end(try await s.start(first.definitions[0]))
      try expect(try await s.record(second.receipts[1].request).state, .ready, "after the newer one")
    },
    Case("a job that is submitted by itself leaves its flow, and a poke leaves it there") { s in
      let flow = try await s.flow([Member("a"), Member("b", after: "a"), Member("c", after: "b")])
      try await s.submit("c", to: flow.definitions[2]) { $0.poke = .considerate }
      try expect(try await s.states(flow)[2], .scheduled, "after the poke")
      try await s.submit("b", to: flow.definitions[1])
      try expect(try await s.states(flow)[1], .ready, "after the submission")
      try expect(try await s.record(flow.receipts[1].request).flow == nil, "it is still in the flow")
      try await s.connect()
      try await s.end(try await s.start(flow.definitions[1]))
      try expect(try await s.states(flow)[2], .ready, "what waited for it goes on")
    },
    Case("a request with shards is waited for as one") { s in
      let spread = try await s.flow([
        Member("a") { definition in
          definition.spread = Spread(lanes: 2, shards: 2)
          definition.work = Work(command: ["/bin/true"])
        }, Member("b", after: "a"),
      ])
      try await s.connect()
      let launches = try await s.claim(spread.definitions[0], places: 2).assignments.map(\.launch)
      let more = try await s.claim(spread.definitions[0], places: 2).assignments.map(\.launch)
      let all = launches + more
      try expect(all.count, 2, "the shards")
      try await s.end(all[0])
      try expect(try await s.states(spread)[1], .scheduled, "after the first shard")
      try await s.end(all[1])
      try expect(try await s.states(spread), [.succeeded, .ready], "after the last shard")
    },
    Case("a member keeps its begin date and waits for the live request of its identifier too") { s in
      let flow = try await s.flow([
        Member("a"), Member("b", after: "a") { $0.earliestBeginDate = .afterSubmission(.seconds(600)) },
      ])
      try await s.connect()
      let answer = try await s.end(try await s.start(flow.definitions[0]))
      try expect(answer.nextDue, s.now.due(.seconds(600)), "when it is due")
      try expect(try await s.states(flow)[1], .scheduled, "before its date")
      s.advance(.seconds(600))
      _ = try await s.promote()
      try expect(try await s.states(flow)[1], .ready, "at its date")
    },
  ]
}

/// A member of a flow of the cases.
/// A job of a flow.
struct Member {
  var name: String
  var after: [String]
  var end: Dependency.End
  var change: (inout Definition) -> Void

  init(
    _ name: String, after: String..., on end: Dependency.End = .success,
    _ change: @escaping (inout Definition) -> Void = { _ in }
  ) {
    (self.name, self.after, self.end, self.change) = (name, after, end, change)
  }
}

struct SubmittedFlow {
  var definitions: [DefinitionID]
  var offers: [SubmissionOffer]
  var receipts: [SubmissionReceipt] = []
}

extension StoreScenario {
  /// Defines the members, and offers them.
  mutating func offers(_ members: [Member]) async throws -> SubmittedFlow {
    var flow = SubmittedFlow(definitions: [], offers: [])
    for member in members {
      let id = try await define(member.name) { definition in
        if !member.after.isEmpty {
          definition.after = member.after.compactMap { JobReference($0).map { Dependency($0, on: member.end) } }
        }
        member.change(&definition)
      }.id
      flow.definitions.append(id)
      flow.offers.append(try offer(member.name, to: id))
    }
    return flow
  }

  mutating func flow(_ members: [Member]) async throws -> SubmittedFlow {
    var flow = try await offers(members)
    flow.receipts = try await store.submitFlow(flow.offers, at: now).map { try $0.receipt }
    return flow
  }

  /// The states of the members, in their order.
  func states(_ flow: SubmittedFlow) async throws -> [RequestState] {
    var states: [RequestState] = []
    for receipt in flow.receipts { states.append(try await state(receipt.request)) }
    return states
  }
}
