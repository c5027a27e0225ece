package import BatonModel

/// Which obstacles keep ready requests waiting, and since when. The histories are kept per class, so the cost does not
/// depend on how many requests wait.
struct WaitWatch: Sendable {
  /// The beginning of the histories; nothing is known about the time before. nil until the first tick.
  fileprivate var since: Timestamp?
  fileprivate var histories: [RequirementClass: WaitHistory] = [:]
  /// How many hosts may still be examined.
  fileprivate var budget = 0
  fileprivate var turn = 0

  /// How many hosts are examined in one tick, over all classes; this takes about a millisecond. In a large fleet each
  /// class has its turn less often, and the times in its history are less exact.
  fileprivate static let hostsPerTick = 2_048
  /// The most classes whose histories are kept after no request of them waits any more.
  fileprivate static let limit = 1_024
}

extension Dispatcher {
  /// The histories by class, for the waits that end.
  package var waits: [RequirementClass: WaitHistory] { waitWatch.histories }

  /// The history of one class. If the class has no history, no obstacle has been seen since this coordinator started.
  package func history(of requirementClass: RequirementClass) -> WaitHistory {
    waitWatch.histories[requirementClass] ?? WaitHistory(since: waitWatch.since ?? now.date)
  }

  /// Updates the histories of the ready classes, in turn, within the budget.
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
      .note(waitReasons(for: definition, requirementClass.priority, of: requirementClass), at: now.date)
  }

  /// The obstacles that keep requests of this definition from starting: those of the fleet, and those of the hosts
  /// that are nearest to taking the request. Empty if some host could take a request now.
  func waitReasons(
    for definition: Definition, _ priority: Priority, of requirementClass: RequirementClass? = nil
  ) -> [WaitReason] {
    let fleet = fleetObstacles(for: definition, of: requirementClass).map { WaitReason($0.code) }
    var found = WaitReasons()
    for state in hosts.values {
      let obstacles = obstacles(on: state, for: definition, requirementClass, nil, priority)
      if obstacles.isEmpty, fleet.isEmpty { return [] }
      found.add(state.host.name, obstacles)
    }
    // The fleet's lack of GPUs already covers the hosts' lack of GPUs.
    let lacksGPUs = fleet.contains { $0.code == Obstacle.Kind.noHostHasGPU.rawValue }
    return fleet + found.reasons.filter { !lacksGPUs || $0.code != Obstacle.Kind.hostHasNoGPU.rawValue }
  }

  /// Notes that no obstacle keeps the classes waiting that have no ready request.
  private mutating func settleWaits() {
    for requirementClass in waitWatch.histories.keys where ready[requirementClass] == nil {
      waitWatch.histories[requirementClass]?.note([], at: now.date)
    }
    guard waitWatch.histories.count > WaitWatch.limit else { return }
    waitWatch.histories = waitWatch.histories.filter { ready[$0.key] != nil }
  }
}
