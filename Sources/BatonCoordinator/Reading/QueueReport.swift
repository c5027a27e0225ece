package import BatonModel
package import BatonStore
import BatonWire
import Synchronization

/// The classes of ready requests in the order in which they start.
package struct QueueReport: Hashable, Sendable {
  package struct Class: Hashable, Sendable {
    package var pattern: IdentifierPattern
    package var priority: Priority
    /// The priority that counts, because the first request has waited long; `nil` if it is the same.
    package var countsAs: Priority?
    package var hasRecentUse: Bool
    /// At most `Verbs.countLimit + 1`, which stands for more.
    package var ready: Int
    /// Since when the first request waits, on the wall clock; `nil` if that is not known.
    package var oldest: Timestamp?
    /// The code of what keeps the first request from starting; `nil` if some host can take it.
    package var obstacle: String?
    /// On how many hosts that obstacle stands; `nil` for an obstacle of the fleet.
    package var obstacleHosts: Int?
    /// The requests that start next.
    package var next: [QueuedClass.Next]
    /// Whether its requests keep an earlier definition than the one that is applied now.
    package var keepsEarlier: Bool

    package init(
      pattern: IdentifierPattern, priority: Priority, countsAs: Priority? = nil, hasRecentUse: Bool = false, ready: Int,
      oldest: Timestamp? = nil, obstacle: String? = nil, obstacleHosts: Int? = nil, next: [QueuedClass.Next] = [],
      keepsEarlier: Bool = false
    ) {
      (self.pattern, self.priority, self.countsAs, self.hasRecentUse) = (pattern, priority, countsAs, hasRecentUse)
      (self.ready, self.oldest, self.obstacle, self.obstacleHosts) = (ready, oldest, obstacle, obstacleHosts)
      (self.next, self.keepsEarlier) = (next, keepsEarlier)
    }
  }

  package var classes: [Class]
  /// How many classes come after these.
  package var moreClasses: Int

  /// The most classes that are told.
  package static let mostClasses = 100

  package init(classes: [Class], moreClasses: Int = 0) { (self.classes, self.moreClasses) = (classes, moreClasses) }
}

extension Coordinator {
  package func queue() async throws -> QueueReport {
    let fleet = snapshotWithoutHosts()
    let turns = fleet.dispatcher.turns
    let shown = turns.prefix(QueueReport.mostClasses)
    let rows = try await translating { try await self.store.queue(of: shown.map(\.requirementClass)) }
    let byClass = Dictionary(rows.map { ($0.requirementClass, $0) }, uniquingKeysWith: { first, _ in first })
    let applied = state.withLock { $0.core.index }
    let classes = shown.compactMap { turn in
      byClass[turn.requirementClass].flatMap { row in fleet.queued(row, turn, applied) }
    }
    return QueueReport(classes: classes, moreClasses: turns.count - shown.count)
  }

  /// On how many hosts a request of each definition could start now, and on how many ever. It looks at a few hosts at
  /// a time.
  package func ableHosts(for definitions: [Definition]) async throws -> AbleHosts {
    var counts: [AbleHosts.Count] = []
    for definition in definitions {
      var (count, offersGPU, found) = (AbleHosts.Count(now: 0, ever: 0), false, [String: Int]())
      try await eachHost { fleet, state in
        let obstacles = fleet.dispatcher.obstacles(on: state, for: definition, nil)
        if obstacles.isEmpty { count.now += 1 }
        if !obstacles.contains(where: \.isPermanent) { count.ever += 1 }
        for code in Set(obstacles.map(\.code)) { found[code, default: 0] += 1 }
        offersGPU = offersGPU || definition.requirements.gpu.map { state.host.couldOffer($0) } ?? false
        return true
      }
      let fleet = look { $0.dispatcher.fleetObstacles(for: definition, offersGPU: offersGPU) }
      if !fleet.isEmpty { count.now = 0 }
      count.obstacles = fleet.map { AbleHosts.Obstacle(code: $0.code, hosts: nil) }
      count.obstacles += found.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { code, hosts in
        AbleHosts.Obstacle(code: code, hosts: hosts)
      }
      count.obstacles = Array(count.obstacles.prefix(AbleHosts.mostObstacles))
      counts.append(count)
    }
    return AbleHosts(counts: counts, hosts: sortedHostNames().names.count)
  }
}

/// How many hosts could take requests of definitions.
package struct AbleHosts: Hashable, Sendable {
  /// What keeps requests of a definition from hosts now.
  package struct Obstacle: Hashable, Sendable {
    package var code: String
    /// On how many hosts it stands; `nil` for an obstacle of the fleet.
    package var hosts: Int?

    package init(code: String, hosts: Int?) { (self.code, self.hosts) = (code, hosts) }
  }

  package struct Count: Hashable, Sendable {
    /// Hosts that could take one now.
    package var now: Int
    /// Hosts that could take one some time, as they are configured.
    package var ever: Int
    /// First the obstacles of the fleet, then those of hosts, the one on most hosts first; at most `mostObstacles`.
    package var obstacles: [Obstacle]

    package init(now: Int, ever: Int, obstacles: [Obstacle] = []) {
      (self.now, self.ever, self.obstacles) = (now, ever, obstacles)
    }
  }

  /// The most obstacles that are told of a definition.
  package static let mostObstacles = 3

  /// In the order of the definitions.
  package var counts: [Count]
  /// How many hosts there are.
  package var hosts: Int

  /// The most definitions of one call: each is compared with each host.
  package static let mostDefinitions = WireLimits.comparedDefinitions.most

  package init(counts: [Count], hosts: Int) { (self.counts, self.hosts) = (counts, hosts) }
}

extension FleetSnapshot {
  fileprivate func queued(_ row: QueuedClass, _ turn: Turn, _ applied: DefinitionIndex) -> QueueReport.Class? {
    guard let definition = dispatcher.definitions[row.requirementClass.definition] else { return nil }
    let reason = dispatcher.waits[row.requirementClass]?.changes.last?.reasons.first
    let first = dispatcher.ready[row.requirementClass]?.first
    return QueueReport.Class(
      pattern: definition.pattern, priority: row.requirementClass.priority,
      countsAs: turn.priority == row.requirementClass.priority ? nil : turn.priority, hasRecentUse: turn.hasRecentUse,
      ready: row.ready, oldest: row.next.first?.readyAt ?? first.map { now.moment.date(ofSteady: $0.since) },
      obstacle: reason?.code, obstacleHosts: reason.flatMap { $0.hostCount > 0 ? $0.hostCount : nil }, next: row.next,
      keepsEarlier: row.next.first.map { next in
        applied.definition(for: next.identifier).map { $0.id != row.requirementClass.definition } ?? false
      } ?? false)
  }
}
