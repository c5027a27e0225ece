import BatonModel
import BatonStore
import Synchronization

/// A copy of what the coordinator knows about its fleet at one moment. Calls that take long, such as `explain`, work
/// on the copy without the coordinator's lock.
struct FleetSnapshot: Sendable {
  var dispatcher: Dispatcher
  var lastSeen: [HostName: Timestamp]
  var conditionsCame: [HostName: Instant]
  var now: Now
  var standing: Standing
  /// The number of the coordinator that has made this copy.
  var epoch: Int64

  var hostNames: [HostName] { dispatcher.hosts.keys.sorted() }

  /// The state of a host, with the ages of its conditions as of now. The ages are unknown if the host was last heard
  /// of before a restart.
  func host(_ name: HostName) -> HostState? {
    guard var state = dispatcher.hosts[name] else { return nil }
    state.host.conditions = state.host.conditions.aged(by: conditionsCame[name].map { now.instant - $0 })
    return state
  }

  /// When the host was last heard of. A host that is connected to another coordinator was there at that coordinator's
  /// last beat.
  func lastSeenAt(_ name: HostName) -> Timestamp? {
    guard let state = dispatcher.hosts[name], state.lease == .elsewhere, state.isPresent, let owner = state.servedBy,
      let beatAge = standing.beatAge(of: owner.epoch, at: now.instant), let age = age(of: state)
    else { return lastSeen[name] }
    return max(now.date + (.zero - max(beatAge, age)), lastSeen[name] ?? now.date)
  }

  /// How long ago the facts of a host at another coordinator were read; nil if this coordinator serves the host, or if
  /// it has not read them yet.
  func age(of state: HostState) -> Duration? {
    guard state.lease == .elsewhere else { return nil }
    return standing.heardAt.map { now.instant - $0 }
  }

  /// The number of the coordinator that serves the host.
  func coordinator(of state: HostState) -> Int64? {
    state.lease == .elsewhere ? state.servedBy?.epoch : state.host.hasLease ? epoch : nil
  }

  func onWallClock(_ obstacle: Obstacle) -> Obstacle { obstacle.shifted(by: now.date - now.steady) }

  /// What a ready request has reserved: the host that its class has booked for it.
  func reservation(of record: RequestRecord) -> Explanation.Reservation? {
    let requirementClass = RequirementClass(definition: record.definition, priority: record.priority)
    guard record.state == .ready, let name = dispatcher.bookings[requirementClass],
      let booking = dispatcher.hosts[name]?.booking, booking.first.request ?? record.id == record.id
    else { return nil }
    return Explanation.Reservation(host: name, expectedAt: now.moment.date(ofSteady: booking.dueAt))
  }

  /// The position among definitions of a pending request.
  func order(of record: RequestRecord) -> Explanation.Order {
    let own = dispatcher.turn(of: RequirementClass(definition: record.definition, priority: record.priority))
    let lastUse = dispatcher.lastUses[record.pattern]
    return Explanation.Order(
      lastUsedAt: lastUse.map { now.moment.date(ofSteady: $0) },
      hasRecentUse: Policy.hasRecentUse(lastUse, at: now.steady),
      classesAhead: dispatcher.turns.count { $0.outranks(own) },
      agedPriority: own.priority == record.priority ? nil : own.priority, namespace: standing(of: own))
  }
}

extension Coordinator {
  func snapshot() -> FleetSnapshot {
    let now = now()
    return state.withLock {
      FleetSnapshot(
        dispatcher: $0.core.dispatcher, lastSeen: $0.core.lastSeen, conditionsCame: $0.core.conditionsCame, now: now,
        standing: $0.core.standing, epoch: $0.core.standing.epoch)
    }
  }
}
