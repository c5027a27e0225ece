import BatonBase
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
      while let orders = await starts.receive() {
        for order in orders { group.addTask { await self.perform(order, processes, folders, tracing) } }
      }
    }
  }

  private func perform(
    _ order: StartOrder, _ processes: ProcessRegistry, _ folders: WorkerFolders, _ tracing: RunTracing
  ) async {
    let span = RunSpan(order.assignment, order.definition, tracing)
    order.launch.span = span
    let end = await withTaskGroup(of: HandlerEnd.self) { group in
      group.addTask {
        defer { order.launch.close() }
        return await ServiceContext.$current.withValue(span.context) {
          await self.end(of: order, span.traced(order.launch), processes, folders)
        }
      }
      await order.launch.waitForExpiry()
      group.cancelAll()
      return await group.next() ?? HandlerEnd(outcome: .lost)
    }
    conclude(order, end, span, processes)
    // The host may be going away: the spans of an expired launch do not wait for the next batch of spans.
    if order.launch.expiry != nil { tracing.baton?.forceFlush() }
  }

  /// The spans end first: once the coordinator has the ending, this process may end.
  private func conclude(_ order: StartOrder, _ end: HandlerEnd, _ span: RunSpan, _ processes: ProcessRegistry) {
    let (key, result) = (order.assignment.launch, order.launch.result)
    let runEnd = RunEnd(end, result: result, expiry: end.outcome == .finished ? nil : expiry(of: order.launch))
    span.end(runEnd)
    log(endOf: order.launch.subject, runEnd.outcome, isGraceful: end.isGraceful)
    if let chunk = order.launch.takeOutput() { say(.output(chunk)) }
    countLast(key, processes, isCommand: order.definition.work != nil)
    decide {
      $0.handlerEnded(key, end.outcome, isGraceful: end.isGraceful, result: result, errorType: end.failure?.type)
    }
  }

  private func expiry(of launch: ActiveLaunch) -> ExpiryReason? {
    state.withLock { $0.core.launches[launch.key]?.expiry?.reason } ?? launch.expiry?.reason
  }

  private func end(
    of order: StartOrder, _ runtime: any CommandRuntime, _ processes: ProcessRegistry, _ folders: WorkerFolders
  ) async -> HandlerEnd {
    do {
      try await run(order, runtime, processes, folders)
      return HandlerEnd(outcome: .finished)
    } catch let expired as CommandExpired {
      // With an expiry the core says which; without one the launch was stopped from outside, which is no failure.
      return HandlerEnd(outcome: .lost, isGraceful: expired.isGraceful)
    } catch {
      let failure = Failure(error)
      return HandlerEnd(outcome: .failed(failure.text), failure: failure)
    }
  }

  private func run(
    _ order: StartOrder, _ runtime: any CommandRuntime, _ processes: ProcessRegistry, _ folders: WorkerFolders
  ) async throws {
    let (assignment, definition) = (order.assignment, order.definition)
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
    try await handler(
      JobTask(
        identifier: assignment.identifier, request: assignment.requestNumber, launch: assignment.launch.number,
        kind: definition.kind, wildcard: definition.pattern.wildcardValue(in: assignment.identifier),
        principal: assignment.principal, payload: assignment.payload, gpus: gpus(of: assignment), runtime: runtime)
    )
  }

  /// What the drivers call the GPUs that the launch holds.
  private func gpus(of assignment: Assignment) -> [String] {
    guard !assignment.gpus.isEmpty else { return [] }
    let all = state.withLock { $0.core.conditions.gpus.value ?? [] }
    return assignment.gpus.filter(all.indices.contains).map { all[$0].id }
  }

  /// A Swift handler ignored its deadline. Its host must be free, and only the end of the process can do that; a
  /// command is killed by its runner.
  func overrun(_ key: LaunchKey) {
    guard let launch = state.withLock({ $0.core.launches[key] }), launch.definition.work == nil else { return }
    logger.warning("a handler ignored its expiry", metadata: .launch(launch.assignment.subject))
    guard configuration.endsProcessOnOverrun else { return }
    // The process ends before the handler returns, so nothing else would end the span of its run.
    if let expiry = launch.expiry { state.withLock { $0.active[key] }?.span?.end(.expired(expiry.reason)) }
    configuration.flushTelemetry()
    decide { $0.condemn(key, at: clocks.instant()) }
  }
}
