import BatonModel

/// Decides which refusals of workers are logged: the first refusal of a kind for a host, and then at most one per
/// minute. A worker that is refused tries again for as long as it runs.
struct RefusalLog: Sendable {
  enum Kind: Hashable, Sendable { case tooMany, nonsense, name, lease }

  private struct Key: Hashable, Sendable {
    var kind: Kind
    var host: HostName?
  }

  private var last: [Key: Instant] = [:]
  static let interval = Duration.seconds(60)
  /// The most pairs of kind and host that are remembered. The limit keeps a client that invents host names from
  /// filling the memory.
  static let most = 1024

  /// True if this refusal should be logged. The refusal then counts as logged.
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

  /// Forgets the refusals of a host that has been accepted, so that its next refusal is logged.
  mutating func forget(_ host: HostName) { last = last.filter { $0.key.host != host } }
}
