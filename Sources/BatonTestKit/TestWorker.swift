import BatonCore
import BatonHandler
import BatonModel

/// One launch on a worker's own core, with a store in memory that answers at once.
///
/// A value without a clock or a task: told what the handler does, what happens to the launch and when on the manual clock,
/// it says what follows. `LaunchUnderTest` is its shell.
struct TestWorker: Sendable {
  enum Effect: Hashable {
    /// The handler's task is cancelled.
    case cancelHandler
    /// The worker's process would end here, whatever the handler does.
    case abandonHandler
  }

  /// Why nothing that the handler does counts any more.
  private enum CutOff { case workerLost, ignoredExpiry }

  private var core: WorkerCore
  private(set) var store: TestStore
  /// What is to happen, until it has.
  private(set) var interruption: Interruption?
  private var cutOff: CutOff?
  /// To what the handler asked last.
  private var answer: Dialogue.Answer?
  /// The batch that ran when the launch was asked to stop is not meant; it may have been none.
  private var firstBatchAfterExpiry = Int.max
  private var points: [Int: Int] = [:]
  private var sleepsAfterExpiry = 0

  init(_ assignment: Assignment, _ definition: Definition, interruption: Interruption?, pace: Pace, at now: Duration) {
    self.interruption = interruption
    store = TestStore(assignment, definition, pace: pace, at: now)
    core = WorkerCore(
      host: HostName("test"), incarnation: Incarnation("test"), version: BatonVersion.current,
      capabilities: Capabilities(slots: definition.requirements.slots), endsProcessOnOverrun: false)
    _ = core.connected(at: Instant(now))
    // A lease of 136 years: losing it is the test's own choice.
    for message: CoordinatorMessage in [
      .welcome(leaseTerm: .seconds(1 << 32)), .definition(assignment.definition, definition), .launch(assignment),
    ] {
      _ = core.received(message, at: Instant(now))
    }
  }

  private var launch: WorkerLaunch {
    guard let launch = core.launches[store.launch] else { preconditionFailure("the worker has no \(store.launch)") }
    return launch
  }

  var progress: Progress { launch.assignment.progress }

  var expiry: Expiry? {
    launch.expiry.map { Expiry(reason: $0.reason, deadline: ManualClock.start + $0.deadline.elapsed) }
  }

  /// Performs what the core decides: the store answers, and what the core makes of the answers is performed too.
  private mutating func perform(_ effects: [WorkerCore.Effect], at now: Duration) -> Effect? {
    var (open, result) = (effects[...], Effect?.none)
    while let effect = open.popFirst() {
      switch effect {
      case .send(let message):
        if let answer = store.answer(to: message, at: now) { open += core.received(answer, at: Instant(now)) }
      case .expire:
        firstBatchAfterExpiry = progress.batches + 1
        result = .cancelHandler
      case .overrun:
        // With its process the handler's way to the store ends.
        cutOff = .ignoredExpiry
        open += core.cutOff()
        result = .abandonHandler
      case .answered(_, _, let answer): self.answer = answer
      case .start, .forget, .reconnect, .end, .endProcess: break
      }
    }
    return result
  }
}

// MARK: What happens to the launch

extension TestWorker {
  mutating func started(at now: Duration) -> Effect? { reachBoundary(at: now, isStart: true) }

  /// Between two batches.
  private mutating func reachBoundary(at now: Duration, isStart: Bool = false) -> Effect? {
    switch interruption?.point {
    case .atStart? where isStart: break
    case .after(let batches)? where batches == progress.batches: break
    case .atStart, .after, .during, .elapsed, nil: return nil
    }
    let effect = interrupt(at: now)
    if effect == .cancelHandler { firstBatchAfterExpiry = progress.batches }
    return effect
  }

  /// Within a batch.
  mutating func reachPoint(at now: Duration) -> Effect? {
    let batch = progress.batches
    points[batch, default: 0] += 1
    guard case .during(batch, points[batch])? = interruption?.point else { return nil }
    return interrupt(at: now)
  }

  private mutating func interrupt(at now: Duration) -> Effect? {
    switch interruption?.cause {
    case .expiry(let reason)?:
      interruption = nil
      return expire(reason, at: now)
    case .workerLost?:
      interruption = nil
      return loseWorker(at: now)
    // A refusal waits for the commit itself.
    case .checkpointRefused, nil: return nil
    }
  }

  mutating func loseWorker(at now: Duration) -> Effect? {
    guard cutOff == nil else { return nil }
    cutOff = .workerLost
    return perform(core.cutOff(), at: now)
  }

  /// The first reason wins: one launch, one cause.
  mutating func expire(_ reason: ExpiryReason, at now: Duration) -> Effect? {
    guard launch.isRunning, cutOff == nil else { return nil }
    // Without its lease a worker gets no answer any more.
    let message: CoordinatorMessage =
      reason == .leaseLost ? .refused("the worker lost its lease", isFinal: true) : .expire(store.launch, reason)
    return perform(core.received(message, at: Instant(now)), at: now)
  }

