/// Why a launch was asked to stop.
///
/// An expiry is an outcome and not an error, except that a launch whose batch took too long (`batchTimedOut`) has
/// failed unless it commits the batch after all. The Swift API, the store, JSON, spans and `baton explain` all use the
/// same codes.
///
/// A handler reads its reason in `JobTask.expiry`. Compare a reason with a static member (`reason == .powerLost`), or
/// switch over its ``kind``.
///
/// To add a reason, add a case of ``Kind``, its row in ``Kind/row`` and a static member; a reason with a detail has a
/// function instead of the member. All three are in this file.
public struct ExpiryReason: Hashable, Sendable {
  /// The kind of the reason.
  public let kind: Kind
  /// For `cancelled`, the principal who cancelled the request. For `simulated`, the code of the simulated reason, or
  /// `nil` if no reason was named. For every other kind `nil`.
  public let detail: String?

  /// The kinds of reason. The raw value is the stable code in the store, in JSON and in spans.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A person cancelled the request. The request ends as `cancelled` when this launch ends.
    case cancelled
    /// The launch has run for its definition's `budget`.
    case budgetSpent
    /// The launch made no progress for twice its definition's `stallAfter`.
    case stalled
    /// A batch took longer than its definition's `batchTimeout`. Unless the batch is committed before the launch ends,
    /// the launch has failed.
    case batchTimedOut
    /// The worker could not renew its lease in time.
    case leaseLost
    /// Another launch of the request is live, so this launch can commit nothing more.
    case superseded
    /// The host or the worker's process is shutting down, or an operator drains the host.
    case draining
    /// An operator moved the job away from this host.
    case evicted
    /// An operator paused the fleet.
    case paused
    /// The host's owner paused the host.
    case pausedByOwner
    /// The hours in which the host's owner lends the host are over.
    case outsideHours
    /// The host has lost external power.
    case powerLost
    /// The host's battery is low.
    case batteryLow
    /// The host is in low power mode.
    case lowPowerMode
    /// The host is too hot.
    case thermal
    /// The host has lost the network that the job requires.
    case networkLost
    /// The host is no longer idle.
    case hostBusy
    /// The host's labels no longer match the labels that the job requires.
    case labelLost
    /// The host no longer has the GPUs that the job requires.
    case gpuLost
    /// The launch time of the day is used up, the definition's or the host's.
    case allowanceSpent
    /// A request of a higher priority, which a person waits for, needs the place.
    case preempted
    /// An operator lowered the number of shards that may be in work at once.
    case laneLost
    /// `baton simulate` asked for the expiry. It counts towards no limit and no statistic.
    case simulated
  }

  /// The reason `Kind.budgetSpent`.
  public static let budgetSpent = Self(.budgetSpent)
  /// The reason `Kind.stalled`.
  public static let stalled = Self(.stalled)
  /// The reason `Kind.batchTimedOut`.
  public static let batchTimedOut = Self(.batchTimedOut)
  /// The reason `Kind.leaseLost`.
  public static let leaseLost = Self(.leaseLost)
  /// The reason `Kind.superseded`.
  public static let superseded = Self(.superseded)
  /// The reason `Kind.draining`.
  public static let draining = Self(.draining)
  /// The reason `Kind.evicted`.
  public static let evicted = Self(.evicted)
  /// The reason `Kind.paused`.
  public static let paused = Self(.paused)
  /// The reason `Kind.pausedByOwner`.
  public static let pausedByOwner = Self(.pausedByOwner)
  /// The reason `Kind.outsideHours`.
  public static let outsideHours = Self(.outsideHours)
  /// The reason `Kind.powerLost`.
  public static let powerLost = Self(.powerLost)
  /// The reason `Kind.batteryLow`.
  public static let batteryLow = Self(.batteryLow)
  /// The reason `Kind.lowPowerMode`.
  public static let lowPowerMode = Self(.lowPowerMode)
  /// The reason `Kind.thermal`.
  public static let thermal = Self(.thermal)
  /// The reason `Kind.networkLost`.
  public static let networkLost = Self(.networkLost)
  /// The reason `Kind.hostBusy`.
  public static let hostBusy = Self(.hostBusy)
  /// The reason `Kind.labelLost`.
  public static let labelLost = Self(.labelLost)
  /// The reason `Kind.gpuLost`.
  public static let gpuLost = Self(.gpuLost)
  /// The reason `Kind.allowanceSpent`.
  public static let allowanceSpent = Self(.allowanceSpent)
  /// The reason `Kind.preempted`.
  public static let preempted = Self(.preempted)
  /// The reason `Kind.laneLost`.
  public static let laneLost = Self(.laneLost)

  /// The request was cancelled.
  /// - Parameter by: the principal who cancelled the request.
  public static func cancelled(by principal: String) -> Self { Self(.cancelled, detail: principal) }

  /// The launch was stopped by a simulation.
  /// - Parameter kind: the reason to simulate; `nil` if the simulation names no reason.
  public static func simulated(as kind: Kind?) -> Self { Self(.simulated, detail: kind?.rawValue) }

  /// Makes a reason that was stored, or that another process sent.
  /// - Parameter detail: the detail of the reason. It is ignored for kinds that carry no detail.
  package init(_ kind: Kind, detail: String? = nil) {
    self.kind = kind
    self.detail =
      switch kind.row.carries {
      case .nothing: nil
      case .principal: detail ?? "unknown"
      case .reason: detail.flatMap(Kind.init)?.rawValue
      }
  }

  /// Makes a reason from its code. The result is `nil` if this version does not know the code.
  package init?(code: String, detail: String? = nil) {
    guard let kind = Kind(rawValue: code) else { return nil }
    self.init(kind, detail: detail)
  }

  /// The stable code of the kind in the store, in JSON and in spans.
  public var code: String { kind.rawValue }

  /// One reason of each kind that carries no detail.
  package static let plain = Kind.allCases.filter { $0.row.carries == .nothing }.map { Self($0) }

  /// The closing window of a launch of `definition` that is asked to stop for this reason (contract, row 16).
  package func closingWindow(of definition: Definition) -> Duration {
    min(definition.closingWindow ?? definition.kind.closingWindow, kind.row.longestWindow)
  }

  /// Whether a launch that ends for this reason without a committed batch counts towards quarantine, in the manner of a
  /// lost launch (contract, row 29).
  package var isStrike: Bool { kind.row.strikeAdvice != nil }
}

