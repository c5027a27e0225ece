import BatonBase
package import BatonModel
package import BatonStore
import BatonTelemetry

/// What the sender knows of one receiver, and what it decides by that: how many notifications it sends at once, and
/// when a failed one is tried again. A receiver that fails gets one notification at a time, with waits between, so that
/// one that is down is not flooded, and one notification that it will never take does not keep the others away.
package struct ReceiverStanding: Hashable, Sendable {
  /// Attempts in a row that have failed.
  package private(set) var failures = 0
  /// Nothing is sent before.
  package private(set) var notBefore: Instant?

  /// The most that are sent to one receiver at once.
  package static let atOnce = 4
  /// The waits of one notification after its attempts.
  static let backoff: Backoff = {
    var backoff = Backoff()
    (backoff.first, backoff.longest, backoff.longestAsked) = (.seconds(2), .seconds(600), .seconds(3600))
    return backoff
  }()
  /// The waits of the receiver after failed attempts in a row.
  static let pause: Backoff = {
    var backoff = Backoff()
    (backoff.first, backoff.longest, backoff.longestAsked) = (.seconds(1), .seconds(60), .seconds(3600))
    return backoff
  }()

  /// The shortest wait that a receiver may ask for. Of a shorter one, the usual waits count.
  static let shortestAsked = Duration.seconds(1)

  package init() {}

  /// How many notifications may be sent now.
  package func room(at now: Instant) -> Int {
    if let notBefore, now < notBefore { return 0 }
    return failures == 0 ? Self.atOnce : 1
  }

  /// Takes account of an attempt.
  /// - Parameters:
  ///   - attempts: how many attempts of this notification have failed before.
  ///   - draw: a random number from 0 up to but not including 1.
  package mutating func outcome(
    of verdict: DeliveryVerdict, attempts: Int, at now: Now, draw: Double
  ) -> NotificationAttempt.Outcome {
    switch verdict {
    case .accepted:
      (failures, notBefore) = (0, nil)
      return .accepted
    case .refused(let error, let asked):
      failures += 1
      // A receiver that asks for no wait, or names a time that has passed, would be sent the same without end.
      let asked = asked.flatMap { $0 < Self.shortestAsked ? nil : $0 }
      notBefore = now.instant + Self.pause.wait(after: failures, asked: asked, draw: draw)
      let wait = Self.backoff.wait(after: attempts + 1, asked: asked, draw: draw)
      return .again(at: now.steady + wait, error: error)
    }
  }
}
