internal import BatonModel

/// The earliest begin time of a request, and the clock that it is compared with.
struct Earliest: Hashable {
  var at: Timestamp
  /// True for a date that a person wrote down, which is compared with the wall clock. All other times are on the steady
  /// clock.
  var isDated: Bool

  init(at: Timestamp, isDated: Bool) {
    self.at = at
    self.isDated = isDated
  }

  /// - Parameter wish: the earliest begin date that was asked for; `nil` for as soon as possible.
  init(_ wish: EarliestBeginDate?, submittedAt now: Moment) {
    switch wish {
    case .at(let date): self.init(at: date, isDated: true)
    case .afterSubmission(let delay): self.init(at: now.steady + delay, isDated: false)
    case nil: self.init(at: now.steady, isDated: false)
    }
  }

  func hasCome(at now: Moment) -> Bool {
    return at <= (isDated ? now.date : now.steady)
  }

  /// What the steady clock will show at this time, if the wall clock does not step before.
  func steady(at now: Moment) -> Timestamp {
    isDated && at != .distantFuture ? now.steady + (at - now.date) : at
  }
}

/// When a request may start, as far as time and the other requests of its identifier decide it. Hosts are not
/// considered here.
struct Readiness: Hashable {
  var state: RequestState
  /// On the steady clock. `distantFuture` while the request waits for a date or for the live request.
  var eligibleAt: Timestamp
  var cause: Cause?
  /// The date that the request waits for, on the wall clock; `nil` if it does not wait for a date.
  var date: Timestamp?

  /// The readiness of a request whose transfers go on: their end wakes it (`Verbs.wake`).
  static let waitingForTransfers = Readiness(state: .scheduled, eligibleAt: .distantFuture, cause: .backingOff)

  /// The readiness of a request that was never launched. Its date or delay must have come, each on its own clock, and
  /// its spacing must be over. If both are still to come, the later one is the cause of waiting; when that time comes,
  /// `Verbs.reconsider` checks both again.
  /// - Parameters:
  ///   - spacedUntil: the end of the spacing on the steady clock; `nil` if the request is not spaced.
  ///   - isHeld: whether another request has to end first: an earlier one of the identifier, or one of the same flow.
  ///   - overlap: what the schedule says of a time that comes before that end. With `replace` it is noticed when the
  ///     time comes.
  ///   - isPaused: whether the schedule that has made the request is paused.
  static func firstLaunch(
    earliest: Earliest, spacedUntil: Timestamp?, isHeld: Bool, overlap: Overlap = .wait,
    isPaused: Bool = false, at now: Moment
  ) -> Readiness {
    // Only the end of the pause lets the request go on, so nothing else is looked at.
    if isPaused { return Readiness(state: .scheduled, eligibleAt: .distantFuture, cause: .rateLimited) }
    if isHeld, overlap != .replace || earliest.hasCome(at: now) {
      return Readiness(state: .scheduled, eligibleAt: .distantFuture, cause: .waitsForLiveRequest)
    }
    let (begin, spaced) = (earliest.steady(at: now), spacedUntil ?? .distantPast)
    if spaced > now.steady, spaced > begin {
      return Readiness(state: .scheduled, eligibleAt: spaced, cause: .rateLimited)
    }
    if earliest.hasCome(at: now) { return Readiness(state: .ready, eligibleAt: max(begin, spaced), cause: nil) }
    return earliest.isDated
      ? Readiness(state: .scheduled, eligibleAt: .distantFuture, cause: .notBefore, date: earliest.at)
      : Readiness(state: .scheduled, eligibleAt: earliest.at, cause: .notBefore)
  }

  /// The readiness of a live request whose launch has ended.
  static func resumption(after delay: Duration, at now: Moment) -> Readiness {
    delay > .zero
      ? Readiness(state: .scheduled, eligibleAt: now.steady + delay, cause: .backingOff)
      : Readiness(state: .ready, eligibleAt: now.steady, cause: nil)
  }

  /// When to check the request again; empty if the request is ready or waits for an event.
  var due: NextDue {
    guard state == .scheduled else { return NextDue() }
    return NextDue(
      steady: eligibleAt == .distantFuture ? nil : eligibleAt, date: date == .distantFuture ? nil : date)
  }

  /// The eligible time on the wall clock, as far as it can be foreseen.
  func eligibleDate(at now: Moment) -> Timestamp {
    date ?? (eligibleAt == now.steady ? now.date : now.date(ofSteady: eligibleAt))
  }
}

extension Readiness {
  /// Everything that keeps a first launch from starting now, with times on the wall clock (contract, row 35).
  /// - Parameter requests: the numbers of the identifier's requests that go first.
  static func obstacles(
    earliest: Earliest, spacedUntil: Timestamp?, before requests: [Int], at now: Moment
  ) -> [Obstacle] {
    var found = requests.map { Obstacle.waitsForLiveRequest(number: $0) }
    if let spacedUntil, spacedUntil > now.steady { found.append(.rateLimited(until: now.date(ofSteady: spacedUntil))) }
    if !earliest.hasCome(at: now) {
      found.append(.notBefore(earliest.isDated ? earliest.at : now.date(ofSteady: earliest.at)))
    }
    return found
  }
}

extension Definition {
  /// The earliest begin date that counts for this definition. It is `nil` for a continued job, which a person wants to
  /// start now, even if a date is written down (contract, row 12).
  func allowed(_ wish: EarliestBeginDate?) -> EarliestBeginDate? { kind == .continued ? nil : wish }
}

extension Timestamp {
  /// Earlier than every date.
  fileprivate static let distantPast = Timestamp(nanoseconds: .min)
}
