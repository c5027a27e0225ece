import BatonModel
import Testing

@testable import BatonCoordinator

/// On random fleets each launch goes where the rules of Documentation/reference/scheduling.md ("Which host") say. This
/// suite applies the rules by itself, to all hosts and to all sets of GPUs, and compares no `HostOffer`.
@Suite struct BestFitTests {
  /// What the suite itself knows of a host.
  private struct Machine {
    let name: String
    let slots: Int
    let gpus: [GPU]
    let zone: String
    var usedSlots = 0
    var usedGPUs: Set<Int> = []

    var freeSlots: Int { slots - usedSlots }
    var freeGPUs: [Int] { gpus.indices.filter { gpus[$0].isPresent && !usedGPUs.contains($0) } }

    var hello: Hello {
      var hello = Desk.hello(name, name + "1", slots: slots, gpus: gpus)
      hello.conditions.labels = Reading(["zone": zone], source: "test")
      return hello
    }

    /// Every set of free GPUs that is enough for a launch; one empty set if the launch needs no GPU.
    func sets(for gpu: GPURequirement?) -> [[Int]] {
      guard let gpu else { return [[]] }
      let sets = freeGPUs.reduce(into: [[]] as [[Int]]) { sets, index in sets += sets.map { $0 + [index] } }
      return sets.filter { set in
        set.count == gpu.count && set.allSatisfy { gpus[$0].memoryBytes >= gpu.memoryBytes ?? 0 }
      }
    }

    func memory(of set: [Int]) -> Int64 { set.reduce(0) { $0 + gpus[$1].memoryBytes } }

    func fits(_ needs: Requirements) -> Bool { freeSlots >= needs.slots && !sets(for: needs.gpu).isEmpty }

    mutating func hold(_ needs: Requirements, _ set: [Int]) {
      usedSlots += needs.slots
      usedGPUs.formUnion(set)
    }

    mutating func release(_ needs: Requirements, _ set: [Int]) {
      usedSlots -= needs.slots
      usedGPUs.subtract(set)
    }
  }

  /// The name of the host that the rules choose, and the memory of the GPUs that the launch gets. One rule after the
  /// other leaves only the hosts that it likes best.
  private func choice(
    _ needs: Requirements, _ placement: Placement, _ machines: [Machine]
  ) -> (host: String, memory: Int64)? {
    var left = machines.filter { $0.fits(needs) }
    func keep(_ cost: (Machine) -> Int64) {
      let least = left.map(cost).min()
      left.removeAll { cost($0) != least }
    }
    func memory(_ machine: Machine) -> Int64 { machine.sets(for: needs.gpu).map(machine.memory).min() ?? 0 }
    if let zone = needs.preferredLabels?["zone"]?.value { keep { $0.zone == zone ? 0 : 1 } }
    if needs.gpu == nil {
      keep { $0.freeGPUs.isEmpty ? 0 : 1 }
    } else {
      keep(memory)
      keep { Int64($0.freeGPUs.count) }
    }
    keep { Int64(placement == .pack ? $0.freeSlots : -$0.freeSlots) }
    return left.min { $0.name < $1.name }.map { ($0.name, memory($0)) }
  }

  /// A fleet of which many hosts are alike in one thing and differ in another.
  private func machines(_ draw: inout FleetDraw) -> [Machine] {
    (0..<draw.number(1...8)).map { index in
      let gpus = (0..<draw.one(of: [0, 0, 1, 2, 3, 4])).map { _ in
        GPU(name: "gpu", memoryBytes: Int64(draw.one(of: [8, 8, 16, 24])) << 30, isPresent: !draw.once(in: 10))
      }
      return Machine(
        name: "h\(index)", slots: draw.number(1...6), gpus: gpus, zone: draw.one(of: ["garage", "office"]))
    }
  }

  private func needs(_ draw: inout FleetDraw) -> Requirements {
    let gpu = GPURequirement(count: draw.one(of: [1, 1, 2, 3]), memoryBytes: draw.one(of: [nil, 1 << 34, 3 << 33]))
    return Requirements(
      gpu: draw.once(in: 2) ? gpu : nil, slots: draw.one(of: [1, 1, 2, 3]),
      preferredLabels: draw.once(in: 4) ? ["zone": PreferredLabel("garage")] : nil)
  }

  /// What was seen on all fleets.
  private struct Count {
    var withGPUs = 0
    var withoutGPUs = 0
    var refused = 0
    var waiting = 0
  }

