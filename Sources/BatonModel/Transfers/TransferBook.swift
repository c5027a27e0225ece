/// The transfers of one request, as far as they decide when it is launched. It is a value that decides; the store has
/// the rows.
package struct TransferBook: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    /// The number of the transfer within its request.
    package var index: Int
    package var group: String
    package var hasEnded: Bool
    /// The last launch that was told of the end; `nil` if none was.
    package var told: Int?
    /// Whether a launch that was told of the end has committed a checkpoint since.
    package var isAcknowledged: Bool

    package init(_ index: Int, group: String, hasEnded: Bool, told: Int? = nil, isAcknowledged: Bool = false) {
      (self.index, self.group, self.hasEnded) = (index, group, hasEnded)
      (self.told, self.isAcknowledged) = (told, isAcknowledged)
    }
  }

  package var entries: [Entry]

  package init(_ entries: [Entry]) { self.entries = entries }

  /// What the request does next, when nothing else keeps it busy.
  package enum Turn: Hashable, Sendable {
    /// A launch gets the events of a group, or of several, that have ended.
    case launch
    /// Transfers have not ended.
    case wait
    /// Every event was acknowledged.
    case none
  }

  /// The groups of which a transfer has not ended.
  private var openGroups: Set<String> { Set(entries.filter { !$0.hasEnded }.map(\.group)) }

  /// The transfers whose ends a launch that starts now is told of, with those that it was told before and has not
  /// acknowledged: the groups of these have ended as wholes (contract, row 39).
  package var events: [Entry] {
    let open = openGroups
    return entries.filter { !open.contains($0.group) }
  }

  /// Of the events those that no launch has acknowledged.
  package var news: [Entry] { events.filter { !$0.isAcknowledged } }

  package var turn: Turn {
    if !news.isEmpty { return .launch }
    return entries.allSatisfy(\.hasEnded) ? .none : .wait
  }

  /// What a checkpoint of the launch, or its success, acknowledges.
  package func acknowledged(by launch: Int) -> [Entry] { entries.filter { !$0.isAcknowledged && $0.told == launch } }

  /// The indexes of the next `count` transfers.
  package func next(_ count: Int) -> Range<Int> {
    let first = (entries.map(\.index).max() ?? -1) + 1
    return first..<(first + count)
  }
}

/// How long a request waits before its transfers launch it again (contract, row 40): not at all for the first time, and
/// then twice as long each time, until it was quiet for a while.
package struct TransferLimiter: Hashable, Sendable {
  package struct Rules: Hashable, Sendable {
    /// The delay before the second launch. It doubles with each further one.
    package var first: Duration
    package var longest: Duration
    /// After this time without a launch by transfers, the delays begin again.
    package var quiet: Duration

    package init(
      first: Duration = .seconds(1), longest: Duration = .seconds(3_600), quiet: Duration = .seconds(900)
    ) {
      (self.first, self.longest, self.quiet) = (first, longest, quiet)
    }
  }

  /// How many launches the transfers have asked for since it was quiet.
  package private(set) var launches: Int
  /// When the last of these was due, on the steady clock; `nil` if there was none.
  package private(set) var last: Timestamp?

  package init(launches: Int = 0, last: Timestamp? = nil) { (self.launches, self.last) = (launches, last) }

  /// Counts one more launch, and returns how long it has to wait.
  package mutating func launch(at now: Timestamp, _ rules: Rules) -> Duration {
    if let last, now - last >= rules.quiet { launches = 0 }
    var delay = launches == 0 ? Duration.zero : rules.first
    for _ in 0..<min(max(0, launches - 1), 40) where delay < rules.longest { delay = delay * 2 }
    delay = min(delay, rules.longest)
    launches += 1
    last = now + delay
    return delay
  }
}

/// How a transfer ended, as the launch that works with it is told.
package struct TransferEvent: Hashable, Sendable, Codable {
  package var index: Int
  package var url: String
  package var method: Transfer.Method
  package var group: String
  package var end: TransferEnd
  /// Whether no launch has acknowledged the event before.
  package var isNew: Bool

  package init(index: Int, _ transfer: Transfer, _ end: TransferEnd, isNew: Bool) {
    (self.index, url, method, group) = (index, transfer.url, transfer.method, transfer.group)
    (self.end, self.isNew) = (end, isNew)
  }
}

extension TransferOrder {
  /// The most orders in one message.
  package static let mostInMessage = 20
}

/// What a host says of its transfers at one time.
package struct TransferReport: Hashable, Sendable, Codable {
  package var statuses: [TransferStatus]
  /// Requests whose folders the host has promised to remove.
  package var released: [RequestID]
  /// Whether the host can take no further files, because the quota of its transfers is used up or its disk has too
  /// little room; `nil` if that was said before.
  package var isOutOfRoom: Bool?

  package init(statuses: [TransferStatus] = [], released: [RequestID] = [], isOutOfRoom: Bool? = nil) {
    (self.statuses, self.released, self.isOutOfRoom) = (statuses, released, isOutOfRoom)
  }

  /// The most statuses in one report.
  package static let most = 100

  /// The reports that say this one, each with statuses for one message.
  /// - Parameter told: what was last said of the room, which is not said again; `nil` if nothing was.
  package func messages(afterRoom told: Bool?) -> [TransferReport] {
    var messages = stride(from: 0, to: statuses.count, by: Self.most).map { start in
      TransferReport(statuses: Array(statuses[start..<min(start + Self.most, statuses.count)]))
    }
    let hasNews = isOutOfRoom != nil && isOutOfRoom != told
    if messages.isEmpty, hasNews || !released.isEmpty { messages.append(TransferReport()) }
    if !messages.isEmpty {
      messages[0].released = released
      if hasNews { messages[0].isOutOfRoom = isOutOfRoom }
    }
    return messages
  }

  package var isEmpty: Bool { statuses.isEmpty && released.isEmpty && isOutOfRoom == nil }
}

extension TransferEnd {
  /// How it ended, in a word for programs.
  package var word: String {
    switch self {
    case .done: "done"
    case .failed: "failed"
    case .cancelled: "cancelled"
    }
  }

  /// The number by which the store knows it. 0 stands for a transfer that has not ended.
  package var code: Int {
    switch self {
    case .done: 1
    case .failed: 2
    case .cancelled: 3
    }
  }
}
