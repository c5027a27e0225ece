import BatonHandler
import BatonModel
import Synchronization

/// A launch in progress: what its handler runs on. Every decision is the `TestWorker`'s.
final class LaunchUnderTest: LaunchRuntime {
  /// The launch whose handler, or a fake that it called, runs here; nil outside of one.
  @TaskLocal static var current: LaunchUnderTest?

  /// What a launch leaves to its request.
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
    // The batch took so long: what is due meanwhile comes before its commit.
    if batchDuration > .zero { clock.move(to: clock.elapsed + batchDuration) }
    reachPoint()
    let problem = decide { worker, now in worker.commit(commit, at: now) }
    if let problem = problem as? TestKitError { await end(with: problem) }
    if let problem { throw problem }
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

  /// A point at which the handler waits; one that never ends goes no further.
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

  /// Returns when the handler has ended, or when its worker's process would have.
  /// - Throws: `CancellationError` if the test itself is cancelled, or what keeps the handler from ever ending.
  func run(_ handler: @escaping Handler, as task: JobTask) async throws -> End {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in start(handler, task, waiter) }
    } onCancel: {
      state.withLock { $0.handler }?.cancel()
      finish { _ in .failure(CancellationError()) }
    }
  }

  /// A task of its own, because one that ignores its cancellation cannot be waited for: a worker ends its process then.
  private func start(_ handler: @escaping Handler, _ task: JobTask, _ waiter: CheckedContinuation<End, any Error>) {
    // Under the lock that its first step needs: it is there to be cancelled before it begins.
    state.withLock { state in
      state.waiter = waiter
      state.handler = Task { await Self.$current.withValue(self) { await perform(handler, task) } }
    }
    if Task.isCancelled { finish { _ in .failure(CancellationError()) } }
  }

  private func perform(_ handler: Handler, _ task: JobTask) async {
    decide { worker, now in ((), worker.started(at: now)) }
    let result: Result<Void, any Error>
    do { result = .success(try await handler(task)) } catch { result = .failure(error) }
    reachPoint()
    finish { worker in .success((worker.ended(result, at: clock.elapsed), worker)) }
  }

  /// The handler goes no further than this: it would never end.
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
    // One that runs right here ends at its next commit, before the next launch begins.
    case .abandonHandler where Self.current !== self:
      finish { worker in .success((worker.ended(nil, at: clock.elapsed), worker)) }
    case .abandonHandler, nil: break
    }
    return answer
  }
}
