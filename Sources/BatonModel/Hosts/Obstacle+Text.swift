extension Obstacle {
  /// The obstacle in words, for people.
  package var text: String {
    switch self {
    case .notBefore: "its earliest begin date has not come"
    case .rateLimited:
      "launches of this identifier are spaced, the more so while they find nothing, and the last was not long ago"
    case .backingOff: "it waits before it is tried again"
    case .waitsForLiveRequest(let number): "request \(number) of the same identifier has to end first"
    case .maxRunningReached(let limit): "\(limit) instances of its definition are running, which is its maxRunning"
    case .allowanceSpent: "the launch time of the day is used up"
    case .fleetPaused: "the fleet is paused"
    case .noHosts: "no host has ever connected"
    case .noHostHasGPU(let needed): "it needs \(needed.text), and no connected host has enough"
    case .storeBusy: "the store did not take it within a second"
    case .hostGone: "the host is gone: its worker holds no lease"
    case .hostAway: "the connection of its worker is away for the moment"
    case .hostDraining: "the host is draining"
    case .hostPausedByOwner: "the host's owner has paused it"
    case .outsideHours: "the host's owner lends it at other hours"
    case .notPermittedOnHost: "the host's owner does not permit this identifier"
    case .evicted: "an operator evicted it from the host"
    case .kindNotAccepted(let kind): "the host does not accept jobs of kind \(kind.rawValue)"
    case .noHandler: "the worker has no handler for it"
    case .tooFewSlots(let needed, let total): "it needs \(needed.of("slot")) and the host has \(total)"
    case .slotsInUse(let needed, let free): "it needs \(needed.of("slot")) and \(free) are free"
    case .needsExternalPower: "it requires external power and the host runs on battery"
    case .needsNetwork: "it requires a network connection and the host has none"
    case .needsUnmeteredNetwork: "it requires an unmetered network and the host's is metered"
    case .needsIdleHost: "it requires an idle host and the host is in use"
    case .batteryLow(let percent): "the host's battery is at \(percent) %"
    case .lowPowerMode: "the host is in low power mode"
    case .tooHot(let state): "the host's thermal state is \(state.name)"
    case .hostHasNoGPU(let needed, let suitable):
      "it needs \(needed.text), and the host has \(suitable == 0 ? "none" : "only \(suitable)")"
    case .gpusInUse(let needed, let free):
      "it needs \(needed.text), and \(free == 0 ? "none" : "only \(free)") of the host's \(free > 1 ? "are" : "is") free"
    case .givingWay: "launches there give way to a job of a higher priority, and the place is for that"
    case .missingLabel(let name, let wanted, let found):
      "it requires the label \(name)=\(wanted), and the host's is \(found ?? "missing")"
    }
  }

  /// The one change that would take the obstacle away.
  package var remedy: String {
    switch self {
    case .notBefore, .backingOff: "wait"
    case .rateLimited: "wait, or declare 'allowFrequent: true'; for pokes, a shorter 'pokeSpacing'"
    case .waitsForLiveRequest: "wait for it, or cancel it"
    case .maxRunningReached: "wait, or raise 'maxRunning'"
    case .allowanceSpent: "wait until it refills, or raise 'dailyAllowance'"
    case .fleetPaused: "baton resume"
    case .noHostHasGPU: "connect a host with such GPUs, or ask for fewer"
    case .noHosts: "start a worker: baton-worker --name NAME"
    case .storeBusy: "submit it again in a moment; look at the disk of the coordinator if that goes on"
    case .hostGone: "start its worker again"
    case .hostAway: "wait until it is back, or look after the network between"
    case .hostDraining: "baton undrain HOST, or start its worker again"
    case .hostPausedByOwner: "ask its owner to run 'baton-worker resume'"
    case .outsideHours: "wait, or ask its owner for more 'hours' in the host's worker.yaml"
    case .missingLabel(let name, let wanted, _):
      "set the label on a host ('labels: {\(name): \(wanted)}' in its worker.yaml), or change 'requiredLabels'"
    case .notPermittedOnHost: "add the identifier to 'permittedIdentifiers' in the host's worker.yaml"
    case .evicted: "baton evict IDENTIFIER --host HOST --allow"
    case .kindNotAccepted: "add the kind to 'accepts' in the host's worker.yaml"
    case .noHandler: "deploy a worker that registers a handler for it, or give the definition a 'work'"
    case .tooFewSlots: "lower 'slots' of the job, or raise 'slots' in the host's worker.yaml"
    case .slotsInUse, .gpusInUse: "wait until a launch there ends"
    case .givingWay: "wait until that job has its place, or submit with a higher '--priority'"
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

extension Int {
  /// `1 GPU`, `2 GPUs`.
  fileprivate func of(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
