import BatonModel
import Testing

@testable import BatonCoordinator

@Suite("What kept requests waiting")
struct WaitTests {
  private static let begin = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

  private func events(_ wait: WaitObstacles) -> [String] {
    wait.events.map { "\(($0.at - Self.begin).nanoseconds / 1_000_000_000)\($0.came ? "+" : "-")\($0.code)" }
  }

  @Test("a wait has what was there when it began, and what changed until it ended")
  func window() {
    var history = WaitHistory(since: Self.begin)
    for (second, codes) in [(1, ["power"]), (3, ["power", "slots"]), (5, ["slots"]), (9, ["idle"])] as [(Int, Set)] {
      history.note(codes, at: Self.begin + .seconds(second))
      history.note(codes, at: Self.begin + .seconds(second) + .milliseconds(500))
    }
    func wait(_ from: Int, _ to: Int) -> [String] {
      events(history.wait(from: Self.begin + .seconds(from), to: Self.begin + .seconds(to)))
    }
    #expect(wait(0, 4) == ["1+power", "3+slots"])
    #expect(wait(2, 6) == ["2+power", "3+slots", "5-power"])
    #expect(wait(3, 5) == ["3+power", "3+slots"])
    #expect(wait(6, 20) == ["6+slots", "9-slots", "9+idle"])
    #expect(wait(0, 1) == [])
  }

  @Test("only the last 128 changes are kept, and what is older is said to be lost")
  func bounded() {
    var history = WaitHistory(since: Self.begin)
    for index in 1...(WaitHistory.limit + 10) { history.note(["o\(index)"], at: Self.begin + .seconds(index)) }
    #expect(history.changes.count == WaitHistory.limit)
    #expect(history.wait(from: Self.begin + .seconds(10), to: Self.begin + .seconds(99)).isIncomplete)
    #expect(!history.wait(from: Self.begin + .seconds(11), to: Self.begin + .seconds(99)).isIncomplete)
  }

