/// The clock for the deadlines of commands. Tests replace it.
package struct CommandTime: Sendable {
  /// Returns at the given instant, or throws `CancellationError` if the task is cancelled before.
  package var sleep: @Sendable (ContinuousClock.Instant) async throws -> Void
  package var now: @Sendable () -> ContinuousClock.Instant

  package init(
    now: @escaping @Sendable () -> ContinuousClock.Instant,
    sleep: @escaping @Sendable (ContinuousClock.Instant) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  package static let continuous = CommandTime(
    now: { ContinuousClock.now }, sleep: { try await ContinuousClock().sleep(until: $0) })
}
