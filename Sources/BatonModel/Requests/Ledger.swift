/// What a request remembers of its launches, and what becomes of the request when a launch ends: the life of a request
/// after its first launch, in one value.
package struct Ledger: Hashable, Sendable {
  /// Launches that failed since the request began or was last retried by an operator.
  package var failures: Int
  /// Launches in a row that ended `lost`; a committed batch resets it. The first resumes at once, later ones back off.
  package var losses: Int
  /// Launches in a row that committed nothing and ended `lost`, `stalled` or `budgetSpent`.
  package var strikes: Int
  /// Who asked to cancel the request while it was running.
  package var cancelledBy: String?

  package init(failures: Int = 0, losses: Int = 0, strikes: Int = 0, cancelledBy: String? = nil) {
    self.failures = failures
    self.losses = losses
    self.strikes = strikes
    self.cancelledBy = cancelledBy
  }

  /// What becomes of the request.
  package enum Verdict: Hashable, Sendable {
    case succeeded
    case failed(String)
    case cancelled(by: String)
    /// Goes on from its checkpoint after `delay`; zero means as soon as a host takes it.
    case resumes(after: Duration)
  }

  /// Records the end of a launch.
  /// - Parameters:
  ///   - committedBatches: how many batches this launch committed.
  ///   - reachedEnd: the store's cursor is at the end of the work, whatever the launch itself said.
  ///   - countsAsLoss: false if a lost launch is blameless, as at the end of a `run` or `up` process.
  package mutating func end(
    _ outcome: LaunchOutcome, committedBatches: Int, reachedEnd: Bool, retry: RetryRule,
    losses rule: LossRule = LossRule(),
    countsAsLoss: Bool = true
  ) -> Verdict {
    if committedBatches > 0 { (losses, strikes) = (0, 0) }
    if reachedEnd { return .succeeded }
    switch outcome {
    case .finished: return .succeeded
    case .failed(let message): return afterFailure(message, retry: retry)
    case .lost where !countsAsLoss: return cancelledBy.map { .cancelled(by: $0) } ?? .resumes(after: .zero)
    case .lost: return afterLoss(committedBatches: committedBatches, rule)
    case .expired(let reason): return afterExpiry(reason, committedBatches: committedBatches, rule)
    }
  }

  private mutating func afterFailure(_ message: String, retry: RetryRule) -> Verdict {
    failures += 1
    if let cancelledBy { return .cancelled(by: cancelledBy) }
    guard failures <= retry.limit else { return .failed(message) }
    return .resumes(after: retry.backoff.doubled(failures - 1))
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

  /// - Parameter reason: why the launch expired; nil if it was lost.
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

/// How launches that come to nothing are answered (contract, row 29).
package struct LossRule: Hashable, Sendable {
  /// After so many strikes in a row the request is quarantined as failed, with its history; 1 or more.
  package var quarantineAfter: Int
  /// The wait after the second loss in a row; it doubles with each one. The first resumes at once.
  package var backoff: Duration

  package init(quarantineAfter: Int = 3, backoff: Duration = .seconds(1)) {
    self.quarantineAfter = quarantineAfter
    self.backoff = backoff
  }
}

extension Duration {
  /// This duration doubled `times` times, at most a day: a backoff longer than that helps nobody.
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
