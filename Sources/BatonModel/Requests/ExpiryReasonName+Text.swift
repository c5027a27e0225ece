/// The reasons to expire by name, without what they carry. The page `Documentation/reasons.md` is made of these; a new
/// case of `ExpiryReason` does not compile without a name and its texts.
package enum ExpiryReasonName: String, Hashable, Sendable, CaseIterable {
  case cancelled, budgetSpent, stalled, leaseLost, superseded, draining, evicted, paused, pausedByOwner, outsideHours
  case powerLost, batteryLow, lowPowerMode, thermal, networkLost, hostBusy, labelLost, gpuLost, allowanceSpent
  case preempted, simulated
}

extension ExpiryReason {
  package var name: ExpiryReasonName {
    switch self {
    case .cancelled: .cancelled
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
    case .simulated: .simulated
    }
  }
}

extension ExpiryReasonName {
  /// What it means, in a sentence or two of Markdown.
  package var meaning: String {
    switch self {
    case .cancelled: "A person cancelled the request, and `detail` says who. It ends with this launch."
    case .budgetSpent: "The launch used up its `budget`."
    case .stalled:
      "The launch made no progress for twice its `stallAfter`. Progress is a committed batch, or another count of what "
        + "is done; heartbeats and output are none."
    case .leaseLost:
      "The worker could not renew its lease in time, and another host may have the request by now: nothing more can be "
        + "saved. The coordinator records `lost`."
    case .superseded: "Another launch of the request is live; this one was taken for lost. Nothing it does counts."
    case .draining: "An operator drains the host, or its worker, or the process of `run` or `up`, is shutting down."
    case .evicted: "An operator moved the job away from this host."
    case .paused: "An operator paused the fleet, or the coordinator did, because its store went backwards."
    case .pausedByOwner: "The host's owner paused it."
    case .outsideHours: "The hours of the day at which the host's owner lends it are over."
    case .powerLost: "The job requires external power, and the host was unplugged."
    case .batteryLow: "The host's battery fell below \(Policy.lowBatteryPercent) %. `continued` jobs go on."
    case .lowPowerMode: "The host went into low power mode. `continued` jobs go on."
    case .thermal: "The host's thermal state became `serious`; for a `continued` job `critical`."
    case .networkLost: "The job requires a network, or an unmetered one, and the host has had none for 10 s."
    case .hostBusy: "The job requires an idle host, and somebody is back."
    case .labelLost: "The job has `requiredLabels`, and the host's labels say something else now."
    case .gpuLost: "The job requires GPUs, and the host no longer has them."
    case .allowanceSpent: "The launch time of the day is used up, the definition's or the host's."
    case .preempted:
      "A request of a higher priority, which a person waits for, needed the place, and this launch had the least uncommitted work."
    case .simulated:
      "`baton simulate` asked for it, or conditions that it simulates; `detail` has the reason that was simulated. "
        + "It counts towards nothing."
    }
  }

  /// What an operator can do about it, if anything has to be done: the request goes on by itself.
  package var remedy: String {
    switch self {
    case .cancelled: "submit it again if it was a mistake: baton submit IDENTIFIER"
    case .budgetSpent: "nothing if batches get done; otherwise lower 'batchSize', or raise 'budget'"
    case .stalled: "see what it waits for: baton logs IDENTIFIER; raise 'stallAfter' if its batches take that long"
    case .leaseLost: "look after the network to the host; a longer 'leaseTerm' bridges longer gaps"
    case .superseded: "nothing; if it happens often, a longer 'leaseTerm'"
    case .draining: "nothing; when the host is to work again: baton undrain HOST"
    case .evicted: "nothing; to take it back: baton evict IDENTIFIER --host HOST --allow"
    case .paused: "baton resume"
    case .pausedByOwner: "nothing; its owner goes on with: baton-worker resume"
    case .outsideHours: "nothing, or ask its owner for more 'hours'"
    case .powerLost: "nothing, or plug the host in"
    case .batteryLow: "nothing, or charge the host"
    case .lowPowerMode: "nothing, or switch low power mode off"
    case .thermal: "nothing, or let the host cool"
    case .networkLost: "nothing, or connect the host"
    case .hostBusy: "nothing; declare 'requiresIdle: false' if it disturbs nobody"
    case .labelLost: "nothing, or look at the command of 'facts' in the host's worker.yaml"
    case .gpuLost: "look after the host's GPU and its driver"
    case .allowanceSpent: "nothing: it goes on tomorrow or elsewhere; or raise 'dailyAllowance'"
    case .preempted: "nothing; more hosts or slots if it happens often"
    case .simulated: "nothing"
    }
  }
}
