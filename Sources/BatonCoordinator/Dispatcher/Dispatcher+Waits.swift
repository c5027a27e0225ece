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
      .note(codes(for: definition, requirementClass.priority), at: now.date)
  }

  /// Empty if some host could take it.
  private func codes(for definition: Definition, _ priority: Priority) -> Set<String> {
    var codes = Set(fleetObstacles(for: definition).map(\.code))
    let concernsFleet = !codes.isEmpty
    for host in hosts.values {
      let found = host.obstacles(for: definition, nil, priority)
      if found.isEmpty, !concernsFleet { return [] }
      for obstacle in found { codes.insert(obstacle.code) }
    }
    return codes
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
