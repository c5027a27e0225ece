import BatonHandler
import BatonModel

/// What becomes of one launch under test: told what happens, and when on the manual clock, it says what follows. A value
/// without a clock or a task; `LaunchUnderTest` is its shell. It decides as a worker and its coordinator do.
struct LaunchMachine: Sendable {
  enum Phase: Hashable {
    /// The handler has not been asked to stop.
    case running
    /// It was asked to stop, and may still save what it has.
    case expiring(ExpiryReason, deadline: Duration)
    /// Nothing that it does counts any more.
    case cutOff(CutOff)
  }

  enum CutOff: Hashable {
    case workerLost
    case ignoredExpiry(ExpiryReason)
  }

  enum Effect: Hashable {
    /// The handler's task is cancelled.
    case cancelHandler
    /// The worker's process would end here, whatever the handler does.
    case abandonHandler
  }

  let number: Int
  let identifier: JobIdentifier
  let definition: Definition
  let startedAt: Duration
  /// When the launch last got further.
  private(set) var progressAt: Duration
  private(set) var phase = Phase.running
  /// What is to happen, until it has.
  private(set) var interruption: Interruption?
  var standing: Standing
  var log = LaunchLog()

  init(
    number: Int, identifier: JobIdentifier, definition: Definition, interruption: Interruption?, standing: Standing,
    at now: Duration
  ) {
    self.number = number
    self.identifier = identifier
    self.definition = definition
    self.interruption = interruption
    self.standing = standing
    startedAt = now
    progressAt = now
  }

  mutating func started(at now: Duration) -> Effect? { reachBoundary(at: now, isStart: true) }

  /// Between two batches.
  mutating func reachBoundary(at now: Duration, isStart: Bool = false) -> Effect? {
    switch interruption?.point {
    case .atStart? where isStart: interrupt(at: now, isBetweenBatches: true)
    case .after(let batches)? where batches == standing.progress.batches: interrupt(at: now, isBetweenBatches: true)
    case .atStart, .after, .during, .elapsed, nil: nil
    }
  }

  /// Within a batch.
  mutating func reachPoint(at now: Duration) -> Effect? {
    let batch = standing.progress.batches
    log.points[batch, default: 0] += 1
    guard case .during(batch, log.points[batch])? = interruption?.point else { return nil }
    return interrupt(at: now)
  }

  mutating func reachPlannedTime(at now: Duration) -> Effect? { interrupt(at: now) }

  private mutating func interrupt(at now: Duration, isBetweenBatches: Bool = false) -> Effect? {
    switch interruption?.cause {
    case .expiry(let reason)?:
      interruption = nil
      return expire(reason, at: now, isBetweenBatches: isBetweenBatches)
    case .workerLost?:
      interruption = nil
      return loseWorker()
    // A refusal waits for the commit itself.
    case .checkpointRefused, nil: return nil
    }
  }

  mutating func loseWorker() -> Effect? {
    switch phase {
    case .running, .expiring: phase = .cutOff(.workerLost)
    case .cutOff: break
    }
    return nil
  }

  /// The first reason wins: one launch, one cause.
  mutating func expire(_ reason: ExpiryReason, at now: Duration, isBetweenBatches: Bool = false) -> Effect? {
    guard phase == .running else { return nil }
    let deadline = now + reason.closingWindow(of: definition)
    phase = .expiring(reason, deadline: deadline)
    log.expiry = Expiry(reason: reason, deadline: ManualClock.start + deadline)
    log.firstBatchAfterExpiry = standing.progress.batches + (isBetweenBatches ? 0 : 1)
    return .cancelHandler
  }

  /// True once, at the commit that is to be refused.
  mutating func takeRefusal() -> Bool {
    guard interruption == .checkpointRefused(batch: standing.progress.batches) else { return false }
    interruption = nil
    return true
  }

  mutating func gotFurther(at now: Duration) { progressAt = now }

  mutating func ignoreExpiry(_ reason: ExpiryReason) -> Effect? {
    phase = .cutOff(.ignoredExpiry(reason))
    return .abandonHandler
  }
}

/// Where a request stands: what one launch hands to the next.
struct Standing {
  var progress = Progress()
  /// How long batches take on the manual clock, which decides when a launch has stalled.
  var pace = Pace()
}

/// What a launch leaves behind.
struct LaunchLog {
  var checkpoints: [TestCheckpoint] = []
  var refused: [TestCheckpoint] = []
  var updates: [TestUpdate] = []
  var result: RefreshResult?
  var expiry: Expiry?
  /// The batch that ran when the launch was asked to stop is not meant; it may have been none.
  var firstBatchAfterExpiry = Int.max
  var points: [Int: Int] = [:]
  var reportedUnits: Int64?
  var sleepsAfterExpiry = 0
}
