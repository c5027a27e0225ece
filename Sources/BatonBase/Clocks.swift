package import BatonModel

/// The sources of time of a shell. Tests pass clocks of their own.
package struct Clocks: Sendable {
  /// Reads the clocks of the machine together. The steady clock agrees with the wall clock.
  package var now: @Sendable () -> Now
  /// Sleeps, and throws `CancellationError` when the task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// An id of the machine's current boot, to which instants belong; empty if it is not known.
  package var boot: @Sendable () -> String

  package init(
    now: @escaping @Sendable () -> Now, sleep: @escaping @Sendable (Duration) async throws -> Void,
    boot: @escaping @Sendable () -> String = { "" }
  ) {
    self.now = now
    self.sleep = sleep
    self.boot = boot
  }

  package init(
    instant: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Duration) async throws -> Void,
    date: @escaping @Sendable () -> Timestamp = { SystemClocks.date() }
  ) {
    self.init(now: { Now(instant: instant(), date: date()) }, sleep: sleep)
  }

  /// Reads the monotonic clock, which measures leases, budgets and deadlines (promise P7).
  package func instant() -> Instant { now().instant }
  /// Reads the wall clock. Due times, the owner's hours and dates for people depend on it.
  package func date() -> Timestamp { now().date }

  /// The clocks of the machine.
  package static let system = Clocks(
    now: { SystemClocks.now() }, sleep: { try await Task.sleep(for: $0, clock: .continuous) },
    boot: { SystemClocks.boot })
}
