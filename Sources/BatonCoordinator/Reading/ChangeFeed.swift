import BatonBase
package import BatonModel
import BatonStore
import Synchronization

/// What may have changed, for programs that show it. A program that hears of a topic reads again what it shows of it.
package enum ChangeTopic: Hashable, Sendable {
  /// The state of the fleet in numbers. It comes with every other topic.
  case overview
  /// The list of requests.
  case requests
  case request(JobIdentifier)
  /// The list of hosts.
  case hosts
  case host(HostName)
  case definitions
  /// Anything: there were too many changes to name them, or another coordinator may have made some.
  case everything

  /// The identifier that the topic is about; nil if it is about none.
  package var identifier: JobIdentifier? {
    if case .request(let identifier) = self { identifier } else { nil }
  }

  /// - Parameter text: the topic as `text` writes it; an unknown one means anything, because it is of a newer version.
  package init(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
    switch (parts.first, parts.count) {
    case ("overview", 1): self = .overview
    case ("requests", 1): self = .requests
    case ("hosts", 1): self = .hosts
    case ("definitions", 1): self = .definitions
    case ("request", 2): self = JobIdentifier(parts[1]).map { .request($0) } ?? .everything
    case ("host", 2): self = .host(HostName(parts[1]))
    default: self = .everything
    }
  }

  /// The topic as programs read it: `overview`, `request/com.example.report`, or `*`.
  package var text: String {
    switch self {
    case .overview: "overview"
    case .requests: "requests"
    case .request(let identifier): "request/\(identifier)"
    case .hosts: "hosts"
    case .host(let name): "host/\(name)"
    case .definitions: "definitions"
    case .everything: "*"
    }
  }
}

/// What has changed within a second or so.
struct RecentChanges: Sendable {
  /// More requests than these are not looked up: a program reads its whole list again then.
  static let mostRequests = 200

  private(set) var requests: Set<RequestID> = []
  private(set) var hasMoreRequests = false
  var topics: Set<ChangeTopic> = []

  mutating func note(_ request: RequestID) {
    if requests.count < Self.mostRequests || requests.contains(request) {
      requests.insert(request)
    } else {
      hasMoreRequests = true
    }
  }
}

/// Hands what has changed to all listeners, once a second at most. Nothing is read while there are none.
final class ChangeFeed: Sendable {
  /// How often changes are handed on.
  static let interval = Duration.seconds(1)
  /// While there are other coordinators, whose changes this one does not hear of, everything may have changed after
  /// this many intervals.
  static let othersEvery = 5

  private struct State {
    var listeners: [Int: Mailbox<Set<ChangeTopic>>] = [:]
    var next = 0
  }

  private let state = Mutex(State())
  private let firstListener = Signal()

  var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

  /// Returns once there is a listener.
  func waitForListener() async { await firstListener.wait() }

  /// Runs `body` with a mailbox that gets what changes from now on. The mailbox of a listener that takes nothing for
  /// eight intervals is closed.
  func listening<Result>(_ body: (Mailbox<Set<ChangeTopic>>) async throws -> Result) async rethrows -> Result {
    let mailbox = Mailbox<Set<ChangeTopic>>(capacity: 8)
    let number = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = mailbox
      return state.next
    }
    firstListener.raise()
    defer { _ = state.withLock { $0.listeners.removeValue(forKey: number) } }
    return try await body(mailbox)
  }

  func send(_ topics: Set<ChangeTopic>) {
    let mailboxes = state.withLock { Array($0.listeners.values) }
    for mailbox in mailboxes { mailbox.send(topics) }
  }

  func close() {
    let mailboxes = state.withLock { Array($0.listeners.values) }
    for mailbox in mailboxes { mailbox.close() }
  }
}
