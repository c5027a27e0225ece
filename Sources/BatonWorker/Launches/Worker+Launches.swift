import BatonBase
import BatonCore
import BatonHandler
import BatonModel
import BatonTelemetry
import BatonWire
import Logging
import ServiceContextModule
import Synchronization
import Tracing

/// Running handlers: one task per launch, and around it one that waits for its expiry to cancel it.
extension Worker {
  func say(_ message: WorkerMessage) { state.withLock { $0.connection }?.up.send(message) }

  /// Sends what commands have written since the last time; while there is no connection it waits, and is bounded.
  func sendOutput() {
    let (launches, isConnected) = state.withLock { (Array($0.active.values), $0.connection != nil) }
    guard isConnected else { return }
    for chunk in launches.compactMap({ $0.takeOutput() }) { say(.output(chunk)) }
  }

  func startLoop(_ processes: ProcessRegistry, _ folders: WorkerFolders) async {
    // Looked up once: it is under a lock.
    let tracing = RunTracing(
      InstrumentationSystem.tracer, host: HostName(configuration.name), sampling: configuration.batchSampling,
      clocks: clocks)
    await withDiscardingTaskGroup { group in
      while let launches = await starts.receive() {
        for launch in launches { group.addTask { await self.perform(launch, processes, folders, tracing) } }
      }
    }
  }

  private func perform(
    _ launch: ActiveLaunch, _ processes: ProcessRegistry, _ folders: WorkerFolders, _ tracing: RunTracing
  ) async {
    let span = RunSpan(launch.assignment, launch.definition, tracing)
    launch.span = span
    let (end, failure) = await withTaskGroup(of: (HandlerEnd, Failure?).self) { group in
      group.addTask {
        defer { launch.stop.raise() }
        return await ServiceContext.$current.withValue(span.context) {
          await self.end(of: launch, span.traced(launch), processes, folders)
        }
      }
      await launch.stop.wait()
      group.cancelAll()
      return await group.next() ?? (.stopped(), nil)
    }
    let hasExpired = launch.expiry != nil
    conclude(launch, end, failure, span, processes)
    // The host may be going away: the spans of an expired launch do not wait for the next batch of spans.
    if hasExpired { tracing.baton?.forceFlush() }
  }

  /// The spans end first: once the coordinator has the ending, this process may end.
  private func conclude(
    _ launch: ActiveLaunch, _ end: HandlerEnd, _ failure: Failure?, _ span: RunSpan, _ processes: ProcessRegistry
  ) {
    guard let ending = state.withLock({ $0.core.launch(launch.key) { $0.ending(of: end) } }) else { return }
    let runEnd = RunEnd(ending, failure)
    span.end(runEnd)
    log(endOf: launch.subject, runEnd.outcome, isGraceful: ending.isGraceful)
    if let chunk = launch.takeOutput() { say(.output(chunk)) }
    countLast(launch, processes)
    decide { $0.handlerEnded(launch.key, end) }
  }

  private func end(
    of launch: ActiveLaunch, _ runtime: any CommandRuntime, _ processes: ProcessRegistry, _ folders: WorkerFolders
  ) async -> (HandlerEnd, Failure?) {
    do {
      try await run(launch, runtime, processes, folders)
      return (.finished, nil)
    } catch let expired as CommandExpired {
      return (.stopped(isGraceful: expired.isGraceful), nil)
    } catch {
      let failure = Failure(error)
      return (.failed(failure.text, errorType: failure.type), failure)
    }
  }

  private func run(
    _ launch: ActiveLaunch, _ runtime: any CommandRuntime, _ processes: ProcessRegistry, _ folders: WorkerFolders
  ) async throws {
    let (assignment, definition) = (launch.assignment, launch.definition)
    if definition.work != nil {
      let runner = CommandRunner(
        definition: definition, assignment: assignment, gpus: gpus(of: assignment), folders: folders,
        host: HostName(configuration.name),
        processes: processes, limit: state.withLock { $0.limit })
      return try await runner.run(runtime)
    }
    guard let handler = handler(for: definition.pattern) else {
      throw WorkerError("this worker has no handler for '\(definition.pattern)'")
    }
    try await handler(JobTask(assignment, definition, gpus: gpus(of: assignment), runtime))
  }

  /// What the drivers call the GPUs that the launch holds.
  private func gpus(of assignment: Assignment) -> [String] {
    guard !assignment.gpus.isEmpty else { return [] }
    let all = state.withLock { $0.core.conditions.gpus.value ?? [] }
    return assignment.gpus.filter(all.indices.contains).map { all[$0].id }
  }

  /// A Swift handler ignored its deadline. A command is killed by its runner.
  func overrun(_ launch: ActiveLaunch) {
    guard launch.definition.work == nil else { return }
    logger.warning("a handler ignored its expiry", metadata: .launch(launch.subject))
    guard configuration.endsProcessOnOverrun else { return }
    // The process ends before the handler returns, so nothing else would end the span of its run.
    if let expiry = launch.expiry { launch.span?.end(.expired(expiry.reason)) }
    configuration.flushTelemetry()
  }

  // MARK: Log

  // Of each launch three lines at the level info. The coordinator's lines have the same keys, so that a search for a trace
  // id finds both.

  func log(startOf launch: LaunchSubject) { logger.info("a launch began", metadata: .launch(launch)) }

  func log(expiryOf launch: LaunchSubject, _ window: ClosingWindow) {
    let left = max(window.deadline - clocks.instant(), .zero)
    logger.info(
      "a launch is asked to stop",
      metadata: .launch(
        launch,
        [Names.LogKey.expiryReason: "\(window.reason.code)", Names.LogKey.expiryDeadline: "\(left.inSeconds)"]))
  }

  private func log(endOf launch: LaunchSubject, _ outcome: LaunchOutcome, isGraceful: Bool) {
    logger.info("a launch ended", metadata: .launch(launch, .end(outcome, isGraceful: isGraceful)))
  }
}
