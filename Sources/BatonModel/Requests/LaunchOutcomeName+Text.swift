/// The outcomes of a launch by name, without what they carry. The page `Documentation/reasons.md` is made of these; a
/// new case of `LaunchOutcome` does not compile without a name and its texts.
package enum LaunchOutcomeName: String, Hashable, Sendable, CaseIterable {
  case finished, failed, expired, lost
}

extension LaunchOutcome {
  package var name: LaunchOutcomeName {
    switch self {
    case .finished: .finished
    case .failed: .failed
    case .expired: .expired
    case .lost: .lost
    }
  }
}

extension LaunchOutcomeName {
  /// What it means, in a sentence or two of Markdown.
  package var meaning: String {
    switch self {
    case .finished: "All work is done, by the store's cursor, whatever a stop signal made of the exit status."
    case .failed: "The handler threw, or the command ended with a status other than 0. `reason` has the message."
    case .expired: "It was asked to stop, and did. `reason` says why. An expiry is no failure."
    case .lost: "Its worker's lease ran out, or its worker's process died."
    }
  }

  /// What becomes of the request.
  package var consequence: String {
    switch self {
    case .finished: "The request has succeeded."
    case .failed: "It is tried again after `retry.backoff`; after `retry.limit` retries the request has failed."
    case .expired: "The request goes on after its last checkpoint, on any host. No retry is used up."
    case .lost:
      "The request goes on after its last checkpoint: at once the first time, then after 1 s, 2 s, 4 s …, until a batch "
        + "is committed. No retry is used up. After three such launches in a row without a batch it has failed: "
        + "quarantined. Launches that ended `stalled` or `budgetSpent` count with them."
    }
  }
}
