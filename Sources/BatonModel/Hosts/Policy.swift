/// Decides which hosts may take which definitions. It is a pure function: it takes facts and returns obstacles.
package enum Policy {
  /// Below this charge, in per cent, no discretionary launch starts, and running discretionary launches expire
  /// (contract, row 22).
  package static let lowBatteryPercent = 20

  /// Everything that keeps a launch of `definition` off `host` now; empty if the launch may start there. A host without
  /// a lease is judged by its last report.
  /// - Parameter identifier: the identifier of the request, if it is known. An identifier of a wildcard may be evicted
  ///   by itself.
  /// - Parameter principal: who submitted the request, if that is known.
  package static func obstacles(
    for definition: Definition, _ identifier: JobIdentifier? = nil, by principal: String? = nil, on host: Host
  ) -> [Obstacle] {
    let gone: [Obstacle] = host.hasLease ? [] : [.hostGone]
    guard host.hasLease || host.hasReported else { return gone }
    return gone + standing(definition, identifier, principal, host)
      + conditions(definition, host.conditions).map(\.obstacle)
      + capacity(definition, host)
  }

  /// Everything that keeps `baton simulate launch` from starting `definition` on `host`; empty if it may start.
  /// Conditions do not count for a simulated launch. The owner's word, the worker's capabilities and the free slots and
  /// GPUs do.
  package static func obstaclesOfSimulatedLaunch(
    for definition: Definition, _ identifier: JobIdentifier? = nil, by principal: String? = nil, on host: Host
  ) -> [Obstacle] {
    guard host.hasLease else { return [.hostGone] }
    return standing(definition, identifier, principal, host) + capacity(definition, host)
  }

  /// Why a launch that runs on a host with these conditions has to stop; `nil` if it may go on.
  /// - Parameter isSimulated: whether `baton simulate launch` started the launch. Then only the owner's word can stop
  ///   it.
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

  /// The reading that an obstacle comes from; `nil` if it comes from no condition of the host.
  package static func evidence(of obstacle: Obstacle, in conditions: Conditions) -> Evidence? {
    obstacle.kind.row.condition?(conditions)
  }

  /// The obstacles that come from the owner, from operators and from the worker's capabilities.
  private static func standing(
    _ definition: Definition, _ identifier: JobIdentifier?, _ principal: String?, _ host: Host
  ) -> [Obstacle] {
    var found: [Obstacle] = []
    let able = host.capabilities
    if host.isDraining { found.append(.hostDraining) }
    switch host.conditions.owner {
    case .accepting: break
    case .paused(_, let until): found.append(.hostPausedByOwner(until: until))
    case .outsideHours(let until): found.append(.outsideHours(until: until))
    }
    found += able.vetoes(of: definition, by: principal).map { .notPermittedOnHost($0) }
    let isEvicted = host.evictions.contains { eviction in
      eviction.covers(definition.pattern) || identifier.map { eviction.matches($0) } ?? false
    }
    if isEvicted { found.append(.evicted) }
    if let refillsAt = host.allowanceRefillsAt { found.append(.allowanceSpent(refillsAt: refillsAt)) }
    if !able.kinds.contains(definition.kind) { found.append(.kindNotAccepted(definition.kind)) }
    let canRun = definition.work != nil ? able.runsCommands : able.handlers.contains { $0.covers(definition.pattern) }
    if !canRun { found.append(.noHandler) }
    if definition.spread != nil, able.runsShards != true { found.append(.noShards) }
    if definition.transfers != nil, able.runsTransfers != true { found.append(.noTransfers) }
    if canRun, let missing = able.missingSandbox(for: definition) { found.append(missing) }
    return found
  }

  /// An obstacle, and the source of the reading it comes from.
  private typealias Finding = (obstacle: Obstacle, source: String)

  /// The obstacles that come from the host's conditions. An unknown condition is no obstacle, but a host with unknown
  /// labels counts as a host without labels.
  /// - Parameter running: whether the launch runs already. Running launches also need their GPUs to be present, and may
  ///   go on in a higher thermal state.
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
    if definition.kind.isDiscretionary { found += batteryAndPowerMode(conditions) }
    let thermal = conditions.thermal.value ?? .nominal
    if thermal >= thermalLimit(of: definition.kind, running: running) {
      found.append((.tooHot(thermal), conditions.thermal.source))
    }
    return found
  }

  /// The required labels that the host does not have. A host whose labels are unknown has none.
  private static func labels(_ needs: Requirements, _ conditions: Conditions) -> [Finding] {
    let has = conditions.labels.value ?? [:]
    return (needs.labels ?? [:]).sorted { $0.key < $1.key }.filter { has[$0.key] != $0.value }.map {
      (.missingLabel(name: $0.key, wanted: $0.value, found: has[$0.key]), conditions.labels.source)
    }
  }

  /// The obstacle of a running launch whose host no longer has enough suitable GPUs. While the list of GPUs is unknown,
  /// no GPU counts as lost.
  private static func lostGPUs(_ needs: Requirements, _ conditions: Conditions) -> [Finding] {
    guard let gpu = needs.gpu, let gpus = conditions.gpus.value else { return [] }
    let suitable = gpus.count { $0.suits(gpu) }
    guard suitable < gpu.count else { return [] }
    return [(.hostHasNoGPU(needed: gpu, suitable: suitable), conditions.gpus.source)]
  }

  /// A low battery and low power mode, to which discretionary jobs yield. `thermalLimit` judges heat.
  private static func batteryAndPowerMode(_ conditions: Conditions) -> [Finding] {
    var found: [Finding] = []
    if let percent = conditions.battery.value, percent < lowBatteryPercent, conditions.power.value == .battery {
      let isSimulated = conditions.power.source == ConditionOverrides.source
      found.append((.batteryLow(percent: percent), (isSimulated ? conditions.power.source : conditions.battery.source)))
    }
    if conditions.lowPowerMode.value == true { found.append((.lowPowerMode, conditions.lowPowerMode.source)) }
    return found
  }

  /// The lowest thermal state in which no launch of this kind starts or, with `running`, in which a running launch
  /// expires (contract, row 24).
  private static func thermalLimit(of kind: JobKind, running: Bool) -> ThermalState {
    switch kind {
    case .processing: running ? .serious : .fair
    case .refresh: .serious
    case .continued: .critical
    }
  }

  /// The obstacles that come from the slots and GPUs of the host.
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

/// Where a fact about a host comes from: a reading without its value.
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
  /// False for a host of which only the name is known, because no worker has reported what it can do.
  package var hasReported: Bool { capabilities.slots > 0 }

  /// Whether the host holds a lease and has enough suitable GPUs, in use or not.
  package func couldOffer(_ requirement: GPURequirement) -> Bool {
    hasLease && suitableGPUs(for: requirement).count >= requirement.count
  }

  /// The indices of the GPUs that are present and have enough memory, in use or not.
  package func suitableGPUs(for requirement: GPURequirement) -> [Int] {
    let gpus = conditions.gpus.value ?? []
    return gpus.indices.filter { gpus[$0].suits(requirement) }
  }
}

extension GPU {
  /// Whether the GPU is present and has enough memory.
  fileprivate func suits(_ requirement: GPURequirement) -> Bool {
    isPresent && memoryBytes >= requirement.memoryBytes ?? 0
  }
}
