extension Obstacle {
  /// The obstacle in words, for people.
  package var text: String {
    switch self {
    case .notBefore: "its earliest begin date has not come"
    case .rateLimited: "first launches of a refresh job are spaced by 15 minutes"
    case .backingOff: "it waits before it is tried again"
    case .waitsForLiveRequest(let number): "request \(number) of the same identifier has to end first"
    case .maxRunningReached(let limit): "\(limit) instances of its definition are running, which is its maxRunning"
    case .fleetPaused: "the fleet is paused"
    case .noHosts: "no host has ever connected"
    case .hostGone: "the host is gone: its worker holds no lease"
    case .hostDraining: "the host is draining"
    case .hostPausedByOwner: "the host's owner has paused it"
    case .notPermittedOnHost: "the host's owner does not permit this identifier"
    case .kindNotAccepted(let kind): "the host does not accept jobs of kind \(kind.rawValue)"
    case .noHandler: "the worker has no handler for it"
    case .tooFewSlots(let needed, let total): "it needs \(needed) slots and the host has \(total)"
    case .slotsInUse(let needed, let free): "it needs \(needed) slots and \(free) are free"
    case .needsExternalPower: "it requires external power and the host runs on battery"
    case .needsNetwork: "it requires a network connection and the host has none"
    case .needsUnmeteredNetwork: "it requires an unmetered network and the host's is metered"
    case .needsIdleHost: "it requires an idle host and the host is in use"
    case .batteryLow(let percent): "the host's battery is at \(percent) %"
    case .lowPowerMode: "the host is in low power mode"
    case .tooHot(let state): "the host's thermal state is \(state.name)"
    case .hostHasNoGPU(let needed, let suitable): "it needs \(needed) GPUs and the host has \(suitable) that suit"
    case .gpusInUse(let needed, let free): "it needs \(needed) GPUs and \(free) are free"
    }
  }

  /// The one change that would take the obstacle away.
  package var remedy: String {
    switch self {
    case .notBefore, .rateLimited, .backingOff: "wait"
    case .waitsForLiveRequest: "wait for it, or cancel it"
    case .maxRunningReached: "wait, or raise maxRunning"
    case .fleetPaused: "baton resume"
    case .noHosts: "start a worker: baton-worker --name NAME"
    case .hostGone: "start its worker again"
    case .hostDraining: "baton undrain HOST, or start its worker again"
    case .hostPausedByOwner: "ask its owner to run 'baton-worker resume'"
    case .notPermittedOnHost: "add the identifier to permittedIdentifiers in the host's worker.yaml"
    case .kindNotAccepted: "add the kind to 'accepts' in the host's worker.yaml"
    case .noHandler: "deploy a worker that registers a handler for it, or give the definition a 'work'"
    case .tooFewSlots: "lower 'slots' of the job, or raise 'slots' in the host's worker.yaml"
    case .slotsInUse, .gpusInUse: "wait until a launch there ends"
    case .needsExternalPower: "plug the host in"
    case .needsNetwork: "connect the host"
    case .needsUnmeteredNetwork: "connect the host to an unmetered network"
    case .needsIdleHost: "wait until the host is idle, or declare 'requiresIdle: false'"
    case .batteryLow: "charge the host"
    case .lowPowerMode: "switch low power mode off"
    case .tooHot: "let the host cool"
    case .hostHasNoGPU: "add a host with such GPUs, or ask for fewer"
    }
  }
}
