import BatonModel

/// Launch time per day, of definitions and of hosts (contract, row 17).
extension Dispatcher {
  /// Nil while the definition's own daily allowance lasts, or if it has none.
  func spentAllowance(of definition: Definition) -> Obstacle? {
    guard let allowance = definition.dailyAllowance else { return nil }
    var used = use[definition.pattern] ?? DailyUse()
    for host in hosts.values {
      for launch in host.launches.values where pattern(of: launch) == definition.pattern { charge(launch, to: &used) }
    }
    return used.used(at: now.steady) < allowance ? nil : .allowanceSpent(refillsAt: DailyUse.refill(after: now.steady))
  }

  private func hasSpentAllowance(_ host: HostState) -> Bool {
    guard let allowance = host.host.capabilities.dailyAllowance else { return false }
    var used = host.use
    for launch in host.launches.values { charge(launch, to: &used) }
    return used.used(at: now.steady) >= allowance
  }

  private func charge(_ launch: RunningState, to use: inout DailyUse) {
    use.charge(now.steady - launch.startedSteady, at: now.steady)
  }

  private func pattern(of launch: RunningState) -> IdentifierPattern? {
    definitions[launch.requirementClass.definition]?.pattern
  }

  /// Counts a launch that has ended.
  mutating func charge(_ launch: RunningState, on host: HostName) {
    if let pattern = pattern(of: launch) { charge(launch, to: &use[pattern, default: DailyUse()]) }
    let now = now.steady
    change(host) { $0.use.charge(now - launch.startedSteady, at: now) }
  }

  /// What has used its allowance up expires, and starts again when it refills.
  mutating func enforceAllowances() -> [Effect] {
    var effects: [Effect] = []
    // Most hosts have none.
    for name in hostNames(where: { $0.hasAllowance }) {
      guard let state = hosts[name] else { continue }
      let isSpent = hasSpentAllowance(state)
      hosts[name]?.host.allowanceRefillsAt = isSpent ? DailyUse.refill(after: now.steady) : nil
      if isSpent { effects += expireAll(on: name, .allowanceSpent) }
    }
    return effects + enforceAllowancesOfDefinitions()
  }

  private mutating func enforceAllowancesOfDefinitions() -> [Effect] {
    guard definitions.values.contains(where: { $0.dailyAllowance != nil }) else { return [] }
    var isSpent: [DefinitionID: Bool] = [:]
    var spent: [LaunchKey] = []
    for host in hosts.values {
      // A simulated launch starts whatever is used, and goes on; its host's own word still holds.
      for (key, launch) in host.launches where launch.expiring == nil && !launch.isSimulated {
        let id = launch.requirementClass.definition
        guard let definition = definitions[id], definition.dailyAllowance != nil else { continue }
        let isOver = isSpent[id] ?? (spentAllowance(of: definition) != nil)
        isSpent[id] = isOver
        if isOver { spent.append(key) }
      }
    }
    return spent.sorted().flatMap { expire($0, .allowanceSpent) }
  }
}

extension HostState {
  /// Its owner bounds the launch time of a day, or did.
  fileprivate var hasAllowance: Bool {
    host.capabilities.dailyAllowance != nil || host.allowanceRefillsAt != nil
  }
}
