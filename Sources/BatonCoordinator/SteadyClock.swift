package import BatonModel
package import BatonStore

/// A clock that continues across restarts and never steps (promise P7). It is the monotonic clock of the machine, and
/// continues from the reading that an earlier coordinator saved.
package struct SteadyClock: Hashable, Sendable {
  private let steady: Timestamp
  private let instant: Instant

  /// - Parameters:
  ///   - saved: the reading of an earlier coordinator; nil for a new store, where the clock starts with the wall
  ///     clock.
  ///   - boot: the id of the machine's current boot. Within one boot the monotonic clock tells how much time has
  ///     passed, regardless of the wall clock. Across a reboot only the wall clock can tell, and a negative difference
  ///     counts as zero.
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
