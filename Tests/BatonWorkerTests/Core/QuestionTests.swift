import BatonModel
import Testing

@testable import BatonCore

/// The questions of a handler are asked one at a time. Each is answered once, and never with the answer to another
/// question.
@Suite struct QuestionTests {
  static let page = ItemPage(launch: key(1), start: 0, items: ["a", "b"])
  static let freeze = Dialogue.Question.freeze(["a", "b"], start: 0, isLast: false)

  @Test func `a checkpoint is sent, and its answer goes to the handler`() {
    var bench = Bench.welcomed()
    bench.starts()
    let checkpoint = Checkpoint(launch: key(1), batch: 0, cursor: [1], completedUnits: 2, totalUnits: 3)
    let commit = Commit(cursor: [1], completedUnits: 2, totalUnits: 3)
    #expect(bench.core.ask(key(1), .commit(commit), id: 1) == [.send(.checkpoint(checkpoint))])
    #expect(bench.hears(.committed(key(1), batch: 0)) == [.done(key(1))])
    #expect(
      bench.core.launches[key(1)]?.assignment.progress
        == Progress(batches: 1, cursor: [1], completedUnits: 2, totalUnits: 3))
  }

  @Test func `a question that was not answered is asked again after each welcome, and only then`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    bench.starts(Bench.assignment(3))
    _ = bench.commits(1)
    _ = bench.core.ask(key(2), .freeze(["a"], start: 0, isLast: false), id: 1)
    _ = bench.core.ask(key(3), .items(start: 0, count: 9), id: 1)
    for _ in 1...2 {
      #expect(
        bench.reconnects() == [
          .send(.checkpoint(Bench.checkpoint())), .send(.items(ItemPage(launch: key(2), start: 0, items: ["a"]))),
          .send(.itemsWanted(key(3), start: 0, count: 9)),
        ])
    }
    _ = bench.hears(.committed(key(1), batch: 0))
    _ = bench.hears(.itemsCommitted(key(2), count: 1, isFrozen: false))
    _ = bench.hears(.items(ItemPage(launch: key(3), start: 0, items: ["a"])))
    #expect(bench.reconnects() == [])
  }

  @Test func `what a handler concludes with is sent with its ending, and again after each welcome`() {
    var bench = Bench.welcomed()
    bench.starts()
    let commit = Commit(cursor: [1], completedUnits: 1, totalUnits: 1, reachesEnd: true)
    let checkpoint = Checkpoint(commit, of: key(1), after: Progress())
    #expect(bench.core.conclude(key(1), with: commit) == nil)
    let both: [WorkerCore.Effect] = [
      .send(.checkpoint(checkpoint)), .send(.ended(Ending(launch: key(1), outcome: .finished))),
    ]
    #expect(bench.core.handlerEnded(key(1), .finished) == both)
    #expect(bench.reconnects() == both)
    // A coordinator that took the checkpoint by itself answers it.
    #expect(bench.hears(.committed(key(1), batch: 0)) == [])
    #expect(bench.reconnects() == both)
    #expect(bench.hears(.endingCommitted(key(1))) == [.forget(key(1))])
    #expect(bench.reconnects() == [])
  }

  @Test func `what a handler concludes with is dropped if the handler then fails, and is held to its limit`() {
    var bench = Bench.welcomed()
    bench.starts()
    let large = Commit(
      cursor: [UInt8](repeating: 0, count: Checkpoint.maximumCursorBytes + 1), completedUnits: 1, totalUnits: 1)
    guard case .refused(_, isSuperseded: false)? = bench.core.conclude(key(1), with: large) else {
      Issue.record("a cursor that is too large was taken")
      return
    }
    #expect(bench.core.conclude(key(1), with: Commit(cursor: nil, completedUnits: 1, totalUnits: 1)) == nil)
    #expect(
      bench.core.handlerEnded(key(1), .failed("no"))
        == [.send(.ended(Ending(launch: key(1), outcome: .failed("no"))))])
    guard case .refused(_, isSuperseded: true)? = bench.core.conclude(key(1), with: large) else {
      Issue.record("an ended launch concluded")
      return
    }
  }

  static let submission = LaunchSubmission(name: "next", identifier: JobIdentifier("com.example.next")!)
  static let accepted = LaunchSubmissionAnswer.accepted(
    AcceptedSubmission(
      identifier: submission.identifier, number: 2, state: .ready, eligibleAt: Timestamp(nanoseconds: 0),
      replaced: false, isRepeat: false))

  @Test func `a submission is repeated after each welcome until its own answer comes`() {
    var bench = Bench.welcomed()
    bench.starts()
    let message = WorkerMessage.submission(key(1), Self.submission)
    #expect(bench.core.ask(key(1), .submit(Self.submission), id: 1) == [.send(message)])
    #expect(bench.reconnects() == [.send(message)])
    for other: CoordinatorMessage in [
      .submitted(key(1), name: "other", Self.accepted), .submitted(key(2), name: "next", Self.accepted),
      .committed(key(1), batch: 0),
    ] {
      #expect(bench.hears(other) == [])
    }
    #expect(
      bench.hears(.submitted(key(1), name: "next", Self.accepted))
        == [.answered(key(1), question: 1, .submitted(Self.accepted))])
    #expect(bench.reconnects() == [])
  }

  @Test func `a submission that no coordinator would take is refused here`() {
    var bench = Bench.welcomed()
    bench.starts()
    for name in ["", String(repeating: "n", count: 256), "a\nb"] {
      var submission = Self.submission
      submission.name = name
      let effects = bench.core.ask(key(1), .submit(submission), id: 1)
      guard case .answered(_, 1, .refused(let text, false))? = effects.first else {
        Issue.record("\(name) was not refused: \(effects)")
        continue
      }
      #expect(text.contains("1 to 255 bytes"))
    }
    var large = Self.submission
    large.payload = [UInt8](repeating: 0, count: Submission.maximumPayloadBytes + 1)
    #expect(bench.core.ask(key(1), .submit(large), id: 1) != [.send(.submission(key(1), large))])
  }

  @Test func `what is asked between hello and welcome is sent once`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.connects()
    #expect(bench.core.ask(key(1), .items(start: 0, count: 2), id: 1) == [])
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [.send(.itemsWanted(key(1), start: 0, count: 2))])
  }

  @Test(arguments: [
    CoordinatorMessage.committed(key(1), batch: 3), .committed(key(1), batch: 5), .committed(key(2), batch: 4),
    .itemsCommitted(key(1), count: 99, isFrozen: true), .items(ItemPage(launch: key(1), start: 0, items: [])),
    .heartbeatAnswered(number: 1), .endingCommitted(key(1)), .withdraw(key(2), ""), .refuse(key(2), ""),
  ])
  func `a checkpoint is durable by its own answer only`(other: CoordinatorMessage) {
    var bench = Bench.welcomed()
    var assignment = Bench.assignment(1)
    assignment.progress.batches = 4
    bench.starts(assignment)
    _ = bench.commits()
    #expect(bench.hears(other) == [])
    #expect(bench.hears(.committed(key(1), batch: 4)) == [.done(key(1))])
    #expect(bench.hears(.committed(key(1), batch: 4)) == [], "once")
  }

  @Test(arguments: [
    CoordinatorMessage.items(ItemPage(launch: key(1), start: 0, items: ["a"])),
    .items(ItemPage(launch: key(1), start: 2, items: ["a", "b", "c"])),
    .items(ItemPage(launch: key(2), start: 2, items: ["a"])), .committed(key(1), batch: 0),
    .itemsCommitted(key(1), count: 4, isFrozen: true),
  ])
  func `items are those that were asked for`(other: CoordinatorMessage) {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(
      bench.core.ask(key(1), .items(start: 2, count: 2), id: 1) == [.send(.itemsWanted(key(1), start: 2, count: 2))])
    #expect(bench.hears(other) == [])
    let page = ItemPage(launch: key(1), start: 2, items: ["c", "d"])
    #expect(bench.hears(.items(page)) == [.answered(key(1), question: 1, .items(["c", "d"]))])
    #expect(bench.hears(.items(page)) == [])
  }

  @Test func `a page is in the store only if the store holds all of it`() {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(bench.core.ask(key(1), Self.freeze, id: 1) == [.send(.items(Self.page))])
    #expect(bench.hears(.itemsCommitted(key(1), count: 1, isFrozen: false)) == [])
    #expect(
      bench.hears(.itemsCommitted(key(1), count: 2, isFrozen: false))
        == [.done(key(1))])
    _ = bench.core.ask(key(1), .freeze(["c"], start: 2, isLast: true), id: 1)
    #expect(bench.hears(.itemsCommitted(key(1), count: 2, isFrozen: false)) == [], "the first page's answer, again")
    #expect(bench.hears(.itemsCommitted(key(1), count: 3, isFrozen: false)) == [])
    #expect(bench.core.launches[key(1)]?.assignment.frozenItems == nil)
    #expect(
      bench.hears(.itemsCommitted(key(1), count: 3, isFrozen: true))
        == [.done(key(1))])
    #expect(bench.core.launches[key(1)]?.assignment.frozenItems == 3)
  }

  @Test func `items that were frozen before are frozen`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.core.ask(key(1), Self.freeze, id: 1)
    #expect(
      bench.hears(.itemsCommitted(key(1), count: 1, isFrozen: true))
        == [.done(key(1))])
  }

  @Test func `a refusal answers whatever was asked`() {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(bench.hears(.refuse(key(1), "too early")) == [])
    _ = bench.commits(1)
    #expect(bench.hears(.refuse(key(1), "too big")) == [.refused(key(1), "too big", isSuperseded: false)])
    #expect(bench.commits(1) == [.send(.checkpoint(Bench.checkpoint()))])
  }

  @Test func `a launch that is over, superseded or unknown may ask nothing`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    _ = bench.core.handlerEnded(key(1), .finished)
    let over = "the launch is over"
    #expect(
      bench.commits(1) == [.refused(key(1), over, isSuperseded: true)])
    #expect(bench.core.ask(key(9), .items(start: 0, count: 1), id: 1) == [.refused(key(9), over, isSuperseded: true)])
    _ = bench.hears(.withdraw(key(2), "gone"))
    #expect(
      bench.core.ask(key(2), .freeze([], start: 0, isLast: false), id: 1)
        == [.refused(key(2), "another launch of this request is live", isSuperseded: true)])
  }

  @Test func `one question is asked at a time, and the batch is counted when its turn comes`() {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(bench.commits(1, question: 1) == [.send(.checkpoint(Bench.checkpoint(1, batch: 0)))])
    for question in 2...4 { #expect(bench.core.ask(key(1), .items(start: 0, count: question), id: question) == []) }
    #expect(bench.commits(1, question: 5) == [])
    bench.core.giveUp(key(1), question: 3)
    #expect(
      bench.hears(.committed(key(1), batch: 0)) == [
        .done(key(1), question: 1), .send(.itemsWanted(key(1), start: 0, count: 2)),
      ])
    // A question that was sent and then given up is still answered before the next question is sent.
    bench.core.giveUp(key(1), question: 2)
    #expect(
      bench.hears(.items(ItemPage(launch: key(1), start: 0, items: ["a"]))) == [
        .answered(key(1), question: 2, .items(["a"])), .send(.itemsWanted(key(1), start: 0, count: 4)),
      ])
    #expect(
      bench.hears(.items(ItemPage(launch: key(1), start: 0, items: ["a"]))) == [
        .answered(key(1), question: 4, .items(["a"])),
        .send(.checkpoint(Checkpoint(launch: key(1), batch: 1, completedUnits: 1))),
      ])
  }

  @Test func `whatever was asked is answered when the handler is through, and nothing is asked any more`() {
    var bench = Bench.welcomed()
    bench.starts()
    for question in 1...2 { _ = bench.commits(1, question: question) }
    let over = "the launch is over"
    #expect(
      bench.core.handlerEnded(key(1), .finished) == [
        .refused(key(1), over, isSuperseded: true, question: 1),
        .refused(key(1), over, isSuperseded: true, question: 2), .ended(key(1), .finished),
      ])
    #expect(bench.commits() == [.refused(key(1), over, isSuperseded: true)])
  }

  @Test func `a checkpoint over the limit is refused here`() {
    var bench = Bench.welcomed()
    bench.starts()
    let cursor = [UInt8](repeating: 0, count: Checkpoint.maximumCursorBytes + 1)
    let effects = bench.core.ask(key(1), .commit(Commit(cursor: cursor, completedUnits: 1, totalUnits: nil)), id: 1)
    guard case .answered(_, 1, .refused(let text, isSuperseded: false))? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(effects.count == 1 && text.hasPrefix("the checkpoint has 1048577 bytes and the limit is 1048576"))
  }

  @Test func `a worker that does not go on leaves no question without an answer`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    _ = bench.commits(2)
    #expect(bench.core.cutOff() == [.refused(key(2), "the launch is over", isSuperseded: true)])
    for request in 1...Int64(2) {
      #expect(bench.commits(request) == [.refused(key(request), "the launch is over", isSuperseded: true)])
    }
  }

  @Test func `a handler that waits at its deadline is let go, and has a moment to return`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Bench.job(.refresh))
    _ = bench.commits(1)
    _ = bench.hears(.expire(key(1), .paused))
    #expect(bench.passConnected(4.9) == [])
    #expect(
      bench.passConnected(0.1)
        == [.refused(key(1), "no answer came before the launch had to end", isSuperseded: true)])
    #expect(bench.hears(.committed(key(1), batch: 0)) == [], "too late")
    #expect(
      bench.commits(1)
        == [.refused(key(1), "the launch is over", isSuperseded: true)])
    #expect(bench.passConnected(0.4) == [])
    #expect(bench.passConnected(0.1) == [.overrun(key(1))])
    #expect(bench.passConnected(9) == [])
  }
}
