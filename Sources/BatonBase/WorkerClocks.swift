package import BatonModel

/// The clocks of a worker. Tests pass clocks of their own.
package struct WorkerClocks: Sendable {
  /// Reads the monotonic clock, which measures leases, budgets and deadlines (promise P7).
  package var instant: @Sendable () -> Instant
  /// Sleeps, and throws `CancellationError` when the task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// Reads the wall clock. Only the owner's hours, the idle time of terminals, and dates for people depend on it.
  package var date: @Sendable () -> Timestamp

  package init(
    instant: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Duration) async throws -> Void,
    date: @escaping @Sendable () -> Timestamp = { SystemClocks.date() }
  ) {
    self.instant = instant
    self.sleep = sleep
    self.date = date
  }

  package static let system = WorkerClocks(
    instant: { SystemClocks.instant() }, sleep: { try await Task.sleep(for: $0, clock: .continuous) })
}
