/// The clock that a command's deadlines are waited on; a test brings its own.
package struct CommandTime: Sendable {
  /// Returns at the instant, or throws `CancellationError` before.
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
