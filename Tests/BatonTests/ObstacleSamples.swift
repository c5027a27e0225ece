import BatonModel

extension Obstacle.Kind {
  /// An obstacle with this name.
  var sample: Obstacle {
    switch self {
    case .notBefore: .notBefore(now)
    case .rateLimited: .rateLimited(until: now)
    case .backingOff: .backingOff(until: now)
    case .waitsForLiveRequest: .waitsForLiveRequest(number: 3)
    case .waitsForOthers: .waitsForOthers(["com.example.fetch (request 3)"])
    case .maxRunningReached: .maxRunningReached(limit: 4)
    case .allowanceSpent: .allowanceSpent(refillsAt: now)
    case .fleetPaused: .fleetPaused
    case .noHosts: .noHosts
    case .noHostHasGPU: .noHostHasGPU(needed: GPURequirement(count: 1))
    case .storeBusy: .storeBusy
    case .hostGone: .hostGone
    case .hostAway: .hostAway
    case .hostDraining: .hostDraining
    case .hostPausedByOwner: .hostPausedByOwner(until: nil)
    case .outsideHours: .outsideHours(until: now)
    case .missingLabel: .missingLabel(name: "zone", wanted: "garage", found: "attic")
    case .notPermittedOnHost: .notPermittedOnHost(.identifier)
    case .sandboxUnavailable: .sandboxUnavailable(.basic, why: "the kernel has no Landlock")
    case .evicted: .evicted
    case .kindNotAccepted: .kindNotAccepted(.refresh)
    case .noHandler: .noHandler
    case .tooFewSlots: .tooFewSlots(needed: 2, total: 1)
    case .slotsInUse: .slotsInUse(needed: 2, free: 1)
    case .needsExternalPower: .needsExternalPower
    case .needsNetwork: .needsNetwork
    case .needsUnmeteredNetwork: .needsUnmeteredNetwork
    case .needsIdleHost: .needsIdleHost
    case .batteryLow: .batteryLow(percent: 15)
    case .lowPowerMode: .lowPowerMode
    case .tooHot: .tooHot(.serious)
    case .hostHasNoGPU: .hostHasNoGPU(needed: GPURequirement(count: 2), suitable: 1)
    case .gpusInUse: .gpusInUse(needed: GPURequirement(count: 2), free: 1)
    case .givingWay: .givingWay
    case .noShards: .noShards
    case .noTransfers: .noTransfers
    case .filesElsewhere: .filesElsewhere
    case .transfersOutOfRoom: .transfersOutOfRoom
    case .transfersFull: .transfersFull(limit: 16)
    case .waitsForTransfers: .waitsForTransfers
    case .schedulePaused: .schedulePaused(SchedulePause(by: "ana", since: now, reason: "the disk is full"))
    case .transfersLimited: .transfersLimited(until: now)
    case .namespaceRunning: .namespaceRunning("com.example.team", limit: 4)
    case .namespaceSlots: .namespaceSlots("com.example.team", needed: 2, used: 7, limit: 8)
    case .namespaceGPUs: .namespaceGPUs("com.example.team", needed: 1, used: 2, limit: 2)
    case .namespaceAllowanceSpent: .namespaceAllowanceSpent("com.example.team", refillsAt: now)
    case .namespaceReserved:
      .namespaceReserved("com.example.team", for: IdentifierPattern(trusted: "com.example.team.wide"))
    case .lanesInUse: .lanesInUse(of: 8)
    case .limitReached:
      .limitReached(
        LimitObstacle(key: LimitKey(.concurrency, "customer/acme"), limit: 2, running: 2, position: 3))
    case .rateReached:
      .limitReached(
        LimitObstacle(
          key: LimitKey(.rate, "api/example"), limit: 100, per: .seconds(60), position: 3, until: now))
    case .reserved: .reserved(for: IdentifierPattern("com.example.wide")!, until: now)
    }
  }
}

extension ExpiryReason.Kind {
  /// An expiry reason with this name.
  var sample: ExpiryReason {
    switch self {
    case .cancelled: .cancelled(by: "ana")
    case .budgetSpent: .budgetSpent
    case .stalled: .stalled
    case .leaseLost: .leaseLost
    case .superseded: .superseded
    case .draining: .draining
    case .evicted: .evicted
    case .paused: .paused
    case .pausedByOwner: .pausedByOwner
    case .outsideHours: .outsideHours
    case .powerLost: .powerLost
    case .batteryLow: .batteryLow
    case .lowPowerMode: .lowPowerMode
    case .thermal: .thermal
    case .networkLost: .networkLost
    case .hostBusy: .hostBusy
    case .labelLost: .labelLost
    case .gpuLost: .gpuLost
    case .allowanceSpent: .allowanceSpent
    case .preempted: .preempted
    case .laneLost: .laneLost
    case .batchTimedOut: .batchTimedOut
    case .simulated: .simulated(as: .batteryLow)
    }
  }
}

extension Refusal.Kind {
  /// A refusal with this name.
  var sample: Refusal {
    switch self {
    case .notPermitted: .notPermitted(JobIdentifier(trusted: "com.example.nws"), nearest: "com.example.news")
    case .tooManyPendingTaskRequests: .tooManyPending(limit: "pendingLimit", allowed: 10, pending: 10)
    case .unavailable: .unavailable("it is shutting down")
    case .immediateRunIneligible: .immediateRunIneligible([HostObstacle(host: nil, obstacle: .noHosts)])
    }
  }
}

extension LaunchOutcome.Kind {
  /// An outcome with this name.
  var sample: LaunchOutcome {
    switch self {
    case .finished: .finished
    case .failed: .failed("exit status 2")
    case .expired: .expired(.draining)
    case .lost: .lost
    }
  }
}
