import BatonModel
import Testing

@testable import BatonCoordinator

/// Which of several hosts that can take a request gets it, and which GPUs.
@Suite struct PlacementTests {
  private static func gpus(_ gibibytes: Int64...) -> [GPU] {
    gibibytes.map { GPU(name: "gpu", memoryBytes: $0 << 30) }
  }

  private func desk(_ placement: Placement = .pack, _ hosts: Hello...) -> Desk {
    var desk = Desk()
    var rules = DispatchRules()
    rules.placement = placement
    desk.dispatcher = Dispatcher(leaseTerm: Desk.term, rules: rules)
    desk.tick()
    for hello in hosts { desk.attach(hello) }
    return desk
  }

  private func needsGPU(_ count: Int = 1, gibibytes: Int64? = nil) -> Definition {
    Desk.job { $0.requirements.gpu = GPURequirement(count: count, memoryBytes: gibibytes.map { $0 << 30 }) }
  }

  /// Where launches of a definition go: each host with the GPUs of its launches.
  private func places(of definition: Definition, _ count: Int, _ desk: inout Desk) -> [String] {
    desk.learn(1, definition)
    return desk.dispatcher.reserve(ready(1), count: count).flatMap { reservation in
      reservation.places.map { "\(reservation.host)\($0.isEmpty ? "" : "\($0)")" }
    }
  }

  @Test func `a job that any GPU suits leaves the large one`() {
    var desk = desk(.pack, Desk.hello("a", "a1", gpus: Self.gpus(24, 8)))
    #expect(places(of: needsGPU(), 1, &desk) == ["a[1]"])
    #expect(places(of: needsGPU(gibibytes: 16), 1, &desk) == ["a[0]"])
  }

  @Test func `among hosts the one with the smallest sufficient GPU is taken`() {
    var desk = desk(
      .pack, Desk.hello("a", "a1", gpus: Self.gpus(80)), Desk.hello("b", "b1", gpus: Self.gpus(8)),
      Desk.hello("c", "c1", gpus: Self.gpus(24)))
    #expect(places(of: needsGPU(gibibytes: 16), 1, &desk) == ["c[0]"])
    #expect(places(of: needsGPU(), 3, &desk) == ["b[0]", "a[0]"])
  }

  @Test func `of GPUs that are alike those are taken of which the fewest stay free`() {
    var desk = desk(
      .pack, Desk.hello("a", "a1", gpus: Self.gpus(8, 8, 8)), Desk.hello("b", "b1", gpus: Self.gpus(8, 8)))
    #expect(places(of: needsGPU(), 1, &desk) == ["b[0]"])
    #expect(places(of: needsGPU(), 1, &desk) == ["b[1]"])
    #expect(places(of: needsGPU(3), 1, &desk) == ["a[0, 1, 2]"])
  }

  @Test func `a job without GPUs goes to a host without free ones, and to the others when that is full`() {
    var desk = desk(
      .pack, Desk.hello("a", "a1", slots: 1, gpus: Self.gpus(8)), Desk.hello("b", "b1", slots: 2),
      Desk.hello("c", "c1", slots: 4))
    #expect(places(of: Desk.job(), 9, &desk) == ["b", "b", "c", "c", "c", "c", "a"])
  }

  @Test func `a host whose GPUs are all in use is as good as one without`() {
    var desk = desk(
      .pack, Desk.hello("a", "a1", slots: 2, gpus: Self.gpus(8)), Desk.hello("b", "b1", slots: 4))
    #expect(places(of: needsGPU(), 1, &desk) == ["a[0]"])
    #expect(places(of: Desk.job(), 1, &desk) == ["a"])
  }

  @Test func `packing fills one host after another, and a wide job still finds room`() {
    var desk = desk(.pack, Desk.hello("a", "a1", slots: 4), Desk.hello("b", "b1", slots: 4))
    #expect(places(of: Desk.job(), 4, &desk) == ["a", "a", "a", "a"])
    #expect(places(of: Desk.job { $0.requirements.slots = 4 }, 1, &desk) == ["b"])
  }

  @Test func `spreading takes the host with the most free slots each time`() {
    var desk = desk(
      .spread, Desk.hello("a", "a1", slots: 3), Desk.hello("b", "b1", slots: 2), Desk.hello("c", "c1", slots: 3))
    // The places of one host are one reservation: a has two of the first four.
    #expect(places(of: Desk.job(), 4, &desk) == ["a", "a", "c", "b"])
    #expect(
      desk.dispatcher.hosts.mapValues(\.host.freeSlots) == [HostName("a"): 1, HostName("b"): 1, HostName("c"): 2])
  }

  @Test func `preferred labels count more than GPUs and slots, by their weights, and are not required`() {
    func labelled(_ name: String, _ labels: [String: String], slots: Int = 1, gpus: [GPU] = []) -> Hello {
      var hello = Desk.hello(name, name + "1", slots: slots, gpus: gpus)
      hello.conditions.labels = Reading(labels, source: "test")
      return hello
    }
    var desk = desk(
      .pack, labelled("a", [:]), labelled("b", ["zone": "garage"]), labelled("c", ["disk": "nvme"], slots: 4),
      labelled("d", ["disk": "nvme", "zone": "garage"], slots: 9, gpus: Self.gpus(8)), labelled("e", ["disk": "hdd"]))
    let job = Desk.job {
      $0.requirements.slots = 1
      $0.requirements.preferredLabels = [
        "disk": PreferredLabel("nvme", weight: 10), "zone": PreferredLabel("garage"),
      ]
    }
    let places = places(of: job, 99, &desk)
    #expect(places == Array(repeating: "d", count: 9) + Array(repeating: "c", count: 4) + ["b", "a", "e"])
  }

  @Test func `every host is offered once for each of its slots, the best first, on random fleets`() {
    for seed in 0..<UInt64(300) {
      var draw = FleetDraw(seed: seed)
      var desk = Desk()
      for index in 0..<draw.number(1...12) {
        desk.attach(Desk.hello("h\(index)", "h1", slots: draw.number(1...6)))
      }
      let placement = draw.one(of: Placement.allCases)
      let all = desk.dispatcher.hosts.values.map { HostOffer($0, for: Requirements(), ready(1), placement) }
      var offers = HostOffers(Array(all.prefix(6)))
      for offer in all.dropFirst(6) { offers.add(offer) }
      var popped: [HostOffer] = []
      while let best = offers.popBest() { popped.append(best) }
      #expect(popped == all.sorted(), "seed \(seed)")
    }
  }
}
