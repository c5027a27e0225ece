/// Which hosts may take which definitions: facts in, obstacles out.
package enum Policy {
  /// Below this charge, in per cent, no discretionary launch starts and running ones expire (contract, row 22).
  package static let lowBatteryPercent = 20

  /// Everything that keeps a launch of `definition` off `host` now, empty if it may start there.
  package static func obstacles(for definition: Definition, on host: Host) -> [Obstacle] {
    guard host.hasLease else { return [.hostGone] }
    return standing(definition, host) + conditions(definition, host.conditions) + capacity(definition, host)
  }

  /// Why a launch that runs on a host with these conditions has to stop, nil if it may go on.
  package static func expiry(of definition: Definition, under conditions: Conditions) -> ExpiryReason? {
    if conditions.isPausedByOwner { return .pausedByOwner }
    return self.conditions(definition, conditions, running: true).lazy.compactMap(\.expiryReason).first
  }

  private static func standing(_ definition: Definition, _ host: Host) -> [Obstacle] {
    var found: [Obstacle] = []
    let able = host.capabilities
    if host.isDraining { found.append(.hostDraining) }
    if host.conditions.isPausedByOwner { found.append(.hostPausedByOwner) }
    if !able.permittedIdentifiers.isEmpty, !able.permittedIdentifiers.contains(where: { $0.covers(definition.pattern) })
    {
      found.append(.notPermittedOnHost)
    }
    if !able.kinds.contains(definition.kind) { found.append(.kindNotAccepted(definition.kind)) }
    let canRun = definition.work != nil ? able.runsCommands : able.handlers.contains { $0.covers(definition.pattern) }
    if !canRun { found.append(.noHandler) }
    return found
  }

  private static func conditions(
    _ definition: Definition, _ conditions: Conditions, running: Bool = false
  ) -> [Obstacle] {
    var found: [Obstacle] = []
    let needs = definition.requirements
    if needs.externalPower, conditions.power.value == .battery { found.append(.needsExternalPower) }
    switch (needs.network, conditions.network.value) {
    case (.some, .unavailable): found.append(.needsNetwork)
    case (.unmetered, .metered): found.append(.needsUnmeteredNetwork)
    case (nil, _), (.any, _), (.unmetered, .unmetered), (.unmetered, nil): break
    }
    if needs.requiresIdle, conditions.isIdle.value == false { found.append(.needsIdleHost) }
    if definition.kind.isDiscretionary {
      if let percent = conditions.battery.value, percent < lowBatteryPercent, conditions.power.value == .battery {
        found.append(.batteryLow(percent: percent))
      }
      if conditions.lowPowerMode.value == true { found.append(.lowPowerMode) }
    }
    let thermal = conditions.thermal.value ?? .nominal
    if thermal >= thermalLimit(of: definition.kind, running: running) { found.append(.tooHot(thermal)) }
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
        found.append(.hostHasNoGPU(needed: gpu.count, suitable: suitable.count))
      } else if free.count < gpu.count {
        found.append(.gpusInUse(needed: gpu.count, free: free.count))
      }
    }
    return found
  }
}

extension Host {
  /// Indices of the GPUs with enough memory, whether they are in use or not.
  package func suitableGPUs(for requirement: GPURequirement) -> [Int] {
    let gpus = conditions.gpus.value ?? []
    return gpus.indices.filter { gpus[$0].memoryBytes >= requirement.memoryBytes ?? 0 }
  }
}

extension Obstacle {
  /// The reason with which a running launch expires when this obstacle appears.
  fileprivate var expiryReason: ExpiryReason? {
    switch self {
    case .needsExternalPower: .powerLost
    case .needsNetwork, .needsUnmeteredNetwork: .networkLost
    case .needsIdleHost: .hostBusy
    case .batteryLow: .batteryLow
    case .lowPowerMode: .lowPowerMode
    case .tooHot: .thermal
    case .hostPausedByOwner: .pausedByOwner
    case .notBefore, .rateLimited, .backingOff, .waitsForLiveRequest, .maxRunningReached, .fleetPaused, .noHosts,
      .hostGone, .hostDraining, .notPermittedOnHost, .kindNotAccepted, .noHandler, .tooFewSlots, .slotsInUse,
      .hostHasNoGPU, .gpusInUse:
      nil
    }
  }
}
