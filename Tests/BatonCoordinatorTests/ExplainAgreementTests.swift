import BatonCoordinator
import BatonModel
import ContractRows
import Testing

/// `explain` prints what the dispatcher decides with: it reports no obstacle if and only if a request would start.
@Suite struct ExplainAgreementTests {
  static let fleets = 10_000

  @Test(.contract(45.1)) func `no obstacle means that it would start, on random fleets`() {
    var starts = 0
    for seed in 0..<UInt64(Self.fleets) {
      var draw = FleetDraw(seed: seed)
      var desk = draw.fleet()
      let definition = draw.definition()
      desk.learn(99, definition)
      let identifier = JobIdentifier("com.example.a.1")!
      let (fleet, hosts) = desk.dispatcher.obstacles(for: definition, identifier)
      let isFree = fleet.isEmpty && hosts.contains { $0.1.isEmpty }
      let reserved = desk.dispatcher.reserve(ready(99), identifier, count: 1)
      #expect(reserved.isEmpty == !isFree, "seed \(seed): \(fleet) \(hosts), reserved \(reserved)")
      if let place = reserved.first {
        starts += 1
        #expect(hosts.contains { $0.0 == place.host && $0.1.isEmpty }, "seed \(seed): not on a host with an obstacle")
      }
    }
    // Both answers must be common, or the test says nothing.
    #expect((Self.fleets / 10...Self.fleets * 9 / 10).contains(starts), "\(starts) of \(Self.fleets) start")
  }

  @Test func `it holds too on hosts that are reserved`() {
    var (starts, kept) = (0, 0)
    for seed in 0..<UInt64(3_000) {
      var draw = FleetDraw(seed: seed)
      var desk = draw.fleet()
      desk.learn(98, Desk.job("com.example.wide", .processing) { $0.requirements.slots = draw.number(1...3) })
      let definition = draw.definition()
      desk.learn(99, definition)
      desk.dispatcher.noteReady(ready(98, .utility))
      // The hosts stay connected for so long.
      for _ in 0..<7 {
        desk.advance(.seconds(10))
        for name in desk.dispatcher.hosts.keys.sorted() { _ = desk.dispatcher.heartbeat(1, from: name, at: desk.now) }
        desk.tick()
      }
      if desk.dispatcher.reservedHosts == 0 { continue }
      let one = ready(99, draw.one(of: Priority.allCases))
      desk.dispatcher.noteReady(one)
      let (fleet, hosts) = desk.dispatcher.obstacles(for: definition, of: one)
      let isFree = fleet.isEmpty && hosts.contains { $0.1.isEmpty }
      let isKept = hosts.contains { $0.1.contains { $0.kind == .reserved } }
      let reserved = desk.dispatcher.reserve(one, count: 1)
      #expect(reserved.isEmpty == !isFree, "seed \(seed): \(fleet) \(hosts), reserved \(reserved)")
      (starts, kept) = (starts + (isFree ? 1 : 0), kept + (isKept && !isFree ? 1 : 0))
    }
    #expect(starts >= 20 && kept >= 20, "\(starts) start, and \(kept) are kept off: too few to say anything")
  }

  @Test func `the dispatch loop starts a ready request exactly then too`() {
    for seed in 0..<UInt64(2_000) {
      var draw = FleetDraw(seed: seed)
      var desk = draw.fleet()
      let definition = draw.definition()
      desk.learn(99, definition)
      let (fleet, hosts) = desk.dispatcher.obstacles(for: definition)
      desk.dispatcher.noteReady(ready(99))
      let places = desk.dispatcher.reserveReady(limit: 1).filter { !$0.places.isEmpty }
      #expect(places.isEmpty == !(fleet.isEmpty && hosts.contains { $0.1.isEmpty }), "seed \(seed)")
    }
  }
}

