import BatonModel
import BatonProcess

/// What logind knows about the people who use this host: whether their desktops, local or remote, say that they are
/// idle, and who logs in or out at a seat. A seat is a screen and keyboard of this host. When a person last typed on a
/// terminal is not read here; `Terminals` reads it directly.
///
/// A desktop says "idle" only some time after the last input (GNOME after its setting "Blank Screen"), so the input
/// devices may show earlier that a person left. A desktop that says "not idle" and has never changed that, such as a
/// plain window manager, counts as silent, because "not idle" is also logind's default.
struct LogindSessions: Sendable {
  /// What a desktop says about its use.
  enum Use: Hashable, Sendable {
    /// The desktop says that a person is there.
    case busy
    /// The desktop has been idle or locked since this time.
    case quiet(since: Instant)
    /// The desktop has never given a hint.
    case silent
  }

  struct Desktop: Hashable, Sendable {
    /// The session, in words for people, such as `session 2 of anna`.
    var what: String
    /// The session is at a screen and keyboard of this host.
    var hasSeat: Bool
    var use: Use
  }

  struct State: Hashable, Sendable {
    /// `false` if it is not known who is logged in.
    var isKnown: Bool
    /// The desktops in the foreground. A person can use only those.
    var desktops: [Desktop] = []
    /// A program asks that the host does not count as idle.
    var idleIsInhibited = false
    /// When the sessions at a seat, or the session in the foreground there, last changed; `nil` if they have not
    /// changed since the first reading.
    var lastSeatChange: Sighting?
  }

  private struct RememberedHint {
    var hint: LogindAnswer.Hint
    /// Since when `hint.isIdle` has had its value, by the monotonic clock.
    var valueSince: Instant
    /// When this worker first saw the lock of the screen; `nil` while the screen is not locked.
    var lockedSince: Instant?
  }

  private let root: SystemRoot
  /// By the name of the session.
  private var remembered: [String: RememberedHint] = [:]
  /// The sessions at seats at the last reading; `nil` before the first.
  private var seated: Set<LoginSession>?
  private var lastSeatChange: Sighting?
  /// The names of the sessions whose hints logind is to be asked for.
  private(set) var sessionsToAsk: [String] = []

  init(root: SystemRoot) { self.root = root }

  /// Reads the sessions.
  /// - Parameters:
  ///   - now: the monotonic clock.
  ///   - date: the wall clock.
  ///   - answer: the last answer of logind on the system bus; `nil` if logind was not asked or has not answered.
  mutating func read(at now: Instant, date: Timestamp, answer: LogindAnswer?) -> State {
    guard let sessions = LoginSession.all(root: root) else { return stateWithoutFiles(at: now, date: date, answer) }
    note(Set(sessions.filter { !$0.seat.isEmpty }), at: now)
    let shown = sessions.filter { $0.isGraphical && $0.isActive }
    sessionsToAsk = shown.map(\.name)
    // Sessions that have ended are forgotten.
    remembered = remembered.filter { sessionsToAsk.contains($0.key) }
    let desktops = shown.map { session in
      Desktop(
        what: "session \(session.name) of \(session.user)", hasSeat: !session.seat.isEmpty,
        use: use(of: session.name, answer?.sessions[session.name], at: now, date: date))
    }
    return State(
      isKnown: true, desktops: desktops, idleIsInhibited: answer?.isInhibited ?? false, lastSeatChange: lastSeatChange)
  }

  /// Without the files of sessions, only logind's hint for the whole host is used. The whole host stands in as one
  /// desktop, which is remembered under the empty name.
  private mutating func stateWithoutFiles(at now: Instant, date: Timestamp, _ answer: LogindAnswer?) -> State {
    (sessionsToAsk, seated, lastSeatChange) = ([], nil, nil)
    guard let answer, let hint = answer.host else { return State(isKnown: false) }
    let use = use(of: "", hint, at: now, date: date)
    // logind's "not idle" for the whole host includes terminals, which stay "not idle" for half an hour after their
    // last use. So it proves nothing about a desktop, and only "idle" is believed.
    let desktop = Desktop(what: "logind", hasSeat: true, use: use == .busy ? .silent : use)
    return State(isKnown: false, desktops: [desktop], idleIsInhibited: answer.isInhibited)
  }

  /// Notes a change of the sessions at seats since the last reading.
  private mutating func note(_ current: Set<LoginSession>, at now: Instant) {
    if let seated, seated != current {
      let seats = Set(seated.symmetricDifference(current).map(\.seat)).sorted().joined(separator: ", ")
      lastSeatChange = Sighting(at: now, what: "login, logout or another session at \(seats)")
    }
    seated = current
  }

  /// What the desktop says about its use. The hint is remembered.
  private mutating func use(
    of session: String, _ hint: LogindAnswer.Hint?, at now: Instant, date: Timestamp
  ) -> Use {
    guard let hint else { return .silent }
    let old = remembered[session]
    // logind's time of the wall clock becomes a time of the monotonic clock. A missing time counts as now, and so does
    // a time in the future, which is there after the wall clock was set back.
    var since = now + min(.zero, (hint.since ?? date) - date)
    // A hint that did not change keeps the time that was computed first, so that a step of the wall clock does not make
    // it older or newer.
    if let old, old.hint.isIdle == hint.isIdle, old.hint.since == hint.since { since = old.valueSince }
    let locked = hint.isLocked ? old?.lockedSince ?? now : nil
    remembered[session] = RememberedHint(hint: hint, valueSince: since, lockedSince: locked)
    if hint.isIdle { return .quiet(since: since) }
    if let locked { return .quiet(since: locked) }
    return hint.since == nil ? .silent : .busy
  }
}
