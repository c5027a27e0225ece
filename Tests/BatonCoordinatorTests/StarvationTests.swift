import BatonModel
import BatonStore
import Foundation
import Testing

@testable import BatonCoordinator

/// On random fleets no request waits for ever while others run, although hosts come, go and drain.
@Suite struct StarvationTests {
  /// The seconds within which a wide request has to start: its priority rises twice, some wide ones go before it, and
  /// each of them waits for launches of at most 90 s. The last wide one comes after 600 s.
  private static let bound = 1_500
  /// The seconds with namespaces: the one without a weight of its own may have a ninth of the slots.
  private static let boundWithNamespaces = 9 * bound

  /// A fleet, definitions 1 to 4 of narrow jobs of which more come than it can run, and wide definitions 5 to 9.
  private func yard(_ draw: inout FleetDraw, _ rules: DispatchRules) -> Yard {
    var yard = Yard(rules)
    let gpus = (0..<draw.number(0...2)).map { _ in GPU(name: "gpu", memoryBytes: Int64(draw.number(1...3)) << 33) }
    for (index, name) in ["a", "b", "c", "d"].prefix(draw.number(1...4)).enumerated() {
      yard.attach(Desk.hello(name, name + "1", slots: draw.number(2...5), gpus: index == 0 ? gpus : []))
    }
    for id in 1...4 as ClosedRange<Int64> {
      yard.desk.learn(id, Desk.job("com.example.\(team(id)).narrow\(id)", id == 4 ? .refresh : .processing))
    }
    let most = yard.desk.dispatcher.hosts.values.map(\.host.capabilities.slots).max() ?? 0
    for id in 5...9 as ClosedRange<Int64> {
      yard.desk.learn(
        id,
        Desk.job("com.example.\(team(id)).wide\(id)", .processing) {
          if !gpus.isEmpty, draw.once(in: 3) {
            $0.requirements.gpu = GPURequirement(count: draw.number(1...gpus.count))
            $0.requirements.slots = 1
          } else {
            $0.requirements.slots = draw.once(in: 2) ? most : draw.number(2...most)
          }
        })
    }
    return yard
  }

  /// The namespace of a definition, where there are namespaces.
  private func team(_ definition: Int64) -> String { ["red", "blue", "green"][Int(definition % 3)] }

  /// Three namespaces of different weights, some with quotas that leave room for the largest request.
  private static func withNamespaces(_ rules: DispatchRules, _ draw: inout FleetDraw) -> DispatchRules {
    var rules = rules
    let namespaces = ["red", "blue"].map { name in
      var quotas = Namespace.Quotas()
      if draw.once(in: 2) { quotas.slots = draw.number(5...8) }
      if draw.once(in: 3) { quotas.running = draw.number(2...6) }
      return Namespace("com.example.\(name)", weight: draw.number(1...4), quotas: quotas)
    }
    rules.namespaces = Namespaces(namespaces, useHalfLife: .seconds(draw.one(of: [60, 600])))
    return rules
  }

  /// Runs a fleet for as long as the bound allows.
  /// - Parameter isCalm: whether no host drains or starts again, which would free all its slots at once.
  /// - Returns: the wide requests that have not started.
  private func starved(
    _ seed: UInt64, _ rules: DispatchRules, checks: Bool = false, isCalm: Bool = false, hasNamespaces: Bool = false
  ) -> [Int64] {
    var draw = FleetDraw(seed: seed)
    var teams = FleetDraw(seed: seed &+ 1_000)
    var yard = yard(&draw, hasNamespaces ? Self.withNamespaces(rules, &teams) : rules)
    let hosts = yard.desk.dispatcher.hosts.keys.sorted()
    let slots = yard.desk.dispatcher.hosts.values.reduce(0) { $0 + $1.host.capabilities.slots }
    var wide: [Int64] = []
    var (draining, drainsSince): (HostName?, Int) = (nil, 0)
    for second in 0..<600 + (hasNamespaces ? Self.boundWithNamespaces : Self.bound) {
      if second >= 600, wide.allSatisfy({ yard.waits[$0] != nil }) { break }
      // Narrow launches of 1 to 90 s hold all slots, and of each priority there are always some that wait.
      for priority in Priority.allCases {
        let waiting = (1...4).reduce(0) { $0 + (yard.queues[ready(Int64($1), priority)]?.count ?? 0) }
        for _ in waiting..<max(waiting, slots) {
          yard.submit(Int64(draw.number(1...4)), priority, takes: draw.number(1...90))
        }
      }
      if second < 600, draw.once(in: 80) {
        wide.append(yard.submit(Int64(draw.number(5...9)), draw.one(of: Priority.allCases), takes: draw.number(1...90)))
      }
      // Where the only host drains, nothing starts, so the bound says something only if each drain ends soon.
      if !isCalm, draw.once(in: 200) || draining != nil && second - drainsSince >= 60 {
        if let host = draining { yard.drain(host, false) }
        (draining, drainsSince) = (draining == nil ? draw.one(of: hosts) : nil, second)
        if let host = draining { yard.drain(host, true) }
      }
      if !isCalm, draw.once(in: 300) { yard.restart(draw.one(of: hosts)) }
      yard.second()
      for namespace in yard.desk.dispatcher.rules.namespaces.all {
        let held = yard.desk.dispatcher.ledger.held(by: namespace.prefix)
        let isWithin =
          held.slots <= namespace.quotas.slots ?? .max && held.running <= namespace.quotas.running ?? .max
        #expect(isWithin, "seed \(seed): \(namespace.prefix) holds more than its quotas")
      }
      if checks, second.isMultiple(of: 50) {
        #expect(yard.withoutObstacle == [], "seed \(seed), \(second) s: explain has no obstacle for what waits")
      }
    }
    return wide.filter { yard.waits[$0] == nil }
  }

  /// The seeds of the fleets: 8, or as many as the environment variable BATON_FLEETS says.
  static let seeds = 0..<(ProcessInfo.processInfo.environment["BATON_FLEETS"].flatMap { UInt64($0) } ?? 8)

  private static var quick: DispatchRules {
    var rules = DispatchRules()
    (rules.ageAfter, rules.reserveAfter) = (.seconds(120), .seconds(20))
    return rules
  }

  @Test(arguments: seeds) func `every wide request starts, and explain agrees`(seed: UInt64) {
    #expect(starved(seed, Self.quick, checks: true) == [], "seed \(seed)")
  }

  @Test(arguments: seeds) func `with namespaces and quotas every wide request starts too`(seed: UInt64) {
    #expect(starved(seed, Self.quick, checks: true, hasNamespaces: true) == [], "seed \(seed)")
  }

  @Test func `without reservations, or without ageing, some do not`() {
    var rules = Self.quick
    rules.reserveAfter = nil
    func someStarve() -> Bool { (0..<UInt64(8)).contains { !starved($0, rules, isCalm: true).isEmpty } }
    #expect(someStarve(), "the fleets are not busy enough to show anything")
    rules = Self.quick
    rules.ageAfter = nil
    #expect(someStarve(), "no request of a higher priority is in the way")
  }
}