/// Fleets of every shape, drawn from a seed: the same seed draws the same.
struct FleetDraw {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed &* 0x2545_F491_4F6C_DD1D &+ 1) }

  mutating func next() -> UInt64 { generator.next() }
  mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int(truncatingIfNeeded: next() >> 1) % (range.upperBound - range.lowerBound + 1) + range.lowerBound
  }
  /// True once in so many times.
  mutating func once(in times: Int) -> Bool { number(1...times) == 1 }
  mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }

  mutating func fleet() -> Desk {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job("com.example.other", .processing))
    for name in ["a", "b", "c", "d"].prefix(number(0...4)) { add(name, to: &desk) }
    if once(in: 20) { _ = desk.dispatcher.setPaused(true) }
    return desk
  }

  private mutating func add(_ name: String, to desk: inout Desk) {
    var hello = Desk.hello(name, name + "1", slots: number(1...4), gpus: gpus())
    hello.conditions = conditions(hello.conditions.gpus)
    if once(in: 4) { hello.capabilities.kinds = [one(of: JobKind.allCases)] }
    if once(in: 4) {
      hello.capabilities.permittedIdentifiers = [IdentifierPattern(one(of: ["com.example.*", "org.*"]))!]
    }
    if once(in: 6) { hello.capabilities.runsCommands = false }
    if once(in: 2) { hello.capabilities.handlers = [IdentifierPattern("com.example.a.*")!] }
    desk.attach(hello)
    let held = desk.dispatcher.reserve(ready(1), count: number(0...3)).filter { $0.host == hello.host }
    for (index, reservation) in held.enumerated() {
      let request = Int64(desk.dispatcher.places.count + index + 1)
      _ = desk.dispatcher.settle(
        reservation, with: [Desk.assignment(request, priority: .background)], hasMore: true)
    }
    if once(in: 6) {
      _ = desk.dispatcher.setEvicted(
        IdentifierPattern(one(of: ["com.example.a.1", "com.example.a.*", "org.x"]))!, from: hello.host, true)
    }
    if once(in: 8) { _ = desk.dispatcher.setDraining(hello.host, true) }
    if once(in: 8) { desk.dispatcher.disconnected(hello.host) }
    if once(in: 12) {
      _ = desk.dispatcher.processDied(hello.host, hello.incarnation, isBlameless: true)
      if once(in: 2) { desk.leaseEnded(hello.host, hello.incarnation) }
    }
  }

  private mutating func gpus() -> [GPU] {
    (0..<one(of: [0, 0, 1, 2])).map { _ in GPU(name: "gpu", memoryBytes: Int64(number(1...3)) << 33) }
  }

  private mutating func conditions(_ gpus: Reading<[GPU]>) -> Conditions {
    var conditions = Conditions.assumed
    conditions.gpus = gpus
    conditions.power.value = one(of: [.external, .external, .external, .battery, nil])
    conditions.battery.value = one(of: [nil, 100, 19, 20])
    conditions.lowPowerMode.value = one(of: [false, false, false, true, nil])
    conditions.thermal.value = one(of: [.nominal, .nominal, .nominal, .fair, .serious, .critical, nil])
    conditions.network.value = one(of: [.unmetered, .unmetered, .metered, .unavailable, nil])
    conditions.isIdle.value = one(of: [true, true, true, false, nil])
    conditions.owner =
      once(in: 36)
      ? .paused(by: "", until: nil) : once(in: 36) ? .outsideHours(until: Timestamp(nanoseconds: 7)) : .accepting
    return conditions
  }

  mutating func definition() -> Definition {
    Desk.job("com.example.a.*", one(of: JobKind.allCases)) { definition in
      let needs = Requirements(
        externalPower: once(in: 3), network: one(of: [nil, nil, .any, .unmetered]),
        gpu: once(in: 4) ? GPURequirement(count: number(1...2), memoryBytes: one(of: [nil, 1 << 34])) : nil,
        requiresIdle: once(in: 3), slots: number(1...3))
      definition.requirements = needs
      if once(in: 8) { definition.work = nil }
      if once(in: 8) { definition.maxRunning = number(1...2) }
      if once(in: 20) { definition.dailyAllowance = .zero }
    }
  }
}
