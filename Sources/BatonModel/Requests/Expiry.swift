/// Why a launch was asked to stop. An outcome, never an error; the same cases in the Swift API, the store, JSON, spans
/// and `explain`.
public indirect enum ExpiryReason: Hashable, Sendable {
  /// A person cancelled the request; it ends `cancelled` when the launch does.
  case cancelled(by: String)
  /// The launch used its definition's `budget`.
  case budgetSpent
  /// No progress for twice the stall time.
  case stalled
  /// The worker could not renew its lease in time.
  case leaseLost
  /// Another launch of the request is live: this one is superseded.
  case superseded
  /// The host or the whole process is shutting down, or an operator drains the host.
  case draining
  /// An operator moved the launch away from this host.
  case evicted
  /// An operator paused the fleet.
  case paused
  /// The host's owner paused it.
  case pausedByOwner
  /// Its owner lends the host at other hours of the day.
  case outsideHours
  /// The host no longer has external power.
  case powerLost
  case batteryLow
  case lowPowerMode
  case thermal
  case networkLost
  /// The host is no longer idle.
  case hostBusy
  /// The host's labels no longer say what the job requires.
  case labelLost
  /// The host no longer has the GPUs that the job requires.
  case gpuLost
  /// The definition's or the host's launch time of the day is used up.
  case allowanceSpent
  /// A request of a higher priority, which a person waits for, needs the place.
  case preempted
  /// Asked for by `baton simulate`: as if it were `as`, or for no reason at all. It counts towards nothing.
  case simulated(as: ExpiryReason?)

  /// The stable name in the store, JSON and spans.
  public var code: String {
    switch self {
    case .cancelled: "cancelled"
    case .budgetSpent: "budgetSpent"
    case .stalled: "stalled"
    case .leaseLost: "leaseLost"
    case .superseded: "superseded"
    case .draining: "draining"
    case .evicted: "evicted"
    case .paused: "paused"
    case .pausedByOwner: "pausedByOwner"
    case .outsideHours: "outsideHours"
    case .powerLost: "powerLost"
    case .batteryLow: "batteryLow"
    case .lowPowerMode: "lowPowerMode"
    case .thermal: "thermal"
    case .networkLost: "networkLost"
    case .hostBusy: "hostBusy"
    case .labelLost: "labelLost"
    case .gpuLost: "gpuLost"
    case .allowanceSpent: "allowanceSpent"
    case .preempted: "preempted"
    case .simulated: "simulated"
    }
  }

  /// Who cancelled it, or the code of what was simulated.
  package var detail: String? {
    switch self {
    case .cancelled(let by): by
    case .simulated(let reason): reason?.code
    case .budgetSpent, .stalled, .leaseLost, .superseded, .draining, .evicted, .paused, .pausedByOwner, .outsideHours,
      .powerLost,
      .batteryLow, .lowPowerMode, .thermal, .networkLost, .hostBusy, .labelLost, .gpuLost, .allowanceSpent, .preempted:
      nil
    }
  }

  /// Nil for a code that this version does not know.
  package init?(code: String, detail: String? = nil) {
    switch code {
    case "cancelled": self = .cancelled(by: detail ?? "unknown")
    case "simulated": self = .simulated(as: detail.flatMap { ExpiryReason(code: $0) })
    default:
      guard let match = Self.plain.first(where: { $0.code == code }) else { return nil }
      self = match
    }
  }

  /// Every reason that carries nothing.
  package static let plain: [ExpiryReason] = [
    .budgetSpent, .stalled, .leaseLost, .superseded, .draining, .evicted, .paused, .pausedByOwner, .outsideHours,
    .powerLost,
    .batteryLow, .lowPowerMode, .thermal, .networkLost, .hostBusy, .labelLost, .gpuLost, .allowanceSpent, .preempted,
  ]

  /// How long a launch may take to close after it was asked to stop for this reason (contract, row 16). A launch that
  /// can save nothing any more has nothing to close.
  package func closingWindow(of definition: Definition) -> Duration {
    let window = definition.closingWindow ?? definition.kind.closingWindow
    switch self {
    case .leaseLost, .superseded: return min(window, .seconds(2))
    case .cancelled, .budgetSpent, .stalled, .draining, .evicted, .paused, .pausedByOwner, .outsideHours, .powerLost,
      .batteryLow,
      .lowPowerMode, .thermal, .networkLost, .hostBusy, .labelLost, .gpuLost, .allowanceSpent, .preempted, .simulated:
      return window
    }
  }

  /// Reasons that, like a vanished worker, count towards quarantine when the launch committed nothing (contract, row 29).
  package var isStrike: Bool {
    switch self {
    case .budgetSpent, .stalled: true
    case .cancelled, .leaseLost, .superseded, .draining, .evicted, .paused, .pausedByOwner, .outsideHours, .powerLost,
      .batteryLow,
      .lowPowerMode, .thermal, .networkLost, .hostBusy, .labelLost, .gpuLost, .allowanceSpent, .preempted, .simulated:
      false
    }
  }
}

/// How a launch ended.
package enum LaunchOutcome: Hashable, Sendable {
  case finished
  /// What the handler threw, or what was wrong with the command; at most `maximumErrorBytes` are kept.
  case failed(String)
  case expired(ExpiryReason)
  /// Its worker's lease ran out, or its worker's process died.
  case lost

  package static let maximumErrorBytes = 4096

  package var code: String {
    switch self {
    case .finished: "finished"
    case .failed: "failed"
    case .expired: "expired"
    case .lost: "lost"
    }
  }
}

/// What a refresh found (contract, row 42).
public enum RefreshResult: String, Hashable, Sendable, CaseIterable {
  case newData
  /// Nothing was new. Again and again, and the refresh comes less often, up to four times its interval.
  case noData
  /// The refresh failed: the same as throwing.
  case failed
}
