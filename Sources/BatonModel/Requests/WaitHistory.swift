/// What kept the requests of one class from starting, over time: the codes of the obstacles, with the hosts that could
/// have taken them, as often as somebody looked. Kept per class and never per request; a wait takes its part of it when
/// it ends.
package struct WaitHistory: Hashable, Sendable {
  /// In force from then on, until the next change.
  package struct Change: Hashable, Sendable {
    package var at: Timestamp
    /// Each code once.
    package var reasons: [WaitReason]

    package var codes: [String] { reasons.map(\.code) }
  }

  package private(set) var changes: [Change] = []
  /// Nothing is known of the time before.
  package private(set) var since: Timestamp

  /// The number of changes that are kept (Documentation/reference/limits.md); older changes are dropped.
  package static let limit = 128

  package init(since: Timestamp) { self.since = since }

  /// - Parameter reasons: every obstacle that there is now; empty if nothing keeps the class from starting. Other hosts
  ///   with the same obstacles are no change: in a large fleet they change all the time.
  package mutating func note(_ reasons: [WaitReason], at date: Timestamp) {
    guard Set(reasons.map(\.code)) != Set(changes.last?.codes ?? []) else { return }
    changes.append(Change(at: date, reasons: reasons))
    guard changes.count > Self.limit else { return }
    changes.removeFirst()
    since = changes[0].at
  }

  /// What came and went within a wait.
  package func wait(from start: Timestamp, to end: Timestamp) -> WaitObstacles {
    var found = WaitObstacles(isIncomplete: start < since)
    var known: [WaitReason] = []
    for change in changes where change.at < end {
      let at = max(change.at, start)
      // What went before the wait began is nothing to it, and what came before was there from its beginning on.
      if change.at <= start { found.events = [] } else { found.note(gone: known, at: at, unless: change.codes) }
      found.note(came: change.reasons, at: at, unless: change.at <= start ? [] : known.map(\.code))
      known = change.reasons
    }
    return found
  }
}

/// The obstacles of one wait, in the order in which they came and went. What was there when it ended has no end here.
package struct WaitObstacles: Hashable, Sendable {
  package struct Event: Hashable, Sendable {
    package var at: Timestamp
    package var code: String
    /// False if it went.
    package var came: Bool
    /// Some of the hosts that it kept the request from when it came.
    package var hosts: [String]
    /// How many hosts there were then, the named ones included.
    package var hostCount: Int

    package init(at: Timestamp, code: String, came: Bool, hosts: [String] = [], hostCount: Int? = nil) {
      (self.at, self.code, self.came) = (at, code, came)
      (self.hosts, self.hostCount) = (hosts, hostCount ?? hosts.count)
    }
  }

  /// The beginning of the wait was not seen: the coordinator was started later, or too much has changed since.
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
  /// One line per event: nanoseconds since 1970, `+` or `-`, the code, and where hosts are named, each after a tab: how
  /// many there were, and their names. Before the events `?` if it is incomplete. Nil if there is nothing to say.
  package var text: String? {
    let lines = events.map { "\($0.at.nanoseconds)\($0.came ? "+" : "-")\($0.code)\($0.hostText)" }
    return isIncomplete ? (["?"] + lines).joined(separator: "\n") : lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// Leaves out what cannot be read.
  package init(text: String) {
    self.init()
    // Byte by byte: every launch's wait is read like this before its span is sent.
    let signs = (came: UInt8(ascii: "+"), went: UInt8(ascii: "-"))
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      if line.elementsEqual("?".utf8) { isIncomplete = true }
      // The sign of a time before 1970 stands first.
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