  @Test(
    "what is stored reads back as it was",
    arguments: [
      WaitObstacles(), WaitObstacles(isIncomplete: true),
      WaitObstacles(
        isIncomplete: true,
        events: [
          .init(at: begin, code: "a", came: true, hosts: ["ben", "a b"], hostCount: 7),
          .init(at: Timestamp(nanoseconds: -5), code: "b", came: false),
        ]),
    ])
  func text(wait: WaitObstacles) { #expect(wait.text.map(WaitObstacles.init) ?? WaitObstacles() == wait) }

  @Test("what cannot be read in the store is left out", arguments: ["", "x", "12", "+a", "12x+a", "\n\n-\n+"])
  func damaged(text: String) { #expect(WaitObstacles(text: text).events.isEmpty) }

  @Test("the dispatcher writes down what keeps a class waiting, on whatever host, and that it went")
  func watching() throws {
    var desk = Desk()
    desk.learn(1, Desk.job { $0.requirements.externalPower = true })
    desk.tick()
    let began = desk.date
    desk.dispatcher.noteReady(ready(1))
    desk.attach()
    var conditions = Desk.hello().conditions
    conditions.power = Reading(.battery, source: "test")
    desk.dispatcher.conditionsChanged(conditions, on: HostName("a"))
    desk.advance(.seconds(1))
    desk.tick()
    conditions.power = Reading(.external, source: "test")
    desk.dispatcher.conditionsChanged(conditions, on: HostName("a"))
    desk.advance(.seconds(1))
    desk.tick()
    let wait = try #require(desk.dispatcher.waits[ready(1)]).wait(from: began, to: desk.date + .seconds(1))
    #expect(wait.events.map(\.code) == ["needsExternalPower", "needsExternalPower"])
    #expect(wait.events.map(\.came) == [true, false])
    #expect(!wait.isIncomplete)
  }

  @Test("only the hosts that could have taken it say what kept it, with their names")
  func nearestHosts() throws {
    var desk = Desk()
    desk.learn(1, Desk.job("com.example.a", .processing))
    desk.tick()
    for name in ["e", "b", "d", "c"] { desk.attach(Desk.hello(name, name + "1", slots: 1)) }
    for name in ["b", "c", "d", "e"] {
      let reservation = try #require(desk.dispatcher.reserve(ready(1, .background), count: 1).first)
      _ = desk.dispatcher.settle(
        reservation, with: [Desk.assignment(Int64(name.utf8.first!), priority: .background)], hasMore: true)
    }
    var unfit = Desk.hello("a", "a1")
    unfit.capabilities.kinds = [.refresh]
    desk.attach(unfit)
    desk.attach(Desk.hello("f", "f1", slots: 1))
    _ = desk.dispatcher.processDied(HostName("f"), Incarnation("f1"), isBlameless: true)
    desk.leaseEnded(HostName("f"), Incarnation("f1"))
    desk.dispatcher.noteReady(ready(1, .background))
    desk.advance(.milliseconds(100))
    desk.tick()
    let change = try #require(desk.dispatcher.waits[ready(1, .background)]?.changes.last)
    #expect(change.reasons == [WaitReason("slotsInUse", hosts: ["b", "c", "d"], hostCount: 4)])
    let wait = desk.dispatcher.history(of: ready(1, .background)).wait(from: change.at, to: change.at + .seconds(3))
    #expect(wait.text.map(WaitObstacles.init) == wait)
    #expect(wait.events.map(\.hosts) == [["b", "c", "d"]] && wait.events.map(\.hostCount) == [4])
  }

  @Test(
    "without a host that could take it, the hosts that are gone say so, and at last what no host can do",
    arguments: [(true, ["hostGone"]), (false, ["kindNotAccepted"])])
  func fartherHosts(hasGone: Bool, codes: [String]) throws {
    var desk = Desk()
    desk.learn(1, Desk.job("com.example.a", .processing) { $0.requirements.externalPower = true })
    desk.tick()
    var unfit = Desk.hello("a", "a1", slots: 1)
    unfit.capabilities.kinds = [.refresh]
    unfit.conditions.power = Reading(.battery, source: "test")
    desk.attach(unfit)
    if hasGone {
      // What it said last, before it went, is history.
      var gone = Desk.hello("f", "f1", slots: 1)
      gone.conditions.power = Reading(.battery, source: "test")
      desk.attach(gone)
      _ = desk.dispatcher.processDied(HostName("f"), Incarnation("f1"), isBlameless: true)
    }
    desk.dispatcher.noteReady(ready(1, .background))
    desk.advance(.milliseconds(100))
    desk.tick()
    #expect(desk.dispatcher.waits[ready(1, .background)]?.changes.last?.codes == codes)
  }

  @Test("other hosts with the same obstacle are no change")
  func sameCodes() {
    var history = WaitHistory(since: Self.begin)
    history.note([WaitReason("slotsInUse", hosts: ["a"])], at: Self.begin)
    history.note([WaitReason("slotsInUse", hosts: ["b"])], at: Self.begin + .seconds(1))
    #expect(history.changes.map(\.reasons) == [[WaitReason("slotsInUse", hosts: ["a"])]])
  }

  @Test("a host that could take it means that nothing keeps it, whatever the others lack")
  func oneHostIsEnough() {
    var desk = Desk()
    desk.learn(1)
    desk.attach(Desk.hello("a", "a1"))
    desk.attach(Desk.hello("b", "b1", slots: 0))
    desk.dispatcher.noteReady(ready(1))
    desk.tick()
    #expect(desk.dispatcher.waits[ready(1)]?.changes == [])
  }

  @Test("a thousand hosts and classes cost one tick no more than its share, and each has its turn")
  func shared() {
    var desk = Desk()
    for id in 1...30 {
      desk.learn(Int64(id), Desk.job("com.example.job\(id)"))
      desk.dispatcher.noteReady(ready(Int64(id)))
    }
    for index in 0..<100 { desk.attach(Desk.hello("host\(index)", "i\(index)", slots: 0)) }
    desk.tick()
    let looked = desk.dispatcher.waits.count
    #expect(looked == 20)
    desk.advance(.milliseconds(100))
    desk.tick()
    #expect(desk.dispatcher.waits.count == 30)
  }
}

extension WaitHistory {
  fileprivate mutating func note(_ codes: Set<String>, at date: Timestamp) {
    note(codes.sorted().map { WaitReason($0) }, at: date)
  }
}
