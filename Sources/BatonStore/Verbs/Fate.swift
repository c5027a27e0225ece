internal import BatonModel

/// The columns that the end of a launch writes into the row of its request.
struct Fate {
  var state: RequestState
  /// When the request may start again; `nil` if it has ended.
  var readiness: Readiness?
  var endedAt: Timestamp?
  var outcome: String
  var reason: String?
}

extension Fate {
  init(_ verdict: Ledger.Verdict, of outcome: LaunchOutcome, at now: Moment) {
    switch verdict {
    case .succeeded: self.init(ended: .succeeded, nil, at: now)
    case .failed(let message):
      self.init(ended: .failed, message.bounded(toBytes: LaunchOutcome.maximumErrorBytes), at: now)
    case .cancelled(let by): self.init(ended: .cancelled, by, at: now)
    case .resumes(let delay), .skipsBatch(let delay):
      let readiness = Readiness.resumption(after: delay, at: now)
      self.init(
        state: readiness.state, readiness: readiness, outcome: outcome.code, reason: outcome.storedReason)
    }
  }

  fileprivate init(ended state: RequestState, _ reason: String?, at now: Moment) {
    self.init(state: state, endedAt: now.date, outcome: state.rawValue, reason: reason)
  }
}
