import BatonModel

/// What logind knows of the people at this host: who is logged in at a screen, and whether their desktop says that it
/// is idle. Sessions on terminals are left to the terminals, which know it to the second.
///
/// A desktop gives its hint after a time of its own (GNOME after that of the blank screen); one that never gave any,
/// such as a plain window manager, says nothing, whatever logind's default.
struct LogindSessions: Sendable {
  enum Word: Hashable, Sendable {
    /// The desktop says that somebody is there.
    case busy
    /// Idle, or locked, since then.
    case quiet(since: Instant)
    /// It has never said anything.
    case silent
  }

  struct Desktop: Hashable, Sendable {
    /// For people, such as `session 2 of anna`.
    var what: String
    /// Its keyboard is this host's.
    var hasSeat: Bool
    var word: Word
  }

  struct State: Hashable, Sendable {
    /// False where nobody knows who is logged in.
    var isKnown: Bool
    /// Desktops in the foreground: nobody sits before another.
    var desktops: [Desktop] = []
    /// A program asks that the host is not taken for idle.
    var isInhibited = false
    /// Somebody logged in or out at a seat, or another session came to its foreground.
    var change: Sighting?
  }

  private struct Known {
    var hint: LogindAnswer.Hint
    /// Since when `hint.isIdle` is so, by the steady clock.
    var since: Instant
    var lockedSince: Instant?
  }

  private let root: SystemRoot
  private var known: [String: Known] = [:]
  private var seats: Set<LoginSession>?
  private var change: Sighting?
  /// Whose hints to ask logind for, by name.
  private(set) var desktops: [String] = []

  init(root: SystemRoot) { self.root = root }

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

  /// The bus answers, and the files cannot be seen: the hint of all together has to do.
  private mutating func stateWithoutFiles(at now: Instant, date: Timestamp, _ answer: LogindAnswer?) -> State {
    (desktops, seats) = ([], nil)
    guard let answer, let hint = answer.host else { return State(isKnown: false) }
    let word = word("", hint, at: now, date: date)
    // Not idle may only mean that a terminal was used within half an hour.
    let desktop = Desktop(what: "logind", hasSeat: true, word: word == .busy ? .silent : word)
    return State(isKnown: false, desktops: [desktop], isInhibited: answer.isInhibited)
  }

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
    // A time in the future, after a step of the wall clock, counts as now.
    var since = now + min(.zero, (hint.since ?? date) - date)
    if let old, old.hint.isIdle == hint.isIdle, old.hint.since == hint.since { since = old.since }
    let locked = hint.isLocked ? old?.lockedSince ?? now : nil
    known[session] = Known(hint: hint, since: since, lockedSince: locked)
    if hint.isIdle { return .quiet(since: since) }
    if let locked { return .quiet(since: locked) }
    return hint.since == nil ? .silent : .busy
  }
}
