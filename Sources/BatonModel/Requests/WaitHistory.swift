/// What kept the requests of one class from starting, over time: the obstacles, by code, with the hosts they concern.
/// The dispatcher adds to it each time it looks at the class.
///
/// A history is kept for each class, not for each request. When the wait of a request ends, `wait` cuts the part of
/// that wait out of the history.
package struct WaitHistory: Hashable, Sendable {
  /// The obstacles from the time `at` until the next change.
  package struct Change: Hashable, Sendable {
    package var at: Timestamp
    /// The obstacles, each code once.
    package var reasons: [WaitReason]

    package var codes: [String] { reasons.map(\.code) }
  }

  package private(set) var changes: [Change] = []
  /// The beginning of the history. Nothing is known of the time before.
  package private(set) var since: Timestamp

  /// The number of changes that are kept (Documentation/reference/limits.md). Older changes are dropped.
  package static let limit = 128

  package init(since: Timestamp) { self.since = since }

  /// Adds a change, if the set of codes differs from that of the last change. Other hosts with the same obstacles are
  /// not a change, because in a large fleet the hosts change all the time.
  /// - Parameter reasons: all obstacles at `date`; empty if nothing keeps the class from starting.
  package mutating func note(_ reasons: [WaitReason], at date: Timestamp) {
    guard Set(reasons.map(\.code)) != Set(changes.last?.codes ?? []) else { return }
    changes.append(Change(at: date, reasons: reasons))
    guard changes.count > Self.limit else { return }
    changes.removeFirst()
    since = changes[0].at
  }

  /// The obstacles that appeared and disappeared during the wait from `start` to `end`.
  package func wait(from start: Timestamp, to end: Timestamp) -> WaitObstacles {
    var found = WaitObstacles(isIncomplete: start < since)
    var known: [WaitReason] = []
    for change in changes where change.at < end {
      let at = max(change.at, start)
      // An obstacle that disappeared before the wait began is left out. An obstacle that appeared before and is still
      // there counts from the beginning of the wait.
      if change.at <= start { found.events = [] } else { found.note(gone: known, at: at, unless: change.codes) }
      found.note(came: change.reasons, at: at, unless: change.at <= start ? [] : known.map(\.code))
      known = change.reasons
    }
    return found
  }
}

/// The obstacles of one wait, in the order in which they appeared and disappeared. An obstacle that was still there
/// when the wait ended has no event of its disappearance.
package struct WaitObstacles: Hashable, Sendable {
  package struct Event: Hashable, Sendable {
    package var at: Timestamp
    package var code: String
    /// True if the obstacle appeared, and false if it disappeared.
    package var came: Bool
    /// Some of the hosts from which the obstacle kept the request when it appeared.
    package var hosts: [String]
    /// The number of these hosts at that time, including those in `hosts`.
    package var hostCount: Int

    package init(at: Timestamp, code: String, came: Bool, hosts: [String] = [], hostCount: Int? = nil) {
      (self.at, self.code, self.came) = (at, code, came)
      (self.hosts, self.hostCount) = (hosts, hostCount ?? hosts.count)
    }
  }

  /// True if the beginning of the wait was not seen, because the coordinator was started later, or because there were
  /// more changes than a history keeps.
  package var isIncomplete: Bool
  package var events: [Event]

  package init(isIncomplete: Bool = false, events: [Event] = []) {
    (self.isIncomplete, self.events) = (isIncomplete, events)
  }

  fileprivate mutating func note(gone reasons: [WaitReason], at: Timestamp, unless present: [String]) {
    events += reasons.filter { !present.contains($0.code) }.map { Event(at: at, code: $0.code, came: false) }
  }

  fileprivate mutating func note(came reasons: [WaitReason], at: Timestamp, unless known: [String]) {
    events += reasons.filter { !known.contains($0.code) }
      .map { Event(at: at, code: $0.code, came: true, hosts: $0.hosts, hostCount: $0.hostCount) }
  }
}

extension WaitObstacles {
  /// The events as text, one event per line: nanoseconds since 1970, `+` or `-`, and the code. If the event has hosts,
  /// their number and their names follow, each after a tab. If the value is incomplete, the first line is `?`. `nil` if
  /// there are no events and the value is complete.
  package var text: String? {
    let lines = events.map { "\($0.at.nanoseconds)\($0.came ? "+" : "-")\($0.code)\($0.hostText)" }
    return isIncomplete ? (["?"] + lines).joined(separator: "\n") : lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// Parses what `text` returns. Lines that cannot be read are left out.
  package init(text: String) {
    self.init()
    // The text is read byte by byte for speed, because the wait of every launch is read in this way before its span is
    // sent.
    let signs = (came: UInt8(ascii: "+"), went: UInt8(ascii: "-"))
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      if line.elementsEqual("?".utf8) { isIncomplete = true }
      // The first character may be the sign of a time before 1970, so the search begins after it.
      guard let sign = line.dropFirst().firstIndex(where: { $0 == signs.came || $0 == signs.went }),
        let at = Int64(Substring(line[..<sign]))
      else { continue }
      let words = line[line.index(after: sign)...].split(
        separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false
      )
      .map { String(Substring($0)) }
      events.append(
        Event(
          at: Timestamp(nanoseconds: at), code: words[0], came: line[sign] == signs.came,
          hosts: Array(words.dropFirst(2)), hostCount: words.count > 1 ? Int(words[1]) : nil))
    }
  }
}

extension WaitObstacles.Event {
  fileprivate var hostText: String {
    hosts.isEmpty ? "" : "\t\(hostCount)" + hosts.map { "\t\($0.filter { !$0.isNewline && $0 != "\t" })" }.joined()
  }
}
