import BatonModel
import BatonStore
import Testing

@testable import BatonCoordinator

/// A request that has waited long reserves a host where room comes free soon.
@Suite struct ReservationTests {
  static let (a, b) = (HostName("a"), HostName("b"))

  /// Hosts of these slots, with a narrow job (1), a wide one (2), and a refresh (3).
  private func yard(_ slots: Int..., wide: Int = 2, change: (inout DispatchRules) -> Void = { _ in }) -> Yard {
    var rules = DispatchRules()
    change(&rules)
    var yard = Yard(rules)
    yard.desk.learn(1, Desk.job("com.example.narrow", .processing))
    yard.desk.learn(2, Desk.job("com.example.wide", .processing) { $0.requirements.slots = wide })
    yard.desk.learn(3, Desk.job("com.example.news", .refresh))
    for (name, slots) in zip(["a", "b", "c"], slots) { yard.attach(Desk.hello(name, name + "1", slots: slots)) }
    return yard
  }

  private func wide(_ yard: Yard) -> (host: HostName, booking: Booking)? {
    guard let host = yard.desk.dispatcher.bookings[ready(2, .background)],
      let booking = yard.desk.dispatcher.hosts[host]?.booking
    else { return nil }
    return (host, booking)
  }

  private func obstacles(_ yard: Yard, of definition: Int64, _ priority: Priority = .background) -> [[Obstacle]] {
    let dispatcher = yard.desk.dispatcher
    return dispatcher.obstacles(
      for: dispatcher.definitions[DefinitionID(definition)]!, of: ready(definition, priority)
    ).hosts.map(\.1)
  }

  /// Narrow launches of 20 s hold both slots of the host, one of them half as long as the other, and more come every
  /// second.
  private func overtaken(_ yard: inout Yard, for seconds: Int) {
    for _ in 0..<seconds {
      yard.submit(1, takes: 20)
      yard.second()
    }
  }

  @Test func `a wide request that narrow ones overtake starts soon after the time of reserveAfter`() throws {
    var yard = yard(2)
    overtaken(&yard, for: 10)
    let request = yard.submit(2, takes: 5)
    overtaken(&yard, for: 200)
    let wait = try #require(yard.waits[request])
    // It waits for the launches that run, of 20 s, and perhaps for one more that was expected to end in time.
    #expect((60...101).contains(wait), "\(wait) s")
  }

  @Test func `without reservations it waits for as long as narrow ones come`() {
    var yard = yard(2) { $0.reserveAfter = nil }
    overtaken(&yard, for: 10)
    let request = yard.submit(2, takes: 5)
    overtaken(&yard, for: 1_000)
    #expect(yard.waits[request] == nil)
  }

