import BatonModel

/// Waits until a paused host is free, on behalf of the person who paused it.
package struct PauseWatch: Sendable {
  private let ask: @Sendable () async throws(OwnerClientError) -> HostStatus
  private let sleep: @Sendable (Duration) async throws -> Void

  /// The time between two questions to the worker.
  private static let interval = Duration.milliseconds(250)
  /// How many questions in a row may stay without an answer. The supervisor restarts a dead worker within seconds.
  private static let attempts = 40

  package init(
    ask: @escaping @Sendable () async throws(OwnerClientError) -> HostStatus,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0, clock: .continuous) }
  ) {
    self.ask = ask
    self.sleep = sleep
  }

  /// Returns when no launch runs on the host.
  /// - Parameters:
  ///   - first: the worker's answer to the pause.
  ///   - isTerminal: whether the output is a terminal (see `PauseWaiting`).
  ///   - say: called with each line for the person who waits.
  /// - Throws: `OwnerClientError` if the pause ends before the host is free, or if the worker does not come back;
  ///   `CancellationError` if the task is cancelled.
  package func untilFree(
    from first: HostStatus, isTerminal: Bool, say: @Sendable (String) -> Void
  ) async throws {
    var waiting = PauseWaiting(isTerminal: isTerminal)
    var (status, missed) = (first, 0)
    while true {
      if missed == 0, let line = waiting.line(status) { say(line) }
      if status.isFree { return }
      guard status.owner.state == "paused" else {
        throw OwnerClientError(.refused, "the pause ended before the host was free")
      }
      try await sleep(Self.interval)
      (status, missed) = try await next(after: status, missed)
    }
  }

  private func next(after status: HostStatus, _ missed: Int) async throws(OwnerClientError) -> (HostStatus, Int) {
    do {
      return (try await ask(), 0)
    } catch {
      guard error.code == .unreachable, missed < Self.attempts else { throw error }
      return (status, missed + 1)
    }
  }
}
