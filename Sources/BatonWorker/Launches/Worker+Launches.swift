import BatonBase
import BatonCore
import BatonHandler
import BatonModel
import BatonProcess
import BatonTelemetry
import BatonWire
import Logging
import ServiceContextModule
import Synchronization
import Tracing

/// Runs handlers. Each launch has a task on the gRPC thread, and in it a child task for the handler, which is cancelled
/// when the launch expires. The child task runs in Swift's task pool. So a launch changes threads once until its
/// handler begins, and once after it has ended.
extension Worker {
  /// Sends a message. Without a connection the message is dropped.
  func say(_ message: WorkerMessage) { state.withLock { $0.connection }?.up.send(message) }

  /// Sends the output of commands since the last call. While there is no connection, each launch keeps its last 64 KiB.
  func sendOutput() {
    let (launches, isConnected) = state.withLock { (Array($0.active.values), $0.connection != nil) }
    guard isConnected else { return }
    for chunk in launches.compactMap({ $0.takeOutput() }) { say(.output(chunk)) }
  }

  /// Runs each launch that the core starts, until the task is cancelled and all handlers have ended. Call it on the
  /// gRPC thread.
  func startLoop(_ processes: ProcessRegistry, _ folders: WorkerFolders) async {
    // The tracer is looked up only once, because the lookup takes a lock.
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
      group.addTask(executorPreference: globalConcurrentExecutor) {
        defer { launch.stop.raise() }
        let end = await ServiceContext.$current.withValue(span.context) {
          await self.end(of: launch, span.traced(launch), processes, folders)
        }
        self.countLast(launch, processes)
        return end
      }
      await launch.stop.wait()
      group.cancelAll()
      return await group.next() ?? (.stopped(), nil)
    }
    let hasExpired = conclude(launch, end, failure, span)
    // The host may be about to shut down, so the spans of an expired launch are sent at once.
    if hasExpired { tracing.baton?.forceFlush() }
  }

  /// Ends the span and the output of the launch, and then the launch. The ending comes last: when the coordinator has
  /// it, this process may end. Returns whether the launch was asked to stop.
  private func conclude(
    _ launch: ActiveLaunch, _ end: HandlerEnd, _ failure: Failure?, _ span: RunSpan
  ) -> Bool {
    let known = state.withLock { $0.core.launch(launch.key) { ($0.ending(of: end), $0.expiry != nil) } }
    guard let (ending, hasExpired) = known else { return false }
    let runEnd = RunEnd(ending, failure)
    span.end(runEnd)
    log(endOf: launch.subject, runEnd.outcome, isGraceful: ending.isGraceful)
    if let chunk = launch.takeOutput() { say(.output(chunk)) }
    decide { $0.handlerEnded(launch.key, end) }
    return hasExpired
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
    let capabilities = state.withLock { $0.core.capabilities }
    try capabilities.demandPermission(
      for: definition, by: assignment.principal, on: HostName(configuration.name))
    if let work = definition.work {
      let runner = CommandRunner(
        definition: definition, assignment: assignment, gpus: gpus(of: assignment), folders: folders,
        host: HostName(configuration.name),
        processes: processes, limit: state.withLock { $0.limit },
        confinement: confinement(of: work, capabilities), spares: state.withLock { $0.spares })
      return try await runner.run(runtime)
    }
    guard let handler = handler(for: definition.pattern) else {
      throw WorkerError("this worker has no handler for '\(definition.pattern)'")
    }
    try demandShard(of: assignment, definition)
    let task = JobTask(assignment, definition, gpus: gpus(of: assignment), runtime)
    try await handler(task)
    try await task.commitAdded()
  }

  /// Throws if the coordinator has assigned a shard that the definition does not have.
  private func demandShard(of assignment: Assignment, _ definition: Definition) throws {
    guard let shard = assignment.shard else { return }
    let count = definition.spread?.shards ?? 1
    guard (0..<count).contains(shard.index) else {
      throw WorkerError(
        "the coordinator has assigned shard \(shard.index) of '\(assignment.identifier)', whose definition has "
          + "\(count) (counted from 0)")
    }
  }

  /// Returns the GPUs that the launch holds, by the ids that their drivers use.
  private func gpus(of assignment: Assignment) -> [String] {
    guard !assignment.gpus.isEmpty else { return [] }
    let all = state.withLock { $0.core.conditions.gpus.value ?? [] }
    return assignment.gpus.filter(all.indices.contains).map { all[$0].id }
  }

  /// Logs that a Swift handler ignored its deadline, and ends its span if the process is about to end. A command is
  /// killed by its own runner, so nothing is done for it here.
  func overrun(_ launch: ActiveLaunch) {
    guard launch.definition.work == nil else { return }
    logger.warning("a handler ignored its expiry", metadata: .launch(launch.subject))
    guard configuration.endsProcessOnOverrun else { return }
    // The process ends before the handler returns, so nothing else would end its span.
    if let expiry = launch.expiry { launch.span?.end(.expired(expiry.reason)) }
    configuration.flushTelemetry()
  }

  // MARK: Log

  // A launch has at most three lines at the level info: begin, expiry and end. Their keys are those of the
  // coordinator's lines, so that a search for a trace id finds the lines of both.

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
