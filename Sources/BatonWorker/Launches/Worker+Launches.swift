import BatonHandler
import BatonModel
import BatonWire
import Logging
import Synchronization

/// Running handlers: one task per launch, and beside it one that waits for its expiry to cancel it.
extension Worker {
  func say(_ message: WorkerMessage) { state.withLock { $0.connection }?.up.send(message) }

  /// Sends what commands have written since the last time; while there is no connection it waits, and is bounded.
  func sendOutput() {
    let (launches, isConnected) = state.withLock { (Array($0.active.values), $0.connection != nil) }
    guard isConnected else { return }
    for chunk in launches.compactMap({ $0.takeOutput() }) { say(.output(chunk)) }
  }

  func startLoop(_ processes: ProcessRegistry, _ folders: WorkerFolders) async {
    await withDiscardingTaskGroup { group in
      while let orders = await starts.receive() {
        for order in orders { group.addTask { await self.perform(order, processes, folders) } }
      }
    }
  }

  private func perform(_ order: StartOrder, _ processes: ProcessRegistry, _ folders: WorkerFolders) async {
    let (outcome, isGraceful) = await withTaskGroup(of: (LaunchOutcome, Bool)?.self) { group in
      group.addTask { await self.outcome(of: order, processes, folders) }
      group.addTask {
        await order.launch.waitForExpiry()
        return nil
      }
      var result: (LaunchOutcome, Bool)?
      while let ended = await group.next() {
        if let ended { result = ended }
        if ended == nil { group.cancelAll() } else { order.launch.close() }
      }
      return result ?? (.lost, true)
    }
    if let chunk = order.launch.takeOutput() { say(.output(chunk)) }
    countLast(order.assignment.launch, processes)
    let result = order.launch.result
    decide { $0.handlerEnded(order.assignment.launch, outcome, isGraceful: isGraceful, result: result) }
  }

  private func outcome(
    of order: StartOrder, _ processes: ProcessRegistry, _ folders: WorkerFolders
  ) async -> (LaunchOutcome, Bool) {
    do {
      try await run(order, processes, folders)
      return (.finished, true)
    } catch let expired as CommandExpired {
      // With an expiry the core says which; without one the launch was stopped from outside, which is no failure.
      return (.lost, expired.isGraceful)
    } catch {
      return (.failed(String(String(describing: error).prefix(LaunchOutcome.maximumErrorBytes))), true)
    }
  }

  private func run(_ order: StartOrder, _ processes: ProcessRegistry, _ folders: WorkerFolders) async throws {
    let (assignment, definition) = (order.assignment, order.definition)
    if definition.work != nil {
      let runner = CommandRunner(
        definition: definition, assignment: assignment, gpus: gpus(of: assignment), folders: folders,
        host: HostName(configuration.name),
        processes: processes, limit: state.withLock { $0.limit })
      return try await runner.run(order.launch)
    }
    guard let handler = handler(for: definition.pattern) else {
      throw WorkerError("this worker has no handler for '\(definition.pattern)'")
    }
    try await handler(
      JobTask(
        identifier: assignment.identifier, request: assignment.requestNumber, launch: assignment.launch.number,
        kind: definition.kind, wildcard: definition.pattern.wildcardValue(in: assignment.identifier),
        principal: assignment.principal, payload: assignment.payload, gpus: gpus(of: assignment), runtime: order.launch)
    )
  }

  /// What the drivers call the GPUs that the launch holds.
  private func gpus(of assignment: Assignment) -> [String] {
    let all = state.withLock { $0.core.conditions.gpus.value ?? [] }
    return assignment.gpus.filter(all.indices.contains).map { all[$0].id }
  }

  /// A Swift handler ignored its deadline. Its host must be free, and only the end of the process can do that; a
  /// command is killed by its runner.
  func overrun(_ key: LaunchKey) {
    let (launch, isDoomed) = state.withLock { state in
      let launch = state.core.launches[key]
      let isHandler = launch.map { $0.definition.work == nil } ?? false
      if isHandler, configuration.endsProcessOnOverrun { state.isCondemned = true }
      return (launch, isHandler)
    }
    guard isDoomed, let launch else { return }
    logger.warning(
      "a handler ignored its expiry",
      metadata: ["identifier": "\(launch.assignment.identifier)", "launch": "\(key.number)"])
    guard configuration.endsProcessOnOverrun else { return }
    decide { $0.handlerEnded(key, .lost, isGraceful: false) }
  }
}