  /// The next time at which something happens if nothing else does.
  var nextEvent: Duration? {
    guard cutOff == nil else { return nil }
    let due = launch.dueAt?.elapsed
    return launch.isRunning ? [plannedAt, due, store.stallsAt].compactMap(\.self).min() : due
  }

  mutating func timeReached(_ now: Duration) -> Effect? {
    guard cutOff == nil else { return nil }
    if launch.isRunning, let plannedAt, plannedAt <= now { return interrupt(at: now) }
    if let effect = perform(core.tick(at: Instant(now)), at: now) { return effect }
    return store.stallsAt.map { $0 <= now } == true ? expire(.stalled, at: now) : nil
  }

  private var plannedAt: Duration? {
    guard case .elapsed(let time)? = interruption?.point else { return nil }
    return launch.startedAt.elapsed + time
  }
}

// MARK: What the handler does

extension TestWorker {
  /// More than a test needs, and less than what fills its memory.
  private static let maximumBatches = 100_000
  private static let maximumRefusals = 1_000
  private static let maximumSleeps = 10_000

  /// - Returns: why the checkpoint was not saved, nil if it was. A `TestKitError` says that the handler would go on for
  ///   ever.
  mutating func commit(_ commit: Commit, at now: Duration) -> ((any Error)?, Effect?) {
    if let endlessness { return (endlessness, nil) }
    let checkpoint = Checkpoint(commit, of: store.launch, after: progress)
    let isToBeRefused = interruption == .checkpointRefused(batch: checkpoint.batch)
    store.refusesNext = isToBeRefused
    _ = perform(core.ask(store.launch, .commit(commit), id: 0), at: now)
    if isToBeRefused, !store.refusesNext { interruption = nil }
    if case .refused(let text, let isSuperseded)? = answer {
      store.noteRefused(checkpoint, at: now)
      return (HandlerError(isSuperseded ? .superseded : .checkpointRefused, text), nil)
    }
    let effect = reachBoundary(at: now)
    // A worker that was lost just now never hears that its checkpoint was saved.
    return (cutOff == nil ? nil : HandlerError(.superseded, "the worker was lost"), effect)
  }

  private var endlessness: TestKitError? {
    if store.refused.count >= Self.maximumRefusals {
      return endless(
        "asked to save \(Self.maximumRefusals) times more after it was told that it cannot: a handler has to end when "
          + "'checkpoint' throws")
    }
    guard store.checkpoints.count >= Self.maximumBatches else { return nil }
    return endless("committed \(Self.maximumBatches) batches and does not end")
  }

  /// A loop that swallows the error of a sleep that is cut short never sleeps again, and never ends.
  mutating func slept() -> TestKitError? {
    guard expiry != nil else { return nil }
    sleepsAfterExpiry += 1
    guard sleepsAfterExpiry > Self.maximumSleeps else { return nil }
    return endless(
      "went to sleep \(Self.maximumSleeps) times after it was asked to stop: a handler has to end when a sleep throws")
  }

  private func endless(_ what: String) -> TestKitError {
    TestKitError(.endless, "launch \(store.launch.number) of \(launch.assignment.identifier) \(what)")
  }

  mutating func update(_ update: TestUpdate) { if cutOff == nil { store.update(update) } }

  mutating func conclude(_ result: RefreshResult) { core.conclude(store.launch, result) }

  /// - Parameter result: what the handler did; nil if it never ended.
  func ended(_ result: Result<Void, any Error>?, at now: Duration) -> TestLaunch {
    TestLaunch(
      number: store.launch.number, stored: outcome(result), error: result?.failure, expiry: expiry,
      ignoredExpiry: cutOff == .ignoredExpiry, checkpoints: store.checkpoints, refusedCheckpoints: store.refused,
      updates: store.updates, result: launch.dialogue.result, startedAt: launch.startedAt.elapsed, endedAt: now,
      batchesAfterExpiry: store.checkpoints.count { $0.batch >= firstBatchAfterExpiry }, points: points)
  }

  private func outcome(_ result: Result<Void, any Error>?) -> LaunchOutcome {
    guard cutOff == nil, let result else { return .lost }
    let ending = launch.ending(of: result.failure.map { .failed(String(describing: $0)) } ?? .finished)
    let hasFailed = ending.outcome == .finished && ending.result == .failed
    return hasFailed ? .failed("the refresh returned .failed") : ending.outcome
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

extension Instant {
  /// Of the manual clock.
  init(_ elapsed: Duration) { self.init(nanoseconds: elapsed.nanoseconds) }

  fileprivate var elapsed: Duration { .nanoseconds(nanoseconds) }
}
