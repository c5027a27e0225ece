import BatonBase
import BatonModel
import BatonStore
import Synchronization

/// What changes, for programs and pages that show it.
extension Coordinator {
  /// Calls `body` with what has changed, at most once a second, until the coordinator shuts down or `body` is too slow.
  package func changes(_ body: @escaping @Sendable (Set<ChangeTopic>) async throws -> Void) async throws {
    try await feed.listening { mailbox in
      watchers.beginKeeping()
      guard !watchers.isClosed else { return }
      // The listener knows nothing yet.
      try await body([.everything])
      while let news = await mailbox.receive() {
        try await body(news.reduce(into: []) { $0.formUnion($1) })
      }
      try Task.checkCancellation()
    }
  }

  /// Hands changes to the listeners, as long as there are any.
  func changeLoop() async throws {
    while true {
      await feed.waitForListener()
      try Task.checkCancellation()
      watchers.beginKeeping()
      defer { watchers.endKeeping() }
      // What has changed before this moment is not known, so the first message says that everything may have changed.
      var hosts = try await fingerprints()
      watchers.changed(.everything)
      var sinceOthers = 0
      while feed.hasListeners {
        try await clocks.sleep(ChangeFeed.interval)
        sinceOthers = state.withLock { $0.core.hasOthers } ? sinceOthers + 1 : 0
        var topics = try await recentTopics(&hosts)
        if sinceOthers == ChangeFeed.othersEvery {
          topics.insert(.everything)
          sinceOthers = 0
        }
        if !topics.isEmpty { feed.send(topics.union([.overview])) }
      }
    }
  }

  /// The topics of what has changed since the last call.
  /// - Parameter hosts: the fingerprints of the hosts at the last call; afterwards, those of now.
  private func recentTopics(_ hosts: inout [HostName: Int]) async throws -> Set<ChangeTopic> {
    let recent = watchers.takeRecent()
    var topics = recent.topics
    if !recent.requests.isEmpty { topics.insert(.requests) }
    if recent.hasMoreRequests { topics.insert(.everything) }
    for id in recent.requests {
      if let record = try? await store.request(id) { topics.insert(.request(record.identifier)) }
    }
    let present = try await fingerprints()
    let changed = Set(present.keys).union(hosts.keys).filter { present[$0] != hosts[$0] }
    hosts = present
    guard !changed.isEmpty else { return topics }
    topics.insert(.hosts)
    guard changed.count <= RecentChanges.mostRequests else { return topics.union([.everything]) }
    return topics.union(changed.map { .host($0) })
  }

  /// What operators see of each host, without times and raw readings, as a number.
  private func fingerprints() async throws -> [HostName: Int] {
    var found: [HostName: Int] = [:]
    try await eachHost { _, state in
      found[state.host.name] = state.fingerprint
      return true
    }
    return found
  }
}

extension HostState {
  fileprivate var fingerprint: Int {
    var hasher = Hasher()
    let facts = host.conditions
    hasher.combine(reportState)
    hasher.combine(version)
    hasher.combine(host.usedSlots)
    hasher.combine(Set(launches.keys))
    hasher.combine(host.evictions)
    hasher.combine(facts.power.value)
    hasher.combine(facts.battery.value)
    hasher.combine(facts.lowPowerMode.value)
    hasher.combine(facts.thermal.value)
    hasher.combine(facts.network.value)
    hasher.combine(facts.isIdle.value)
    hasher.combine(facts.gpus.value)
    hasher.combine(facts.labels.value)
    return hasher.finalize()
  }
}
