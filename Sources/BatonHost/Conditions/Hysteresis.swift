package import BatonModel

/// Keeps a flapping condition from starting and stopping launches again and again. A value that permits less counts at
/// once, or after `lossAfter` where short losses are to be ignored (the network). A value that permits more counts only
/// after it has lasted for `returnAfter`. `ConditionsCore` has one for each condition.
package struct Hysteresis<Value: Hashable & Sendable & Codable>: Sendable {
  /// Ranks a value by how much it permits: a higher number permits more.
  package typealias Permission = @Sendable (Value?) -> Int

  private let permission: Permission
  /// How long a value that permits more must last before it counts. Zero: it counts at once.
  private let returnAfter: Duration
  /// How long a value that permits less must last before it counts. Zero: it counts at once.
  private let lossAfter: Duration
  /// The reading that counts, and since when its value has been the same.
  private var held: (reading: Reading<Value>, since: Instant)?
  /// The reading that will count if the change lasts, and since when the change has lasted. Of all readings since then,
  /// it is the one closest to the value that counts.
  private var waiting: (reading: Reading<Value>, since: Instant)?

  package init(returnAfter: Duration, lossAfter: Duration = .zero, permission: @escaping Permission) {
    self.returnAfter = returnAfter
    self.lossAfter = lossAfter
    self.permission = permission
  }

  /// `true` while the last reading differs from the value that counts, and its delay has not passed yet.
  package var isWaiting: Bool { waiting != nil }

  /// Takes a reading and returns the reading that counts now. The first reading counts at once.
  package mutating func read(_ reading: Reading<Value>, at now: Instant) -> Reading<Value> {
    guard let current = held?.reading else { return hold(reading, at: now) }
    let difference = permission(reading.value) - permission(current.value)
    guard difference != 0 else { return hold(reading, at: now) }
    let step = leastStep(from: current, to: reading, at: now)
    let patience = difference > 0 ? returnAfter : lossAfter
    if now - step.since >= patience {
      // The smaller change has lasted long enough. A reading that goes further has to last for its own delay.
      let counts = hold(step.reading, at: now)
      return step.reading == reading ? counts : read(reading, at: now)
    }
    waiting = step
    return delayed(current, by: reading, for: patience - (now - step.since), at: now)
  }

  /// The new waiting reading: the smallest change in the direction of `reading` since the readings began to differ in
  /// that direction.
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

  /// Returns the reading that still counts. Its raw text tells the new reading and how long it must last until it
  /// counts.
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
