import BatonModel
import Testing

@testable import BatonCoordinator
@testable import BatonStore

/// Namespaces share the fleet by what they have used and by their weights, and stay within their quotas.
@Suite struct NamespaceTests {
  /// One host, and definitions: 1 and 2 of the team `one`, 3 of the team `two`, 4 of none.
  private func yard(
    slots: Int = 4, weights: (Int, Int) = (1, 1), quotas: Namespace.Quotas = Namespace.Quotas(),
    halfLife: Duration = .seconds(3600), change: (inout DispatchRules) -> Void = { _ in }
  ) -> Yard {
    var rules = DispatchRules()
    rules.ageAfter = nil
    rules.namespaces = Namespaces(
      [Namespace("com.one", weight: weights.0, quotas: quotas), Namespace("com.two", weight: weights.1)],
      useHalfLife: halfLife)
    change(&rules)
    var yard = Yard(rules)
    yard.attach(Desk.hello("a", "a1", slots: slots))
    for (id, pattern) in [(1, "com.one.a"), (2, "com.one.b"), (3, "com.two.a"), (4, "com.none")] as [(Int64, String)] {
      yard.desk.learn(id, Desk.job(pattern, .processing))
    }
    return yard
  }

  /// How many of the starts were of each definition.
  private func starts(_ yard: Yard, _ requests: [Int64: [Int64]]) -> [Int64: Int] {
    requests.mapValues { ids in yard.starts.count { ids.contains($0.request) } }
  }

  private func slots(_ yard: Yard, _ prefix: String) -> Int { yard.desk.dispatcher.ledger.held(by: prefix).slots }

  @Test func `a namespace that fills the fleet does not hold up one that was not served`() {
    var yard = yard(slots: 4)
    for _ in 0..<100 { yard.submit(1, takes: 10) }
    yard.pass(5)
    #expect(slots(yard, "com.one") == 4)
    let late = yard.submit(3, takes: 10)
    for _ in 0..<20 { yard.submit(1, takes: 10) }
    yard.pass(8)
    #expect(yard.waits[late].map { $0 <= 7 } == true, "it gets the first slot that comes free")
  }

  @Test func `what is free at once is divided, by the weights`() {
    for (weights, wanted) in [((1, 1), (6, 6)), ((3, 1), (9, 3)), ((1, 5), (2, 10))] {
      var yard = yard(slots: 12, weights: weights)
      for _ in 0..<30 { yard.submit(1, takes: 1000) }
      for _ in 0..<30 { yard.submit(3, takes: 1000) }
      yard.second()
      #expect([slots(yard, "com.one"), slots(yard, "com.two")] == [wanted.0, wanted.1], "weights \(weights)")
    }
  }

  @Test func `over time each namespace gets the part of its weight`() {
    var yard = yard(slots: 4, weights: (3, 1), halfLife: .seconds(600))
    var (one, two) = (0, 0)
    for _ in 0..<3_000 {
      for id in [1, 3] as [Int64] where (yard.queues[ready(id, .background)]?.count ?? 0) < 4 {
        for _ in 0..<4 { yard.submit(id, takes: 7) }
      }
      yard.second()
      (one, two) = (one + slots(yard, "com.one"), two + slots(yard, "com.two"))
    }
    let share = Double(one) / Double(one + two)
    #expect(share > 0.72 && share < 0.78, "\(share) of the slot-seconds")
  }

  @Test func `what a namespace used long ago counts no more`() {
    var yard = yard(slots: 1, halfLife: .seconds(60))
    for _ in 0..<10 { yard.submit(1, takes: 30) }
    yard.pass(301)
    let dispatcher = yard.desk.dispatcher
    #expect(dispatcher.ledger.used(by: "com.one", at: dispatcher.now.steady) > 50)
    yard.pass(1_200)
    let later = yard.desk.dispatcher
    #expect(later.ledger.used(by: "com.one", at: later.now.steady) < 0.01)
  }

  @Test func `a higher priority goes before a namespace that was served less`() {
    var yard = yard(slots: 1)
    yard.submit(1, takes: 50)
    yard.second()
    let low = yard.submit(3, .background, takes: 5)
    let high = yard.submit(2, .utility, takes: 5)
    yard.pass(60)
    #expect((yard.waits[high] ?? 0) < (yard.waits[low] ?? 0))
  }

  @Test func `within a namespace the order is as before`() {
    var yard = yard(slots: 1)
    var requests: [Int64: [Int64]] = [:]
    for _ in 0..<6 { for id in [1, 2] as [Int64] { requests[id, default: []].append(yard.submit(id, takes: 5)) } }
    yard.pass(31)
    let counts = starts(yard, requests)
    #expect(abs((counts[1] ?? 0) - (counts[2] ?? 0)) <= 1, "\(counts)")
  }

