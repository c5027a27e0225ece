import BatonModel
import Testing

@testable import BatonCoordinator

/// A worker that comes back within its lease.
@Suite struct AttachmentTests {
  let a = HostName("a")
  let withdrawal = "another launch of this request is live, or it has ended"

  @Test func `what both know goes on, what only the store knows is sent, what only the worker knows is withdrawn`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1), Desk.assignment(2), Desk.assignment(3))
    desk.dispatcher.disconnected(a)
    let hello = Desk.hello(running: [RunningLaunch(launch: key(9)), RunningLaunch(launch: key(1))])
    let effects = desk.attach(hello, assignments: [Desk.assignment(2), Desk.assignment(1)])
    #expect(
      effects == [.welcome, .definition(1), .send(.launch(Desk.assignment(2))), .send(.withdraw(key(9), withdrawal))])
    #expect(desk.dispatcher.places == [key(1): a, key(2): a], "the third is over, by the store's word")
    #expect(desk.host.usedSlots == 2)
  }

  @Test func `a definition is sent once on each connection, before its first launch`() {
    var desk = Desk()
    desk.learn(1)
    desk.learn(2, Desk.job("com.example.b"))
    desk.attach()
    #expect(
      desk.start(Desk.assignment(1), Desk.assignment(2)) == [
        .definition(1), .send(.launch(Desk.assignment(1))), .send(.launch(Desk.assignment(2))),
      ])
    #expect(
      desk.start(Desk.assignment(3, of: 2)) == [
        .definition(2, Desk.job("com.example.b")), .send(.launch(Desk.assignment(3, of: 2))),
      ])
    desk.attach(
      Desk.hello(running: [1, 2, 3].map { RunningLaunch(launch: key($0)) }), assignments: [Desk.assignment(1)])
    #expect(desk.start(Desk.assignment(4)) == [.definition(1), .send(.launch(Desk.assignment(4)))])
  }

  @Test func `a launch that was asked to stop while its worker was away is asked again`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1), Desk.assignment(2))
    desk.dispatcher.disconnected(a)
    let stopped = [
      Desk.assignment(1, expiring: .cancelled(by: "ann")), Desk.assignment(2, expiring: .cancelled(by: "ann")),
    ]
    let effects = desk.attach(Desk.hello(running: [RunningLaunch(launch: key(1))]), assignments: stopped)
    #expect(
      effects == [
        .welcome, .send(.expire(key(1), .cancelled(by: "ann"))), .definition(1), .send(.launch(stopped[1])),
      ])
    #expect(desk.dispatcher.expire(key(1), .draining) == [], "the first reason stays")
  }

  @Test func `so it is if the store has not noted that yet`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    desk.start(Desk.assignment(1))
    desk.dispatcher.disconnected(a)
    _ = desk.dispatcher.expire(key(1), .simulated(as: nil))
    let hello = Desk.hello(running: [RunningLaunch(launch: key(1))])
    #expect(
      desk.attach(hello, assignments: [Desk.assignment(1)]) == [.welcome, .send(.expire(key(1), .simulated(as: nil)))])
  }

  @Test func `the worker's word on its GPUs counts, and a launch that ended there holds none`() {
    var desk = Desk()
    desk.learn(1)
    let gpus = (0..<4).map { _ in GPU(name: "gpu", memoryBytes: 8) }
    desk.restore([DefinitionID(1): Desk.job()], running: [key(1), key(2)])
    let hello = Desk.hello(
      gpus: gpus, running: [RunningLaunch(launch: key(1), gpus: [2, 3]), RunningLaunch(launch: key(2))])
    desk.attach(hello, assignments: [Desk.assignment(1, gpus: [0, 1]), Desk.assignment(2, gpus: [1])])
    #expect(desk.host.usedGPUs == [2, 3])
  }

  /// Found by the simulator: the launch holds its GPU twice for a moment, by the claim and by the hello.
  @Test func `a claim that is settled after the hello took its launch over gives back one of its GPUs, not both`() {
    var desk = Desk()
    desk.learn(1, Desk.job { $0.requirements.gpu = GPURequirement() })
    let gpus = (0..<2).map { _ in GPU(name: "gpu", memoryBytes: 8) }
    desk.attach(Desk.hello(gpus: gpus))
    let claim = desk.dispatcher.reserve(ready(1), count: 1)[0]
    desk.attach(Desk.hello(gpus: gpus), assignments: [Desk.assignment(1, gpus: [0])])
    _ = desk.dispatcher.settle(claim, with: [Desk.assignment(1, gpus: [0])], hasMore: true)
    #expect(desk.host.usedGPUs == [0])
    #expect(desk.dispatcher.reserve(ready(1), count: 1).flatMap(\.places) == [[1]])
  }

  @Test func `a launch claimed between hello and welcome is delivered after the welcome, once`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    let known = desk.dispatcher.reserve(ready(1), count: 1)[0]
    let unknown = desk.dispatcher.reserve(ready(1), count: 1)[0]
    _ = desk.says(Desk.hello())
    #expect(desk.dispatcher.settle(known, with: [Desk.assignment(1)], hasMore: true) == [])
    #expect(desk.dispatcher.settle(unknown, with: [Desk.assignment(2)], hasMore: true) == [])
    // The store was asked after it had the first, and before it had the second.
    let effects = desk.dispatcher.attached(a, held: [], running: [], assignments: [Desk.assignment(1)])
    #expect(
      effects == [.welcome, .definition(1), .send(.launch(Desk.assignment(1))), .send(.launch(Desk.assignment(2)))])
    #expect(desk.host.usedSlots == 2)
  }

  @Test func `so it is if the old connection ends meanwhile`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    _ = desk.says(Desk.hello())
    desk.dispatcher.disconnected(a)
    #expect(desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: true) == [])
    let effects = desk.dispatcher.attached(a, held: [], running: [], assignments: [])
    #expect(effects == [.welcome, .definition(1), .send(.launch(Desk.assignment(1)))])
    #expect(desk.dispatcher.reserve(ready(1), count: 1).count == 1, "the host is there")
  }

  @Test func `a launch that ended between hello and welcome is not delivered`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    _ = desk.says(Desk.hello())
    _ = desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: true)
    desk.dispatcher.ended(key(1))
    #expect(desk.dispatcher.attached(a, held: [], running: [], assignments: []) == [.welcome])
    #expect(desk.host.usedSlots == 0)
  }

  @Test func `a claim that the store told of first is not delivered twice`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    let effects = desk.attach(assignments: [Desk.assignment(1)])
    #expect(effects == [.welcome, .definition(1), .send(.launch(Desk.assignment(1)))])
    _ = desk.dispatcher.expire(key(1), .simulated(as: nil))
    #expect(desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: true) == [])
    #expect(desk.host.usedSlots == 1)
    #expect(desk.dispatcher.expire(key(1), .paused) == [], "and the first reason stays")
  }

  @Test func `what is settled while the worker is away waits for its hello`() {
    var desk = Desk()
    desk.learn(1)
    desk.attach()
    let reservation = desk.dispatcher.reserve(ready(1), count: 1)[0]
    desk.dispatcher.disconnected(a)
    #expect(desk.dispatcher.settle(reservation, with: [Desk.assignment(1)], hasMore: true) == [])
    #expect(desk.dispatcher.places == [key(1): a])
    #expect(
      desk.attach(assignments: [Desk.assignment(1)]) == [
        .welcome, .definition(1), .send(.launch(Desk.assignment(1))),
      ])
  }

  @Test func `a pause and a drain that came while the worker was away reach it`() {
    for isPause in [true, false] {
      var desk = Desk()
      desk.learn(1)
      desk.attach()
      desk.start(Desk.assignment(1))
      desk.dispatcher.disconnected(a)
      let reason = isPause ? ExpiryReason.paused : .draining
      let early = isPause ? desk.dispatcher.setPaused(true) : desk.dispatcher.setDraining(a, true)
      #expect(early == [.noteExpiry(key(1), reason), .send(.expire(key(1), reason))])
      let effects = desk.attach(
        Desk.hello(running: [RunningLaunch(launch: key(1))]), assignments: [Desk.assignment(1, expiring: reason)])
      #expect(effects == [.welcome, .send(.expire(key(1), reason))])
    }
  }
}