  @Test func `explain names the reservation to those that are kept off, and they wait`() throws {
    var yard = yard(2)
    yard.desk.learn(4, Desk.job("com.example.other", .processing))
    yard.submit(1, takes: 500)
    yard.second()
    yard.submit(4, takes: 90)
    yard.second()
    yard.submit(2, takes: 5)
    yard.pass(62)
    let (host, booking) = try #require(wide(yard))
    #expect(host == Self.a && booking.waitsFor.count == 2)
    // Nothing is known of how long these take.
    yard.submit(1, takes: 20)
    yard.pass(40)
    #expect(yard.desk.host.freeSlots == 1, "one of the two has ended, and its slot is kept")
    let dueAt = try #require(wide(yard)).booking.dueAt
    #expect(dueAt <= booking.dueAt, "it never becomes later")
    let reserved = Obstacle.reserved(for: IdentifierPattern("com.example.wide")!, until: dueAt)
    #expect(obstacles(yard, of: 1) == [[reserved]])
    #expect(obstacles(yard, of: 1, .utility) == [[]], "a higher priority may take it")
    #expect(obstacles(yard, of: 2) == [[.slotsInUse(needed: 2, free: 1)]])
    #expect(
      reserved.clearsAt == dueAt && reserved.shifted(by: .seconds(3)).clearsAt == dueAt + .seconds(3))
  }

  @Test func `the host is reserved where room is expected soonest, by the pace of what runs there`() throws {
    var yard = yard(2, 2)
    for _ in 0..<4 { yard.submit(1, takes: 500) }
    yard.second()
    yard.submit(2, takes: 5)
    yard.pass(30)
    // After 30 s the launches on b have done 30 of 40 units, and nothing is known of those on a.
    for (launch, found) in yard.running where found.host == Self.b {
      yard.desk.dispatcher.progressed(launch, .units(completed: 30, of: 40), on: Self.b)
    }
    yard.pass(31)
    let (host, booking) = try #require(wide(yard))
    #expect(host == Self.b)
    // 61 s for 30 units: 10 more take 20 s.
    #expect((15...25).contains((booking.dueAt - yard.desk.clocks.steady).inSeconds))
  }

  @Test func `launches that are expected to end before, and each refresh, may use what is reserved until it is due`()
    throws
  {
    var yard = yard(2)
    // Narrow launches are known to take 10 s.
    for _ in 0..<3 {
      yard.submit(1, takes: 10)
      yard.pass(12)
    }
    yard.desk.learn(4, Desk.job("com.example.long", .processing))
    yard.submit(4, takes: 400)
    yard.second()
    yard.submit(2, takes: 5)
    yard.pass(62)
    let (_, booking) = try #require(wide(yard))
    #expect(booking.dueAt - yard.desk.clocks.steady > .seconds(400), "unknown pace: ten minutes in all")
    #expect(obstacles(yard, of: 1) == [[]], "10 s are over by then")
    #expect(obstacles(yard, of: 3) == [[]], "a refresh")
    #expect(obstacles(yard, of: 4).map { $0.map(\.kind) } == [[.reserved]], "nothing is known of it")
    yard.submit(1, takes: 10)
    yard.second()
    #expect(wide(yard)?.booking.waitsFor.count == 2, "it is waited for too")
    yard.pass(10)
    yard.desk.advance(booking.dueAt - yard.desk.clocks.steady)
    #expect(obstacles(yard, of: 1).map { $0.map(\.kind) } == [[]], "the dispatcher measures time by its ticks")
    yard.second()
    // The long one has ended by now; the wide one is about to get its place.
    #expect(yard.waits.values.contains { $0 > 400 })
  }

  @Test func `after the reservation is due not even a refresh takes its place`() throws {
    var yard = yard(2)
    yard.submit(1, takes: 5_000)
    yard.second()
    yard.submit(2, takes: 5)
    yard.pass(62)
    let (_, booking) = try #require(wide(yard))
    #expect(obstacles(yard, of: 3) == [[]])
    yard.pass(Int((booking.dueAt - yard.desk.clocks.steady).inSeconds) + 1)
    #expect(wide(yard)?.booking == booking)
    #expect(obstacles(yard, of: 3).map { $0.map(\.kind) } == [[.reserved]])
  }

  @Test func `a reservation is given up when its host drains, goes, or takes too long, and another one is made`() throws
  {
    var yard = yard(2, 2)
    for _ in 0..<4 { yard.submit(1, takes: 5_000) }
    yard.second()
    yard.submit(2, takes: 5)
    yard.pass(62)
    let (first, booking) = try #require(wide(yard))
    yard.drain(first, true)
    yard.pass(1)
    let (second, later) = try #require(wide(yard))
    #expect(second != first && later.endsAt - later.dueAt > booking.endsAt - booking.dueAt, "with more patience")
    yard.pass(Int((later.endsAt - yard.desk.clocks.steady).inSeconds) + 1)
    #expect(try #require(wide(yard)).booking.dueAt > later.dueAt, "it took too long")
    yard.restart(second)
    yard.pass(3)
    #expect(wide(yard) == nil && yard.waits.count == 5, "the room came at once")
  }

  @Test func `a request that starts elsewhere, or is gone, leaves no reservation`() throws {
    var yard = yard(2)
    yard.submit(1, takes: 5_000)
    yard.second()
    yard.submit(2, takes: 5)
    yard.pass(62)
    #expect(wide(yard) != nil)
    yard.attach(Desk.hello("b", "b1", slots: 2))
    yard.pass(1)
    #expect(wide(yard) == nil && yard.starts.last?.host == Self.b)
    #expect(yard.desk.dispatcher.hosts.values.allSatisfy { $0.booking == nil })
  }

  @Test func `a host is not reserved again for a request that may not run there`() throws {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.narrow", .processing))
    desk.learn(2, Desk.job("com.example.x.*", .processing) { $0.requirements.slots = 2 })
    desk.attach(Desk.hello(slots: 2))
    desk.start(Desk.assignment(1, of: 1, priority: .background))
    desk.dispatcher.noteReady(
      ready(2, .background), first: WaitingHead(RequestID(7), since: desk.clocks.steady))
    for _ in 0..<62 {
      _ = desk.pass(1)
      _ = desk.dispatcher.heartbeat(1, from: Self.a, at: desk.now)
    }
    #expect(desk.dispatcher.bookings == [ready(2, .background): Self.a])
    desk.dispatcher.ended(key(1))
    let reservation = try #require(desk.dispatcher.reserveReady(limit: 9).first)
    // Request 7 is evicted there, and a later one is not.
    _ = desk.dispatcher.settle(
      reservation, with: [Desk.assignment(8, of: 2, priority: .background)], hasMore: true, hasFitting: false,
      first: WaitingHead(RequestID(7), since: desk.clocks.steady + .seconds(-62)))
    #expect(desk.dispatcher.bookings == [:])
    for _ in 0..<10 {
      _ = desk.pass(1)
      _ = desk.dispatcher.heartbeat(1, from: Self.a, at: desk.now)
    }
    #expect(desk.dispatcher.bookings == [:])
  }

  @Test func `GPUs are reserved as slots are`() throws {
    var rules = DispatchRules()
    rules.reserveAfter = .seconds(60)
    var yard = Yard(rules)
    yard.desk.learn(1, Desk.job("com.example.one", .processing) { $0.requirements.gpu = GPURequirement() })
    yard.desk.learn(
      2, Desk.job("com.example.two", .processing) { $0.requirements.gpu = GPURequirement(count: 2) })
    yard.desk.learn(3, Desk.job("com.example.none", .processing))
    let gpus = [8, 8].map { GPU(name: "gpu", memoryBytes: $0 << 30) }
    yard.attach(Desk.hello(slots: 8, gpus: gpus))
    for takes in [30, 100] { yard.submit(1, takes: takes) }
    yard.second()
    let request = yard.submit(2, takes: 5)
    for _ in 0..<150 {
      yard.submit(1, takes: 20)
      yard.second()
    }
    let wait = try #require(yard.waits[request])
    #expect(wait <= 130, "\(wait) s")
    #expect(obstacles(yard, of: 3) == [[]], "slots were not reserved")
  }
}
