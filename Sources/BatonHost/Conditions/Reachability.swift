package import BatonModel

/// The target whose answer shows that the network leads beyond the host, and how to ask it.
public struct ReachabilitySettings: Hashable, Sendable {
  /// `HOST:PORT`, with an IPv6 address in brackets. Key `network.reachability.target`.
  public var target: String
  /// How long the name look-up and the connection may take together; by default 3 s. Key
  /// `network.reachability.patience`.
  public var patience = Duration.seconds(3)
  /// The time from one question to the next; by default 30 s. Key `network.reachability.every`.
  public var every = Duration.seconds(30)
  /// The network counts as unavailable after this many failures in a row, 1 to 100; by default 2. Key
  /// `network.reachability.failures`.
  public var failures = 2

  /// Asks `target`, which is `HOST:PORT`, with the default times.
  public init(target: String) { self.target = target }

  /// Splits `HOST:PORT`. Returns `nil` if `target` does not have this form.
  package static func parse(_ target: String) -> (host: String, port: UInt16)? {
    guard let colon = target.lastIndex(of: ":"), let port = UInt16(target[target.index(after: colon)...]), port > 0
    else { return nil }
    var host = target[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    return host.isEmpty ? nil : (String(host), port)
  }
}

/// The result of a question to the target.
package enum ReachabilityAnswer: Hashable, Sendable {
  case reached
  case failed(String)
}

/// Decides when to ask the target, and what the answers mean for the network. It does no I/O; `TargetCheck` asks the
/// target.
package struct Reachability: Sendable {
  private let settings: ReachabilitySettings
  private var nextCheck: Instant?
  private var failuresInARow = 0
  private var lastFailure = ""
  private var isAsking = false

  package init(settings: ReachabilitySettings) { self.settings = settings }

  /// Notes that the network has changed. The next `shouldAsk` returns `true`, unless a question is still open.
  package mutating func networkChanged() { nextCheck = nil }

  /// Whether the target is to be asked now. After `true`, pass the answer to `take`. Until then every further call
  /// returns `false`, so that only one question is open at a time.
  package mutating func shouldAsk(at now: Instant) -> Bool {
    if isAsking { return false }
    if let nextCheck, now < nextCheck { return false }
    isAsking = true
    nextCheck = now + settings.every
    return true
  }

  /// Takes the answer to the question that `shouldAsk` allowed.
  package mutating func take(_ answer: ReachabilityAnswer) {
    isAsking = false
    switch answer {
    case .reached: failuresInARow = 0
    case .failed(let why):
      failuresInARow += 1
      lastFailure = why
    }
  }

  /// Returns the network's state with the target's answers applied: the network is unavailable after enough failures in
  /// a row.
  package func applied(to reading: Reading<NetworkState>) -> Reading<NetworkState> {
    guard failuresInARow >= max(1, settings.failures), reading.value != .unavailable else { return reading }
    let raw = "\(settings.target) not reached \(failuresInARow) times: \(lastFailure); \(reading.raw)"
    return Reading(.unavailable, source: "reachability", raw: raw)
  }
}
