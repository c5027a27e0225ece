/// What can happen to a request besides its launches. `baton show` lists these events. The raw value is the stable code
/// in the store and in JSON. `Documentation/reference/reasons.md` is generated from the texts of this file.
package enum RequestEvent: String, Hashable, Sendable, CaseIterable {
  case replaced, poked, pokedAtOnce, retried, redefined, skippedBatch, suspect, ignoredExpiry, simulatedLaunch,
    storeWentBackwards, spreadChanged, missedTime, overlapped, followed, notFollowed,
    schedulePaused, scheduleResumed

  /// What happened, in a sentence or two of Markdown.
  package var meaning: String {
    switch self {
    case .replaced: "A newer submission took the place of this one, which had not been launched; number and trace stay."
    case .poked: "A poke joined the request while it waited. The request has the poke's payload now."
    case .pokedAtOnce: "A poke of priority 10 asked for the request, whatever the spacing. It is recorded for audits."
    case .retried:
      "An operator let the failed request continue at its checkpoint, or made the retry that it waited for due: "
        + "`baton retry`, `baton start`."
    case .redefined:
      "The request took over the definition that is applied now, and keeps its checkpoint: "
        + "`baton retry --with-new-definition`, or `baton run` after a repair."
    case .skippedBatch:
      "A batch that failed was passed over: by an operator (`baton retry --skip-batch`), or as `retry.skipBatchAfter` says."
    case .suspect: "A launch has made no progress for its `stallAfter`. At twice that it expires, `stalled`."
    case .ignoredExpiry: "A launch did not end by its deadline after it was asked to stop, and was ended."
    case .storeWentBackwards:
      "A worker had been told of commits that the store does not have: an older backup was put in its place. The launch "
        + "was stopped, and batches that it had committed since will run again. The fleet was paused."
    case .missedTime:
      "The time of the request passed while no coordinator ran, or while its schedule was paused. It got the next "
        + "time of its schedule (`missed: skip`)."
    case .overlapped:
      "The request before still ran when the time came. The request got the next time of its schedule (`overlap: skip`)."
    case .followed: "The end of the request has submitted another job: `onSuccess` or `onFailure` of its definition."
    case .notFollowed:
      "What `onSuccess` or `onFailure` names could not be submitted; or, after a retry, a member of the flow could not "
        + "wait again."
    case .schedulePaused: "An operator paused the schedule that has made the request: `baton schedules pause`."
    case .scheduleResumed: "An operator ended the pause of its schedule: `baton schedules resume`."
    case .spreadChanged: "An operator changed how many shards may be in work at once: `baton set`."
    case .simulatedLaunch: "`baton simulate launch` started a launch, whatever the times and conditions."
    }
  }

  /// What the `detail` of the event contains.
  package var detail: String {
    switch self {
    case .replaced, .poked, .pokedAtOnce: "who asked for it"
    case .retried, .redefined, .missedTime, .overlapped, .scheduleResumed: "nothing"
    case .schedulePaused: "who paused it, and why"
    case .skippedBatch: "the number of the batch"
    case .suspect: "for how long, and where"
    case .ignoredExpiry, .simulatedLaunch: "the host"
    case .spreadChanged: "the new number"
    case .followed: "the other job and the number of its request"
    case .notFollowed: "the other job, and why"
    case .storeWentBackwards: "the host, and how much it had been told"
    }
  }
}
