/// Which hosts may take which definitions: facts in, obstacles out.
package enum Policy {
  /// Below this charge, in per cent, no discretionary launch starts and running ones expire (contract, row 22).
  package static let lowBatteryPercent = 20

  /// Everything that keeps a launch of `definition` off `host` now, empty if it may start there. A host that is gone is
  /// judged by what it reported last.
  /// - Parameter identifier: of the request, if it is known: an instance of a wildcard may be evicted by itself.
  package static func obstacles(
    for definition: Definition, _ identifier: JobIdentifier? = nil, on host: Host
  ) -> [Obstacle] {
    let gone: [Obstacle] = host.hasLease ? [] : [.hostGone]
    guard host.hasLease || host.hasReported else { return gone }
    return gone + standing(definition, identifier, host) + conditions(definition, host.conditions).map(\.obstacle)
      + capacity(definition, host)
  }

  /// Whether `baton simulate launch` may start `definition` on `host`: the host's conditions do not matter then;
  /// its owner's word, what it can do and what is free do.
  package static func obstaclesOfSimulatedLaunch(
    for definition: Definition, _ identifier: JobIdentifier? = nil, on host: Host
  ) -> [Obstacle] {
    guard host.hasLease else { return [.hostGone] }
    return standing(definition, identifier, host) + capacity(definition, host)
  }

  /// Why a launch that runs on a host with these conditions has to stop, nil if it may go on.
  package static func expiry(
    of definition: Definition, under conditions: Conditions, isSimulated: Bool = false
  ) -> ExpiryReason? {
    switch conditions.owner {
    case .accepting: break
    case .paused: return .pausedByOwner
    case .outsideHours: return .outsideHours
    }
    if isSimulated { return nil }
    return self.conditions(definition, conditions, running: true).lazy.compactMap { found in
      found.obstacle.kind.row.expiry.map { reason in
        found.source == ConditionOverrides.source ? .simulated(as: reason) : ExpiryReason(reason)
      }
    }.first
  }

  /// The reading that an obstacle comes from; nil if it comes from no condition of the host.
  package static func evidence(of obstacle: Obstacle, in conditions: Conditions) -> Evidence? {
    obstacle.kind.row.condition?(conditions)
  }

  private static func standing(
    _ definition: Definition, _ identifier: JobIdentifier?, _ host: Host
  ) -> [Obstacle] {
    var found: [Obstacle] = []
    let able = host.capabilities
    if host.isDraining { found.append(.hostDraining) }
    switch host.conditions.owner {
    case .accepting: break
    case .paused(_, let until): found.append(.hostPausedByOwner(until: until))
    case .outsideHours(let until): found.append(.outsideHours(until: until))
    }
    if !able.permittedIdentifiers.isEmpty, !able.permittedIdentifiers.contains(where: { $0.covers(definition.pattern) })
    {
      found.append(.notPermittedOnHost)
    }
    let isEvicted = host.evictions.contains { eviction in
      eviction.covers(definition.pattern) || identifier.map { eviction.matches($0) } ?? false
    }
    if isEvicted { found.append(.evicted) }
    if let refillsAt = host.allowanceRefillsAt { found.append(.allowanceSpent(refillsAt: refillsAt)) }
    if !able.kinds.contains(definition.kind) { found.append(.kindNotAccepted(definition.kind)) }
    let canRun = definition.work != nil ? able.runsCommands : able.handlers.contains { $0.covers(definition.pattern) }
    if !canRun { found.append(.noHandler) }
    return found
  }

  /// An obstacle, and who says so.
  private typealias Finding = (obstacle: Obstacle, source: String)

  private static func conditions(
    _ definition: Definition, _ conditions: Conditions, running: Bool = false
  ) -> [Finding] {
    var found: [Finding] = []
    let needs = definition.requirements
    if needs.externalPower, conditions.power.value == .battery {
      found.append((.needsExternalPower, conditions.power.source))
    }
    switch (needs.network, conditions.network.value) {
    case (.some, .unavailable): found.append((.needsNetwork, conditions.network.source))
    case (.unmetered, .metered): found.append((.needsUnmeteredNetwork, conditions.network.source))
    case (nil, _), (.any, _), (.unmetered, .unmetered), (.unmetered, nil): break
    }
    if needs.requiresIdle, conditions.isIdle.value == false {
      found.append((.needsIdleHost, conditions.isIdle.source))
    }
    found += labels(needs, conditions)
    if running { found += lostGPUs(needs, conditions) }
    if definition.kind.isDiscretionary { found += discretionary(conditions) }
    let thermal = conditions.thermal.value ?? .nominal
    if thermal >= thermalLimit(of: definition.kind, running: running) {
      found.append((.tooHot(thermal), conditions.thermal.source))
    }
    return found
  }

  /// A host that says nothing about its labels, or does not know, lacks them.
  private static func labels(_ needs: Requirements, _ conditions: Conditions) -> [Finding] {
    let has = conditions.labels.value ?? [:]
    return (needs.labels ?? [:]).sorted { $0.key < $1.key }.filter { has[$0.key] != $0.value }.map {
      (.missingLabel(name: $0.key, wanted: $0.value, found: has[$0.key]), conditions.labels.source)
    }
  }

  /// GPUs that nobody can see at the moment are not lost: only a list that lacks them says so.
  private static func lostGPUs(_ needs: Requirements, _ conditions: Conditions) -> [Finding] {
    guard let gpu = needs.gpu, let gpus = conditions.gpus.value else { return [] }
    let suitable = gpus.count { $0.suits(gpu) }
    guard suitable < gpu.count else { return [] }
    return [(.hostHasNoGPU(needed: gpu, suitable: suitable), conditions.gpus.source)]
  }

  private static func discretionary(_ conditions: Conditions) -> [Finding] {
    var found: [Finding] = []
    if let percent = conditions.battery.value, percent < lowBatteryPercent, conditions.power.value == .battery {
      let isSimulated = conditions.power.source == ConditionOverrides.source
      found.append((.batteryLow(percent: percent), (isSimulated ? conditions.power.source : conditions.battery.source)))
    }
    if conditions.lowPowerMode.value == true { found.append((.lowPowerMode, conditions.lowPowerMode.source)) }
    return found
  }

  /// The coolest state that forbids a launch of this kind (contract, row 24).
  private static func thermalLimit(of kind: JobKind, running: Bool) -> ThermalState {
    switch kind {
    case .processing: running ? .serious : .fair
    case .refresh: .serious
    case .continued: .critical
    }
  }

  private static func capacity(_ definition: Definition, _ host: Host) -> [Obstacle] {
    var found: [Obstacle] = []
    let slots = definition.requirements.slots
    if slots > host.capabilities.slots {
      found.append(.tooFewSlots(needed: slots, total: host.capabilities.slots))
    } else if slots > host.freeSlots {
      found.append(.slotsInUse(needed: slots, free: host.freeSlots))
    }
    if let gpu = definition.requirements.gpu {
      let suitable = host.suitableGPUs(for: gpu)
      let free = suitable.filter { !host.usedGPUs.contains($0) }
      if suitable.count < gpu.count {
        found.append(.hostHasNoGPU(needed: gpu, suitable: suitable.count))
      } else if free.count < gpu.count {
        found.append(.gpusInUse(needed: gpu, free: free.count))
      }
    }
    return found
  }
}

/// Where a fact about a host comes from.
package struct Evidence: Hashable, Sendable {
  package var source: String
  package var raw: String
  package var age: Duration?

  init<Value>(_ reading: Reading<Value>) {
    source = reading.source
    raw = reading.raw
    age = reading.age
  }
}

extension Host {
  /// False for a host that is known by name only: what it can do was never said.
  package var hasReported: Bool { capabilities.slots > 0 }

  /// True if it is there and has such GPUs, in use or not.
  package func couldOffer(_ requirement: GPURequirement) -> Bool {
    hasLease && suitableGPUs(for: requirement).count >= requirement.count
  }

  /// Indices of the GPUs with enough memory, whether they are in use or not.
  package func suitableGPUs(for requirement: GPURequirement) -> [Int] {
    let gpus = conditions.gpus.value ?? []
    return gpus.indices.filter { gpus[$0].suits(requirement) }
  }
}

extension GPU {
  /// It is there, and has the memory.
  fileprivate func suits(_ requirement: GPURequirement) -> Bool {
    isPresent && memoryBytes >= requirement.memoryBytes ?? 0
  }
}
