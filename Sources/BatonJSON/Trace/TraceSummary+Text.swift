import BatonModel
import BatonStore

extension TraceSummary {
  /// How many obstacles are named. The others are counted.
  private static let namedObstacles = 3

  /// The summary as a sentence: `waited 12m 40s (needsExternalPower), ran 3m 2s on 2 hosts, 1 expiry (powerLost)`.
  package var sentence: String {
    let parts = [scheduledWords, waitedWords, ranWords, endedWords].compactMap { $0 } + endingWords + skippedWords
    return parts.isEmpty ? "nothing took time yet" : parts.joined(separator: ", ")
  }

  /// Whether the time is worth a mention: a time below a hundredth of the total explains nothing.
  package func isWorthSaying(_ time: Duration) -> Bool { time > .zero && time * 100 >= total }

  private var scheduledWords: String? {
    guard isWorthSaying(scheduled) else { return nil }
    let soFar = state == .scheduled ? " so far" : ""
    return "scheduled \(scheduled.inWords)\(soFar)" + Self.parentheses(named(causes, of: scheduled))
  }

  private var waitedWords: String? {
    guard isWorthSaying(waiting) else { return nil }
    let soFar = state == .ready ? " so far" : ""
    return "waited \(waiting.inWords)\(soFar)" + Self.parentheses(named(obstacles, of: waiting) + unexplainedWords)
  }

  private var unexplainedWords: [String] {
    guard unexplained * 20 >= waiting else { return [] }
    if isHistoryLost { return ["\(unexplained.inWords) not known"] }
    return obstacles.isEmpty ? [] : ["\(unexplained.inWords) without an obstacle"]
  }

  private var ranWords: String? {
    guard launches > 0 else { return nil }
    let place = hosts.count == 1 ? " on \(hosts[0])" : hosts.isEmpty ? "" : " on \(hosts.count) hosts"
    return "ran \(running.inWords)\(state == .running ? " so far" : "")\(place)"
  }

  private var endedWords: String? { isWorthSaying(ended) ? "\(ended.inWords) between its end and the retry" : nil }

  /// The codes of the largest shares, with their times. A share of at least 95 % of `time` is named without its time,
  /// and a share below 5 % is left out.
  private func named(_ shares: [Share], of time: Duration) -> [String] {
    let large = shares.filter { $0.time * 20 >= time }
    let more = large.count - Self.namedObstacles
    return large.prefix(Self.namedObstacles).map { share in
      (share.time * 20 >= time * 19 ? share.code : "\(share.code) \(share.time.inWords)") + share.place
    } + (more > 0 ? ["\(more) more"] : [])
  }

  private var endingWords: [String] {
    [LaunchOutcome.Kind.expired, .lost, .failed].compactMap { outcome in
      let own = endings.filter { $0.outcome == outcome }
      let count = own.reduce(0) { $0 + $1.count }
      guard count > 0 else { return nil }
      let reasons = own.compactMap { ending in
        ending.reason.map { own.count == 1 ? $0 : "\(ending.count) \($0)" }
      }
      return outcome.counted(count) + Self.parentheses(reasons)
    }
  }

  private var skippedWords: [String] {
    skippedBatches.isEmpty ? [] : [RequestRecord.skipped(skippedBatches.map(String.init))]
  }

  private static func parentheses(_ words: [String]) -> String {
    words.isEmpty ? "" : " (\(words.joined(separator: ", ")))"
  }
}

extension LaunchOutcome.Kind {
  fileprivate func counted(_ count: Int) -> String {
    switch self {
    case .expired: BatonModel.counted(count, "expiry", plural: "expiries")
    case .lost, .failed, .finished:
      BatonModel.counted(count, "launch", plural: "launches") + " \(rawValue)"
    }
  }
}

extension TraceSummary.Share {
  /// The hosts with this obstacle: ` on ben`, or ` on ben and 4 more`; empty if no host is named.
  fileprivate var place: String {
    guard let first = hosts.first else { return "" }
    if hostCount == 2, hosts.count == 2 { return " on \(first) and \(hosts[1])" }
    return " on \(first)" + (hostCount > 1 ? " and \(hostCount - 1) more" : "")
  }
}
