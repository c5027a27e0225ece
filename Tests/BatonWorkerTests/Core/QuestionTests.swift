import BatonModel
import Testing

@testable import BatonWorker

/// A handler's questions: one at a time, each answered once, and never by the answer to another.
@Suite struct QuestionTests {
  static let page = ItemPage(launch: key(1), start: 0, items: ["a", "b"])
  static let lastPage = ItemPage(launch: key(1), start: 2, items: ["c"], isLast: true)

  @Test func `a checkpoint is sent, and its answer goes to the handler`() {
    var bench = Bench.welcomed()
    bench.starts()
    let checkpoint = Checkpoint(launch: key(1), batch: 0, cursor: [1], completedUnits: 2, totalUnits: 3)
    #expect(bench.core.checkpoint(key(1), checkpoint) == [.send(.checkpoint(checkpoint))])
    #expect(bench.hears(.committed(key(1), batch: 0)) == [.committed(key(1), batch: 0)])
    #expect(
      bench.core.launches[key(1)]?.assignment.progress
        == Progress(batches: 1, cursor: [1], completedUnits: 2, totalUnits: 3))
  }

  @Test func `a question that was not answered is asked again after each welcome, and only then`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    bench.starts(Bench.assignment(3))
    _ = bench.core.checkpoint(key(1), Bench.checkpoint())
    _ = bench.core.freeze(ItemPage(launch: key(2), start: 0, items: ["a"]))
    _ = bench.core.wantItems(key(3), start: 0, count: 9)
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

  @Test func `what is asked between hello and welcome is sent once`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.connects()
    #expect(bench.core.wantItems(key(1), start: 0, count: 2) == [])
    #expect(bench.hears(.welcome(leaseTerm: Bench.term)) == [.send(.itemsWanted(key(1), start: 0, count: 2))])
  }

  @Test(arguments: [
    CoordinatorMessage.committed(key(1), batch: 3), .committed(key(1), batch: 5), .committed(key(2), batch: 4),
    .itemsCommitted(key(1), count: 99, isFrozen: true), .items(ItemPage(launch: key(1), start: 0, items: [])),
    .heartbeatAnswered(number: 1), .endingCommitted(key(1)), .withdraw(key(2), ""), .refuse(key(2), ""),
  ])
  func `a checkpoint is durable by its own answer only`(other: CoordinatorMessage) {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.core.checkpoint(key(1), Bench.checkpoint(batch: 4))
    #expect(bench.hears(other) == [])
    #expect(bench.hears(.committed(key(1), batch: 4)) == [.committed(key(1), batch: 4)])
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
    #expect(bench.core.wantItems(key(1), start: 2, count: 2) == [.send(.itemsWanted(key(1), start: 2, count: 2))])
    #expect(bench.hears(other) == [])
    let page = ItemPage(launch: key(1), start: 2, items: ["c", "d"])
    #expect(bench.hears(.items(page)) == [.items(page)])
    #expect(bench.hears(.items(page)) == [])
  }

  @Test func `a page is in the store only if the store holds all of it`() {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(bench.core.freeze(Self.page) == [.send(.items(Self.page))])
    #expect(bench.hears(.itemsCommitted(key(1), count: 1, isFrozen: false)) == [])
    #expect(
      bench.hears(.itemsCommitted(key(1), count: 2, isFrozen: false))
        == [.itemsCommitted(key(1), count: 2, isFrozen: false)])
    _ = bench.core.freeze(Self.lastPage)
    #expect(bench.hears(.itemsCommitted(key(1), count: 2, isFrozen: false)) == [], "the first page's answer, again")
    #expect(bench.hears(.itemsCommitted(key(1), count: 3, isFrozen: false)) == [])
    #expect(bench.core.launches[key(1)]?.assignment.frozenItems == nil)
    #expect(
      bench.hears(.itemsCommitted(key(1), count: 3, isFrozen: true))
        == [.itemsCommitted(key(1), count: 3, isFrozen: true)])
    #expect(bench.core.launches[key(1)]?.assignment.frozenItems == 3)
  }

  @Test func `items that were frozen before are frozen`() {
    var bench = Bench.welcomed()
    bench.starts()
    _ = bench.core.freeze(Self.page)
    #expect(
      bench.hears(.itemsCommitted(key(1), count: 1, isFrozen: true))
        == [.itemsCommitted(key(1), count: 1, isFrozen: true)])
  }

  @Test func `a refusal answers whatever was asked`() {
    var bench = Bench.welcomed()
    bench.starts()
    #expect(bench.hears(.refuse(key(1), "too early")) == [])
    _ = bench.core.checkpoint(key(1), Bench.checkpoint())
    #expect(bench.hears(.refuse(key(1), "too big")) == [.refused(key(1), "too big", isSuperseded: false)])
    #expect(bench.core.checkpoint(key(1), Bench.checkpoint()) == [.send(.checkpoint(Bench.checkpoint()))])
  }

  @Test func `a launch that is over, superseded or unknown may ask nothing`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1))
    bench.starts(Bench.assignment(2))
    _ = bench.core.handlerEnded(key(1), .finished, isGraceful: true)
    let over = "the launch is over"
    #expect(
      bench.core.checkpoint(key(1), Bench.checkpoint()) == [.refused(key(1), over, isSuperseded: true)])
    #expect(bench.core.wantItems(key(9), start: 0, count: 1) == [.refused(key(9), over, isSuperseded: true)])
    _ = bench.hears(.withdraw(key(2), "gone"))
    #expect(
      bench.core.freeze(ItemPage(launch: key(2), start: 0, items: []))
        == [.refused(key(2), "another launch of this request is live", isSuperseded: true)])
  }

  @Test func `a handler that waits at its deadline is let go, and has a moment to return`() {
    var bench = Bench.welcomed()
    bench.starts(Bench.assignment(1), Bench.job(.refresh))
    _ = bench.core.checkpoint(key(1), Bench.checkpoint())
    _ = bench.hears(.expire(key(1), .paused))
    #expect(bench.passConnected(4.9) == [])
    #expect(
      bench.passConnected(0.1)
        == [.refused(key(1), "no answer came before the launch had to end", isSuperseded: true)])
    #expect(bench.hears(.committed(key(1), batch: 0)) == [], "too late")
    #expect(
      bench.core.checkpoint(key(1), Bench.checkpoint())
        == [.refused(key(1), "the launch is over", isSuperseded: true)])
    #expect(bench.passConnected(0.4) == [])
    #expect(bench.passConnected(0.1) == [.overrun(key(1))])
    #expect(bench.passConnected(9) == [])
  }
}
