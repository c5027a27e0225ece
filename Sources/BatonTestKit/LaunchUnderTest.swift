import BatonHandler
import BatonModel
import Synchronization

/// A launch in progress: what its handler runs on, in place of a worker. Every decision is the machine's.
final class LaunchUnderTest: LaunchRuntime {
  /// The launch whose handler, or a fake that it called, runs here; nil outside of one.
  @TaskLocal static var current: LaunchUnderTest?

  private struct State {
    var machine: LaunchMachine
    var handler: Task<Void, Never>?
    var waiter: CheckedContinuation<LaunchEnd, any Error>?
  }

  private let clock: ManualClock
  private let batchDuration: Duration
  private let state: Mutex<State>

  init(_ machine: LaunchMachine, clock: ManualClock, batchDuration: Duration) {
    self.clock = clock
    self.batchDuration = batchDuration
    state = Mutex(State(machine: machine))
  }

  // MARK: For the handler

  var expiry: Expiry? { state.withLock { $0.machine.log.expiry } }
  var progress: Progress { state.withLock { $0.machine.standing.progress } }

  func commit(_ commit: Commit) async throws {
    // The batch took so long: what is due meanwhile comes before its commit.
    if batchDuration > .zero { clock.move(to: clock.elapsed + batchDuration) }
    reachPoint()
    let answer = decide { machine, now in machine.commit(commit, at: now) }
    switch answer {
    case .saved: break
    case .refused(let error): throw error
    case .endless(let problem): await end(with: problem)
    }
  }

  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?) {
    state.withLock {
      $0.machine.update(
        TestUpdate(
          title: title, subtitle: subtitle, completedUnits: completedUnits, totalUnits: totalUnits, at: clock.elapsed))
    }
    reachPoint()
  }

  func conclude(_ result: RefreshResult) { state.withLock { $0.machine.conclude(result) } }

  func batchBegins() { reachPoint() }

  // MARK: For the test

  /// A point at which the handler waits; one that never ends goes no further.
  func goesToSleep() async {
    reachPoint()
    if let problem = state.withLock({ $0.machine.slept() }) { await end(with: problem) }
  }

  func reachPoint() { decide { machine, now in ((), machine.reachPoint(at: now)) } }

  func expire(_ reason: ExpiryReason) -> Bool {
    decide { machine, now in
      let effect = machine.expire(reason, at: now)
      return (effect != nil, effect)
    }
  }

  func loseWorker() { decide { machine, _ in ((), machine.loseWorker()) } }

  // MARK: For the clock

  var nextEvent: Duration? { state.withLock { $0.machine.nextEvent } }

  func timeReached(_ now: Duration) { decide { machine, _ in ((), machine.timeReached(now)) } }

  // MARK: From start to end

  /// Returns when the handler has ended, or when its worker's process would have.
  /// - Throws: `CancellationError` if the test itself is cancelled, or the machine's problem.
  func run(_ handler: @escaping Handler, as task: JobTask) async throws -> LaunchEnd {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in start(handler, task, waiter) }
    } onCancel: {
      state.withLock { $0.handler }?.cancel()
      finish { _ in .failure(CancellationError()) }
    }
  }

  /// A task of its own, because one that ignores its cancellation cannot be waited for: a worker ends its process then.
  private func start(_ handler: @escaping Handler, _ task: JobTask, _ waiter: CheckedContinuation<LaunchEnd, any Error>)
  {
    // Under the lock that its first step needs: it is there to be cancelled before it begins.
    state.withLock { state in
      state.waiter = waiter
      state.handler = Task { await Self.$current.withValue(self) { await perform(handler, task) } }
    }
    if Task.isCancelled { finish { _ in .failure(CancellationError()) } }
  }

  private func perform(_ handler: Handler, _ task: JobTask) async {
    decide { machine, now in ((), machine.started(at: now)) }
    let result: Result<Void, any Error>
    do { result = .success(try await handler(task)) } catch { result = .failure(error) }
    reachPoint()
    finish { machine in .success(LaunchEnd(machine, result, at: clock.elapsed)) }
  }

  /// The handler goes no further than this: it would never end.
  private func end(with problem: TestKitError) async {
    finish { _ in .failure(problem) }
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  private func finish(_ end: (LaunchMachine) -> Result<LaunchEnd, any Error>) {
    let (waiter, result) = state.withLock { state in (state.waiter.take(), end(state.machine)) }
    waiter?.resume(with: result)
  }

  @discardableResult
  private func decide<Answer: Sendable>(
    _ step: (inout LaunchMachine, Duration) -> (Answer, LaunchMachine.Effect?)
  ) -> Answer {
    let ((answer, effect), handler) = state.withLock { (step(&$0.machine, clock.elapsed), $0.handler) }
    switch effect {
    case .cancelHandler: handler?.cancel()
    // One that runs right here ends at its next commit, before the next launch begins.
    case .abandonHandler where Self.current !== self:
      finish { machine in .success(LaunchEnd(machine, nil, at: clock.elapsed)) }
    case .abandonHandler, nil: break
    }
    return answer
  }
}

/// What a launch leaves to its request.
struct LaunchEnd: Sendable {
  let launch: TestLaunch
  let standing: Standing
  /// Planned, and not reached.
  let interruption: Interruption?

  init(_ machine: LaunchMachine, _ result: Result<Void, any Error>?, at now: Duration) {
    launch = machine.ended(result, at: now)
    standing = machine.standing
    interruption = machine.interruption
  }
}