  @Test func `a coordinator that starts goes on with what the store has counted and what runs`() {
    var (desk, stored) = (Desk(), NamespaceCounts())
    desk.dispatcher = Dispatcher(leaseTerm: Desk.term, rules: yard().desk.dispatcher.rules)
    stored.served = DecayedUse(slotSeconds: 1_000, at: desk.clocks.steady)
    desk.restore(
      [DefinitionID(1): Desk.job("com.one.a", .processing)], running: [key(1)]
    ) { fleet in
      fleet.namespaces = ["com.one": stored]
      fleet.running[0].startedSteady = fleet.running[0].startedSteady + .seconds(-100)
    }
    let dispatcher = desk.dispatcher
    let used = dispatcher.ledger.used(by: "com.one", at: dispatcher.now.steady)
    #expect(used > 1_098 && used < 1_101, "the store's 1,000 slot-seconds, and 100 of the launch that runs")
    #expect(dispatcher.ledger.held(by: "com.one").slots == 1)
    #expect(dispatcher.turn(of: ready(3)) < dispatcher.turn(of: ready(1)))
  }

  // MARK: Quotas

  private func quotas(_ change: (inout Namespace.Quotas) -> Void) -> Namespace.Quotas {
    var quotas = Namespace.Quotas()
    change(&quotas)
    return quotas
  }

