import BatonModel
import ContractRows
import Testing

@testable import BatonCoordinator
@testable import BatonStore

/// What operators' words about a host, preemption and allowances mean for a request with shards: the table in
/// `Documentation/reference/scheduling.md`.
@Suite struct ShardTests {
  static let (a, b, c) = (HostName("a"), HostName("b"), HostName("c"))

  static func job(_ kind: JobKind = .continued, _ change: (inout Definition) -> Void = { _ in }) -> Definition {
    Desk.job("com.example.a", kind) { definition in
      definition.spread = Spread(lanes: 3)
      change(&definition)
    }
  }

  /// The launch of a shard of request 1, which is shard 0 itself. Each other shard is a row of its own.
  static func shard(_ index: Int, launch: Int = 1, _ priority: Priority = .userInitiated) -> Assignment {
    var assignment = Desk.assignment(Int64(index) + 1, launch: launch, priority: priority)
    assignment.head = RequestID(1)
    assignment.shard = Shard(index: index, first: Int64(index) * 10, end: Int64(index + 1) * 10)
    return assignment
  }

  static func stop(_ launch: LaunchKey, _ reason: ExpiryReason, on host: String) -> [Dispatcher.Effect] {
    [.noteExpiry(launch, reason), .send(.expire(launch, reason), to: host)]
  }

  /// Three hosts of one slot, each with a shard of one request.
  private func spread(_ definition: Definition = job(), from date: Timestamp? = nil) -> Desk {
    var desk = Desk()
    if let date { desk.date = date }
    desk.tick()
    desk.learn(1, definition)
    for host in ["a", "b", "c"] { desk.attach(Desk.hello(host, host + "1", slots: 1)) }
    desk.start(Self.shard(0), Self.shard(1), Self.shard(2))
    #expect(desk.dispatcher.places == [key(1): Self.a, key(2): Self.b, key(3): Self.c])
    return desk
  }

  /// Shard 1 has ended on host `b`. It does not start there again, and goes on where there is room.
  private func expectResumption(_ desk: inout Desk) {
    #expect(desk.tick() == [], "nothing else stops")
    desk.dispatcher.ended(key(2))
    desk.dispatcher.noteReady(ready(1))
    #expect(desk.dispatcher.reserveReady(limit: 9) == [], "the only free slot is on the host that it has left")
    desk.attach(Desk.hello("d", "d1", slots: 1))
    let next = Self.shard(1, launch: 2)
    #expect(desk.start(next) == [.definition(1, Self.job(), to: "d"), .send(.launch(next), to: "d")])
    #expect(desk.dispatcher.places == [key(1): Self.a, key(2, 2): HostName("d"), key(3): Self.c], "the others go on")
    #expect(desk.tick() == [])
  }

  @Test func `a drained host stops its own shard, which goes on elsewhere while the others run on`() {
    var desk = spread()
    #expect(desk.dispatcher.setDraining(Self.b, true) == Self.stop(key(2), .draining, on: "b"))
    expectResumption(&desk)
  }

  @Test func `an eviction from a host stops the shard there, which goes on elsewhere while the others run on`() {
    var desk = spread()
    let pattern = IdentifierPattern("com.example.a")!
    #expect(desk.dispatcher.setEvicted(pattern, from: Self.b, true) == Self.stop(key(2), .evicted, on: "b"))
    expectResumption(&desk)
  }

  @Test func `of several shards on a host as many give way as are needed, and those of other hosts run on`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Self.job(.processing))
    desk.learn(2, Desk.job("com.example.now"))
    desk.attach(Desk.hello("a", slots: 2))
    desk.attach(Desk.hello("b", "b1", slots: 1))
    for index in 0..<3 { desk.start(Self.shard(index, .background)) }
    #expect(desk.dispatcher.places == [key(1): Self.b, key(2): Self.a, key(3): Self.a])
    desk.advance(.seconds(5))
    desk.tick()
    // It has committed last, so it loses least.
    desk.dispatcher.progressed(key(3), .batch(completed: 1, of: 10), on: Self.a)
    desk.dispatcher.noteReady(ready(2))
    let questions = desk.dispatcher.reserveReady(limit: 9)
    #expect(questions.map(\.places.count) == [0], "there is no place, only a question")
    let effects = questions.flatMap { desk.dispatcher.settle($0, with: [], hasMore: true) }
    #expect(effects == Self.stop(key(3), .preempted, on: "a"))
    #expect(desk.dispatcher.reserveReady(limit: 9) == [] && desk.tick() == [], "one place is wanted, and on its way")
    desk.dispatcher.ended(key(3))
    #expect(desk.dispatcher.reserve(ready(2), count: 1).map(\.host) == [Self.a])
    #expect(desk.dispatcher.places == [key(1): Self.b, key(2): Self.a])
  }

  /// Lets a second go by for three hosts, whose launches report progress.
  private func second(_ number: Int, _ desk: inout Desk) -> [Dispatcher.Effect] {
    desk.advance(.seconds(1))
    for (host, launch) in [(Self.a, key(1)), (Self.b, key(2)), (Self.c, key(3))] {
      _ = desk.dispatcher.heartbeat(number, from: host, at: desk.now)
      desk.dispatcher.progressed(launch, .units(completed: Int64(number), of: nil), on: host)
    }
    return desk.tick()
  }

  @Test(.contract(17.1))
  func `all shards together use the allowance of the definition, and all of them stop when it is used up`() {
    let definition = Self.job { $0.dailyAllowance = .seconds(30) }
    var desk = spread(definition, from: AllowanceTests.noon)
    for number in 1...9 { #expect(second(number, &desk) == []) }
    #expect(
      second(10, &desk)
        == Self.stop(key(1), .allowanceSpent, on: "a") + Self.stop(key(2), .allowanceSpent, on: "b")
        + Self.stop(key(3), .allowanceSpent, on: "c"), "three launches of ten seconds")
    for launch in [key(1), key(2), key(3)] { desk.dispatcher.ended(launch) }
    desk.dispatcher.noteReady(ready(1))
    #expect(desk.dispatcher.reserveReady(limit: 9) == [], "no shard starts before the allowance refills")
    #expect(
      desk.dispatcher.obstacles(for: definition).fleet == [.allowanceSpent(refillsAt: AllowanceTests.midnight)])
    desk.advance(AllowanceTests.midnight - desk.date)
    desk.tick()
    for host in [Self.a, Self.b, Self.c] { _ = desk.dispatcher.heartbeat(11, from: host, at: desk.now) }
    #expect(desk.dispatcher.reserve(ready(1), count: 3).map(\.places.count).reduce(0, +) == 3)
  }
}
