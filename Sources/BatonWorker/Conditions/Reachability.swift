package import BatonModel

/// Whom to ask whether the network leads anywhere.
package struct ReachabilitySettings: Hashable, Sendable {
  /// `HOST:PORT`, with an IPv6 address in brackets. Key `network.reachability.target`.
  package var target: String
  /// How long a connection may take, the look-up of the name included. Key `network.reachability.patience`.
  package var patience = Duration.seconds(3)
  /// Key `network.reachability.every`.
  package var every = Duration.seconds(30)
  /// So many failures in a row mean that the network is not available. Key `network.reachability.failures`.
  package var failures = 2

  package init(target: String) { self.target = target }

  /// Nil if it is no `HOST:PORT`.
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

/// What came of asking.
package enum ReachabilityAnswer: Hashable, Sendable {
  case reached
  case failed(String)
}

/// When to ask the target, and what its answers make of the network. It decides only; `TargetCheck` asks.
package struct Reachability: Sendable {
  private let settings: ReachabilitySettings
  private var nextCheck: Instant?
  private var failuresInARow = 0
  private var lastFailure = ""
  private var isAsking = false

  package init(settings: ReachabilitySettings) { self.settings = settings }

  /// The network changed, so that the next `shouldAsk` is true, even where an answer was due only later.
  package mutating func networkChanged() { nextCheck = nil }

  /// True if the target is to be asked now: `take` the answer afterwards. One question at a time.
  package mutating func shouldAsk(at now: Instant) -> Bool {
    if isAsking { return false }
    if let nextCheck, now < nextCheck { return false }
    isAsking = true
    nextCheck = now + settings.every
    return true
  }

  package mutating func take(_ answer: ReachabilityAnswer) {
    isAsking = false
    switch answer {
    case .reached: failuresInARow = 0
    case .failed(let why):
      failuresInARow += 1
      lastFailure = why
    }
  }

  /// A network behind which the target cannot be reached is not available.
  package func applied(to reading: Reading<NetworkState>) -> Reading<NetworkState> {
    guard failuresInARow >= max(1, settings.failures), reading.value != .unavailable else { return reading }
    let raw = "\(settings.target) not reached \(failuresInARow) times: \(lastFailure); \(reading.raw)"
    return Reading(.unavailable, source: "reachability", raw: raw)
  }
}