  /// Compares one place with the choice of the rules, and takes the place in `machines` too.
  private func expect(
    _ place: (host: String, gpus: [Int])?, for needs: Requirements, _ placement: Placement,
    on machines: inout [Machine], _ seed: UInt64
  ) {
    let before = machines
    func text() -> String { "seed \(seed): \(needs), \(placement), on \(before)" }
    let expected = choice(needs, placement, before)
    #expect(place?.host == expected?.host, "\(text())")
    guard let place, let index = before.firstIndex(where: { $0.name == place.host }) else { return }
    #expect(before[index].sets(for: needs.gpu).contains(place.gpus.sorted()), "\(text()): not free, or not enough")
    #expect(before[index].memory(of: place.gpus) == expected?.memory, "\(text())")
    machines[index].hold(needs, place.gpus)
  }

  @Test func `each launch goes to the host and the GPUs that the rules say, and nothing that fits is left waiting`() {
    var count = Count()
    for seed in 0..<UInt64(400) {
      var draw = FleetDraw(seed: seed)
      var machines = machines(&draw)
      let placement = draw.one(of: Placement.allCases)
      var rules = DispatchRules()
      rules.placement = placement
      var desk = Desk()
      desk.dispatcher = Dispatcher(leaseTerm: Desk.term, rules: rules)
      desk.tick()
      for machine in machines { desk.attach(machine.hello) }
      let definitions = (1...6 as ClosedRange<Int64>).map { id in (id: id, needs: needs(&draw)) }
      for (id, needs) in definitions { desk.learn(id, Desk.job("com.example.j\(id)") { $0.requirements = needs }) }
      oneByOne(&desk, &machines, definitions, placement, &draw, &count, seed)
      allAtOnce(&desk, &machines, definitions, &draw, &count, seed)
    }
    // Each case has to be common, or the test says nothing.
    let counts = [count.withGPUs, count.withoutGPUs, count.refused, count.waiting]
    #expect(counts.allSatisfy { $0 > 500 }, "\(count)")
  }

  /// Fills the fleet launch by launch; some launches end meanwhile.
  private func oneByOne(
    _ desk: inout Desk, _ machines: inout [Machine], _ definitions: [(id: Int64, needs: Requirements)],
    _ placement: Placement, _ draw: inout FleetDraw, _ count: inout Count, _ seed: UInt64
  ) {
    var held: [(reservation: Dispatcher.Reservation, needs: Requirements)] = []
    for _ in 0..<draw.number(5...30) {
      let (id, needs) = draw.one(of: definitions)
      let reservation = desk.dispatcher.reserve(ready(id), count: 1).first
      let place = reservation.map { (host: $0.host.rawValue, gpus: $0.places.first ?? []) }
      expect(place, for: needs, placement, on: &machines, seed)
      if let reservation { held.append((reservation, needs)) }
      if reservation == nil { count.refused += 1 } else if needs.gpu == nil { count.withoutGPUs += 1 }
      if reservation != nil, needs.gpu != nil { count.withGPUs += 1 }
      if draw.once(in: 3), !held.isEmpty {
        let (reservation, needs) = held.remove(at: draw.number(0...held.count - 1))
        desk.dispatcher.giveUp(reservation)
        let index = machines.firstIndex { $0.name == reservation.host.rawValue }!
        machines[index].release(needs, reservation.places.first ?? [])
      }
    }
  }

  /// One round for some classes with more ready requests than the fleet can start: then no host fits any of them.
  private func allAtOnce(
    _ desk: inout Desk, _ machines: inout [Machine], _ definitions: [(id: Int64, needs: Requirements)],
    _ draw: inout FleetDraw, _ count: inout Count, _ seed: UInt64
  ) {
    let waiting = definitions.filter { _ in draw.once(in: 2) }
    for (id, _) in waiting { desk.dispatcher.noteReady(ready(id, draw.one(of: Priority.allCases))) }
    for reservation in desk.dispatcher.reserveReady(limit: 1_000) {
      let needs = definitions.first { $0.id == reservation.requirementClass.definition.rawValue }!.needs
      let index = machines.firstIndex { $0.name == reservation.host.rawValue }!
      for gpus in reservation.places {
        #expect(machines[index].freeSlots >= needs.slots, "seed \(seed)")
        #expect(machines[index].sets(for: needs.gpu).contains(gpus.sorted()), "seed \(seed)")
        machines[index].hold(needs, gpus)
      }
    }
    for (id, needs) in waiting {
      let fitting = machines.filter { $0.fits(needs) }.map(\.name)
      #expect(fitting == [], "seed \(seed): requests of definition \(id) wait, \(needs)")
      count.waiting += 1
    }
  }
}
