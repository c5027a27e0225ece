package import BatonModel
package import BatonStore

/// A clock that continues across restarts and never steps (promise P7). It is the monotonic clock of the machine, and
/// continues from the reading that an earlier coordinator saved.
package struct SteadyClock: Sendable {
  private var steady: Timestamp
  /// The last reading of the steward's clock, and when it was new here; nil if this clock follows none.
  private var followed: (reading: ClockReading, at: Instant)?
  /// When the store was asked last for the steward's clock.
  private var askedAt: Instant
  private var instant: Instant

  /// - Parameters:
  ///   - saved: the reading of an earlier coordinator; nil for a new store, where the clock starts with the wall
  ///     clock.
  ///   - boot: the id of the machine's current boot. Within one boot the monotonic clock tells how much time has
  ///     passed, regardless of the wall clock. Across a reboot only the wall clock can tell, and a negative difference
  ///     counts as zero.
  package init(resuming saved: ClockReading?, at now: Now, boot: String) {
    instant = now.instant
    askedAt = now.instant
    guard let saved else {
      steady = now.date
      return
    }
    let passed =
      saved.boot == boot && !boot.isEmpty ? now.instant - saved.instant : now.date - saved.moment.date
    steady = saved.moment.steady + max(passed, .zero)
  }

  /// Follows the clock of another coordinator: no time of this machine's wall clock enters.
  package init(following reading: ClockReading, at instant: Instant, boot: String) {
    (steady, self.instant, askedAt) = (reading.moment.steady, instant, instant)
    follow(reading, askedAt: instant, at: instant, boot: boot)
  }

  /// Takes over the reading of the steward's clock that the store has now. Call it with the same reading too: a reading
  /// that is new came since the store was asked before, so the steward's clock shows more than the reading, but by at
  /// most the time since then. A clock that is outside of these bounds steps to the nearer one. It is then behind the
  /// steward's clock, or ahead of it, by at most the time between two calls; on the same boot of the same machine both
  /// show the same time.
  /// - Parameter asked: when the store was asked, which may be long ago: this process may have been stopped.
  package mutating func follow(
    _ reading: ClockReading, askedAt asked: Instant, at instant: Instant, boot: String
  ) {
    defer { askedAt = asked }
    guard reading != followed?.reading else { return }
    let told = reading.steady(at: instant, boot: boot) ?? reading.moment.steady
    followed = (reading, instant)
    (steady, self.instant) = (min(max(steady(at: instant), told), told + (instant - askedAt)), instant)
  }

  /// Becomes the clock of the steward, after the steward before has gone. It goes on from that clock as far as the
  /// store has told of it: a clock that is ahead of it would start too early what others have delayed by that clock.
  package mutating func takeOffice(at instant: Instant, boot: String) {
    guard let (reading, seenAt) = followed else { return }
    let told = reading.steady(at: instant, boot: boot) ?? reading.moment.steady + (instant - seenAt)
    (steady, self.instant) = (min(steady(at: instant), told), instant)
  }

  package func steady(at instant: Instant) -> Timestamp { steady + (instant - self.instant) }
}

extension ClockReading {
  /// What the clock shows now; nil if the reading was made on another machine, or before its last boot.
  fileprivate func steady(at instant: Instant, boot: String) -> Timestamp? {
    guard self.boot == boot, !boot.isEmpty else { return nil }
    return moment.steady + max(instant - self.instant, .zero)
  }
}
