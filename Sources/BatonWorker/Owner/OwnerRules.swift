package import BatonModel

/// What the owner has said: decides, and asks no clock. A pause comes before the hours.
package struct OwnerRules: Sendable {
  package private(set) var pause: OwnersPause?
  package let hours: LendingHours

  package init(hours: LendingHours = .always, pause: OwnersPause? = nil) {
    self.hours = hours
    self.pause = pause
  }

  /// - Parameter date: says what the clock on the wall shows, for the hours.
  package func word(at now: Instant, date: Timestamp) -> OwnersWord {
    if let pause, !pause.isOver(at: now) { return pause.word }
    return hours.word(at: date) ?? .accepting
  }

  /// A second pause takes the place of the first, also if it is shorter.
  package mutating func pause(by: String, for length: Duration?, at now: Instant, date: Timestamp) {
    pause = OwnersPause(by: by, for: length, at: now, date: date)
  }

  package mutating func resume() { pause = nil }

  /// Forgets a pause that is over; true if there was one.
  package mutating func forgetPause(at now: Instant) -> Bool {
    guard let pause, pause.isOver(at: now) else { return false }
    self.pause = nil
    return true
  }
}
