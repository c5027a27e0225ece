package import BatonModel

/// Which hosts a list contains. Everything that is said must hold; of several states, one.
package struct HostFilter: Hashable, Sendable {
  /// A condition by which hosts are chosen and counted.
  package enum Condition: String, Hashable, Sendable, CaseIterable {
    case onBattery, lowPowerMode, hot, metered, offline, inUse, idle, busy, full, gpu, simulated
  }

  /// A label that a host must have.
  package struct Label: Hashable, Sendable {
    package var name: String
    /// `nil` for any value.
    package var value: String?

    package init(name: String, value: String?) { (self.name, self.value) = (name, value) }

    /// - Parameter text: `NAME=VALUE` or `NAME`.
    package init?(_ text: String) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let name = parts.first, !name.isEmpty else { return nil }
      self.init(name: name, value: parts.count == 2 ? parts[1] : nil)
    }

    package var text: String { value.map { "\(name)=\($0)" } ?? name }
  }

  /// A name, in which `*` stands for any characters; `nil` for all hosts.
  package var pattern: PrincipalPattern?
  /// Empty for all states.
  package var states: Set<HostReport.State>
  package var labels: [Label]
  package var conditions: Set<Condition>

  package init(
    pattern: PrincipalPattern? = nil, states: Set<HostReport.State> = [], labels: [Label] = [],
    conditions: Set<Condition> = []
  ) {
    (self.pattern, self.states, self.labels, self.conditions) = (pattern, states, labels, conditions)
  }

  /// The filter for one host.
  package init(name: HostName) { self.init(pattern: PrincipalPattern(name.rawValue)) }

  package func matches(_ report: HostReport) -> Bool {
    matches(
      report.name, report.state, report.conditions, used: report.usedSlots, slots: report.capabilities.slots)
  }

  func matches(
    _ name: HostName, _ state: HostReport.State, _ facts: Conditions, used: Int, slots: Int
  ) -> Bool {
    guard states.isEmpty || states.contains(state), pattern?.matches(name.rawValue) ?? true else { return false }
    guard conditions.allSatisfy({ $0.holds(facts, used: used, slots: slots) }) else { return false }
    let known = facts.labels.value ?? [:]
    return labels.allSatisfy { label in known[label.name].map { label.value ?? $0 == $0 } ?? false }
  }
}

extension HostFilter.Condition {
  /// A condition that is not known does not hold.
  func holds(_ facts: Conditions, used: Int, slots: Int) -> Bool {
    switch self {
    case .onBattery: facts.power.value == .battery
    case .lowPowerMode: facts.lowPowerMode.value == true
    case .hot: (facts.thermal.value ?? .nominal) >= .serious
    case .metered: facts.network.value == .metered
    case .offline: facts.network.value == .unavailable
    case .inUse: facts.isIdle.value == false
    case .idle: facts.isIdle.value == true
    case .busy: used > 0
    case .full: used >= slots
    case .gpu: facts.gpus.value?.contains(where: \.isPresent) ?? false
    case .simulated: facts.isSimulated
    }
  }
}

extension Conditions {
  fileprivate var isSimulated: Bool {
    [power.source, battery.source, lowPowerMode.source, thermal.source, network.source, isIdle.source]
      .contains(ConditionOverrides.source)
  }
}

/// The hosts of a list in numbers.
package struct HostSummary: Hashable, Sendable {
  package var total: Int
  package var states: [HostReport.State: Int]
  package var conditions: [HostFilter.Condition: Int]
  /// The slots of the hosts that are not gone.
  package var slots: Int
  package var usedSlots: Int

  package init(
    total: Int = 0, states: [HostReport.State: Int] = [:], conditions: [HostFilter.Condition: Int] = [:],
    slots: Int = 0, usedSlots: Int = 0
  ) {
    (self.total, self.states, self.conditions) = (total, states, conditions)
    (self.slots, self.usedSlots) = (slots, usedSlots)
  }

  package init(_ reports: [HostReport]) {
    self.init()
    for report in reports {
      add(report.state, report.conditions, used: report.usedSlots, slots: report.capabilities.slots)
    }
  }

  mutating func add(_ state: HostReport.State, _ facts: Conditions, used: Int, slots: Int) {
    total += 1
    states[state, default: 0] += 1
    // Of a host that is gone, nothing is known but what it said last.
    guard state != .gone else { return }
    (self.slots, usedSlots) = (self.slots + slots, usedSlots + used)
    for condition in HostFilter.Condition.allCases where condition.holds(facts, used: used, slots: slots) {
      conditions[condition, default: 0] += 1
    }
  }
}

/// A part of a list of hosts, in the order of their names.
package struct HostPage: Hashable, Sendable {
  package var hosts: [HostReport]
  package var hasMore: Bool
  /// All hosts that match in numbers; in the first page only.
  package var summary: HostSummary?

  package init(hosts: [HostReport], hasMore: Bool, summary: HostSummary? = nil) {
    (self.hosts, self.hasMore, self.summary) = (hosts, hasMore, summary)
  }

  /// The part of `reports` that a filter chooses.
  package init(_ reports: [HostReport], _ filter: HostFilter, after: HostName?, limit: Int) {
    let found = reports.filter { filter.matches($0) }
    let rest = found.filter { report in after.map { $0 < report.name } ?? true }.sorted { $0.name < $1.name }
    self.init(
      hosts: Array(rest.prefix(limit)), hasMore: rest.count > limit, summary: after == nil ? HostSummary(found) : nil)
  }
}
