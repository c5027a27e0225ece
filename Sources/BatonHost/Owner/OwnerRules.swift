package import BatonModel

/// Computes the owner's word from a pause and the hours. It is a value without a clock; `OwnerDesk` owns it. A pause
/// takes precedence over the hours.
package struct OwnerRules: Sendable {
  package private(set) var pause: OwnersPause?
  package let hours: LendingHours

  package init(hours: LendingHours = .always, pause: OwnersPause? = nil) {
    self.hours = hours
    self.pause = pause
  }

  /// The owner's word now.
  /// - Parameter date: the wall clock, with which the hours are compared.
  package func word(at now: Instant, date: Timestamp) -> OwnersWord {
    if let pause, !pause.isOver(at: now) { return pause.word }
    return hours.word(at: date) ?? .accepting
  }

  /// Starts a pause. It replaces an earlier pause, even a longer one.
  package mutating func pause(by: String, for length: Duration?, at now: Instant, date: Timestamp) {
    pause = OwnersPause(by: by, for: length, at: now, date: date)
  }

  package mutating func resume() { pause = nil }

  /// Removes a pause whose end has passed. Returns `true` if there was such a pause.
  package mutating func forgetPause(at now: Instant) -> Bool {
    guard let pause, pause.isOver(at: now) else { return false }
    self.pause = nil
    return true
  }
}
