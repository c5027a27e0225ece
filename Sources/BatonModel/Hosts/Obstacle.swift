/// One reason why a request may not start now, or not on this host. The dispatcher decides with these, and `explain`
/// prints the same ones.
package enum Obstacle: Hashable, Sendable {
  // Of the request itself.
  case notBefore(Timestamp)
  /// First launches of a refresh job are spaced.
  case rateLimited(until: Timestamp)
  case backingOff(until: Timestamp)
  /// The live request of the same identifier has to end first.
  case waitsForLiveRequest(number: Int)
  case maxRunningReached(limit: Int)
  /// The launch time of the day is used up: the definition's, or, said of a host, the host's.
  case allowanceSpent(refillsAt: Timestamp)
  // Of the fleet.
  case fleetPaused
  case noHosts
  /// No host that is there has the GPUs it needs.
  case noHostHasGPU(needed: GPURequirement)
  /// The store did not take the submission in time; only of requests that must start at once.
  case storeBusy
  // Of one host.
  case hostGone
  /// Its worker holds a lease, and its connection is away for the moment.
  case hostAway
  case hostDraining
  case hostPausedByOwner(until: Timestamp?)
  /// Its owner lends the host at other hours of the day.
  case outsideHours(until: Timestamp)
  case notPermittedOnHost
  /// An operator moved the job away from this host.
  case evicted
  case kindNotAccepted(JobKind)
  case noHandler
  case tooFewSlots(needed: Int, total: Int)
  case slotsInUse(needed: Int, free: Int)
  case needsExternalPower
  case needsNetwork
  case needsUnmeteredNetwork
  case needsIdleHost
  case batteryLow(percent: Int)
  case lowPowerMode
  case tooHot(ThermalState)
  case hostHasNoGPU(needed: GPURequirement, suitable: Int)
  case gpusInUse(needed: GPURequirement, free: Int)
  /// Launches there give way to a job of a higher priority, and the place is for that.
  case givingWay
  /// The host's label of this name is another one, or there is none.
  case missingLabel(name: String, wanted: String, found: String?)

  /// The stable name in JSON and spans.
  package var code: String {
    switch self {
    case .notBefore: "notBefore"
    case .rateLimited: "rateLimited"
    case .backingOff: "backingOff"
    case .waitsForLiveRequest: "waitsForLiveRequest"
    case .maxRunningReached: "maxRunningReached"
    case .allowanceSpent: "allowanceSpent"
    case .fleetPaused: "fleetPaused"
    case .noHosts: "noHosts"
    case .noHostHasGPU: "noHostHasGPU"
    case .storeBusy: "storeBusy"
    case .hostGone: "hostGone"
    case .hostAway: "hostAway"
    case .hostDraining: "hostDraining"
    case .hostPausedByOwner: "hostPausedByOwner"
    case .outsideHours: "outsideHours"
    case .notPermittedOnHost: "notPermittedOnHost"
    case .evicted: "evicted"
    case .kindNotAccepted: "kindNotAccepted"
    case .noHandler: "noHandler"
    case .tooFewSlots: "tooFewSlots"
    case .slotsInUse: "slotsInUse"
    case .needsExternalPower: "needsExternalPower"
    case .needsNetwork: "needsNetwork"
    case .needsUnmeteredNetwork: "needsUnmeteredNetwork"
    case .needsIdleHost: "needsIdleHost"
    case .batteryLow: "batteryLow"
    case .lowPowerMode: "lowPowerMode"
    case .tooHot: "tooHot"
    case .hostHasNoGPU: "hostHasNoGPU"
    case .gpusInUse: "gpusInUse"
    case .givingWay: "givingWay"
    case .missingLabel: "missingLabel"
    }
  }

  /// True if waiting can help only once somebody changes the fleet or the definition: this host will never take it as
  /// it is configured.
  package var isPermanent: Bool {
    switch self {
    case .notPermittedOnHost, .kindNotAccepted, .noHandler, .tooFewSlots, .hostHasNoGPU: true
    case .notBefore, .rateLimited, .backingOff, .waitsForLiveRequest, .maxRunningReached, .allowanceSpent,
      .fleetPaused, .noHosts, .noHostHasGPU, .storeBusy, .evicted, .hostGone, .hostAway, .hostDraining,
      .hostPausedByOwner,
      .outsideHours, .missingLabel, .slotsInUse, .needsExternalPower, .needsNetwork,
      .needsUnmeteredNetwork, .needsIdleHost, .batteryLow, .lowPowerMode, .tooHot, .gpusInUse, .givingWay:
      false
    }
  }

  /// When it clears by itself, if that can be known.
  package var clearsAt: Timestamp? {
    switch self {
    case .notBefore(let date), .rateLimited(let date), .backingOff(let date), .allowanceSpent(let date),
      .outsideHours(let date):
      date
    case .hostPausedByOwner(let date): date
    case .waitsForLiveRequest, .maxRunningReached, .fleetPaused, .noHosts, .noHostHasGPU, .storeBusy, .hostGone,
      .hostAway,
      .hostDraining,
      .missingLabel, .notPermittedOnHost, .evicted, .kindNotAccepted, .noHandler, .tooFewSlots, .slotsInUse,
      .needsExternalPower, .needsNetwork, .needsUnmeteredNetwork, .needsIdleHost, .batteryLow, .lowPowerMode, .tooHot,
      .hostHasNoGPU, .gpusInUse, .givingWay:
      nil
    }
  }

  /// The same obstacle with its time shifted, from one clock to another.
  package func shifted(by offset: Duration) -> Obstacle {
    switch self {
    case .notBefore(let date): .notBefore(date + offset)
    case .rateLimited(let date): .rateLimited(until: date + offset)
    case .backingOff(let date): .backingOff(until: date + offset)
    case .allowanceSpent(let date): .allowanceSpent(refillsAt: date + offset)
    case .waitsForLiveRequest, .maxRunningReached, .fleetPaused, .noHosts, .noHostHasGPU, .storeBusy, .hostGone,
      .hostAway,
      .hostDraining,
      .missingLabel, .notPermittedOnHost, .evicted, .kindNotAccepted, .noHandler, .tooFewSlots, .slotsInUse,
      .needsExternalPower, .needsNetwork, .needsUnmeteredNetwork, .needsIdleHost, .batteryLow, .lowPowerMode, .tooHot,
      .hostHasNoGPU, .gpusInUse, .givingWay:
      self
    // The host's own wall clock, which no clock of the coordinator shifts.
    case .hostPausedByOwner, .outsideHours: self
    }
  }
}
