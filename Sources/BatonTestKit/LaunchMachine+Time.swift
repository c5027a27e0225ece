import BatonModel

/// What the manual clock brings.
extension LaunchMachine {
  /// The next time at which something happens if nothing else does.
  var nextEvent: Duration? {
    switch phase {
    case .running: [plannedAt, budgetEndsAt, stallsAt].compactMap(\.self).min()
    case .expiring(_, let deadline): deadline
    case .cutOff: nil
    }
  }

  mutating func timeReached(_ now: Duration) -> Effect? {
    switch phase {
    case .running: runningReached(now)
    case .expiring(let reason, let deadline): deadline <= now ? ignoreExpiry(reason) : nil
    case .cutOff: nil
    }
  }

  private mutating func runningReached(_ now: Duration) -> Effect? {
    if let plannedAt, plannedAt <= now { return reachPlannedTime(at: now) }
    if let budgetEndsAt, budgetEndsAt <= now { return expire(.budgetSpent, at: now) }
    if let stallsAt, stallsAt <= now { return expire(.stalled, at: now) }
    return nil
  }

  private var plannedAt: Duration? {
    guard case .elapsed(let time)? = interruption?.point else { return nil }
    return startedAt + time
  }

  private var budgetEndsAt: Duration? { definition.budget.map { startedAt + $0 } }

  /// Suspected after `stallAfter`, or five usual batches; expired at twice that (contract, row 32).
  private var stallsAt: Duration? {
    Stall.suspicion(of: definition, usualBatch: standing.pace.usualBatch, keepsCursor: true).map { progressAt + $0 * 2 }
  }
}
