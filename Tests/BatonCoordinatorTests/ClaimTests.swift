import BatonModel
import ContractRows
import Testing

@testable import BatonCoordinator

@Suite struct ClaimTests {
  let a = HostName("a")

  @Test func `classes are served by priority`() {
    var desk = Desk()
    for id in 1...3 { desk.learn(Int64(id)) }
    desk.attach(Desk.hello(slots: 4))
    desk.dispatcher.noteReady(ready(1, .background))
    desk.dispatcher.noteReady(ready(2, .utility))
    desk.dispatcher.noteReady(ready(3, .userInitiated))
    #expect(served(&desk, limit: 1) == [3])
    finish(&desk, 3)
    #expect(served(&desk, limit: 1) == [2])
    finish(&desk, 2)
    #expect(served(&desk, limit: 1) == [1])
    finish(&desk, 1)
    #expect(served(&desk, limit: 1) == [])
  }

  @Test func `within one priority each class has its turn`() {
    var desk = Desk()
    for id in 1...3 {
      desk.learn(Int64(id))
      desk.dispatcher.noteReady(ready(Int64(id)))
    }
    desk.attach(Desk.hello(slots: 1))
    var order: [Int64] = []
    for _ in 1...7 {
      for reservation in desk.dispatcher.reserveReady(limit: 1) {
        order.append(reservation.requirementClass.definition.rawValue)
        #expect(desk.dispatcher.settle(reservation, with: [], hasMore: true) == [])
      }
    }
    #expect(order == [1, 2, 3, 1, 2, 3, 1])
  }

  @Test func `a class that comes later does not overtake those that wait`() {
    var desk = Desk()
    for id in 1...3 { desk.learn(Int64(id)) }
    desk.attach(Desk.hello(slots: 1))
    desk.dispatcher.noteReady(ready(2))
    desk.dispatcher.noteReady(ready(3))
    for reservation in desk.dispatcher.reserveReady(limit: 1) {
      _ = desk.dispatcher.settle(reservation, with: [], hasMore: true)
    }
    desk.dispatcher.noteReady(ready(1))
    #expect(served(&desk, limit: 1) == [3])
  }

