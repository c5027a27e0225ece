import BatonModel

/// The error for a broken rule, with what was seen.
package struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
  /// The broken rule: a promise (Documentation/developers/promises.md), or another rule that the simulator checks.
  /// Shrinking a schedule keeps the rule.
  package var rule: Rule
  package var text: String
  /// Virtual time since the beginning.
  package var at: Duration

  package enum Rule: String, Hashable, Sendable {
    case submissionLost = "P1: an acknowledged submission is in the store, one per id"
    case checkpointLost = "P2: an acknowledged checkpoint is neither lost nor taken back"
    case supersededCommit = "P3: a superseded launch commits nothing"
    case twoLaunches = "P4: one live launch per request"
    case batches = "P5: one batch repeated per launch that ended early, none skipped"
    case units = "P15: each unit of a divided request is in one committed batch of one shard"
    case lanes = "P15: at most so many shards run at once as the request has lanes"
    case cause = "P6: a request fails, and a launch expires, only for a cause that is promised"
    case leaseByTime = "P7: a lease ends by the monotonic clock, after its worker's own has"
    case time = "P7: nothing starts before its time"
    case expiry = "P8: a launch that has to stop is asked to, and is over by its deadline"
    case span = "P9: one span identity per launch, with its outcome"
    case restart = "P10: a restart of the coordinator ends no lease and no launch"
    case setBack = "P12: a store that went backwards is noticed, and nothing runs again before a person has looked"
    case overload = "P13: new work is refused at its limits and only there"
    case outcome = "every launch has one outcome, and it is the true one"
    case completion = "a request whose last checkpoint landed completes at once"
    case repeatedLaunch = "a worker starts no launch twice"
    case capacity = "slots, GPUs and maxRunning are never exceeded"
    case limit = "limits by key are never exceeded, and count what runs"
    case retention = "P7: an ended request is kept for its time, also if wall clocks are wrong"
    case late = "nothing comes too late: what is due starts, and what waits for nothing is told so"
    case explain = "explain and the dispatcher agree"
    case message = "a process says only what its peer can understand"
    case liveness = "everything finishes once the faults have stopped"
    case crash = "nothing is refused that has to work"
  }

  package var description: String { "\(rule.rawValue): \(text) (at \(at.inSeconds) s)" }
}
