package import BatonModel

/// What keeps ready requests waiting, and since when: kept per class, so that it costs the same however many wait.
struct WaitWatch: Sendable {
  /// Nothing is known of the time before; nil until the first tick.
  fileprivate var since: Timestamp?
  fileprivate var histories: [RequirementClass: WaitHistory] = [:]
  /// Hosts that may still be looked at.
  fileprivate var budget = 0
  fileprivate var turn = 0

  /// Hosts looked at in one tick, over all classes: about a millisecond. In a large fleet each class has its turn less
  /// often, and the times in its history are less exact.
  fileprivate static let hostsPerTick = 2_048
  /// Classes whose history is kept after nothing of them waits any more.
  fileprivate static let limit = 1_024
}

extension Dispatcher {
  /// By class, for the waits that end.
  package var waits: [RequirementClass: WaitHistory] { waitWatch.histories }

  /// Of one class. Where nothing was written down, nothing kept it from starting since this coordinator looks.
  package func history(of requirementClass: RequirementClass) -> WaitHistory {
    waitWatch.histories[requirementClass] ?? WaitHistory(since: waitWatch.since ?? now.date)
  }

  /// Looks at the classes that are ready in turn.
  mutating func watchWaits() {
    waitWatch.since = waitWatch.since ?? now.date
    settleWaits()
    let classes = ready.keys.sorted()
    guard !classes.isEmpty else { return }
    waitWatch.budget = min(waitWatch.budget + WaitWatch.hostsPerTick, max(WaitWatch.hostsPerTick, hosts.count))
    for _ in classes {
      guard waitWatch.budget >= hosts.count else { return }
      waitWatch.budget -= max(1, hosts.count)
      waitWatch.turn += 1
      noteWait(of: classes[waitWatch.turn % classes.count])
    }
  }

  private mutating func noteWait(of requirementClass: RequirementClass) {
    guard let definition = definitions[requirementClass.definition] else { return }
    waitWatch.histories[requirementClass, default: WaitHistory(since: waitWatch.since ?? now.date)]
      .note(waitReasons(for: definition, requirementClass.priority), at: now.date)
  }

  /// What keeps requests of this definition from starting: what concerns the fleet, and what keeps them off the hosts that
  /// are nearest to taking them. Empty if some host could take one now.
  func waitReasons(for definition: Definition, _ priority: Priority) -> [WaitReason] {
    let fleet = fleetObstacles(for: definition).map { WaitReason($0.code) }
    var found = WaitReasons()
    for state in hosts.values {
      let obstacles = state.obstacles(for: definition, nil, priority)
      if obstacles.isEmpty, fleet.isEmpty { return [] }
      found.add(state.host.name, obstacles)
    }
    // The fleet's lack of GPUs is the hosts' lack of them.
    let lacksGPUs = fleet.contains { $0.code == Obstacle.Kind.noHostHasGPU.rawValue }
    return fleet + found.reasons.filter { !lacksGPUs || $0.code != Obstacle.Kind.hostHasNoGPU.rawValue }
  }

  /// Nothing keeps a class waiting of which nothing waits.
  private mutating func settleWaits() {
    for requirementClass in waitWatch.histories.keys where ready[requirementClass] == nil {
      waitWatch.histories[requirementClass]?.note([], at: now.date)
    }
    guard waitWatch.histories.count > WaitWatch.limit else { return }
    waitWatch.histories = waitWatch.histories.filter { ready[$0.key] != nil }
  }
}