  @Test func `hosts with the fewest free slots are filled first, and none beyond its slots`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach(Desk.hello("a", "a1", slots: 3))
    desk.attach(Desk.hello("b", "b1", slots: 3))
    desk.attach(Desk.hello("c", "c1", slots: 2))
    let reservations = desk.dispatcher.reserve(ready(1), count: 100)
    #expect(reservations.map(\.host.rawValue) == ["c", "a", "b"])
    #expect(reservations.map(\.places.count) == [2, 3, 3])
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
  }

  @Test func `no more is reserved than asked for`() {
    var desk = Desk()
    desk.learn(1)
    desk.learn(2)
    desk.attach(Desk.hello(slots: 9))
    desk.dispatcher.noteReady(ready(1))
    desk.dispatcher.noteReady(ready(2))
    #expect(desk.dispatcher.reserveReady(limit: 5).map(\.places.count) == [5])
    #expect(desk.dispatcher.reserveReady(limit: 0) == [])
  }

  @Test(arguments: [(1, 4), (2, 2), (3, 1), (4, 1), (5, 0)])
  func `a launch takes its definition's slots`(slots: Int, places: Int) {
    var desk = Desk()
    desk.learn(1, Desk.job { $0.requirements.slots = slots })
    desk.attach(Desk.hello(slots: 4))
    #expect(desk.dispatcher.reserve(ready(1), count: 100).flatMap(\.places).count == places)
    #expect(desk.host.usedSlots == slots * places)
  }

  @Test(.contract(20.2)) func `each place has GPUs of its own, with the memory that was asked for`() {
    var desk = Desk()
    let gpus = [8, 80, 80, 8, 80].map { GPU(name: "gpu", memoryBytes: $0) }
    desk.learn(1, Desk.job { $0.requirements.gpu = GPURequirement(memoryBytes: 80) })
    desk.learn(2, Desk.job { $0.requirements.gpu = GPURequirement(count: 2) })
    desk.attach(Desk.hello(slots: 9, gpus: gpus))
    let big = desk.dispatcher.reserve(ready(1), count: 2)
    #expect(big.flatMap(\.places) == [[1], [2]])
    let pairs = desk.dispatcher.reserve(ready(2), count: 9)
    #expect(pairs.flatMap(\.places) == [[0, 3]])
    #expect(desk.host.usedGPUs.sorted() == [0, 1, 2, 3])
    _ = desk.dispatcher.settle(big[0], with: [Desk.assignment(1, gpus: [1])], hasMore: true)
    #expect(desk.host.usedGPUs.sorted() == [0, 1, 3], "the place that was not used is free")
    desk.dispatcher.ended(key(1))
    #expect(desk.host.usedGPUs.sorted() == [0, 3])
  }

  @Test func `maxRunning counts what runs and what is reserved, over all versions of a definition`() {
    var desk = Desk()
    let limited = Desk.job("com.example.*") { $0.maxRunning = 3 }
    desk.learn(1, limited)
    desk.learn(2, limited)
    desk.attach(Desk.hello(slots: 9))
    desk.start(Desk.assignment(1, of: 1))
    let two = desk.dispatcher.reserve(ready(2), count: 9)
    #expect(two.flatMap(\.places).count == 2)
    #expect(desk.dispatcher.obstacles(for: limited).fleet == [.maxRunningReached(limit: 3)])
    #expect(desk.dispatcher.reserve(ready(1), count: 9) == [])
    _ = desk.dispatcher.settle(two[0], with: [Desk.assignment(2, of: 2)], hasMore: false)
    #expect(desk.dispatcher.reserve(ready(1), count: 9).flatMap(\.places).count == 1)
    desk.dispatcher.ended(key(1))
    desk.dispatcher.ended(key(2))
    #expect(desk.dispatcher.reserve(ready(2), count: 9).flatMap(\.places).count == 2)
  }

  @Test func `places that were not claimed are free again`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach(Desk.hello(slots: 4))
    let reservation = desk.dispatcher.reserve(ready(1), count: 4)[0]
    #expect(desk.host.freeSlots == 0)
    let effects = desk.dispatcher.settle(
      reservation, with: [Desk.assignment(1), Desk.assignment(2)], hasMore: false)
    #expect(
      effects == [.definition(1), .send(.launch(Desk.assignment(1))), .send(.launch(Desk.assignment(2)))])
    #expect(desk.host.usedSlots == 2)
    #expect(desk.dispatcher.places == [key(1): a, key(2): a])
  }

  @Test func `a class without ready requests is not asked for again`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.dispatcher.noteReady(ready(1))
    let reservation = desk.dispatcher.reserveReady(limit: 9)[0]
    _ = desk.dispatcher.settle(reservation, with: [], hasMore: false)
    #expect(desk.dispatcher.ready == [:])
    #expect(desk.dispatcher.reserveReady(limit: 9) == [])
  }

  @Test func `news that come while the store is asked are not lost`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.dispatcher.noteReady(ready(1))
    let reservation = desk.dispatcher.reserveReady(limit: 1)[0]
    desk.dispatcher.noteReady(ready(1))
    _ = desk.dispatcher.settle(reservation, with: [], hasMore: false)
    #expect(desk.dispatcher.reserveReady(limit: 1).count == 1)
  }

  @Test func `news of a class that was forgotten meanwhile are not lost either`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach(Desk.hello("a", "a1", slots: 1))
    desk.attach(Desk.hello("b", "b1", slots: 1))
    desk.dispatcher.noteReady(ready(1))
    let both = desk.dispatcher.reserveReady(limit: 2)
    #expect(both.count == 2)
    _ = desk.dispatcher.settle(both[0], with: [], hasMore: false)
    desk.dispatcher.noteReady(ready(1))
    _ = desk.dispatcher.settle(both[1], with: [], hasMore: false)
    #expect(Array(desk.dispatcher.ready.keys) == [ready(1)])
  }

  @Test func `nothing starts of a definition that nobody has told`() {
    var desk = Desk()
    desk.attach()
    desk.dispatcher.noteReady(ready(7))
    #expect(desk.dispatcher.unlearned == [DefinitionID(7)])
    #expect(desk.dispatcher.reserveReady(limit: 1) == [])
    desk.learn(7)
    #expect(desk.dispatcher.unlearned == [])
    #expect(desk.dispatcher.reserveReady(limit: 1).count == 1)
  }

  @Test func `what was claimed for a lease that ended meanwhile is not delivered, and holds nothing`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    _ = desk.dispatcher.processDied(a, Incarnation("a1"), isBlameless: false)
    desk.leaseEnded(a, Incarnation("a1"))
    #expect(desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: false) == [])
    #expect(desk.host.usedSlots == 0)
    #expect(desk.dispatcher.places == [:])
  }

  @Test(arguments: ["a1", "a2"])
  func `a claim for an earlier lease is not delivered under a new one`(incarnation: String) {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    _ = desk.dispatcher.processDied(a, Incarnation("a1"), isBlameless: false)
    desk.leaseEnded(a, Incarnation("a1"))
    desk.attach(Desk.hello("a", incarnation))
    #expect(desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: false) == [])
    #expect(desk.host.usedSlots == 0)
  }

  @Test func `every obstacle is told by host, with those of the fleet`() {
    var desk = Desk()
    let job = Desk.job { $0.requirements.slots = 3 }
    #expect(desk.dispatcher.obstacles(for: job).fleet == [.noHosts])
    desk.attach(Desk.hello("b", "b1", slots: 2))
    desk.attach(Desk.hello("a", "a1", slots: 4))
    _ = desk.dispatcher.setPaused(true)
    let (fleet, hosts) = desk.dispatcher.obstacles(for: job)
    #expect(fleet == [.fleetPaused])
    #expect(hosts.map(\.0.rawValue) == ["a", "b"])
    #expect(hosts.map(\.1) == [[], [.tooFewSlots(needed: 3, total: 2)]])
    #expect(desk.dispatcher.reserve(ready(1), count: 1) == [])
  }

  private func served(_ desk: inout Desk, limit: Int) -> [Int64] {
    let reservations = desk.dispatcher.reserveReady(limit: limit)
    for reservation in reservations { _ = desk.dispatcher.settle(reservation, with: [], hasMore: true) }
    return reservations.map(\.requirementClass.definition.rawValue)
  }

  private func finish(_ desk: inout Desk, _ definition: Int64) {
    for priority in Priority.allCases {
      for reservation in desk.dispatcher.reserve(ready(definition, priority), count: 1) {
        _ = desk.dispatcher.settle(reservation, with: [], hasMore: false)
      }
    }
  }
}
