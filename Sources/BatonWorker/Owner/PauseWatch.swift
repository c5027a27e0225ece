import BatonModel

/// Waits, for a person who has paused a host, until it is free.
package struct PauseWatch: Sendable {
  private let ask: @Sendable () async throws(OwnerClientError) -> HostStatus
  private let sleep: @Sendable (Duration) async throws -> Void

  /// How often the worker is asked.
  private static let interval = Duration.milliseconds(250)
  /// How often in a row it may be away: its supervisor starts it anew within seconds.
  private static let attempts = 40

  package init(
    ask: @escaping @Sendable () async throws(OwnerClientError) -> HostStatus,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0, clock: .continuous) }
  ) {
    self.ask = ask
    self.sleep = sleep
  }

  /// Returns when nothing runs on the host.
  /// - Parameters:
  ///   - first: what the worker answered to the pause.
  ///   - say: called with each line that a person wants to see.
  /// - Throws: `OwnerClientError` if the pause is over before, or the worker stays away; `CancellationError`.
  package func untilFree(
    from first: HostStatus, isTerminal: Bool, say: @Sendable (String) -> Void
  ) async throws {
    var waiting = PauseWaiting(isTerminal: isTerminal)
    var (status, missed) = (first, 0)
    while true {
      if missed == 0, let line = waiting.line(status) { say(line) }
      if status.isFree { return }
      guard status.owner.state == "paused" else {
        throw OwnerClientError(.refused, "the pause is over, and the host was not free before")
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
