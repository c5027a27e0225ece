import BatonHandler
import BatonModel
import Synchronization

/// A launch under test while it runs: the `LaunchRuntime` of its handler. It holds the handler's task and the lock;
/// `TestWorker` makes every decision.
final class LaunchUnderTest: LaunchRuntime {
  /// The launch that the current task belongs to: the task of its handler, or of a fake that the handler called. `nil`
  /// outside of a launch.
  @TaskLocal static var current: LaunchUnderTest?

  /// The result of a launch, and the state of its worker at the end.
  typealias End = (launch: TestLaunch, worker: TestWorker)

  private struct State {
    var worker: TestWorker
    var handler: Task<Void, Never>?
    var waiter: CheckedContinuation<End, any Error>?
  }

  private let clock: ManualClock
  private let batchDuration: Duration
  private let state: Mutex<State>

  init(_ worker: TestWorker, clock: ManualClock, batchDuration: Duration) {
    self.clock = clock
    self.batchDuration = batchDuration
    state = Mutex(State(worker: worker))
  }

  // MARK: For the handler

  var expiry: Expiry? { state.withLock { $0.worker.expiry } }
  var progress: Progress { state.withLock { $0.worker.progress } }

  func commit(_ commit: Commit) async throws {
    // The batch took `batchDuration`. What becomes due in that time happens before the commit.
    if batchDuration > .zero { clock.move(to: clock.elapsed + batchDuration) }
    reachPoint()
    let problem = decide { worker, now in worker.commit(commit, at: now) }
    if let problem = problem as? TestKitError { await end(with: problem) }
    if let problem { throw problem }
  }

  func submit(_ submission: LaunchSubmission) async throws -> AcceptedSubmission {
    reachPoint()
    return try decide { worker, now in worker.submit(submission, at: now) }.get()
  }

  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?) {
    state.withLock {
      $0.worker.update(
        TestUpdate(
          title: title, subtitle: subtitle, completedUnits: completedUnits, totalUnits: totalUnits, at: clock.elapsed))
    }
    reachPoint()
  }

  func conclude(_ result: RefreshResult) { state.withLock { $0.worker.conclude(result) } }

  func batchBegins() { reachPoint() }

  // MARK: For the test

  /// The handler is about to sleep on the clock. A handler that would never end is stopped here.
  func goesToSleep() async {
    reachPoint()
    if let problem = state.withLock({ $0.worker.slept() }) { await end(with: problem) }
  }

  func reachPoint() { decide { worker, now in ((), worker.reachPoint(at: now)) } }

  func expire(_ reason: ExpiryReason) -> Bool {
    decide { worker, now in
      let effect = worker.expire(reason, at: now)
      return (effect != nil, effect)
    }
  }

  func loseWorker() { decide { worker, now in ((), worker.loseWorker(at: now)) } }

  // MARK: For the clock

  var nextEvent: Duration? { state.withLock { $0.worker.nextEvent } }

  func timeReached(_ time: Duration) { decide { worker, _ in ((), worker.timeReached(time)) } }

  // MARK: From start to end

  /// Runs the handler. Returns when it has ended, or when the process of a worker would have ended.
  /// - Throws: `CancellationError` if the test itself is cancelled. `TestKitError` with the code `.endless` if the
  ///   handler would never end.
  func run(_ handler: @escaping Handler, as task: JobTask) async throws -> End {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in start(handler, task, waiter) }
    } onCancel: {
      state.withLock { $0.handler }?.cancel()
      finish { _ in .failure(CancellationError()) }
    }
  }

  /// Starts the handler in a separate task. A child task would not do: the kit must not wait for a handler that ignores
  /// its cancellation, and a worker's process would end at that time.
  private func start(_ handler: @escaping Handler, _ task: JobTask, _ waiter: CheckedContinuation<End, any Error>) {
    // The first step of the handler's task needs this lock. The task is therefore stored, and can be cancelled, before
    // the handler begins.
    state.withLock { state in
      state.waiter = waiter
      state.handler = Task { await Self.$current.withValue(self) { await perform(handler, task) } }
    }
    if Task.isCancelled { finish { _ in .failure(CancellationError()) } }
  }

  private func perform(_ handler: Handler, _ task: JobTask) async {
    decide { worker, now in ((), worker.started(at: now)) }
    let result: Result<Void, any Error>
    do {
      try await handler(task)
      result = .success(try await task.commitAdded())
    } catch {
      result = .failure(error)
    }
    reachPoint()
    finish { worker in .success((worker.ended(result, at: clock.elapsed), worker)) }
  }

  /// Ends the launch with an error, and suspends the handler for ever: a handler that gets here would never end by
  /// itself.
  private func end(with problem: TestKitError) async {
    finish { _ in .failure(problem) }
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  private func finish(_ end: (TestWorker) -> Result<End, any Error>) {
    let (waiter, result) = state.withLock { state in (state.waiter.take(), end(state.worker)) }
    waiter?.resume(with: result)
  }

  @discardableResult
  private func decide<Answer: Sendable>(
    _ step: (inout TestWorker, Duration) -> (Answer, TestWorker.Effect?)
  ) -> Answer {
    let ((answer, effect), handler) = state.withLock { (step(&$0.worker, clock.elapsed), $0.handler) }
    switch effect {
    case .cancelHandler: handler?.cancel()
    // Only a handler in another task is abandoned. If the handler itself has moved the clock to its deadline, it goes
    // on to its next commit, which throws; it then ends before the next launch begins.
    case .abandonHandler where Self.current !== self:
      finish { worker in .success((worker.ended(nil, at: clock.elapsed), worker)) }
    case .abandonHandler, nil: break
    }
    return answer
  }
}
