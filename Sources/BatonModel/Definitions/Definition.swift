/// What an operator declares in YAML: which identifiers, of which kind, under which conditions, doing which work.
///
/// A request freezes the definition it was submitted under; applying a new one changes only later requests.
package struct Definition: Hashable, Sendable, Codable {
  package var pattern: IdentifierPattern
  package var kind: JobKind
  package var title: String?
  package var subtitle: String?
  package var requirements: Requirements
  /// Continued only: what happens when the request cannot start at once.
  package var strategy: Strategy
  package var priority: Priority
  /// Longest launch, counted from the start of its handler, as the definition says it or as its kind has it. nil: no
  /// limit; for a command in one piece `budget(keepsCursor:)` says more.
  package var budget: Duration?
  package var retry: RetryRule
  /// Wildcards only: how many instances may run at once; nil means no limit.
  package var maxRunning: Int?
  /// How many requests of this definition may be pending (scheduled or ready); nil means the coordinator's default.
  package var pendingLimit: Int?
  /// Refresh only: lifts the spacing of 15 minutes between first launches of one identifier.
  package var allowFrequent: Bool
  package var earliestBeginDate: EarliestBeginDate?
  package var repeatEvery: Duration?
  /// How long a launch may take to close after it was asked to stop; nil means what the kind allows.
  package var closingWindow: Duration?
  /// How long a launch may run without progress before it is suspected to have stalled; nil: as the kind has it, and for
  /// a command in one piece as `Stall.suspicion` says.
  package var stallAfter: Duration?
  /// Launch time that all launches of this definition may use in a day; nil means no limit (contract, row 17).
  package var dailyAllowance: Duration?
  /// Least time between the first launches of requests that pokes asked for; nil means `defaultPokeSpacing`.
  package var pokeSpacing: Duration?
  /// Nil if a worker's Swift code must have a handler for the identifier.
  package var work: Work?

  /// A definition with the defaults of its kind.
  package init(pattern: IdentifierPattern, kind: JobKind) {
    self.pattern = pattern
    self.kind = kind
    requirements = Requirements(requiresIdle: kind == .processing)
    strategy = .queue
    priority = kind.defaultPriority
    budget = kind.defaultBudget
    retry = RetryRule()
    allowFrequent = false
  }

  /// As silent pushes have it (contract, row 41).
  package static let defaultPokeSpacing = Duration.seconds(15 * 60)
  /// Least time between first launches of successive refresh requests of one identifier (contract, row 10).
  package static let refreshSpacing = Duration.seconds(15 * 60)
}

extension Definition {
  /// True for a command without items: it runs once, as a whole. If it keeps a cursor, each cursor is a batch; if not, an
  /// interrupted launch starts it again from the beginning.
  package var isInOnePiece: Bool { work.map { $0.items == nil } ?? false }

  /// Longest launch; nil: no limit.
  ///
  /// A command in one piece has no limit until it has kept a cursor, unless the definition sets one: stopped at the
  /// budget of its kind, a database dump of 25 minutes would begin again and again and never end.
  /// - Parameter keepsCursor: the request has committed a batch.
  package func budget(keepsCursor: Bool) -> Duration? {
    if let budget { return budget }
    return isInOnePiece && keepsCursor ? kind.defaultBudget : nil
  }
}

/// The three kinds of BackgroundTasks, with Apple's meaning (contract, rows 10 to 12).
public enum JobKind: String, Sendable, Codable, CaseIterable {
  /// A short look for news: 30 seconds, spaced 15 minutes.
  case refresh
  /// Long work for a host that is idle, in slices of 10 minutes.
  case processing
  /// Work that a person started and watches: starts at once, no limit while it makes progress.
  case continued

  package var defaultPriority: Priority {
    switch self {
    case .refresh: .utility
    case .processing: .background
    case .continued: .userInitiated
    }
  }

  package var defaultBudget: Duration? {
    switch self {
    case .refresh: .seconds(30)
    case .processing: .seconds(600)
    case .continued: nil
    }
  }

  /// How long a launch may take to close after it was asked to stop (contract, row 16).
  package var closingWindow: Duration { self == .refresh ? .seconds(5) : .seconds(30) }

  /// How long a launch may run without progress; nil means that nobody watches it do so (contract, row 32).
  package var defaultStallAfter: Duration? { self == .continued ? .seconds(60) : nil }

  /// Discretionary work yields to the host's battery, power mode and temperature first (contract, rows 22 to 24).
  package var isDiscretionary: Bool { self != .continued }
}

/// Higher starts first; within one priority the oldest starts first.
package enum Priority: Int, Sendable, Codable, CaseIterable, Comparable {
  case background = 0
  case utility = 1
  case userInitiated = 2

  package var name: String {
    switch self {
    case .background: "background"
    case .utility: "utility"
    case .userInitiated: "userInitiated"
    }
  }

  package init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What a continued job does when no host can start it at once (contract, row 35).
package enum Strategy: String, Sendable, Codable, CaseIterable {
  case queue
  case fail
}

/// How often a failed launch is tried again, and after how long. Expiry never uses a retry up.
package struct RetryRule: Hashable, Sendable, Codable {
  /// Retries after the first failure, 0 or more.
  package var limit: Int
  /// The wait before the first retry; it doubles with each one.
  package var backoff: Duration

  package init(limit: Int = 3, backoff: Duration = .seconds(30)) {
    self.limit = limit
    self.backoff = backoff
  }
}

/// A lower bound for the first launch (contract, row 13).
package enum EarliestBeginDate: Hashable, Sendable, Codable {
  case afterSubmission(Duration)
  case at(Timestamp)

  package func resolved(submittedAt: Timestamp) -> Timestamp {
    switch self {
    case .afterSubmission(let delay): submittedAt + delay
    case .at(let date): date
    }
  }
}

extension Definition {
  /// How long before the deadline of an expiry a command that still runs gets SIGTERM: what its work says, else 5 s (2 s
  /// for a refresh), and never more than half of the closing window, or the running batch would have no time to finish.
  package var terminationMargin: Duration {
    let usual: Duration = kind == .refresh ? .seconds(2) : .seconds(5)
    return work?.terminateBefore ?? min(usual, (closingWindow ?? kind.closingWindow) / 2)
  }
}
