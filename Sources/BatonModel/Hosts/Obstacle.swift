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
  // Of the fleet.
  case fleetPaused
  case noHosts
  // Of one host.
  case hostGone
  case hostDraining
  case hostPausedByOwner
  case notPermittedOnHost
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
  case hostHasNoGPU(needed: Int, suitable: Int)
  case gpusInUse(needed: Int, free: Int)

  /// The stable name in JSON and spans.
  package var code: String {
    switch self {
    case .notBefore: "notBefore"
    case .rateLimited: "rateLimited"
    case .backingOff: "backingOff"
    case .waitsForLiveRequest: "waitsForLiveRequest"
    case .maxRunningReached: "maxRunningReached"
    case .fleetPaused: "fleetPaused"
    case .noHosts: "noHosts"
    case .hostGone: "hostGone"
    case .hostDraining: "hostDraining"
    case .hostPausedByOwner: "hostPausedByOwner"
    case .notPermittedOnHost: "notPermittedOnHost"
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
    }
  }

  /// True if waiting can help only once somebody changes the fleet or the definition: this host will never take it as
  /// it is configured.
  package var isPermanent: Bool {
    switch self {
    case .notPermittedOnHost, .kindNotAccepted, .noHandler, .tooFewSlots, .hostHasNoGPU: true
    case .notBefore, .rateLimited, .backingOff, .waitsForLiveRequest, .maxRunningReached, .fleetPaused, .noHosts,
      .hostGone, .hostDraining, .hostPausedByOwner, .slotsInUse, .needsExternalPower, .needsNetwork,
      .needsUnmeteredNetwork, .needsIdleHost, .batteryLow, .lowPowerMode, .tooHot, .gpusInUse:
      false
    }
  }
}
