/// Slots that were held, times the time for which they were held, of which old use counts less: after each half-life
/// half as much. It is a value: the caller tells it the time, which is of the steady clock.
package struct DecayedUse: Hashable, Sendable {
  /// The use in slot-seconds, as it counts at `at`.
  package private(set) var slotSeconds: Double
  package private(set) var at: Timestamp
  /// How many slots are held since `at`. The use of these grows by itself.
  package private(set) var slots: Int

  package init(slotSeconds: Double = 0, at: Timestamp = Timestamp(nanoseconds: 0), slots: Int = 0) {
    (self.slotSeconds, self.at, self.slots) = (max(0, slotSeconds), at, slots)
  }

  /// The use as it counts at `time`, with that of the slots that are held. A time before `at` counts as `at`.
  package func slotSeconds(at time: Timestamp, halfLife: Duration) -> Double {
    let elapsed = max(.zero, time - at)
    let kept = Self.kept(after: elapsed, halfLife)
    return slotSeconds * kept + Double(slots) * Self.gained(kept, halfLife)
  }

  /// Counts that from `time` on `change` more slots are held, or fewer if it is negative.
  package mutating func hold(_ change: Int, at time: Timestamp, halfLife: Duration) {
    advance(to: time, halfLife: halfLife)
    slots = max(0, slots + change)
  }

  /// Counts slots that were held from `start` until `end`, and are not any more.
  package mutating func add(_ slots: Int, from start: Timestamp, to end: Timestamp, halfLife: Duration) {
    advance(to: end, halfLife: halfLife)
    let length = max(.zero, end - start)
    // Of a launch that ended before the last change, the use has decayed since.
    let late = Self.kept(after: max(.zero, at - end), halfLife)
    slotSeconds += Double(slots) * Self.gained(Self.kept(after: length, halfLife), halfLife) * late
  }

  /// Adds the use of another coordinator.
  package mutating func join(_ other: DecayedUse, halfLife: Duration) {
    advance(to: max(at, other.at), halfLife: halfLife)
    slotSeconds += other.slotSeconds(at: at, halfLife: halfLife)
    slots += other.slots
  }

  private mutating func advance(to time: Timestamp, halfLife: Duration) {
    guard time > at else { return }
    (slotSeconds, at) = (slotSeconds(at: time, halfLife: halfLife), time)
  }

  /// What is left of 1 after some time.
  private static func kept(after elapsed: Duration, _ halfLife: Duration) -> Double {
    powerOfHalf(elapsed.inSeconds / halfLife.inSeconds)
  }

  /// The use of one slot, as it counts at the end, if `kept` is left of what was used at the beginning: the integral of
  /// what is left over the time.
  private static func gained(_ kept: Double, _ halfLife: Duration) -> Double {
    halfLife.inSeconds / Self.logarithmOf2 * (1 - kept)
  }

  private static let logarithmOf2 = 0.693_147_180_559_945_3

  /// One half to the power of `exponent`, which is not negative. It is computed here, so that it is the same on every
  /// machine: a whole power is exact, and the series for the rest converges within 20 terms.
  private static func powerOfHalf(_ exponent: Double) -> Double {
    guard exponent < 1_000 else { return 0 }
    let whole = exponent.rounded(.down)
    let rest = -(exponent - whole) * logarithmOf2
    var (sum, term) = (1.0, 1.0)
    for index in 1...20 {
      term *= rest / Double(index)
      sum += term
    }
    return sum * Double(sign: .plus, exponent: -Int(whole), significand: 1)
  }
}
