extension Obstacle {
  /// What an obstacle concerns: the request itself, the whole fleet, or one host.
  package enum Subject: Hashable, Sendable, CaseIterable { case request, fleet, host }
}

extension Obstacle.Kind {
  /// What Baton decides and says about a kind of obstacle. `Documentation/reference/reasons.md` is generated from these
  /// rows.
  package struct Row: Sendable {
    package let subject: Obstacle.Subject
    /// Whether the host cannot take the request until a person changes the fleet or the definition.
    package var isPermanent = false
    /// The reason for which a running launch expires if this obstacle appears; `nil` if no launch expires for it.
    package var expiry: ExpiryReason.Kind?
    /// The reading that the obstacle comes from; `nil` if it comes from no condition of the host.
    package var condition: (@Sendable (Conditions) -> Evidence)?
    /// Whether the time of the obstacle is a time of the host's own wall clock.
    package var isOnHostClock = false
    /// What the obstacle means, in a sentence or two of Markdown.
    package let meaning: String
    /// The obstacle in words. `{word}` stands for a value of the obstacle's detail.
    package let text: String
    /// The change that would remove the obstacle. `{word}` stands for a value of the obstacle's detail.
    package let remedy: String
  }

  package var row: Row {
    switch self {
    // Obstacles of the request itself.
    case .notBefore:
      Row(
        subject: .request,
        meaning: "Its `earliestBeginDate` has not come. That is a lower bound: nothing starts before it.",
        text: "its earliest begin date has not come", remedy: "wait")
    case .rateLimited:
      Row(
        subject: .request,
        meaning: "First launches of one identifier are spaced: those of a `refresh` by 15 minutes unless it may be "
          + "frequent, and by more if the last ones found no new data; those that pokes asked for by `pokeSpacing`. It is "
          + "no error.",
        text: "first launches of this identifier are spaced, and the last one was too recent",
        remedy: "wait, or declare 'allowFrequent: true', or for pokes a shorter 'pokeSpacing', and: baton apply FILE "
          + "--refreeze")
    case .backingOff:
      Row(
        subject: .request,
        meaning:
          "Its last launch failed, and it waits for `retry.backoff`; or several launches in a row were lost. The "
          + "wait doubles each time: 1 s, 2 s, 4 s and so on.",
        text: "it waits before it is tried again", remedy: "wait, or: baton start IDENTIFIER")
    case .waitsForLiveRequest:
      Row(
        subject: .request,
        meaning: "An earlier request of the identifier runs, or waits to be resumed: of one identifier one request is "
          + "live.",
        text: "request {number} of the same identifier has to end first", remedy: "wait for it, or cancel it")
    case .waitsForOthers:
      Row(
        subject: .request,
        meaning: "It is a member of a flow, and the jobs that `after` of its definition names have not all ended. If "
          + "one of them ends otherwise than `after` asks, the request is cancelled.",
        text: "it comes after {others} in its flow", remedy: "wait for it, or submit IDENTIFIER by itself")
    case .maxRunningReached:
      Row(
        subject: .request, meaning: "As many instances of its definition run as `maxRunning` allows.",
        text: "as many instances of its definition run as its maxRunning allows: {number}",
        remedy: "wait, or raise 'maxRunning'")
    case .allowanceSpent:
      Row(
        subject: .request, expiry: .allowanceSpent,
        meaning:
          "The launch time of the day is used up: the definition's `dailyAllowance`, or, if the obstacle is a "
          + "host's, the `dailyAllowance` in its worker.yaml. A new day begins at midnight UTC.",
        text: "the launch time of the day is used up", remedy: "wait until it refills, or raise 'dailyAllowance'")

    case .lanesInUse:
      Row(
        subject: .request,
        meaning: "As many shards of the request are in work as `work.spread` allows, so the next one waits for a lane.",
        text: "all {number} lanes of the request are in use", remedy: "wait, or: baton set IDENTIFIER spread=N")
    case .waitsForTransfers:
      Row(
        subject: .request,
        meaning: "The transfers of the request have not ended. Its next launch gets the events of a whole group.",
        text: "its transfers have not ended", remedy: "wait, or look at them: baton transfers")
    case .transfersLimited:
      Row(
        subject: .request,
        meaning:
          "Transfers of the request have ended, and have launched it before. The delay doubles with each such launch, "
          + "and begins again after 15 minutes without one.",
        text: "its transfers have launched it often, so it waits for a while", remedy: "wait")
    case .schedulePaused:
      Row(
        subject: .request,
        meaning: "A person has paused its schedule: no request starts that the calendar has made, or `repeat`. What a "
          + "person submits starts as ever.",
        text: "its schedule is paused since {since} by {who}: {reason}",
        remedy: "baton schedules resume IDENTIFIER, or start it once: baton start IDENTIFIER")
    case .limitReached:
      Row(
        subject: .request,
        meaning: "As many launches with the key of its `concurrency` run as the limit of the key allows, over all "
          + "definitions. It waits in a line with the others of the key, and starts when one of the launches has ended.",
        text: "it is {line} for {key}, {limit}",
        remedy: "wait, or raise the limit: baton set --key {key} concurrency=N")
    case .rateReached:
      Row(
        subject: .request,
        meaning: "As many launches with the key of its `rate` have started as the rate of the key allows, over all "
          + "definitions. The time of the obstacle is the earliest time of its start.",
        text: "it is {line} for {key}, at most {limit}",
        remedy: "wait, or raise the rate: baton set --key {key} rate=N/TIME")
    case .namespaceRunning:
      Row(
        subject: .request,
        meaning: "As many launches of its namespace run as the namespace's `quotas.running` allows.",
        text: "as many launches of the namespace {namespace} run as its quota allows: {limit}",
        remedy: "wait, or raise 'quotas.running' of the namespace in coordinator.yaml")
    case .namespaceSlots:
      Row(
        subject: .request,
        meaning:
          "The launches of its namespace hold so many slots that with those of the request they would hold more than "
          + "the namespace's `quotas.slots`. A request that needs more than the quota never starts.",
        text: "it needs {needed}, and its namespace {namespace} holds {used} of {limit} slots",
        remedy: "wait, or raise 'quotas.slots' of the namespace in coordinator.yaml")
    case .namespaceGPUs:
      Row(
        subject: .request,
        meaning:
          "The launches of its namespace hold so many GPUs that with those of the request they would hold more than "
          + "the namespace's `quotas.gpus`. A request that needs more than the quota never starts.",
        text: "it needs {needed}, and its namespace {namespace} holds {used} of {limit} GPUs",
        remedy: "wait, or raise 'quotas.gpus' of the namespace in coordinator.yaml")
    case .namespaceAllowanceSpent:
      Row(
        subject: .request, expiry: .allowanceSpent,
        meaning:
          "The launches of its namespace have used up the namespace's `quotas.dailyAllowance`. A new day begins at "
          + "midnight UTC.",
        text: "the launch time of the day of its namespace {namespace} is used up",
        remedy: "wait until it refills, or raise 'quotas.dailyAllowance' of the namespace in coordinator.yaml")
    case .namespaceReserved:
      Row(
        subject: .request,
        meaning:
          "A request of its namespace that goes before this one has waited for longer than `limits.reserveAfter` for "
          + "slots or GPUs of the namespace's quota, and what comes free of the quota is kept for that request.",
        text: "what is free of the quota of its namespace {namespace} is kept for {pattern}, which has waited long",
        remedy: "wait until that job has started, or submit with a higher '--priority'")

    // Obstacles of the fleet.
    case .fleetPaused:
      Row(
        subject: .fleet, expiry: .paused,
        meaning:
          "An operator paused the whole fleet, or the coordinator did, because its store went backwards; its log "
          + "says so then.",
        text: "the fleet is paused", remedy: "baton resume")
    case .noHosts:
      Row(
        subject: .fleet, meaning: "No worker has ever connected to this coordinator.",
        text: "no host has ever connected", remedy: "start a worker: baton-worker --name NAME")
    case .noHostHasGPU:
      Row(
        subject: .fleet,
        meaning: "No connected host has enough GPUs with enough memory, even counting those in use.",
        text: "it needs {needed}, and no connected host has enough",
        remedy: "connect a host with such GPUs, or ask for fewer")
    case .storeBusy:
      Row(
        subject: .fleet,
        meaning:
          "The request has to start at once or not at all (`strategy: fail`), and the store had not begun to take "
          + "it after a second. Nothing was stored.",
        text: "the store did not take it within a second",
        remedy: "submit it again in a moment; look at the disk of the coordinator if that goes on")

    // Obstacles of one host.
    case .hostGone:
      Row(
        subject: .host, expiry: .leaseLost,
        meaning:
          "The host's worker holds no lease: it was stopped, it crashed, or the coordinator heard nothing from it "
          + "for the time of a lease. Everything else that `explain` says about the host comes from its last report.",
        text: "the host is gone: its worker holds no lease", remedy: "start its worker again")
    case .hostAway:
      Row(
        subject: .host,
        meaning:
          "The worker's connection is interrupted. What runs there goes on within its lease; nothing new "
          + "starts.",
        text: "the connection of its worker is interrupted",
        remedy: "wait until it is back, or check the network between coordinator and host")
    case .hostDraining:
      Row(
        subject: .host, expiry: .draining,
        meaning: "An operator drains the host, or its worker is shutting down: what runs may finish its batch.",
        text: "the host is draining", remedy: "baton undrain HOST, or start its worker again if it shuts down")
    case .hostPausedByOwner:
      Row(
        subject: .host, expiry: .pausedByOwner, isOnHostClock: true,
        meaning: "The host's owner has paused it with `baton-worker pause`.", text: "the host's owner has paused it",
        remedy: "ask its owner to run 'baton-worker resume'")
    case .outsideHours:
      Row(
        subject: .host, expiry: .outsideHours, isOnHostClock: true,
        meaning: "The host's owner lends it only at certain `hours` of the day, and not now.",
        text: "the host's owner lends it at other hours",
        remedy: "wait, or ask its owner for more 'hours' in the host's worker.yaml")
    case .notPermittedOnHost:
      Row(
        subject: .host, isPermanent: true,
        meaning:
          "The host's owner permits other identifiers only (`permittedIdentifiers`), other commands or working "
          + "directories only (`allow.commands`, `allow.directories`), no job that needs a network (`allow.network`), no "
          + "command because the worker runs as root (`allow.root`), not the user of `work.user` (`allow.users`; only a "
          + "worker that is root can switch users), not a secret of `work.secrets` (`allow.secrets`), or no request of "
          + "the principal who submitted it (`allow.principals`).",
        text: "the host's owner does not permit {what}", remedy: "ask for a change of '{key}' in the host's worker.yaml"
      )
    case .noShards:
      Row(
        subject: .host, isPermanent: true,
        meaning: "The host's worker is of a version that does not know shards, and the job has `work.spread`.",
        text: "its worker does not know shards", remedy: "install this version of Baton on the host")
    case .noTransfers:
      Row(
        subject: .host, isPermanent: true,
        meaning:
          "The job has `work.transfers`, and the host carries out no transfers: its worker is of an earlier version, or "
          + "`transfers.enabled` in its worker.yaml is false.",
        text: "it carries out no transfers",
        remedy: "install this version of Baton on the host, or set `transfers.enabled: true` in its worker.yaml")
    case .filesElsewhere:
      Row(
        subject: .host,
        meaning:
          "Transfers of the request were fetched by another host, which alone has their files. A file with `shared: "
          + "true` can be used by every host.",
        text: "the files of its transfers are on another host",
        remedy: "wait for that host, or cancel the job and submit it again")
    case .transfersFull:
      Row(
        subject: .host,
        meaning:
          "The host has transfers of 16 requests that have not ended. It is given those of further requests when some "
          + "of them have.",
        text: "it has transfers of {number} requests that have not ended",
        remedy: "wait, or look at them: baton transfers")
    case .transfersOutOfRoom:
      Row(
        subject: .host,
        meaning:
          "The quota of the host's transfers is used up, or its disk has less free room than `transfers.minFree`. The "
          + "files of a request are removed when it has ended.",
        text: "its transfers have no room",
        remedy: "wait until jobs with files there have ended, or raise 'transfers.quota' in the host's worker.yaml, or "
          + "free room on its disk")
    case .evicted:
      Row(
        subject: .host, expiry: .evicted,
        meaning: "An operator moved the job away from this host with `baton evict`, until it is allowed again.",
        text: "an operator evicted it from the host", remedy: "baton evict IDENTIFIER --host HOST --allow")
    case .kindNotAccepted:
      Row(
        subject: .host, isPermanent: true, meaning: "The host's `accepts` leaves this kind of job out.",
        text: "the host does not accept jobs of kind {kind}",
        remedy: "add the kind to 'accepts' in the host's worker.yaml")
    case .noHandler:
      Row(
        subject: .host, isPermanent: true,
        meaning: "The definition has no `work`, and the host's worker has no Swift handler for the identifier.",
        text: "the worker has no handler for it",
        remedy: "deploy a worker that registers a handler for it, or give the definition a 'work'")
    case .tooFewSlots:
      Row(
        subject: .host, isPermanent: true,
        meaning: "The job asks for more `slots` than the host has, in use or not.",
        text: "it needs {needed} and the host has {available}",
        remedy: "lower 'slots' of the job, or raise 'slots' in the host's worker.yaml")
    case .slotsInUse:
      Row(
        subject: .host,
        meaning:
          "Other launches hold the host's slots. For a job that a person waits for, launches of a lower priority "
          + "give way.",
        text: "it needs {needed} and {available} are free", remedy: "wait until a launch there ends")
    case .needsExternalPower:
      Row(
        subject: .host, expiry: .powerLost, condition: { Evidence($0.power) },
        meaning: "The job has `requiresExternalPower`, and the host runs on its battery.",
        text: "it requires external power and the host runs on battery", remedy: "plug the host in")
    case .needsNetwork:
      Row(
        subject: .host, expiry: .networkLost, condition: { Evidence($0.network) },
        meaning: "The job has `requiresNetworkConnectivity`, and the host has no network.",
        text: "it requires a network connection and the host has none", remedy: "connect the host")
    case .needsUnmeteredNetwork:
      Row(
        subject: .host, expiry: .networkLost, condition: { Evidence($0.network) },
        meaning: "The job has `network: unmetered`, and the host's network is metered.",
        text: "it requires an unmetered network and the host's is metered",
        remedy: "connect the host to an unmetered network")
    case .needsIdleHost:
      Row(
        subject: .host, expiry: .hostBusy, condition: { Evidence($0.isIdle) },
        meaning: "The job has `requiresIdle`, the default of `processing`, and a person or a program uses the host.",
        text: "it requires an idle host and the host is in use",
        remedy: "wait until the host is idle, or declare 'requiresIdle: false'")
    case .batteryLow:
      Row(
        subject: .host, expiry: .batteryLow,
        // A low battery is an obstacle only while the host runs on it. If the power is simulated, so is this obstacle.
        condition: { $0.power.source == ConditionOverrides.source ? Evidence($0.power) : Evidence($0.battery) },
        meaning: "The host runs on its battery, which is below \(Policy.lowBatteryPercent) %: no `refresh` and no "
          + "`processing` starts.",
        text: "the host's battery is at {number} %", remedy: "charge the host")
    case .lowPowerMode:
      Row(
        subject: .host, expiry: .lowPowerMode, condition: { Evidence($0.lowPowerMode) },
        meaning: "The host is in low power mode: no `refresh` and no `processing` starts.",
        text: "the host is in low power mode", remedy: "switch low power mode off")
    case .tooHot:
      Row(
        subject: .host, expiry: .thermal, condition: { Evidence($0.thermal) },
        meaning: "The host's thermal state is `fair` or worse for `processing`, `serious` or worse for `refresh`, "
          + "`critical` for `continued`.",
        text: "the host's thermal state is {state}", remedy: "let the host cool")
    case .hostHasNoGPU:
      Row(
        subject: .host, isPermanent: true, expiry: .gpuLost, condition: { Evidence($0.gpus) },
        meaning: "The host has fewer GPUs with enough memory than the job asks for, in use or not.",
        text: "it needs {needed}, and the host has {available}", remedy: "add a host with such GPUs, or ask for fewer")
    case .gpusInUse:
      Row(
        subject: .host, condition: { Evidence($0.gpus) }, meaning: "Other launches hold the GPUs that would suit.",
        text: "it needs {needed}, and the host has {available} free", remedy: "wait until a launch there ends")
    case .givingWay:
      Row(
        subject: .host,
        meaning:
          "Launches of a lower priority there were asked to give way to a job that a person waits for. Until that "
          + "has its place, nothing of a lower priority starts on the host.",
        text: "launches there give way to a job of a higher priority, and the place is for that",
        remedy: "wait until that job has its place, or submit with a higher '--priority'")
    case .reserved:
      Row(
        subject: .host,
        meaning:
          "A request that goes before this one has waited for longer than `limits.reserveAfter`, and has reserved slots "
          + "or GPUs of the host. A launch that is expected to end before that request can start may use them until "
          + "then, and so may every `refresh`.",
        text: "what is free there is reserved for {pattern}, which has waited long",
        remedy: "wait until that job has its place, or submit with a higher '--priority'")
    case .missingLabel:
      Row(
        subject: .host, expiry: .labelLost, condition: { Evidence($0.labels) },
        meaning:
          "The job has `requiredLabels`, and the host's labels, from `labels` and `facts` in its worker.yaml, do "
          + "not match them.",
        text: "it requires the label {name}={wanted}, and the host's is {found}",
        remedy:
          "set the label on a host ('{name}: {wanted}' under 'labels' in its worker.yaml), or change 'requiredLabels'")
    case .sandboxUnavailable:
      Row(
        subject: .host, isPermanent: true,
        meaning:
          "The job's `work.sandbox` or `work.user`, or the host's `sandbox.require`, demands a sandbox that the host "
          + "cannot give; the text says why. A command never runs with less than both demand.",
        text: "its command has to run in the sandbox '{level}', and the host cannot give it: {why}",
        remedy:
          "mend that on the host ('baton doctor' there says more); or, to run commands there with less, the owner of "
          + "the host may lower 'sandbox.require' in its worker.yaml, down to 'sandbox.require: none', and the "
          + "definition must not demand more with 'work.sandbox' or 'work.user'")
    }
  }
}
