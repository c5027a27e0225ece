extension ObstacleName {
  /// What it means, in a sentence or two of Markdown; `Obstacle.remedy` has what to do.
  package var meaning: String {
    switch self {
    case .notBefore: "Its `earliestBeginDate` has not come. That is a lower bound: nothing starts before it."
    case .rateLimited:
      "First launches of one identifier are spaced: those of a `refresh` by 15 minutes unless it may be "
        + "frequent, and by more if the last ones found no new data; those that pokes asked for by `pokeSpacing`. It is "
        + "no error."
    case .backingOff:
      "Its last launch failed, and it waits for `retry.backoff`; or several in a row were lost, and it waits for 1 s, "
        + "2 s, 4 s … Both double each time."
    case .waitsForLiveRequest:
      "An earlier request of the identifier runs, or waits to be resumed: of one identifier one request is live."
    case .maxRunningReached: "As many instances of its definition run as `maxRunning` allows."
    case .allowanceSpent:
      "The launch time of the day is used up: the definition's `dailyAllowance`, or, said of a host, the one in the "
        + "host's worker.yaml. A new day begins at midnight UTC."
    case .fleetPaused:
      "An operator paused the whole fleet, or the coordinator did, because its store went backwards; its log says so "
        + "then."
    case .noHosts: "No worker has ever connected to this coordinator."
    case .noHostHasGPU: "No connected host has enough GPUs with enough memory, even counting those in use."
    case .storeBusy:
      "The request has to start at once or not at all (`strategy: fail`), and the store had not begun to take it after "
        + "a second. Nothing was left behind."
    case .hostGone:
      "The host's worker holds no lease: it was stopped, it crashed, or nothing was heard of it for a lease's term. "
        + "What else `explain` says of the host is by its last report."
    case .hostAway:
      "The worker's connection is away for the moment. What runs there goes on within its lease; nothing new starts."
    case .hostDraining: "An operator drains the host, or its worker is shutting down: what runs may finish its batch."
    case .hostPausedByOwner: "The host's owner has paused it with `baton-worker pause`."
    case .outsideHours: "The host's owner lends it at certain `hours` of the day only, and this is none of them."
    case .notPermittedOnHost: "The host's owner permits other identifiers only, by `permittedIdentifiers`."
    case .evicted: "An operator moved the job away from this host with `baton evict`, until it is allowed again."
    case .kindNotAccepted: "The host's `accepts` leaves this kind of job out."
    case .noHandler: "The definition has no `work`, and the host's worker has no Swift handler for the identifier."
    case .tooFewSlots: "The job asks for more `slots` than the host has, in use or not."
    case .slotsInUse:
      "Other launches hold the host's slots. For a job that a person waits for, launches of a lower priority give way."
    case .needsExternalPower: "The job has `requiresExternalPower`, and the host runs on its battery."
    case .needsNetwork: "The job has `requiresNetworkConnectivity`, and the host has no network."
    case .needsUnmeteredNetwork: "The job has `network: unmetered`, and the host's network is metered."
    case .needsIdleHost:
      "The job has `requiresIdle`, the default of `processing`, and somebody or something uses the host."
    case .batteryLow:
      "The host runs on its battery, which is below \(Policy.lowBatteryPercent) %: no `refresh` and no `processing` "
        + "starts."
    case .lowPowerMode: "The host is in low power mode: no `refresh` and no `processing` starts."
    case .tooHot:
      "The host's thermal state is `fair` or worse for `processing`, `serious` or worse for `refresh`, `critical` for "
        + "`continued`."
    case .hostHasNoGPU: "The host has fewer GPUs with enough memory than the job asks for, in use or not."
    case .gpusInUse: "Other launches hold the GPUs that would suit."
    case .givingWay:
      "Launches of a lower priority there were asked to give way to a job that a person waits for. Until that has its "
        + "place, nothing of a lower priority starts on the host."
    case .missingLabel:
      "The job has `requiredLabels`, and the host's labels, from `labels` and `facts` in its worker.yaml, do not say so."
    }
  }
}
