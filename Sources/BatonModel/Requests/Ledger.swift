/// What a request remembers of its launches. When a launch ends, `end` decides what happens to the request.
package struct Ledger: Hashable, Sendable {
  /// The number of launches that failed since the request began or since an operator last retried it.
  package var failures: Int
  /// The number of launches in a row whose batch failed and that committed nothing, however many launches between them
  /// ended in another way. A committed batch and a skipped one reset it.
  package var barrenFailures: Int
  /// The number of launches in a row that ended `lost`. A committed batch resets it. After the first loss the request
  /// resumes at once; after later losses it backs off.
  package var losses: Int
  /// The number of launches in a row that committed nothing and ended `lost`, `stalled` or `budgetSpent`.
  package var strikes: Int
  /// The principal who asked to cancel the request while it was running; `nil` if there was none.
  package var cancelledBy: String?

  package init(
    failures: Int = 0, barrenFailures: Int = 0, losses: Int = 0, strikes: Int = 0, cancelledBy: String? = nil
  ) {
    self.failures = failures
    self.barrenFailures = barrenFailures
    self.losses = losses
    self.strikes = strikes
    self.cancelledBy = cancelledBy
  }

  /// What happens to the request after the end of a launch.
  package enum Verdict: Hashable, Sendable {
    case succeeded
    case failed(String)
    case cancelled(by: String)
    /// The request goes on at its checkpoint after `delay`. Zero means as soon as a host takes it.
    case resumes(after: Duration)
    /// The next batch is passed over, because it has failed as often as the definition permits. The request goes on
    /// after it, after `delay`.
    case skipsBatch(after: Duration)
  }

  /// Records the end of a launch, and decides what happens to the request.
  /// - Parameters:
  ///   - committedBatches: how many batches this launch committed.
  ///   - reachedEnd: whether the store's cursor is at the end of the work. If it is, the request has succeeded,
  ///     whatever the outcome of the launch.
  ///   - countsAsLoss: false if a lost launch must not count against the request, for example at the end of a `run` or
  ///     `up` process.
  ///   - failure: the kind of the failure, if the launch failed.
  ///   - request: the request or the shard, on which the wait before a retry depends.
  ///   - maySkip: whether there is a batch that may be skipped.
  package mutating func end(
    _ outcome: LaunchOutcome, committedBatches: Int, reachedEnd: Bool, retry: RetryRule,
    losses rule: LossRule = LossRule(), countsAsLoss: Bool = true, failure: FailureKind = .other,
    of request: RequestID = RequestID(0), maySkip: Bool = false
  ) -> Verdict {
    if committedBatches > 0 { (barrenFailures, losses, strikes) = (0, 0, 0) }
    if reachedEnd { return .succeeded }
    switch outcome {
    case .finished: return .succeeded
    case .failed(let message):
      return afterFailure(message, failure, retry, of: request, maySkip: maySkip)
    case .lost where !countsAsLoss: return cancelledBy.map { .cancelled(by: $0) } ?? .resumes(after: .zero)
    case .lost: return afterLoss(committedBatches: committedBatches, rule)
    case .expired(let reason): return afterExpiry(reason, committedBatches: committedBatches, rule)
    }
  }

  /// A failure that the rule does not cover ends the request at once: its batch is not skipped either.
  private mutating func afterFailure(
    _ message: String, _ failure: FailureKind, _ retry: RetryRule, of request: RequestID, maySkip: Bool
  ) -> Verdict {
    failures += 1
    if failure.isOfBatch { barrenFailures += 1 }
    if let cancelledBy { return .cancelled(by: cancelledBy) }
    guard retry.covers(failure) else {
      return .failed("not tried again after '\(failure.rawValue)', as 'retry' says: \(message)")
    }
    if maySkip, failure.isOfBatch, retry.skips(after: barrenFailures) {
      (failures, barrenFailures) = (0, 0)
      return .skipsBatch(after: retry.wait(after: 1, of: request))
    }
    guard failures <= retry.limit else { return .failed(message) }
    return .resumes(after: retry.wait(after: failures, of: request))
  }

  private mutating func afterLoss(committedBatches: Int, _ rule: LossRule) -> Verdict {
    losses += 1
    if let cancelledBy { return .cancelled(by: cancelledBy) }
    if let quarantine = strike(committedBatches: committedBatches, because: nil, rule) { return quarantine }
    return .resumes(after: losses == 1 ? .zero : rule.backoff.doubled(losses - 2))
  }

  private mutating func afterExpiry(
    _ reason: ExpiryReason, committedBatches: Int, _ rule: LossRule
  ) -> Verdict {
    if reason.kind == .cancelled { return .cancelled(by: reason.detail ?? "unknown") }
    if let cancelledBy { return .cancelled(by: cancelledBy) }
    if reason.isStrike, let quarantine = strike(committedBatches: committedBatches, because: reason.kind, rule) {
      return quarantine
    }
    return .resumes(after: .zero)
  }

  /// Counts a strike if the launch committed no batch. Returns the quarantine if that was the last strike that the rule
  /// allows, and otherwise `nil`.
  /// - Parameter reason: why the launch expired; `nil` if it was lost.
  private mutating func strike(committedBatches: Int, because reason: ExpiryReason.Kind?, _ rule: LossRule) -> Verdict?
  {
    guard committedBatches == 0 else { return nil }
    strikes += 1
    guard strikes >= rule.quarantineAfter else { return nil }
    return .failed(
      "quarantined: \(strikes) launches in a row committed no batch; the last one ended \(reason?.rawValue ?? "lost")"
        + (reason?.row.strikeAdvice.map { "; \($0)" } ?? ""))
  }
}

/// When a request resumes after lost launches, and when it is quarantined (contract, row 29).
package struct LossRule: Hashable, Sendable {
  /// After this number of strikes in a row the request fails as quarantined, and keeps its history; 1 or more.
  package var quarantineAfter: Int
  /// The wait after the second loss in a row. It doubles with each further loss. After the first loss there is no wait.
  package var backoff: Duration

  package init(quarantineAfter: Int = 3, backoff: Duration = .seconds(1)) {
    self.quarantineAfter = quarantineAfter
    self.backoff = backoff
  }
}

extension Duration {
  /// This duration doubled `times` times, but at most a day: a longer backoff is of no use.
  package func doubled(_ times: Int) -> Duration {
    let longest = Duration.seconds(86_400)
    var (result, remaining) = (self, times)
    while remaining > 0, result > .zero, result < longest {
      result = result * 2
      remaining -= 1
    }
    return min(result, max(self, longest))
  }
}
