import BatonModel
import BatonStore

/// Namespaces: their quotas, and the order in which they are served.
extension Dispatcher {
  /// The prefix of the namespace of a definition; empty if it belongs to none, or is not known.
  func prefix(of id: DefinitionID) -> String {
    if rules.namespaces.isEmpty { return "" }
    return definitions[id].map { rules.namespaces.prefix(of: $0.pattern) } ?? ""
  }

  /// The obstacles that come from the quotas of the definition's namespace.
  /// - Parameter requirementClass: the class of the request, if it is known.
  func quotaObstacles(for definition: Definition, of requirementClass: RequirementClass?) -> [Obstacle] {
    if rules.namespaces.isEmpty { return [] }
    let namespace = rules.namespaces.namespace(of: definition.pattern)
    var found = ledger.held(by: namespace.prefix).obstacles(for: definition.requirements, in: namespace)
    if let refillsAt = ledger.refills[namespace.prefix] {
      found.append(.namespaceAllowanceSpent(namespace.name, refillsAt: refillsAt))
    }
    if let saved = savedFor(namespace.prefix, definition, requirementClass) { found.append(saved) }
    return found
  }

  /// The obstacle that the quota is saved for a class that goes before this one.
  private func savedFor(
    _ prefix: String, _ definition: Definition, _ requirementClass: RequirementClass?
  ) -> Obstacle? {
    guard let saving = ledger.savings[prefix], saving.requirementClass != requirementClass,
      let saver = definitions[saving.requirementClass.definition]?.requirements
    else { return nil }
    // Whether there is enough for both.
    var quotas = rules.namespaces[prefix].quotas
    quotas.running = quotas.running.map { $0 - 1 }
    quotas.slots = quotas.slots.map { $0 - saver.slots }
    quotas.gpus = quotas.gpus.map { $0 - (saver.gpu?.count ?? 0) }
    if ledger.held(by: prefix).room(for: definition.requirements, within: quotas) > 0 { return nil }
    let priority = requirementClass.map { agedPriority(of: $0) } ?? definition.priority
    if priority > agedPriority(of: saving.requirementClass) { return nil }
    return .namespaceReserved(rules.namespaces[prefix].name, for: saving.pattern)
  }

  // MARK: Allowances

  /// Notes which namespaces have used up their daily allowances, and asks their launches to stop.
  mutating func enforceAllowancesOfNamespaces() -> [Effect] {
    guard rules.namespaces.all.contains(where: { $0.quotas.dailyAllowance != nil }) else { return [] }
    var times: [String: [Duration]] = [:]
    for host in hosts.values {
      for launch in host.launches.values { noteTime(of: launch, in: &times) }
    }
    ledger.noteAllowances(times, at: now.steady)
    if ledger.refills.isEmpty { return [] }
    var spent: [LaunchKey] = []
    for host in hosts.values {
      if host.lease == .elsewhere { continue }
      // A simulated launch ignores allowances, as it does that of its definition.
      for (key, launch) in host.launches where launch.expiring == nil && !launch.isSimulated {
        if ledger.refills[prefix(of: launch.requirementClass.definition)] != nil { spent.append(key) }
      }
    }
    return spent.sorted().flatMap { expire($0, .allowanceSpent) }
  }

  private func noteTime(of launch: RunningState, in times: inout [String: [Duration]]) {
    times[prefix(of: launch.requirementClass.definition), default: []].append(now.steady - launch.startedSteady)
  }

  /// Takes over what the store says of namespaces, and counts the launches that run.
  mutating func hearNamespaces(_ stored: [String: NamespaceCounts]) {
    if rules.namespaces.isEmpty { return }
    ledger.hear(stored)
    let running = hosts.values.flatMap { $0.launches.map { ($0.key, $0.value) } }.sorted { $0.0 < $1.0 }
    // In the order of their keys: a sum of floating-point numbers depends on its order.
    for (_, launch) in running {
      guard let definition = definitions[launch.requirementClass.definition] else { continue }
      ledger.goOn(definition, since: launch.startedSteady, at: now.steady)
    }
  }

  // MARK: Dividing what is free

  /// Reserves places for classes of one priority, of which several namespaces wait: first what each namespace gets of
  /// the free slots, then what one of them could not use.
  mutating func reserve(
    _ level: [Turn], _ left: inout Int, _ take: (inout Dispatcher, RequirementClass, Int) -> [Reservation]
  ) -> [Reservation] {
    let classes = level.map(\.requirementClass)
    let prefixes = classes.map { prefix(of: $0.definition) }.unique
    guard prefixes.count > 1 else {
      return classes.flatMap { requirementClass -> [Reservation] in
        guard left > 0 else { return [] }
        let made = take(&self, requirementClass, left)
        left -= made.placeCount
        return made
      }
    }
    var budgets = ledger.divide(min(left, freeSlots), among: prefixes, at: now.steady)
    var (made, unserved): ([Reservation], [RequirementClass]) = ([], [])
    for requirementClass in classes where left > 0 {
      let prefix = prefix(of: requirementClass.definition)
      let slots = definitions[requirementClass.definition]?.requirements.slots ?? 1
      let count = min(left, ((budgets[prefix] ?? 0) + slots - 1) / slots)
      let reserved = count > 0 ? take(&self, requirementClass, count) : []
      let taken = reserved.placeCount
      (left, made) = (left - taken, made + reserved)
      budgets[prefix, default: 0] -= taken * slots
      if taken == count { unserved.append(requirementClass) }
    }
    for requirementClass in unserved where left > 0 {
      let reserved = take(&self, requirementClass, left)
      left -= reserved.placeCount
      made += reserved
    }
    return made
  }

  /// The free slots of the hosts of this coordinator.
  private var freeSlots: Int {
    var slots = 0
    for state in hosts.values where state.link == .attached && state.isGranted {
      slots += max(0, state.host.freeSlots)
    }
    return slots
  }
}

extension [Dispatcher.Reservation] {
  fileprivate var placeCount: Int { reduce(0) { $0 + $1.places.count } }
}
