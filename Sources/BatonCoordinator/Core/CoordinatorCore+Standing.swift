import BatonModel
import BatonStore

/// What this coordinator knows of its own tenure and of the other coordinators that have the store open.
struct Standing: Sendable {
  /// Whether other coordinators can have the store open. If not, nothing below changes, and this coordinator is the
  /// steward.
  let isShared: Bool
  /// How long the beat of a coordinator may stand still before another one ends its tenure.
  let term: Duration
  /// The number of this coordinator's tenure.
  var epoch: Int64 = 0
  /// Whether this coordinator promotes, prunes, sends spans and keeps the clock.
  var isSteward = true
  /// Whether the store has made this coordinator the steward, and it has not followed the clock of the last one yet.
  var takesOffice = false
  /// When the last beat that the store confirmed was sent; nil before the first one.
  var confirmedAt: Instant?
  /// When the open order to beat was given; nil if none is open.
  var sentAt: Instant?
  var nextAt: Instant?
  /// The beat of each other coordinator, and since when it stands still by this coordinator's own clock. No times of
  /// two machines are compared.
  var others: [Int64: (beat: Int64, since: Instant)] = [:]
  /// The steward's clock as the store had it when this coordinator started; nil once this coordinator has joined. A
  /// reading may be old, because its steward is gone: a coordinator that measured delays from it would measure them too
  /// short. So a coordinator joins when it has seen the clock go on, or when it is the steward itself.
  var clockBefore: ClockReading?
  /// When the store last answered what the others have changed.
  var heardAt: Instant?
  /// Whether an order to end a coordinator, or to read the fleet, is open.
  var isEnding = false
  var isHearing = false
  /// The version of the definitions in the index.
  var definitionsVersion: Int64 = 0

  /// How often a coordinator beats, and hears what the others have changed.
  static let interval = Duration.seconds(1)

  /// Whether this coordinator may still answer heartbeats: no other coordinator has ended its tenure, because its beat
  /// was confirmed within the term.
  func isConfirmed(at now: Instant) -> Bool {
    guard isShared else { return true }
    return confirmedAt.map { now - $0 < term } ?? false
  }

  /// For how long the beat of a coordinator has stood still by this coordinator's own clock; nil if no beat of it was
  /// seen.
  func beatAge(of epoch: Int64, at now: Instant) -> Duration? {
    guard isShared else { return nil }
    return (epoch == self.epoch ? confirmedAt : others[epoch]?.since).map { now - $0 }
  }
}

extension CoordinatorCore {
  /// Whether this coordinator keeps house in the store.
  package var isSteward: Bool { standing.isSteward }
  /// Whether this coordinator is about to become the steward. Its clock becomes the fleet's clock with the next answer
  /// to `readFleet`.
  package var takesOffice: Bool { standing.takesOffice }
  /// Whether this coordinator may serve workers and operators: it knows the steady clock.
  package var hasJoined: Bool { standing.clockBefore == nil }
  /// Whether other coordinators live, as far as this one knows.
  package var hasOthers: Bool { !standing.others.isEmpty }

  /// Gives the orders that have become due: to beat, and to end a coordinator that stands still.
  mutating func keepStanding(at now: Instant, since last: Instant?) {
    // After a gap this process was stopped. The others may live, although nothing was heard of them.
    if let last, now - last > standing.term / 2 {
      standing.others = standing.others.mapValues { ($0.beat, since: now) }
    }
    if standing.sentAt == nil, standing.nextAt.map({ $0 <= now }) ?? true {
      standing.sentAt = now
      standing.nextAt = now + Standing.interval
      add(.store(.beat(keepsClock: standing.isSteward), after: .zero))
    }
    guard !standing.isEnding, standing.isConfirmed(at: now),
      let silent = standing.others.sorted(by: { $0.key < $1.key }).first(where: { now - $0.value.since > standing.term }
      )
    else { return }
    standing.isEnding = true
    add(.store(.endCoordinator(silent.key, silentSince: silent.value.beat), after: .zero))
  }

  mutating func beaten(_ beat: Beat, at now: Instant) {
    let (sentAt, hadOthers) = (standing.sentAt, !standing.others.isEmpty)
    // While the store could not be reached, no beat of the others was seen either, although they may live.
    let wasOutOfReach = [standing.confirmedAt, sentAt].contains { $0.map { now - $0 > standing.term / 2 } ?? false }
    standing.sentAt = nil
    standing.confirmedAt = sentAt
    standing.takesOffice = beat.isSteward && !standing.isSteward
    standing.isSteward = beat.isSteward && standing.isSteward
    guard standing.isShared else { return }
    var others: [Int64: (beat: Int64, since: Instant)] = [:]
    for other in beat.living {
      let known = standing.others[other.epoch]
      others[other.epoch] = known?.beat == other.beat && !wasOutOfReach ? known : (other.beat, now)
    }
    standing.others = others
    if hadOthers || !others.isEmpty || beat.hasAdopted || standing.takesOffice { hear() }
  }

  /// Has the store read what other coordinators have changed.
  mutating func hear() {
    guard !standing.isHearing else { return }
    standing.isHearing = true
    add(.store(.readFleet, after: .zero))
  }

  mutating func heard(_ fleet: FleetRecord, at now: Instant) {
    standing.isHearing = false
    if standing.takesOffice, fleet.steward == fleet.epoch { (standing.isSteward, standing.takesOffice) = (true, false) }
    // A reading that is new may still be old: it is only known to be as new as the answer before.
    let isFresh = standing.heardAt.map { now - $0 <= Standing.interval * 2 } ?? false
    standing.heardAt = now
    if standing.isSteward || isFresh && fleet.clock != standing.clockBefore { standing.clockBefore = nil }
    if standing.clockBefore != nil { standing.clockBefore = fleet.clock }
    perform(dispatcher.hear(fleet, at: now))
    if fleet.definitionsVersion > standing.definitionsVersion { add(.store(.readDefinitions, after: .zero)) }
    nextDue.join(fleet.nextDue)
    let records = fleet.hosts
    for host in records where dispatcher.hosts[host.name]?.lease == .elsewhere {
      lastSeen[host.name] = max(lastSeen[host.name] ?? host.lastSeenAt, host.lastSeenAt)
    }
    wantDispatch()
  }
}
