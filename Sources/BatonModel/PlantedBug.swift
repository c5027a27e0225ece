#if PLANTED_BUGS
  /// Mistakes that can be planted in the cores and in the SQL. The raw value says what the mistake does. A build with
  /// `PLANTED_BUGS` makes the one mistake that `chosen` names. `make plants` tries each of them, and the simulation has
  /// to find it; otherwise the checks of the simulation prove nothing.
  package enum PlantedBug: String, CaseIterable, Sendable {
    case hasNoFence = "a launch that was superseded saves its checkpoints all the same"
    case countsBatchesTwice = "a checkpoint is stored as one batch more than it is"
    case forgetsSubmissionIDs = "the ids of submissions are not kept: one that is repeated makes another request"
    case strandsLostRequests = "what was lost with its host is put back, and never becomes ready"
    case triesAgainAtOnce = "what failed is tried again without its backoff"
    case forgetsThatAllIsDone = "a request whose last batch is stored is launched again if its ending got lost"
    case endsWhateverRuns = "an ending of an old launch ends the one that runs"
    case endsOnlyTheFirst = "with a lease only the first of its launches ends"
    case releasesNobody = "a request that waits for the live one of its identifier is not told that it ended"
    case forgetsNextTime = "requests that wait for a time are never looked at again"
    case delaysByWallClock = "a delay is over when the wall clock says so"
    case spacesNothing = "first launches of an identifier are not spaced"
    case breaksChains = "a repeating definition stops after its second request"
    case lastReasonWins = "a launch that is asked to stop twice has the last reason for its cause"
    case spansAreTheRequests = "the launches of a request have one span id"
    case forgetsLastSpans = "what is completed by a later launch has no span"
    case startsOneTooMany = "one more than `maxRunning` may start at once"
    case givesGPUTwice = "GPUs that are used are given again"
    case freesPlacesTwice = "the places of a claim are given back twice"
    case sparesLastSlot = "the last slot of a host is never used, and explain does not say so"
    case forgetsEarlyExpiry = "what is cancelled before its claim was settled runs on"
    case forgetsExpiryOfReturned = "a worker that comes back is not told that its launch was asked to stop"
    case leavesEvictedRunning = "what is evicted is not stopped"
    case forgetsPause = "a new coordinator does not know that the fleet is paused"
    case forgetsDraining = "a new coordinator does not know which hosts drain"
    case keepsOldLeases = "a new coordinator takes all leases for over"
    case countsOwnPause = "a coordinator that was stopped takes its own silence for that of the workers"
    case grantsTwice = "a new process has the lease before the last one's launches have ended"
    case saysNothingAgain = "a worker does not say again what was not answered"
    case countsLeaseFromWelcome = "a worker counts its lease from when it heard of it, rather than from when it asked"
    case runsLaunchesAgain = "a worker runs launches that it has run before"
    case outlivesLease = "a worker runs on after its lease"
    case forgetsBudget = "nothing ends when its budget is spent"
    case forgetsDeadline = "a handler that ignores its deadline is left alone"
    case runsOnBattery = "conditions that are lost stop nothing"
    case waitsForEverForWelcome = "a worker waits for ever for the answer to its hello"

    /// The planted mistake; `nil` if there is none. It is set once, before anything else runs, and is only read after
    /// that.
    package nonisolated(unsafe) static var chosen: PlantedBug?

    package static func named(_ name: String) -> PlantedBug? { allCases.first { "\($0)" == name } }
  }

  package func isPlanted(_ bug: PlantedBug) -> Bool { PlantedBug.chosen == bug }
#endif
