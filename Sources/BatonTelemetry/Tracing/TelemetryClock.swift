package import BatonModel

/// The steady clock and the wait that goes by it; tests bring their own.
package struct TelemetryClock: Sendable {
  package var now: @Sendable () -> Instant
  /// Throws only when its task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void

  package init(
    now: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    (self.now, self.sleep) = (now, sleep)
  }

  /// Goes on while the machine sleeps.
  package static let system: TelemetryClock = {
    let start = ContinuousClock.now
    return TelemetryClock(
      now: { Instant(nanoseconds: (ContinuousClock.now - start).nanoseconds) },
      sleep: { try await Task.sleep(for: $0, clock: .continuous) })
  }()
}
