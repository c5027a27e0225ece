public import BatonHandler
import BatonModel
import Synchronization

extension TestRequest {
  /// Launches the request once, from its last checkpoint, and returns when the launch has ended.
  ///
  /// Whatever the handler throws is the launch's outcome, not an error of this call.
  /// - Parameter interruption: what happens to the launch.
  /// - Throws: `TestKitError` if the request runs or has ended, if the launch ended before its interruption, or if the
  ///   handler would never end; `CancellationError` if the test is cancelled.
  @discardableResult
  public func launch(
    _ handler: @escaping Handler, interruptedBy interruption: Interruption? = nil
  ) async throws
    -> TestLaunch
  {
    let end = try await run(handler, interruption ?? takePlanned())
    guard let missed = end.interruption else { return end.launch }
    guard interruption != nil else {
      state.withLock { $0.planned.insert(missed, at: 0) }
      return end.launch
    }
    throw notReached(missed, "launch \(end.launch.number) ended '\(end.launch.outcome)' before that")
  }

  /// Launches the request once with a handler of a refresh that says what it found.
  @discardableResult
  public func launchRefresh(
    _ handler: @escaping RefreshHandler, interruptedBy interruption: Interruption? = nil
  ) async throws -> TestLaunch {
    try await launch(refreshing(handler), interruptedBy: interruption)
  }

  func notReached(_ interruption: Interruption, _ what: String) -> TestKitError {
    TestKitError(
      .interruptionNotReached,
      "\(settings.identifier): \(interruption) did not happen: \(what), with "
        + "\(counted(checkpoints.count, "batch", plural: "batches")) committed and the clock at \(clock.elapsed)")
  }

  private func takePlanned() -> Interruption? {
    state.withLock { $0.planned.isEmpty ? nil : $0.planned.removeFirst() }
  }

  private func run(_ handler: @escaping Handler, _ interruption: Interruption?) async throws -> LaunchEnd {
    let checked = try settings.checked()
    let (launch, number) = try begin(checked, interruption)
    clock.add(launch)
    defer {
      clock.remove(launch)
      state.withLock { $0.running = nil }
    }
    let end = try await launch.run(handler, as: task(checked, number, launch))
    settle(end, checked.definition)
    return end
  }

  private func begin(_ checked: Settings.Checked, _ interruption: Interruption?) throws -> (LaunchUnderTest, Int) {
    try state.withLock { state in
      if let completion = state.completion {
        throw notLaunchable("has ended '\(completion)'; make another TestRequest")
      }
      if state.running != nil { throw notLaunchable("runs already; at most one launch of a request is live") }
      let number = state.launches.count + 1
      let machine = LaunchMachine(
        number: number, identifier: checked.identifier, definition: checked.definition, interruption: interruption,
        standing: state.standing, at: clock.elapsed)
      let launch = LaunchUnderTest(machine, clock: clock, batchDuration: settings.batchDuration)
      state.running = launch
      return (launch, number)
    }
  }

  private func notLaunchable(_ why: String) -> TestKitError {
    TestKitError(.notLaunchable, "the request of \(settings.identifier) \(why)")
  }

  private func task(_ checked: Settings.Checked, _ number: Int, _ launch: LaunchUnderTest) -> JobTask {
    JobTask(
      identifier: checked.identifier, request: 1, launch: number, kind: settings.kind,
      wildcard: checked.definition.pattern.wildcardValue(in: checked.identifier), principal: settings.principal,
      payload: checked.payload, runtime: launch)
  }

  private func settle(_ end: LaunchEnd, _ definition: Definition) {
    state.withLock { state in
      state.launches.append(end.launch)
      state.standing = end.standing
      let verdict = state.ledger.end(
        end.launch.outcome.inTheStore, committedBatches: end.launch.checkpoints.count, reachedEnd: false,
        retry: definition.retry)
      state.completion = Completion(verdict)
    }
  }
}

extension TestLaunch.Outcome {
  fileprivate var inTheStore: LaunchOutcome {
    switch self {
    case .finished: .finished
    case .failed(let text): .failed(text)
    case .expired(let reason): .expired(reason)
    case .lost: .lost
    }
  }
}

extension TestRequest.Completion {
  /// Nil if the request goes on. The wait that a coordinator would make is left out: time is the test's.
  fileprivate init?(_ verdict: Ledger.Verdict) {
    switch verdict {
    case .succeeded: self = .succeeded
    case .failed(let text): self = .failed(text)
    case .cancelled(let by): self = .cancelled(by: by)
    case .resumes: return nil
    }
  }
}
