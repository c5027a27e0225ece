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
    guard let missed = end.worker.interruption else { return end.launch }
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

  private func run(_ handler: @escaping Handler, _ interruption: Interruption?) async throws -> LaunchUnderTest.End {
    let checked = try settings.checked()
    let (launch, assignment) = try begin(checked, interruption)
    clock.add(launch)
    defer {
      clock.remove(launch)
      state.withLock { $0.running = nil }
    }
    let end = try await launch.run(handler, as: JobTask(assignment, checked.definition, launch))
    settle(end, checked.definition)
    return end
  }

  private func begin(
    _ checked: Settings.Checked, _ interruption: Interruption?
  ) throws -> (LaunchUnderTest, Assignment) {
    try state.withLock { state in
      if let completion = state.completion {
        throw notLaunchable("has ended '\(completion)'; make another TestRequest")
      }
      if state.running != nil { throw notLaunchable("runs already; at most one launch of a request is live") }
      let assignment = assignment(checked, number: state.launches.count + 1, state.progress)
      let worker = TestWorker(
        assignment, checked.definition, interruption: interruption, pace: state.pace, at: clock.elapsed)
      let launch = LaunchUnderTest(worker, clock: clock, batchDuration: settings.batchDuration)
      state.running = launch
      return (launch, assignment)
    }
  }

  private func assignment(_ checked: Settings.Checked, number: Int, _ progress: Progress) -> Assignment {
    Assignment(
      launch: LaunchKey(request: RequestID(1), number: number), identifier: checked.identifier, requestNumber: 1,
      definition: DefinitionID(1), priority: .utility, payload: checked.payload, progress: progress,
      principal: settings.principal,
      trace: TraceContext(
        traceID: Array(repeating: 0, count: 16), spanID: Array(repeating: 0, count: 8), isSampled: false),
      startedAt: Timestamp(nanoseconds: 0))
  }

  private func notLaunchable(_ why: String) -> TestKitError {
    TestKitError(.notLaunchable, "the request of \(settings.identifier) \(why)")
  }

  private func settle(_ end: LaunchUnderTest.End, _ definition: Definition) {
    state.withLock { state in
      state.launches.append(end.launch)
      (state.progress, state.pace) = (end.worker.progress, end.worker.store.pace)
      let verdict = state.ledger.end(
        end.launch.stored, committedBatches: end.launch.checkpoints.count, reachedEnd: false,
        retry: definition.retry)
      state.completion = Completion(verdict)
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
