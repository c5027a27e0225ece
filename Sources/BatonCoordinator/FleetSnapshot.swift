import BatonModel
import BatonStore
import Synchronization

/// What the coordinator knows of its fleet at one moment, as values: what is made of it disturbs nothing.
struct FleetSnapshot: Sendable {
  var dispatcher: Dispatcher
  var lastSeen: [HostName: Timestamp]
  var conditionsCame: [HostName: Instant]
  var now: Now

  var hostNames: [HostName] { dispatcher.hosts.keys.sorted() }

  /// The ages of its conditions are as of now; those of a host that was last heard of before a restart are not known.
  func host(_ name: HostName) -> HostState? {
    guard var state = dispatcher.hosts[name] else { return nil }
    state.host.conditions = state.host.conditions.aged(by: conditionsCame[name].map { now.instant - $0 })
    return state
  }

  func onWallClock(_ obstacle: Obstacle) -> Obstacle { obstacle.shifted(by: now.date - now.steady) }

  /// Of a request that is pending.
  func order(of record: RequestRecord) -> Explanation.Order {
    let own = dispatcher.turn(of: RequirementClass(definition: record.definition, priority: record.priority))
    let lastUse = dispatcher.lastUses[record.pattern]
    return Explanation.Order(
      lastUsedAt: lastUse.map { now.moment.date(ofSteady: $0) },
      hasRecentUse: Policy.hasRecentUse(lastUse, at: now.steady),
      classesAhead: dispatcher.turns.count { $0.outranks(own) })
  }
}

extension Coordinator {
  func snapshot() -> FleetSnapshot {
    let now = now()
    return state.withLock {
      FleetSnapshot(
        dispatcher: $0.core.dispatcher, lastSeen: $0.core.lastSeen, conditionsCame: $0.core.conditionsCame, now: now)
    }
  }
}
