import BatonModel

/// Daily launch time of definitions and of hosts (contract, row 17).
extension Dispatcher {
  /// The obstacle of a definition that has used up its daily allowance; nil while the allowance lasts, or if the
  /// definition has none.
  func spentAllowance(of definition: Definition) -> Obstacle? {
    guard let allowance = definition.dailyAllowance else { return nil }
    return usedToday(by: definition.pattern) < allowance
      ? nil : .allowanceSpent(refillsAt: DailyUse.refill(after: now.steady))
  }

  /// The launch time of a definition since midnight, with that of the launches that run.
  func usedToday(by wanted: IdentifierPattern) -> Duration {
    var used = use[wanted] ?? DailyUse()
    for host in hosts.values {
      for launch in host.launches.values where pattern(of: launch) == wanted { charge(launch, to: &used) }
    }
    return used.used(at: now.steady)
  }

  /// The same of several definitions, for which the launches that run are looked at once.
  func usedToday(by wanted: Set<IdentifierPattern>) -> [IdentifierPattern: Duration] {
    var used: [IdentifierPattern: DailyUse] = [:]
    for pattern in wanted { used[pattern] = use[pattern] ?? DailyUse() }
    if wanted.isEmpty { return [:] }
    for (launch, host) in places {
      guard let running = hosts[host]?.launches[launch], let pattern = pattern(of: running), wanted.contains(pattern)
      else { continue }
      charge(running, to: &used[pattern, default: DailyUse()])
    }
    return used.mapValues { $0.used(at: now.steady) }
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

  /// Adds the time of a launch that has ended to the use of its definition and its host.
  mutating func charge(_ launch: RunningState, on host: HostName) {
    if let pattern = pattern(of: launch) { charge(launch, to: &use[pattern, default: DailyUse()]) }
    if let definition = definitions[launch.requirementClass.definition] {
      ledger.charge(now.steady - launch.startedSteady, of: definition, at: now.steady)
    }
    let now = now.steady
    change(host) { $0.use.charge(now - launch.startedSteady, at: now) }
  }

  /// Expires the launches of hosts and definitions that have used up their allowances. They can start again when the
  /// allowance refills.
  mutating func enforceAllowances() -> [Effect] {
    var effects: [Effect] = []
    // Most hosts have no allowance.
    for name in hostNames(where: { $0.hasAllowance && $0.lease != .elsewhere }) {
      guard let state = hosts[name] else { continue }
      let isSpent = hasSpentAllowance(state)
      hosts[name]?.host.allowanceRefillsAt = isSpent ? DailyUse.refill(after: now.steady) : nil
      if isSpent { effects += expireAll(on: name, .allowanceSpent) }
    }
    return effects + enforceAllowancesOfDefinitions() + enforceAllowancesOfNamespaces()
  }

  private mutating func enforceAllowancesOfDefinitions() -> [Effect] {
    guard definitions.values.contains(where: { $0.dailyAllowance != nil }) else { return [] }
    var isSpent: [DefinitionID: Bool] = [:]
    var spent: [LaunchKey] = []
    for host in hosts.values {
      if host.lease == .elsewhere { continue }
      // A simulated launch ignores the allowance of its definition; what its host's owner has set still applies.
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
  /// The host's owner limits its daily launch time, or did so at the last check.
  fileprivate var hasAllowance: Bool {
    host.capabilities.dailyAllowance != nil || host.allowanceRefillsAt != nil
  }
}
