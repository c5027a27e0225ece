import BatonModel

/// Room for requests that a person waits for: discretionary launches of a lower priority give way (contract, row 32).
extension Dispatcher {
  /// Reservations without a place, for classes that a person waits for and that only held places keep from starting.
  /// The store's answer says whether a request of the class is there at all; `settle` makes room for it then.
  mutating func reservationsForRelief() -> [Reservation] {
    let blocked = ready.keys.filter { definitions[$0.definition]?.kind == .continued }.map(turn(of:)).sorted()
      .map(\.requirementClass)
    let wanted = blocked.prefix(Self.reliefLimit).compactMap { requirementClass in
      relief(for: requirementClass).map { (requirementClass, $0.host) }
    }
    return wanted.compactMap { requirementClass, host in
      guard let state = hosts[host], let incarnation = state.incarnation else { return nil }
      return Reservation(
        requirementClass: requirementClass, host: host, incarnation: incarnation, places: [],
        news: ready[requirementClass]?.news ?? 0, grant: state.grant, number: openClaims.open())
    }
  }

  /// Classes looked at in one round, because each looks at every host.
  private static let reliefLimit = 4

  mutating func relieve(_ requirementClass: RequirementClass) -> [Effect] {
    guard let relief = relief(for: requirementClass) else { return [] }
    return relief.victims.flatMap { victim in
      let effects = expire(victim, .preempted)
      hosts[relief.host]?.makesRoom(victim, for: requirementClass.priority)
      return effects
    }
  }

  /// Who has to give way, and where; nil if nobody has to, or can.
  private func relief(for requirementClass: RequirementClass) -> (host: HostName, victims: [LaunchKey])? {
    guard let definition = definitions[requirementClass.definition], definition.kind == .continued,
      fleetObstacles(for: definition).isEmpty
    else { return nil }
    let candidates = hosts.values.filter { state in
      state.link == .attached && !isPassedOver(state.host.name, for: requirementClass)
    }.sorted { $0.host.name < $1.host.name }
    // One that is free, or is about to be, needs no victim.
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

  /// The least that has to go until there is room; nil if all that may go would not do.
  private func victims(for definition: Definition, _ priority: Priority, on host: HostState) -> [LaunchKey]? {
    let before = host.withoutExpiring(definitions)
    var host = before
    var victims: [LaunchKey] = []
    while !hasRoom(for: definition, on: host) {
      guard let victim = Pressure.victim(among: yielding(to: priority, on: host)) else { return nil }
      host.remove(victim, definitions)
      victims.append(victim)
    }
    // Who turned out not to be needed stays: the one that would lose most first.
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
  /// 0 to 1.
  fileprivate var progress: Double {
    guard let completedUnits, let totalUnits, totalUnits > 0 else { return 0 }
    return min(1, max(0, Double(completedUnits) / Double(totalUnits)))
  }
}

extension HostState {
  /// The host as it will be once everything that was asked to stop has.
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
