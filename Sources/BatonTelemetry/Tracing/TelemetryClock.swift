package import BatonModel

/// The monotonic clock of the process, and a sleep that uses it. Tests pass their own.
package struct TelemetryClock: Sendable {
  package var now: @Sendable () -> Instant
  /// Sleeps for a duration. Throws only if the task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void

  package init(
    now: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    (self.now, self.sleep) = (now, sleep)
  }

  /// The system's clock, which also advances while the machine sleeps.
  package static let system: TelemetryClock = {
    let start = ContinuousClock.now
    return TelemetryClock(
      now: { Instant(nanoseconds: (ContinuousClock.now - start).nanoseconds) },
      sleep: { try await Task.sleep(for: $0, clock: .continuous) })
  }()
}
