import BatonModel
import BatonStore

/// Makes room for requests that a person waits for: discretionary launches of a lower priority give way (contract, row
/// 32).
extension Dispatcher {
  /// Reservations without places, for classes that a person waits for and that could start if other launches gave way.
  /// The store's answer tells whether the class still has a ready request; if so, `settle` makes room for it.
  mutating func reservationsForRelief() -> [Reservation] {
    let blocked = ready.keys.filter { definitions[$0.definition]?.kind == .continued }.map(turn(of:)).sorted()
      .map(\.requirementClass)
    let wanted = blocked.prefix(Self.reliefLimit).compactMap { requirementClass in
      relief(for: requirementClass).map { (requirementClass, $0.host) }
    }
    return wanted.compactMap { requirementClass, host in
      guard let lease = hosts[host]?.ownLease else { return nil }
      return Reservation(
        requirementClass: requirementClass, lease: lease, places: [],
        news: ready[requirementClass]?.news ?? 0, number: openClaims.open())
    }
  }

  /// The most classes that are examined in one round, because each class examines every host.
  private static let reliefLimit = 4

  /// Asks the launches that have to make room for this class to stop.
  mutating func relieve(_ requirementClass: RequirementClass) -> [Effect] {
    guard let relief = relief(for: requirementClass) else { return [] }
    return relief.victims.flatMap { victim in
      let effects = expire(victim, .preempted)
      hosts[relief.host]?.makesRoom(victim, for: requirementClass.priority)
      return effects
    }
  }

  /// The host and its launches that have to give way; nil if none has to, or none can.
  private func relief(for requirementClass: RequirementClass) -> (host: HostName, victims: [LaunchKey])? {
    guard let definition = definitions[requirementClass.definition], definition.kind == .continued,
      fleetObstacles(for: definition, of: requirementClass).isEmpty
    else { return nil }
    let candidates = hosts.values.filter { state in
      state.link == .attached && !isPassedOver(state.host.name, for: requirementClass)
    }.sorted { $0.host.name < $1.host.name }
    // A host that is free, or will be free after its expiries, needs no victim.
    if candidates.contains(where: { hasRoom(for: definition, on: $0.withoutExpiring(definitions)) }) { return nil }
    for host in candidates {
      if let victims = victims(for: definition, requirementClass.priority, on: host) {
        return (host.host.name, victims)
      }
    }
    return nil
  }

  private func hasRoom(for definition: Definition, on host: HostState) -> Bool {
    Policy.obstacles(for: definition, on: host.host).isEmpty
  }

  /// The launches that have to stop until there is room; nil if even stopping all candidates would not make room.
  private func victims(for definition: Definition, _ priority: Priority, on host: HostState) -> [LaunchKey]? {
    let before = host.withoutExpiring(definitions)
    var host = before
    var victims: [LaunchKey] = []
    while !hasRoom(for: definition, on: host) {
      guard let victim = Pressure.victim(among: yielding(to: priority, on: host)) else { return nil }
      host.remove(victim, definitions)
      victims.append(victim)
    }
    // Victims that turned out not to be needed are spared, beginning with the victim that would lose most.
    for spared in victims.reversed() {
      var without = before
      for victim in victims where victim != spared { without.remove(victim, definitions) }
      if hasRoom(for: definition, on: without) { victims.removeAll { $0 == spared } }
    }
    return victims
  }

  private func yielding(to priority: Priority, on host: HostState) -> [Pressure.Candidate] {
    host.launches.compactMap { key, launch in
      guard launch.requirementClass.priority < priority,
        definitions[launch.requirementClass.definition]?.kind.isDiscretionary == true
      else { return nil }
      return Pressure.Candidate(
        launch: key, atRisk: now.instant - launch.checkpointAt, progress: launch.progress)
    }
  }
}

extension RunningState {
  /// The share of the work that is done, from 0 to 1.
  fileprivate var progress: Double {
    guard let completedUnits, let totalUnits, totalUnits > 0 else { return 0 }
    return min(1, max(0, Double(completedUnits) / Double(totalUnits)))
  }
}

extension HostState {
  /// The host as it will be after all launches that were asked to stop have ended.
  fileprivate func withoutExpiring(_ definitions: [DefinitionID: Definition]) -> HostState {
    var state = self
    for (key, launch) in launches where launch.expiring != nil { state.remove(key, definitions) }
    return state
  }

  fileprivate mutating func remove(_ launch: LaunchKey, _ definitions: [DefinitionID: Definition]) {
    guard let running = launches.removeValue(forKey: launch) else { return }
    host.usedSlots -= definitions[running.requirementClass.definition]?.requirements.slots ?? 1
    host.giveBack(running.gpus)
  }
}
