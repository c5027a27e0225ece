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
    state.host.conditions = conditions(of: state)
    return state
  }

  /// The conditions of a host with their ages as of now.
  func conditions(of state: HostState) -> Conditions {
    state.host.conditions.aged(by: conditionsCame[state.host.name].map { now.instant - $0 })
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

extension FleetSnapshot {
  init(_ core: CoordinatorCore, _ now: Now) {
    self.init(
      dispatcher: core.dispatcher, lastSeen: core.lastSeen, conditionsCame: core.conditionsCame, now: now,
      standing: core.standing, epoch: core.standing.epoch)
  }
}

/// The names of all hosts in their order. They are sorted again only after a host came or was forgotten.
struct SortedHostNames: Sendable {
  var names: [HostName] = []
  /// How many hosts had been forgotten.
  var forgotten = 0

  /// The index of the first name after this one.
  func index(after name: HostName) -> Int {
    var (low, high) = (0, names.count)
    while low < high {
      let middle = (low + high) / 2
      if name < names[middle] { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension Coordinator {
  /// A copy of everything. As long as it is used, the next change of a host copies the states of all hosts: use `look`
  /// or `eachHost` for what is asked often.
  func snapshot() -> FleetSnapshot {
    let now = now()
    return state.withLock { FleetSnapshot($0.core, now) }
  }

  /// A copy without the hosts.
  func snapshotWithoutHosts() -> FleetSnapshot {
    let now = now()
    return state.withLock { state in
      var fleet = FleetSnapshot(state.core, now)
      fleet.dispatcher.hosts = [:]
      return fleet
    }
  }

  /// Reads the coordinator's state in place. No decision is made meanwhile, so `body` must be short.
  func look<Result: Sendable>(at now: Now? = nil, _ body: (FleetSnapshot) throws -> Result) rethrows -> Result {
    let now = now ?? self.now()
    return try state.withLock { state in try body(FleetSnapshot(state.core, now)) }
  }

  /// Calls `body` with hosts in the order of their names until it returns false. It looks at a few hosts at a time,
  /// so that decisions and the calls of others go on in between, however large the fleet is. A host that changes
  /// meanwhile is seen as it is when its turn comes.
  /// - Parameter after: begins with the host after this one; nil begins with the first one.
  func eachHost(after: HostName? = nil, _ body: (FleetSnapshot, HostState) -> Bool) async throws {
    let (known, now) = (sortedHostNames(), now())
    var next = after.map { known.index(after: $0) } ?? 0
    var goesOn = true
    while goesOn, next < known.names.count {
      let part = known.names[next..<min(next + Self.hostsAtOnce, known.names.count)]
      state.withLock { state in
        let fleet = FleetSnapshot(state.core, now)
        for name in part where goesOn {
          if let state = fleet.dispatcher.hosts[name] { goesOn = body(fleet, state) }
        }
      }
      next += part.count
      await Task.yield()
      try Task.checkCancellation()
    }
  }

  /// How many hosts are looked at before others have their turn.
  private static let hostsAtOnce = 64

  func sortedHostNames() -> SortedHostNames {
    let kept = hostNames.withLock { $0 }
    let (forgotten, names) = state.withLock { state -> (Int, [HostName]?) in
      let dispatcher = state.core.dispatcher
      let isSame = dispatcher.hosts.count == kept.names.count && dispatcher.forgottenHosts == kept.forgotten
      return (dispatcher.forgottenHosts, isSame ? nil : Array(dispatcher.hosts.keys))
    }
    guard let names else { return kept }
    let sorted = SortedHostNames(names: names.sorted(), forgotten: forgotten)
    hostNames.withLock { $0 = sorted }
    return sorted
  }
}
