import BatonCoordinator
import BatonModel
import ContractRows
import Testing

/// Who gives way to whom (contract, row 32).
@Suite struct PressureTests {
  static let a = HostName("a")

  /// One host of two slots, full of background processing: launches 1 and 2.
  private func full(_ change: (inout Definition) -> Void = { _ in }) -> Desk {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.slow", .processing))
    desk.learn(2, Desk.job("com.example.now", .continued, change))
    desk.attach(Desk.hello(slots: 2))
    for request in 1...2 as ClosedRange<Int64> {
      desk.start(Desk.assignment(request, of: 1, priority: .background))
      desk.advance(.seconds(5))
      desk.tick()
      _ = desk.dispatcher.heartbeat(1, from: Self.a, at: desk.now)
    }
    return desk
  }

  private func relieve(_ desk: inout Desk, hasMore: Bool = true) -> [Dispatcher.Effect] {
    desk.dispatcher.reserveReady(limit: 9).flatMap { reservation -> [Dispatcher.Effect] in
      #expect(reservation.places.isEmpty, "there is no place, only a question")
      return desk.dispatcher.settle(reservation, with: [], hasMore: hasMore)
    }
  }

  static func preempted(_ request: Int64) -> [Dispatcher.Effect] {
    [.noteExpiry(key(request), .preempted), .send(.expire(key(request), .preempted))]
  }

  @Test func `the launch that committed last gives way to what a person waits for`() {
    var desk = full()
    desk.dispatcher.progressed(key(1), .batch(completed: 1, of: 10), on: Self.a)
    desk.dispatcher.noteReady(ready(2))
    #expect(relieve(&desk) == Self.preempted(1))
    #expect(relieve(&desk) == [], "one place is on its way, and one is wanted")
  }

  @Test func `with the same at risk the least progressed gives way`() {
    var desk = full()
    desk.dispatcher.progressed(key(1), .batch(completed: 9, of: 10), on: Self.a)
    desk.dispatcher.progressed(key(2), .batch(completed: 5, of: 10), on: Self.a)
    desk.dispatcher.noteReady(ready(2))
    #expect(relieve(&desk) == Self.preempted(2))
  }

  @Test func `nobody gives way to a request that is not there`() {
    var desk = full()
    desk.dispatcher.noteReady(ready(2))
    #expect(relieve(&desk, hasMore: false) == [])
    #expect(relieve(&desk) == [], "the class is known to be empty")
  }

  @Test func `as many give way as are needed, and none if that would not do`() {
    var both = full { $0.requirements.slots = 2 }
    both.dispatcher.noteReady(ready(2))
    #expect(Set(relieve(&both)) == Set(Self.preempted(1) + Self.preempted(2)))
    var neither = full { $0.requirements.slots = 3 }
    neither.dispatcher.noteReady(ready(2))
    #expect(relieve(&neither) == [])
    var battery = full { $0.requirements.externalPower = true }
    battery.dispatcher.noteReady(ready(2))
    var conditions = Conditions.assumed
    conditions.power.value = .battery
    battery.dispatcher.conditionsChanged(conditions, on: Self.a)
    #expect(relieve(&battery) == [], "a place would not help")
  }

  @Test func `what a person waits for never gives way, and nobody gives way to processing`() {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.now"))
    desk.learn(2, Desk.job("com.example.slow", .processing))
    desk.attach(Desk.hello(slots: 1))
    desk.start(Desk.assignment(1))
    desk.dispatcher.noteReady(ready(2, .userInitiated))
    desk.dispatcher.noteReady(ready(1))
    #expect(desk.dispatcher.reserveReady(limit: 9) == [])
  }

  @Test func `what may not take the room that is made has that for an obstacle, and starts nowhere`() throws {
    var desk = full { $0.requirements.slots = 2 }
    let (small, urgent) = (Desk.job("com.example.small", .processing), Desk.job("com.example.soon", .continued))
    desk.learn(3, small)
    desk.learn(4, urgent)
    desk.dispatcher.noteReady(ready(2))
    #expect(relieve(&desk).count == 4)
    desk.dispatcher.ended(key(1))
    // One of the two slots is free by now.
    #expect(desk.dispatcher.obstacles(for: small, nil, .background).hosts.map(\.1) == [[.givingWay]])
    #expect(desk.dispatcher.reserve(ready(3, .background), count: 1).isEmpty)
    #expect(desk.dispatcher.obstacles(for: urgent, nil, .userInitiated).hosts.map(\.1) == [[]])
    #expect(desk.dispatcher.reserve(ready(4), count: 1).map(\.places.count) == [1])
    desk.dispatcher.ended(key(2))
    #expect(desk.dispatcher.obstacles(for: small, nil, .background).hosts.map(\.1) == [[]])
  }

  @Test func `where another host is free nobody gives way`() {
    var desk = full()
    desk.attach(Desk.hello("b", "b1"))
    desk.dispatcher.noteReady(ready(2))
    let reservations = desk.dispatcher.reserveReady(limit: 1)
    #expect(reservations.map(\.host) == [HostName("b")])
    #expect(reservations.map(\.places.count) == [1])
  }
}