extension ExpiryReason.Kind {
  /// What the `detail` of a reason contains.
  package enum Detail: Hashable, Sendable { case nothing, principal, reason }

  /// What Baton does and says about a kind of reason. `Documentation/reference/reasons.md` is generated from these
  /// rows.
  package struct Row: Sendable {
    /// What the reason means, in a sentence or two of Markdown.
    package let meaning: String
    /// What an operator can do about it. In most cases that is nothing, because the request goes on by itself.
    package let remedy: String
    /// The longest closing window for this reason. A longer window of the definition is cut to this one.
    package var longestWindow = Duration.seconds(Int64.max)
    /// What helps such a launch to commit a batch; `nil` if the reason is no strike.
    package var strikeAdvice: String?
    /// What the `detail` of such a reason contains.
    package var carries = Detail.nothing
  }

  package var row: Row {
    switch self {
    case .cancelled:
      Row(
        meaning: "A person cancelled the request, and `detail` says who. The request ends with this launch.",
        remedy: "submit it again if it was a mistake: baton submit IDENTIFIER", carries: .principal)
    case .budgetSpent:
      Row(
        meaning: "The launch used up its `budget`.",
        remedy: "nothing if batches get done; otherwise lower 'batchSize', or raise 'budget'",
        strikeAdvice: "raise 'budget' of the definition, or commit smaller batches or a cursor")
    case .stalled:
      Row(
        meaning:
          "The launch made no progress for twice its `stallAfter`. Progress is a committed batch, or a change of the "
          + "number of completed units; heartbeats and output do not count as progress.",
        remedy: "see what it waits for: baton logs IDENTIFIER; raise 'stallAfter' if its batches take that long",
        strikeAdvice: "raise 'stallAfter' of the definition, or commit smaller batches or a cursor")
    case .batchTimedOut:
      Row(
        meaning:
          "A batch took longer than `batchTimeout`. Its command gets SIGTERM at once. The launch has failed, and "
          + "`retry` decides what follows, unless the batch was committed before the launch ended.",
        remedy: "see what it waits for: baton logs IDENTIFIER; raise 'batchTimeout' if its batches take that long")
    case .leaseLost:
      Row(
        meaning:
          "The worker could not renew its lease in time. Another host may have the request by now, so this launch "
          + "can save nothing more. The coordinator records `lost`.",
        remedy: "check the network to the host; a longer 'leaseTerm' bridges longer gaps",
        longestWindow: .seconds(2))
    case .superseded:
      Row(
        meaning:
          "Another launch of the request is live; the coordinator had taken this launch for lost. Nothing that this "
          + "launch does counts.",
        remedy: "nothing; if it happens often, a longer 'leaseTerm'", longestWindow: .seconds(2))
    case .draining:
      Row(
        meaning: "An operator drains the host, or its worker, or the process of `run` or `up`, is shutting down.",
        remedy: "nothing; when the host is to work again: baton undrain HOST")
    case .evicted:
      Row(
        meaning: "An operator moved the job away from this host.",
        remedy: "nothing; to take it back: baton evict IDENTIFIER --host HOST --allow")
    case .paused:
      Row(
        meaning: "An operator paused the fleet, or the coordinator did, because its store went backwards.",
        remedy: "baton resume")
    case .pausedByOwner:
      Row(meaning: "The host's owner paused it.", remedy: "nothing; its owner ends the pause with: baton-worker resume")
    case .outsideHours:
      Row(
        meaning: "The hours of the day at which the host's owner lends it are over.",
        remedy: "nothing, or ask its owner for more 'hours'")
    case .powerLost:
      Row(
        meaning: "The job requires external power, and the host was unplugged.", remedy: "nothing, or plug the host in")
    case .batteryLow:
      Row(
        meaning: "The host's battery fell below \(Policy.lowBatteryPercent) %. `continued` jobs go on.",
        remedy: "nothing, or charge the host")
    case .lowPowerMode:
      Row(
        meaning: "The host went into low power mode. `continued` jobs go on.",
        remedy: "nothing, or switch low power mode off")
    case .thermal:
      Row(
        meaning: "The host's thermal state became `serious`; for a `continued` job `critical`.",
        remedy: "nothing, or let the host cool")
    case .networkLost:
      Row(
        meaning: "The job requires a network, or an unmetered one, and the host has had none for 10 s.",
        remedy: "nothing, or connect the host")
    case .hostBusy:
      Row(
        meaning: "The job requires an idle host, and the host is in use again.",
        remedy: "nothing; declare 'requiresIdle: false' if the job does not disturb the host's users")
    case .labelLost:
      Row(
        meaning: "The job has `requiredLabels`, and the host's labels no longer match them.",
        remedy: "nothing, or look at the command of 'facts' in the host's worker.yaml")
    case .gpuLost:
      Row(
        meaning: "The job requires GPUs, and the host no longer has them.",
        remedy: "look after the host's GPU and its driver")
    case .allowanceSpent:
      Row(
        meaning: "The launch time of the day is used up, the definition's or the host's.",
        remedy: "nothing: it goes on tomorrow or elsewhere; or raise 'dailyAllowance'")
    case .preempted:
      Row(
        meaning:
          "A request of a higher priority, which a person waits for, needed its slots. This launch had the least "
          + "uncommitted work.",
        remedy: "nothing; more hosts or slots if it happens often")
    case .laneLost:
      Row(
        meaning:
          "An operator lowered the `spread` of the request, and this shard was one too many. It goes on when a lane is "
          + "free.",
        remedy: "nothing; to take it back: baton set IDENTIFIER spread=N")
    case .simulated:
      Row(
        meaning: "`baton simulate` asked for it, or simulated conditions caused it; `detail` has the reason that was "
          + "simulated. It counts towards nothing.",
        remedy: "nothing", carries: .reason)
    }
  }
}
