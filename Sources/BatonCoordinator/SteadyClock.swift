package import BatonModel
package import BatonStore

/// A clock that goes on over restarts and never steps (promise P7): the monotonic clock of the machine, which continues
/// from the reading that an earlier coordinator saved.
package struct SteadyClock: Hashable, Sendable {
  private let steady: Timestamp
  private let instant: Instant

  /// - Parameters:
  ///   - saved: nil for a new store, where both clocks agree.
  ///   - boot: of the machine now. Within one boot the monotonic clock says how much time has passed, whatever the wall
  ///     clock did; over a reboot only the wall clock can say, and time that it did not see does not count.
  package init(resuming saved: ClockReading?, at now: Now, boot: String) {
    instant = now.instant
    guard let saved else {
      steady = now.date
      return
    }
    let passed =
      saved.boot == boot && !boot.isEmpty ? now.instant - saved.instant : now.date - saved.moment.date
    steady = saved.moment.steady + max(passed, .zero)
  }

  package func steady(at instant: Instant) -> Timestamp { steady + (instant - self.instant) }
}
