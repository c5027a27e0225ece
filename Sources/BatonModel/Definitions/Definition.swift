/// What an operator declares in YAML: for which identifiers, of which kind, under which conditions, and with which
/// work.
///
/// A request keeps the definition under which it was submitted. A definition that is applied later changes only later
/// requests.
package struct Definition: Hashable, Sendable, Codable {
  package var pattern: IdentifierPattern
  package var kind: JobKind
  package var title: String?
  package var subtitle: String?
  package var requirements: Requirements
  /// What happens when the request cannot start at once. Only `continued` jobs have a choice; for other kinds it is
  /// `.queue`.
  package var strategy: Strategy
  package var priority: Priority
  /// The longest that one launch may run, counted from the start of its handler: the value of the YAML, or the default
  /// of the kind. `nil` means no limit, except for a command in one piece: use `budget(keepsCursor:)`, which knows that
  /// case.
  package var budget: Duration?
  package var retry: RetryRule
  /// How many requests of a wildcard's definition may run at once; `nil` means no limit, and is the only value for a
  /// definition of a single identifier.
  package var maxRunning: Int?
  /// How many launches with one key may run at once, also of other definitions; `nil` means no limit.
  package var concurrency: ConcurrencyLimit?
  /// How many launches with one key may start in a time, also of other definitions; `nil` means no limit.
  package var rate: RateLimitByKey?
  /// How many requests of this definition may be pending (scheduled or ready); `nil` means the coordinator's default.
  package var pendingLimit: Int?
  /// Removes the spacing of 15 minutes between first launches of one identifier. Only for `refresh` jobs.
  package var allowFrequent: Bool
  package var earliestBeginDate: EarliestBeginDate?
  /// The time between two requests of the job, which follow each other; `nil` if nothing repeats, or by `schedule`.
  package var repeatEvery: Duration?
  /// When requests of the job come, by the calendar; `nil` if nothing comes by itself, or by `repeatEvery`.
  package var schedule: JobSchedule?
  /// How long a launch may run on after it was asked to stop; `nil` means the closing window of the kind.
  package var closingWindow: Duration?
  /// How long a launch may run without progress before it is suspected to have stalled; `nil` means the default of the
  /// kind. `Stall.suspicion` adds a rule for commands in one piece.
  package var stallAfter: Duration?
  /// How long one batch may take; `nil` means no limit. A launch whose batch takes longer is asked to stop, and has
  /// failed unless the batch is committed before it ends.
  package var batchTimeout: Duration?
  /// The launch time that all launches of this definition together may use in a day; `nil` means no limit (contract,
  /// row 17).
  package var dailyAllowance: Duration?
  /// How long a request of this definition is kept after its end; `nil` leaves it to the coordinator
  /// (`retention.ended`).
  package var retention: Duration?
  /// The least time between the first launches of requests that pokes asked for; `nil` means `defaultPokeSpacing`.
  package var pokeSpacing: Duration?
  /// The identifiers for which launches of this definition may submit requests: each pattern covers some. `nil` means
  /// none (contract, row 9).
  package var maySubmit: [IdentifierPattern]?
  /// The jobs that are submitted when a request has succeeded, with the facts about it (`EndedJob`); `nil` for none.
  package var onSuccess: FollowUp?
  /// The jobs that are submitted when a request has failed; `nil` for none.
  package var onFailure: FollowUp?
  /// The jobs of a flow that have to end before a request of this job starts; `nil` for none. A request that is not
  /// submitted as a member of a flow waits for none of them.
  package var after: [Dependency]?
  /// Who is told of what happens to requests of this definition; `nil` tells only those whom the fleet tells.
  package var notify: NotifyRule?
  /// What the stock worker runs; `nil` if a worker must have a Swift handler for the identifier.
  package var work: Work?
  /// How a request is divided among several hosts or slots; `nil` if one launch at a time does all of it.
  package var spread: Spread?
  /// What is fetched or sent before the first launch, outside of the launches; `nil` if there is nothing. An older
  /// version stored `nil` too (contract, row 37).
  package var transfers: [DefinedTransfer]?

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

  /// The default spacing of pokes, in the manner of silent push notifications (contract, row 41).
  package static let defaultPokeSpacing = Duration.seconds(15 * 60)
  /// The least time between the first launches of successive `refresh` requests of one identifier (contract, row 10).
  package static let refreshSpacing = Duration.seconds(15 * 60)
}

extension Definition {
  /// Whether a next request follows each request.
  package var repeats: Bool { repeatEvery != nil || schedule != nil }

  /// True for a command without items: the command runs once, as a whole. If the command keeps a cursor, each new
  /// cursor ends a batch. If it does not, an interrupted command starts again from the beginning.
  package var isInOnePiece: Bool { work.map { $0.items == nil } ?? false }

  /// The longest that one launch may run; `nil` means no limit.
  ///
  /// A command in one piece that keeps no cursor has no limit unless the definition sets one. With the budget of its
  /// kind, a database dump of 25 minutes would be stopped and started again from the beginning, and would never end.
  ///
  /// - Parameter keepsCursor: whether the request has committed a batch.
  package func budget(keepsCursor: Bool) -> Duration? {
    if let budget { return budget }
    return isInOnePiece && keepsCursor ? kind.defaultBudget : nil
  }
}

/// The kind of a job. The kinds are those of Apple's BackgroundTasks framework, with the same meaning (contract, rows
/// 10 to 12). The kind decides the defaults of a definition.
///
/// A handler reads the kind of its own launch in `JobTask.kind`.
public enum JobKind: String, Sendable, Codable, CaseIterable {
  /// A short look for news. A launch may run for 30 seconds, and first launches of one identifier are 15 minutes apart.
  case refresh
  /// Long work for an idle host. A launch may run for 10 minutes; after that the job waits for its next launch.
  case processing
  /// Work that a person started and watches. It starts at once, and may run without a limit while it makes progress.
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

  /// The default of `Definition.closingWindow`: how long a launch may run on after it was asked to stop (contract, row
  /// 16).
  package var closingWindow: Duration { self == .refresh ? .seconds(5) : .seconds(30) }

  /// The default of `Definition.stallAfter`: how long a launch may run without progress before it is suspected. `nil`
  /// means that launches of this kind are not watched for stalls (contract, row 32).
  package var defaultStallAfter: Duration? { self == .continued ? .seconds(60) : nil }

  /// Whether jobs of this kind yield to the battery, power mode and temperature of the host (contract, rows 22 to 24).
  package var isDiscretionary: Bool { self != .continued }
}

/// How soon ready requests start. Requests of a higher priority start first; within one priority the oldest starts
/// first.
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

/// What Baton does with a `continued` job if no host can start it at once (contract, row 35): the request waits, or the
/// submission is refused.
package enum Strategy: String, Sendable, Codable, CaseIterable {
  case queue
  case fail
}

/// The earliest time of the first launch (contract, row 13).
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
  /// How long before the deadline of an expiry a command that still runs gets SIGTERM. The value is
  /// `work.terminateBefore` if the definition has one. Otherwise it is 5 s (2 s for a `refresh`), but at most half of
  /// the closing window, so that the running batch has time to finish.
  package var terminationMargin: Duration {
    let usual: Duration = kind == .refresh ? .seconds(2) : .seconds(5)
    return work?.terminateBefore ?? min(usual, (closingWindow ?? kind.closingWindow) / 2)
  }
}
