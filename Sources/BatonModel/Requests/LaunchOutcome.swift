/// How a launch ended.
package enum LaunchOutcome: Hashable, Sendable {
  case finished
  /// The handler threw an error, or the command failed. The text is the message; the first `maximumErrorBytes` bytes of
  /// it are kept.
  case failed(String)
  case expired(ExpiryReason)
  /// The worker's lease ran out, or its process died.
  case lost

  /// The longest message of a failure that is kept, in bytes of UTF-8.
  package static let maximumErrorBytes = 4096

  /// The outcome without its values. The raw value is the stable code in the store, in JSON and in spans.
  package enum Kind: String, Hashable, Sendable, CaseIterable { case finished, failed, expired, lost }

  package var kind: Kind {
    switch self {
    case .finished: .finished
    case .failed: .failed
    case .expired: .expired
    case .lost: .lost
    }
  }

  package var code: String { kind.rawValue }

  /// Why the launch expired; `nil` for every other outcome.
  package var reason: ExpiryReason? { if case .expired(let reason) = self { reason } else { nil } }
}

extension LaunchOutcome.Kind {
  /// What the outcome means, in a sentence or two of Markdown.
  package var meaning: String {
    switch self {
    case .finished: "All work is done, according to the stored checkpoint, whatever the exit status."
    case .failed: "The handler threw, or the command ended with a status other than 0. `reason` has the message."
    case .expired: "It was asked to stop, and did. `reason` says why. An expiry is no failure."
    case .lost: "Its worker's lease ran out, or its worker's process died."
    }
  }

  /// What happens to the request after this outcome, in Markdown.
  package var consequence: String {
    switch self {
    case .finished: "The request has succeeded."
    case .failed:
      "It is tried again after `retry.backoff`; after `retry.limit` retries, or a failure that `retry.on` or "
        + "`retry.notOn` rules out, the request has failed. With `retry.skipBatchAfter` the batch may be skipped instead."
    case .expired: "The request goes on after its last checkpoint, on any host. No retry is used up."
    case .lost:
      "The request goes on after its last checkpoint: at once the first time, then after 1 s, 2 s, 4 s …, until a batch "
        + "is committed. No retry is used up. After three such launches in a row without a committed batch the request fails: "
        + "it is quarantined. Launches that ended `stalled` or `budgetSpent` count with them."
    }
  }
}

/// What a `refresh` found (contract, row 42). The handler of a refresh returns it.
public enum RefreshResult: String, Hashable, Sendable, CaseIterable {
  /// The launch found new data. The refresh starts at its usual interval again.
  case newData
  /// The launch found nothing new. After several such launches in a row the refresh starts less often: its interval
  /// becomes up to four times as long.
  case noData
  /// The refresh failed. The launch ends in the same way as if the handler had thrown an error.
  case failed
}
