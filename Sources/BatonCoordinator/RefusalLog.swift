import BatonModel

/// Says which refusals of workers are worth a line in the log: the first of a kind, and then one a minute. A worker that
/// is refused tries again for as long as it runs.
struct RefusalLog: Sendable {
  enum Kind: Hashable, Sendable { case tooMany, nonsense, name, lease }

  private struct Key: Hashable, Sendable {
    var kind: Kind
    var host: HostName?
  }

  private var last: [Key: Instant] = [:]
  static let interval = Duration.seconds(60)
  /// More are not told apart: a caller that draws names at random fills no memory.
  static let most = 1024

  /// True if this refusal should be logged; it counts as logged then.
  mutating func isNews(_ kind: Kind, of host: HostName?, at now: Instant) -> Bool {
    let key = Key(kind: kind, host: host)
    if let before = last[key], now - before < Self.interval { return false }
    if last[key] == nil, last.count >= Self.most {
      last = last.filter { now - $0.value < Self.interval }
      guard last.count < Self.most else { return false }
    }
    last[key] = now
    return true
  }

  /// The host was taken: if it is refused again, that is news.
  mutating func forget(_ host: HostName) { last = last.filter { $0.key.host != host } }
}
