internal import BatonModel

/// When a request may start, as far as time and its own identifier decide it: the pure part of scheduling.
struct Readiness: Hashable {
  var state: RequestState
  var eligibleAt: Timestamp
  var cause: Cause?

  /// Least time between the first launches of successive refresh requests of one identifier (contract, row 10).
  static let refreshSpacing = Duration.seconds(15 * 60)

  /// Of a request that was not launched yet.
  /// - Parameters:
  ///   - lastFirstLaunch: of an earlier request of the identifier, if its launches are spaced.
  ///   - hasLiveRequest: an earlier request of the identifier has to end first.
  static func firstLaunch(
    earliest: Timestamp, lastFirstLaunch: Timestamp?, hasLiveRequest: Bool, at now: Timestamp
  ) -> Readiness {
    if hasLiveRequest {
      return Readiness(state: .scheduled, eligibleAt: .distantFuture, cause: .waitsForLiveRequest)
    }
    if let spaced = lastFirstLaunch.map({ $0 + refreshSpacing }), spaced > now, spaced > earliest {
      return Readiness(state: .scheduled, eligibleAt: spaced, cause: .rateLimited)
    }
    if earliest > now { return Readiness(state: .scheduled, eligibleAt: earliest, cause: .notBefore) }
    return Readiness(state: .ready, eligibleAt: earliest, cause: nil)
  }

  /// Of a live request whose launch ended.
  static func resumption(after delay: Duration, at now: Timestamp) -> Readiness {
    delay > .zero
      ? Readiness(state: .scheduled, eligibleAt: now + delay, cause: .backingOff)
      : Readiness(state: .ready, eligibleAt: now, cause: nil)
  }

  /// When the next request of a repeating definition begins: one interval after the last one's date, or at the next
  /// multiple of it if that has passed; missed ones are not caught up.
  static func next(after last: Timestamp, every interval: Duration, at now: Timestamp) -> Timestamp {
    let next = last + interval
    guard next <= now, interval.nanoseconds > 0 else { return next }
    let missed = (now - next).nanoseconds / interval.nanoseconds + 1
    return next + .nanoseconds(missed * interval.nanoseconds)
  }
}

extension Definition {
  var isSpaced: Bool { kind == .refresh && !allowFrequent }
}
