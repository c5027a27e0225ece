import BatonModel
import BatonProcess

/// What logind knows about the people at this host: who is logged in at a screen, and whether the desktop says that it
/// is idle. Sessions on terminals are not read here, because `Terminals` reads their last use directly.
///
/// A desktop gives its idle hint after a delay of its own (GNOME after the delay of the blank screen). A desktop that
/// has never given a hint, such as a plain window manager, counts as silent, whatever default logind reports for it.
struct LogindSessions: Sendable {
  /// What a desktop says about its use.
  enum Word: Hashable, Sendable {
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
    var word: Word
  }

  struct State: Hashable, Sendable {
    /// `false` if it is not known who is logged in.
    var isKnown: Bool
    /// The desktops in the foreground. A person can use only those.
    var desktops: [Desktop] = []
    /// A program asks that the host does not count as idle.
    var isInhibited = false
    /// A person logged in or out at a seat, or another session came to the foreground there.
    var change: Sighting?
  }

  private struct Known {
    var hint: LogindAnswer.Hint
    /// Since when `hint.isIdle` has had its value, by the monotonic clock.
    var since: Instant
    var lockedSince: Instant?
  }

  private let root: SystemRoot
  private var known: [String: Known] = [:]
  private var seats: Set<LoginSession>?
  private var change: Sighting?
  /// The names of the sessions whose hints logind is to be asked for.
  private(set) var desktops: [String] = []

  init(root: SystemRoot) { self.root = root }

  /// Reads the sessions.
  /// - Parameters:
  ///   - date: the wall clock.
  ///   - answer: the last answer of logind on the system bus, or `nil`.
  mutating func read(at now: Instant, date: Timestamp, answer: LogindAnswer?) -> State {
    guard let sessions = LoginSession.all(root: root) else { return stateWithoutFiles(at: now, date: date, answer) }
    note(Set(sessions.filter { !$0.seat.isEmpty }), at: now)
    let shown = sessions.filter { $0.isGraphical && $0.isActive }
    desktops = shown.map(\.name)
    known = known.filter { desktops.contains($0.key) }
    let words = shown.map { session in
      Desktop(
        what: "session \(session.name) of \(session.user)", hasSeat: !session.seat.isEmpty,
        word: word(session.name, answer?.sessions[session.name], at: now, date: date))
    }
    return State(isKnown: true, desktops: words, isInhibited: answer?.isInhibited ?? false, change: change)
  }

  /// Without the files of sessions, only logind's hint for the whole host is used.
  private mutating func stateWithoutFiles(at now: Instant, date: Timestamp, _ answer: LogindAnswer?) -> State {
    (desktops, seats) = ([], nil)
    guard let answer, let hint = answer.host else { return State(isKnown: false) }
    let word = word("", hint, at: now, date: date)
    // "Not idle" may only mean that a terminal was used within the last half hour.
    let desktop = Desktop(what: "logind", hasSeat: true, word: word == .busy ? .silent : word)
    return State(isKnown: false, desktops: [desktop], isInhibited: answer.isInhibited)
  }

  /// Notes a change of the sessions at seats since the last reading.
  private mutating func note(_ current: Set<LoginSession>, at now: Instant) {
    if let seats, seats != current {
      change = Sighting(at: now, what: "login or logout at \(Self.names(seats, current))")
    }
    seats = current
  }

  private static func names(_ before: Set<LoginSession>, _ after: Set<LoginSession>) -> String {
    Set(before.symmetricDifference(after).map(\.seat)).sorted().joined(separator: ", ")
  }

  private mutating func word(
    _ session: String, _ hint: LogindAnswer.Hint?, at now: Instant, date: Timestamp
  ) -> Word {
    guard let hint else { return .silent }
    let old = known[session]
    // A time in the future counts as now: the wall clock was set back.
    var since = now + min(.zero, (hint.since ?? date) - date)
    if let old, old.hint.isIdle == hint.isIdle, old.hint.since == hint.since { since = old.since }
    let locked = hint.isLocked ? old?.lockedSince ?? now : nil
    known[session] = Known(hint: hint, since: since, lockedSince: locked)
    if hint.isIdle { return .quiet(since: since) }
    if let locked { return .quiet(since: locked) }
    return hint.since == nil ? .silent : .busy
  }
}
