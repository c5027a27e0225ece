import BatonModel

/// Chooses the lines that a person sees who has paused the host and waits until it is free.
package struct PauseWaiting: Hashable, Sendable {
  /// On a terminal, one line is updated again and again. Otherwise a line is printed only when the launches have
  /// changed.
  private let isTerminal: Bool
  private var last: String?
  private var lastRunning: [String]?

  package init(isTerminal: Bool) { self.isTerminal = isTerminal }

  /// The next line to print, or `nil` if there is nothing new to say.
  package mutating func line(_ status: HostStatus) -> String? {
    let running = status.launches.map { "\($0.identifier) \($0.request) \($0.launch) \($0.expiring?.reason ?? "")" }
    defer { (last, lastRunning) = (Self.words(status), running) }
    let isNews = isTerminal ? Self.words(status) != last : running != lastRunning
    return isNews ? Self.words(status) : nil
  }

  private static func words(_ status: HostStatus) -> String {
    if status.isFree { return "the host is free" }
    let stopping = status.launches.compactMap(\.expiring)
    let still = status.launches.count - stopping.count
    let rest = still == 0 ? "" : "\(counted(still, "launch", plural: "launches")) not yet asked to stop"
    guard let last = stopping.map(\.deadline.date).max() else { return rest }
    let left = (last - status.at.date).wholeSecondsUp
    return "stopping " + counted(stopping.count, "launch", plural: "launches")
      + (left > 0 ? ", at most \(left) s more" : ", at any moment") + (rest.isEmpty ? "" : "; " + rest)
  }
}
