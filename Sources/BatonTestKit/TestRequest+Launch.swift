public import BatonHandler
import BatonModel
import Synchronization

extension TestRequest {
  /// Launches the request once, from its last checkpoint, and returns the result when the launch has ended.
  ///
  /// ```swift
  /// let launch = try await request.launch(cleanup(database), interruptedBy: .expiry(.hostBusy, .after(batches: 1)))
  /// #expect(launch.outcome == .expired(.hostBusy))
  /// ```
  ///
  /// The sample is from `Examples/TestKit/CleanupTests.swift`. An error of the handler is in the result, and is not
  /// thrown by this method. A handler that still runs at the deadline of an expiry is not waited for.
  /// - Parameters:
  ///   - handler: the handler under test.
  ///   - interruption: what happens to the launch; `nil` for a launch that is not interrupted.
  /// - Returns: the result of the launch, which is also added to `launches`.
  /// - Throws: `TestKitError`, with the code `.invalidRequest` if a coordinator would refuse the request,
  ///   `.notLaunchable` if a launch of the request is running or the request has ended, `.interruptionNotReached` if
  ///   the launch ended before its interruption, or `.endless` if the handler would never end. `CancellationError` if
  ///   the test is cancelled.
  @discardableResult
  public func launch(
    _ handler: @escaping Handler, interruptedBy interruption: Interruption? = nil
  ) async throws
    -> TestLaunch
  {
    try await endTransfers()
    let end = try await run(handler, interruption ?? takePlanned())
    guard let missed = end.worker.interruption else { return end.launch }
    guard interruption != nil else {
      state.withLock { $0.planned.insert(missed, at: 0) }
      return end.launch
    }
    throw notReached(missed, "launch \(end.launch.number) ended '\(end.launch.outcome)' before that")
  }

  /// Launches the request once, with a handler that returns what it found; `TestLaunch.result` has the result. It
  /// throws the same errors as `launch(_:interruptedBy:)`.
  ///
  /// ```swift
  /// let request = TestRequest("com.example.news", kind: .refresh)
  /// let launch = try await request.launchRefresh(news)
  /// XCTAssertEqual(launch.result, .noData)
  /// ```
  ///
  /// The sample is from `Examples/TestKit/NewsTests.swift`.
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
      var assignment = assignment(checked, number: state.launches.count + 1, state.progress)
      assignment.transfers = state.transfers.tell(assignment.launch.number)
      let worker = TestWorker(
        assignment, checked.definition, interruption: interruption, pace: state.pace, submissions: state.submissions,
        at: clock.elapsed)
      let launch = LaunchUnderTest(worker, clock: clock, batchDuration: settings.batchDuration)
      state.running = launch
      return (launch, assignment)
    }
  }

  private func assignment(_ checked: Settings.Checked, number: Int, _ progress: Progress) -> Assignment {
    var assignment = Assignment(
      launch: LaunchKey(request: RequestID(1), number: number), identifier: checked.identifier, requestNumber: 1,
      definition: DefinitionID(1), priority: .utility, payload: checked.payload, progress: progress,
      principal: settings.principal,
      trace: TraceContext(
        traceID: TraceID(bytes: [UInt8](repeating: 0, count: 16))!,
        spanID: SpanID(bytes: [UInt8](repeating: 0, count: 8))!, isSampled: false),
      startedAt: Timestamp(nanoseconds: 0))
    assignment.inputs = settings.inputs.map(RequestInput.init)
    assignment.shard = settings.shard.map { Shard(index: $0.index, first: Int64($0.index)) }
    return assignment
  }

  private func notLaunchable(_ why: String) -> TestKitError {
    TestKitError(.notLaunchable, "the request of \(settings.identifier) \(why)")
  }

  private func settle(_ end: LaunchUnderTest.End, _ definition: Definition) {
    state.withLock { state in
      state.launches.append(end.launch)
      (state.progress, state.pace) = (end.worker.progress, end.worker.store.pace)
      state.submissions = end.worker.store.submissions
      state.result = end.worker.store.result ?? state.result
      let verdict = state.ledger.end(
        end.launch.stored, committedBatches: end.launch.checkpoints.count, reachedEnd: false,
        retry: definition.retry)
      if end.launch.stored == .finished || !end.launch.checkpoints.isEmpty {
        state.transfers.acknowledge(by: end.launch.number)
      }
      state.transfers.add(end.worker.store.addedTransfers)
      let goesOn = end.launch.stored == .finished && state.transfers.goesOn
      state.completion = goesOn ? nil : Completion(verdict)
    }
  }
}

extension TestRequest.Completion {
  /// Creates the completion of a request whose launch has ended with `verdict`; `nil` if the request goes on. The
  /// backoff of the verdict is left out, because only the test moves the time.
  fileprivate init?(_ verdict: Ledger.Verdict) {
    switch verdict {
    case .succeeded: self = .succeeded
    case .failed(let text): self = .failed(text)
    case .cancelled(let by): self = .cancelled(by: by)
    case .resumes, .skipsBatch: return nil
    }
  }
}
