/// The obstacles by name, without what they carry: what can be said of one before there is one. The page
/// `Documentation/reasons.md` is made of these; a new case of `Obstacle` does not compile without a name and its texts.
package enum ObstacleName: String, Hashable, Sendable, CaseIterable {
  // Of the request itself.
  case notBefore, rateLimited, backingOff, waitsForLiveRequest, maxRunningReached, allowanceSpent
  // Of the fleet.
  case fleetPaused, noHosts, noHostHasGPU, storeBusy
  // Of one host.
  case hostGone, hostAway, hostDraining, hostPausedByOwner, outsideHours, notPermittedOnHost, evicted, kindNotAccepted,
    noHandler
  case tooFewSlots, slotsInUse, needsExternalPower, needsNetwork, needsUnmeteredNetwork, needsIdleHost, batteryLow
  case lowPowerMode, tooHot, hostHasNoGPU, gpusInUse, givingWay, missingLabel
}

extension Obstacle {
  package var name: ObstacleName {
    switch self {
    case .notBefore: .notBefore
    case .rateLimited: .rateLimited
    case .backingOff: .backingOff
    case .waitsForLiveRequest: .waitsForLiveRequest
    case .maxRunningReached: .maxRunningReached
    case .allowanceSpent: .allowanceSpent
    case .fleetPaused: .fleetPaused
    case .noHosts: .noHosts
    case .noHostHasGPU: .noHostHasGPU
    case .storeBusy: .storeBusy
    case .hostGone: .hostGone
    case .hostAway: .hostAway
    case .hostDraining: .hostDraining
    case .hostPausedByOwner: .hostPausedByOwner
    case .outsideHours: .outsideHours
    case .notPermittedOnHost: .notPermittedOnHost
    case .evicted: .evicted
    case .kindNotAccepted: .kindNotAccepted
    case .noHandler: .noHandler
    case .tooFewSlots: .tooFewSlots
    case .slotsInUse: .slotsInUse
    case .needsExternalPower: .needsExternalPower
    case .needsNetwork: .needsNetwork
    case .needsUnmeteredNetwork: .needsUnmeteredNetwork
    case .needsIdleHost: .needsIdleHost
    case .batteryLow: .batteryLow
    case .lowPowerMode: .lowPowerMode
    case .tooHot: .tooHot
    case .hostHasNoGPU: .hostHasNoGPU
    case .gpusInUse: .gpusInUse
    case .givingWay: .givingWay
    case .missingLabel: .missingLabel
    }
  }
}

extension ObstacleName {
  /// Whom it is about.
  package enum Subject: Hashable, Sendable, CaseIterable { case request, fleet, host }

  package var subject: Subject {
    switch self {
    case .notBefore, .rateLimited, .backingOff, .waitsForLiveRequest, .maxRunningReached, .allowanceSpent: .request
    case .fleetPaused, .noHosts, .noHostHasGPU, .storeBusy: .fleet
    case .hostGone, .hostAway, .hostDraining, .hostPausedByOwner, .outsideHours, .notPermittedOnHost, .evicted,
      .kindNotAccepted,
      .noHandler, .tooFewSlots, .slotsInUse, .needsExternalPower, .needsNetwork, .needsUnmeteredNetwork,
      .needsIdleHost, .batteryLow, .lowPowerMode, .tooHot, .hostHasNoGPU, .gpusInUse, .givingWay,
      .missingLabel:
      .host
    }
  }

  /// The reason with which a running launch expires for the same cause; nil if none does.
  package var expiry: ExpiryReasonName? {
    switch self {
    case .allowanceSpent: .allowanceSpent
    case .fleetPaused: .paused
    case .hostGone: .leaseLost
    case .hostDraining: .draining
    case .hostPausedByOwner: .pausedByOwner
    case .outsideHours: .outsideHours
    case .missingLabel: .labelLost
    case .hostHasNoGPU: .gpuLost
    case .evicted: .evicted
    case .needsExternalPower: .powerLost
    case .needsNetwork, .needsUnmeteredNetwork: .networkLost
    case .needsIdleHost: .hostBusy
    case .batteryLow: .batteryLow
    case .lowPowerMode: .lowPowerMode
    case .tooHot: .thermal
    case .notBefore, .rateLimited, .backingOff, .waitsForLiveRequest, .maxRunningReached, .noHosts, .noHostHasGPU,
      .storeBusy,
      .hostAway, .notPermittedOnHost, .kindNotAccepted, .noHandler, .tooFewSlots, .slotsInUse, .gpusInUse,
      .givingWay:
      nil
    }
  }
}
