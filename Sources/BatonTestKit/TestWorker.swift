import BatonCore
import BatonHandler
import BatonModel

/// Decides what happens to one launch under test. It drives the worker's core (`WorkerCore`) with a store in memory
/// that answers at once.
///
/// It is a value without a clock and without tasks. `LaunchUnderTest` is its shell: it reports each step of the handler
/// with the time on the manual clock, and performs the effect that is returned.
struct TestWorker: Sendable {
  enum Effect: Hashable {
    /// The handler's task is cancelled.
    case cancelHandler
    /// The kit waits for the handler no longer, because a worker would end its process here.
    case abandonHandler
  }

  /// Why nothing counts that the handler does from now on.
  private enum CutOff { case workerLost, ignoredExpiry }

  private var core: WorkerCore
  private(set) var store: TestStore
  /// The interruption that is planned; `nil` when it has happened.
  private(set) var interruption: Interruption?
  private var cutOff: CutOff?
  /// The core's answer to the handler's last question.
  private var answer: Dialogue.Answer?
  /// The number of the first batch that counts as begun after the expiry. A batch that was running at the expiry does
  /// not count. `Int.max` while the launch has not expired.
  private var firstBatchAfterExpiry = Int.max
  private var points: [Int: Int] = [:]
  private var sleepsAfterExpiry = 0

  init(
    _ assignment: Assignment, _ definition: Definition, interruption: Interruption?, pace: Pace,
    submissions: TestSubmissions = TestSubmissions(), at now: Duration
  ) {
    self.interruption = interruption
    store = TestStore(assignment, definition, pace: pace, submissions: submissions, at: now)
    core = WorkerCore(
      host: HostName("test"), incarnation: Incarnation("test"), version: BatonVersion.current,
      capabilities: Capabilities(slots: definition.requirements.slots), endsProcessOnOverrun: false)
    _ = core.connected(at: Instant(now))
    // The lease of 136 years never ends. A launch loses its lease only if the test says so.
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

  /// Performs the core's effects. Messages go to the store, and the effects of its answers are performed too.
  /// - Returns: the last effect that concerns the handler; `nil` if there was none.
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
        // A worker's process ends here, so the handler can save nothing more.
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

  /// The launch is between two batches, or at its start. Interrupts it if that is the planned point.
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

  /// The handler passes a point within a batch. Interrupts the launch if that is the planned point.
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
    // `commit` performs a planned refusal.
    case .checkpointRefused, nil: return nil
    }
  }

  mutating func loseWorker(at now: Duration) -> Effect? {
    guard cutOff == nil else { return nil }
    cutOff = .workerLost
    return perform(core.cutOff(), at: now)
  }

  /// Asks the launch to stop. It does nothing if the launch has been asked before: the first reason wins.
  mutating func expire(_ reason: ExpiryReason, at now: Duration) -> Effect? {
    guard launch.isRunning, cutOff == nil else { return nil }
    // A worker without its lease gets no answers. A final refusal has the same effect in the core: the launch expires
    // `leaseLost`, and every question is refused.
    let message: CoordinatorMessage =
      reason == .leaseLost ? .refused("the worker lost its lease", isFinal: true) : .expire(store.launch, reason)
    return perform(core.received(message, at: Instant(now)), at: now)
  }

  /// The next time at which something becomes due: the planned interruption, the budget, a deadline or a stall. `nil`
  /// if nothing will.
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
  // The limits are higher than any sensible test needs, and low enough for its memory.
  private static let maximumBatches = 100_000
  private static let maximumRefusals = 1_000
  private static let maximumSleeps = 10_000

  /// Saves a checkpoint.
  /// - Returns: the reason why the checkpoint was not saved (`nil` if it was), and the effect. The reason is a
  ///   `TestKitError` if the handler would go on for ever.
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
    // The checkpoint is saved. If the worker was lost at this point, the handler never learns of it.
    return (cutOff == nil ? nil : HandlerError(.superseded, "the worker was lost"), effect)
  }

  /// Submits a request.
  mutating func submit(
    _ submission: LaunchSubmission, at now: Duration
  ) -> (Result<AcceptedSubmission, HandlerError>, Effect?) {
    answer = nil
    let effect = perform(core.ask(store.launch, .submit(submission), id: 0), at: now)
    switch answer {
    case .submitted(.accepted(let accepted)): return (.success(accepted), effect)
    case .submitted(.refused(let code, let message)):
      let refusal = SubmissionRefusal(rawValue: code) ?? .unavailable
      return (.failure(HandlerError(.submissionRefused, message, refusal: refusal)), effect)
    case .refused(let text, let isSuperseded):
      return (.failure(HandlerError(isSuperseded ? .superseded : .submissionRefused, text)), effect)
    case .done, .items, nil: return (.failure(HandlerError(.superseded, "the worker was lost")), effect)
    }
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

  /// Counts a sleep of the handler. After an expiry every sleep throws at once, so a loop that ignores these errors
  /// never ends; after the last permitted sleep the error for such a loop is returned.
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

  /// Returns the result of the launch.
  /// - Parameter result: whether the handler returned or what it threw; `nil` if it had not ended when the launch was
  ///   over.
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
  /// Creates the instant at which a manual clock has this `elapsed` time.
  init(_ elapsed: Duration) { self.init(nanoseconds: elapsed.nanoseconds) }

  fileprivate var elapsed: Duration { .nanoseconds(nanoseconds) }
}
