import BatonModel
package import BatonStore

/// The quotas of namespaces, and what is counted for them.
extension StoreConformance {
  /// The limits of the stores that the cases run on: the usual ones, and namespaces that only the cases below use.
  package static let limits: StoreLimits = {
    var limits = StoreLimits()
    var team = Namespace("team", weight: 2)
    (team.quotas.pending, team.quotas.running, team.quotas.slots, team.quotas.gpus) = (4, 3, 4, 2)
    var inner = Namespace("team.inner")
    inner.quotas.slots = 2
    limits.namespaces = Namespaces([team, inner])
    limits.notify.hostLost = [ReceiverName(trusted: "fleet")]
    return limits
  }()

  static let namespaces: [Case] = [
    Case("a namespace has at most as many pending requests as its quota says, over all its definitions") { s in
      let (one, two) = (try await s.define("team.one.*").id, try await s.define("team.two.*").id)
      for index in 0..<2 { try await s.submit("team.one.\(index)", to: one) }
      for index in 0..<2 { try await s.submit("team.two.\(index)", to: two) }
      let refused = try await s.store.submit([try s.offer("team.two.more", to: two)], at: s.now)
      let refusal = Refusal.tooManyPending(limit: "quotas.pending of the namespace team", allowed: 4, pending: 4)
      try expect(refused, [.refused(refusal)], "the fifth request")
      // One that replaces a waiting request adds none, and another namespace has a quota of its own.
      try await s.submit("team.one.0", to: one)
      let inner = try await s.define("team.inner.*").id
      try await s.submit("team.inner.a", to: inner)
      _ = try await s.store.cancel(.identifier(try StoreScenario.name("team.one.1")), by: "ada", at: s.now)
      try await s.submit("team.two.more", to: two)
      try expect(try await s.store.namespaces()["team"]?.pending, 4, "pending")
    },
    Case("no claim starts more launches than the namespace's quota of running launches") { s in
      let (one, two) = (try await s.define("team.one").id, try await s.define("team.two.*").id)
      try await s.connect()
      try await s.submit("team.one", to: one)
      for index in 0..<3 { try await s.submit("team.two.\(index)", to: two) }
      let first = try await s.start(one)
      try expect(try await s.claim(two, places: 3).assignments.count, 2, "launches beside the first")
      try expect(try await s.claim(two, places: 1).assignments.count, 0, "launches beyond the quota")
      try await s.end(first)
      try expect(try await s.claim(two, places: 1).assignments.count, 1, "launches after one has ended")
      try expect(try await s.store.namespaces()["team"]?.running, 3, "running")
    },
    Case("the slots and the GPUs of a namespace's launches stay within its quotas") { s in
      let wide = try await s.define("team.wide.*") { $0.requirements.slots = 3 }.id
      let narrow = try await s.define("team.narrow.*").id
      let gpu = try await s.define("team.gpu.*") { $0.requirements.gpu = GPURequirement(count: 2) }.id
      try await s.connect()
      try await s.submit("team.wide.a", to: wide)
      try await s.submit("team.narrow.a", to: narrow)
      try await s.submit("team.narrow.b", to: narrow)
      let first = try await s.start(wide)
      try expect(try await s.claim(narrow, places: 2).assignments.count, 1, "launches beside three slots")
      try await s.end(first)
      try await s.submit("team.gpu.a", to: gpu)
      try await s.submit("team.gpu.b", to: gpu)
      try expect(try await s.claim(gpu, places: 2).assignments.count, 1, "launches of two GPUs each")
      let counts = try await s.store.namespaces()["team"]
      try expect([counts?.running, counts?.slots, counts?.gpus], [2, 2, 2], "what runs")
    },
    Case("each shard that runs counts for the quotas of its namespace") { s in
      let definition = try await s.define("team.spread") {
        $0.work = Work(command: ["true"], items: .range(1...40), batchSize: 1)
        $0.spread = Spread(lanes: 8)
      }.id
      try await s.connect()
      try await s.submit("team.spread", to: definition)
      _ = try await s.start(definition)
      try expect(try await s.claim(definition, places: 8).assignments.count, 2, "shards beside the first")
      try expect(try await s.store.namespaces()["team"]?.running, 3, "launches")
    },
    Case("a submission that must start at once is refused where its namespace has no room") { s in
      let definition = try await s.define("team.now.*", .continued) { $0.strategy = .fail }.id
      let other = try await s.define("team.other.*") { $0.requirements.slots = 4 }.id
      try await s.connect()
      try await s.submit("team.other.a", to: other)
      _ = try await s.start(other)
      let wanted = Obstacle.namespaceSlots("team", needed: 1, used: 4, limit: 4)
      try await s.expectIneligible(
        try s.offer("team.now.a", to: definition, on: s.place()), [HostObstacle(host: nil, obstacle: wanted)])
    },
    Case("the use of a namespace is what its launches held, and it decays") { s in
      let definition = try await s.define("team.use.*") { $0.requirements.slots = 2 }.id
      try await s.connect()
      try await s.toMorning()
      try await s.submit("team.use.a", to: definition)
      let launch = try await s.start(definition)
      s.advance(.seconds(10))
      s.stepWallClock(by: .seconds(-3600))
      try await s.end(launch)
      let halfLife = limits.namespaces.useHalfLife
      func used(_ s: StoreScenario) async throws -> Int? {
        try await s.store.namespaces()["team"].map {
          Int($0.served.slotSeconds(at: s.now.steady, halfLife: halfLife).rounded())
        }
      }
      try expect(try await used(s), 20, "slot-seconds")
      s.advance(halfLife)
      try expect(try await used(s), 10, "slot-seconds after a half-life")
      try expect(try await s.store.fleet().namespaces["team"]?.use.used, .seconds(10), "launch time of the day")
    },
  ]
}

extension StoreScenario {
  /// Everything that is counted for namespaces is what there is.
  func expectNamespacesAreRight() async throws {
    let list = StoreConformance.limits.namespaces
    var wanted: [String: [Int]] = [:]
    for count in try await store.counts() where count.state.isPending {
      wanted[list.prefix(of: count.pattern), default: [0, 0, 0, 0]][0] += count.count
    }
    let fleet = try await store.fleet()
    for launch in fleet.running {
      guard let needs = fleet.definitions[launch.requirementClass.definition] else { continue }
      let prefix = list.prefix(of: needs.pattern)
      wanted[prefix, default: [0, 0, 0, 0]][1] += 1
      wanted[prefix]?[2] += needs.requirements.slots
      wanted[prefix]?[3] += needs.requirements.gpu?.count ?? 0
    }
    let found = try await store.namespaces().mapValues { [$0.pending, $0.running, $0.slots, $0.gpus] }
    try expect(
      found.filter { $0.value != [0, 0, 0, 0] }, wanted.filter { $0.value != [0, 0, 0, 0] }, "the namespaces")
  }
}