  @Test func `quotas of launches and of slots are obstacles, and are kept`() {
    var yard = yard(slots: 8, quotas: quotas { ($0.running, $0.slots) = (3, 5) })
    yard.desk.learn(2, Desk.job("com.one.b", .processing) { $0.requirements.slots = 2 })
    for _ in 0..<9 { yard.submit(1, takes: 100) }
    yard.second()
    #expect(slots(yard, "com.one") == 3)
    let dispatcher = yard.desk.dispatcher
    #expect(
      dispatcher.obstacles(for: Desk.job("com.one.a", .processing)).fleet == [.namespaceRunning("com.one", limit: 3)])
    #expect(
      dispatcher.obstacles(for: Desk.job("com.one.x", .processing) { $0.requirements.slots = 3 }).fleet == [
        .namespaceRunning("com.one", limit: 3), .namespaceSlots("com.one", needed: 3, used: 3, limit: 5),
      ])
    #expect(dispatcher.obstacles(for: Desk.job("com.two.a", .processing)).fleet == [])
  }

  @Test func `a quota of GPUs keeps only launches with GPUs off`() {
    let gpus = (0..<4).map { _ in GPU(name: "gpu", memoryBytes: 8 << 30) }
    var yard = yard(slots: 1, quotas: quotas { $0.gpus = 3 })
    yard.attach(Desk.hello("b", "b1", slots: 8, gpus: gpus))
    yard.desk.learn(2, Desk.job("com.one.b", .processing) { $0.requirements.gpu = GPURequirement(count: 2) })
    for _ in 0..<3 { yard.submit(2, takes: 100) }
    for _ in 0..<3 { yard.submit(1, takes: 100) }
    yard.second()
    let held = yard.desk.dispatcher.ledger.held(by: "com.one")
    #expect([held.gpus, held.running] == [2, 4])
    let job = Desk.job("com.one.b", .processing) { $0.requirements.gpu = GPURequirement(count: 2) }
    #expect(
      yard.desk.dispatcher.obstacles(for: job).fleet == [.namespaceGPUs("com.one", needed: 2, used: 2, limit: 3)])
  }

  @Test func `launches of a namespace stop when its daily allowance is used up, and it refills at midnight`() {
    var yard = yard(slots: 1, quotas: quotas { $0.dailyAllowance = .seconds(30) })
    yard.submit(1, takes: 20)
    let second = yard.submit(2, takes: 100)
    let other = yard.submit(3, takes: 5)
    yard.pass(45)
    let dispatcher = yard.desk.dispatcher
    let refillsAt = DailyUse.refill(after: dispatcher.now.steady)
    #expect(
      dispatcher.obstacles(for: Desk.job("com.one.b", .processing)).fleet == [
        .namespaceAllowanceSpent("com.one", refillsAt: refillsAt)
      ])
    #expect(yard.starts.map(\.request).contains(second) && yard.waits[other] != nil)
    #expect(slots(yard, "com.one") == 0)
    let before = yard.starts.count
    yard.desk.advance(refillsAt - dispatcher.now.steady)
    yard.pass(2)
    #expect(yard.starts.count == before + 1, "the request goes on")
  }

  @Test func `a job of a higher priority takes no other's place beyond the quota of its namespace`() {
    var yard = yard(slots: 2, quotas: quotas { $0.running = 1 })
    yard.desk.learn(2, Desk.job("com.one.b", .continued))
    yard.submit(1, takes: 100)
    yard.submit(3, takes: 100)
    yard.second()
    yard.submit(2, .userInitiated, takes: 5)
    yard.pass(5)
    #expect(yard.running.values.allSatisfy { $0.endsAt > yard.desk.now + .seconds(10) }, "nothing was asked to stop")
  }

  @Test func `small requests of a namespace do not keep a wide one from its quota for ever`() {
    // So many small ones never end together, so the wide one starts only if the quota is saved for it.
    var yard = yard(slots: 16, quotas: quotas { $0.slots = 12 }) { $0.reserveAfter = .seconds(20) }
    yard.desk.learn(2, Desk.job("com.one.b", .processing) { $0.requirements.slots = 12 })
    var wide: Int64?
    for second in 0..<300 {
      for index in (yard.queues[ready(1, .background)]?.count ?? 0)..<12 {
        yard.submit(1, takes: 5 + (second + index) % 7)
      }
      if second == 20 { wide = yard.submit(2, takes: 30) }
      yard.second()
      #expect(slots(yard, "com.one") <= 12)
    }
    #expect(wide.flatMap { yard.waits[$0] }.map { $0 < 60 } == true)
    #expect(slots(yard, "com.one") > 0, "the small ones go on")
  }

  @Test func `a full quota of launches does not keep a wide request from reserving a host`() {
    var yard = yard(slots: 4, quotas: quotas { $0.running = 3 }) { $0.reserveAfter = .seconds(20) }
    yard.attach(Desk.hello("b", "b1", slots: 4))
    yard.desk.learn(2, Desk.job("com.one.b", .processing) { $0.requirements.slots = 4 })
    var wide: Int64?
    for second in 0..<400 {
      for id in [1, 3] as [Int64] {
        for _ in (yard.queues[ready(id, .background)]?.count ?? 0)..<8 { yard.submit(id, takes: 5 + second % 7) }
      }
      if second == 20 { wide = yard.submit(2, takes: 30) }
      yard.second()
      #expect(yard.desk.dispatcher.ledger.held(by: "com.one").running <= 3)
    }
    #expect(wide.flatMap { yard.waits[$0] }.map { $0 < 120 } == true)
  }

  @Test func `what is saved goes to a class of a higher priority first`() {
    var yard = yard(slots: 16, quotas: quotas { $0.slots = 4 }) { $0.reserveAfter = .seconds(20) }
    yard.desk.learn(2, Desk.job("com.one.b", .processing) { $0.requirements.slots = 4 })
    for _ in 0..<4 { yard.submit(1, takes: 60) }
    yard.second()
    yard.submit(2, .background, takes: 10)
    yard.pass(25)
    #expect(yard.desk.dispatcher.ledger.savings["com.one"]?.requirementClass == ready(2, .background))
    let high = yard.submit(2, .utility, takes: 10)
    yard.pass(25)
    #expect(yard.desk.dispatcher.ledger.savings["com.one"]?.requirementClass == ready(2, .utility))
    yard.pass(12)
    #expect(yard.waits[high] != nil)
    #expect(yard.desk.dispatcher.ledger.savings["com.one"]?.requirementClass == ready(2, .background), "it is next")
  }

  @Test func `the cost of a round does not grow with requests, and an empty list costs nothing`() {
    let ledger = NamespaceLedger(Namespaces([Namespace("a"), Namespace("b", weight: 3)]))
    let now = Timestamp(nanoseconds: 0)
    #expect(ledger.divide(8, among: ["a", "b"], at: now) == ["a": 2, "b": 6])
    #expect(ledger.divide(0, among: ["a", "b"], at: now) == ["a": 0, "b": 0])
    var desk = Desk()
    desk.learn(1)
    desk.attach(Desk.hello(slots: 4))
    desk.start(Desk.assignment(1))
    #expect(desk.dispatcher.ledger.held(by: "").running == 0 && desk.dispatcher.turn(of: ready(1)).namespaceUse == 0)
  }

  /// Each class is asked for places at most twice in a round, however many requests wait and however many namespaces
  /// there are.
  @Test(arguments: [10, 1_000]) func `a round reserves for each class at most twice`(requests: Int) {
    var yard = yard(slots: 64)
    for _ in 0..<requests { for id in 1...4 as ClosedRange<Int64> { yard.submit(id, takes: 100) } }
    let made = yard.desk.dispatcher.reserveReady(limit: 512)
    #expect(made.count <= 8 && made.reduce(0) { $0 + $1.places.count } == 64)
  }
}
