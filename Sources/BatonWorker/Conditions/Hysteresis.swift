package import BatonModel

/// Keeps a flapping condition from thrashing: it takes a permission away at once, and gives it back only when it has
/// been there for a while. Where a loss is to be bridged (the network), that has a time of its own.
package struct Hysteresis<Value: Hashable & Sendable & Codable>: Sendable {
  /// How much a value permits: more for a higher number.
  package typealias Permission = @Sendable (Value?) -> Int

  private let permission: Permission
  /// How long more must have been permitted before it counts; zero is at once.
  private let returnAfter: Duration
  /// How long less must have been permitted before it counts; zero is at once.
  private let lossAfter: Duration
  /// What counts, and since when it says what it says.
  private var held: (reading: Reading<Value>, since: Instant)?
  /// What is to count instead, if it lasts: the least step away from what counts that was read since then.
  private var waiting: (reading: Reading<Value>, since: Instant)?

  package init(returnAfter: Duration, lossAfter: Duration = .zero, permission: @escaping Permission) {
    self.returnAfter = returnAfter
    self.lossAfter = lossAfter
    self.permission = permission
  }

  /// Something else was read than what counts, and has to last before it does.
  package var isWaiting: Bool { waiting != nil }

  /// What counts now that this was read. The first reading counts as it is.
  package mutating func read(_ reading: Reading<Value>, at now: Instant) -> Reading<Value> {
    guard let current = held?.reading else { return hold(reading, at: now) }
    let difference = permission(reading.value) - permission(current.value)
    guard difference != 0 else { return hold(reading, at: now) }
    let step = leastStep(from: current, to: reading, at: now)
    let patience = difference > 0 ? returnAfter : lossAfter
    if now - step.since >= patience {
      // What goes further than what has lasted has to last by itself.
      let counts = hold(step.reading, at: now)
      return step.reading == reading ? counts : read(reading, at: now)
    }
    waiting = step
    return delayed(current, by: reading, for: patience - (now - step.since), at: now)
  }

  private func leastStep(
    from current: Reading<Value>, to reading: Reading<Value>, at now: Instant
  ) -> (reading: Reading<Value>, since: Instant) {
    let from = permission(current.value)
    let new = permission(reading.value) - from
    guard let waiting else { return (reading, now) }
    let old = permission(waiting.reading.value) - from
    if old.signum() != new.signum() { return (reading, now) }
    return (abs(new) <= abs(old) ? reading : waiting.reading, waiting.since)
  }

  private mutating func hold(_ reading: Reading<Value>, at now: Instant) -> Reading<Value> {
    waiting = nil
    let since = held.flatMap { $0.reading.value == reading.value ? $0.since : nil } ?? now
    held = (reading, since)
    return aged(reading, since: since, at: now)
  }

  /// What counts still, with what was read instead and for how long it has to last.
  private func delayed(
    _ current: Reading<Value>, by reading: Reading<Value>, for rest: Duration, at now: Instant
  ) -> Reading<Value> {
    var delayed = aged(current, since: held?.since ?? now, at: now)
    let seconds = rest.components.seconds + (rest.components.attoseconds > 0 ? 1 : 0)
    delayed.raw = "\(reading.raw.isEmpty ? "changed" : reading.raw); counts in \(seconds) s if it lasts"
    return delayed
  }

  private func aged(_ reading: Reading<Value>, since: Instant, at now: Instant) -> Reading<Value> {
    var aged = reading
    aged.age = now - since
    return aged
  }
}
