import BatonModel

/// Counts the open streams of workers and limits them. Streams of at most `limit` known hosts are allowed, and at most
/// twice as many streams in all, because a worker that reconnects may leave an old stream whose end has not been
/// noticed yet, and some streams have not said hello yet.
struct StreamCount: Sendable {
  private var open = 0
  private var ofHosts: [HostName: Int] = [:]

  /// Counts a new stream.
  /// - Returns: false if there is no room for it; it is then refused before it can say anything.
  mutating func open(atMost limit: Int) -> Bool {
    guard open < 2 * limit else { return false }
    open += 1
    return true
  }

  /// Assigns an open stream to a host.
  /// - Returns: false if there are enough hosts already and this host is not among them.
  mutating func claim(_ host: HostName, atMost limit: Int) -> Bool {
    guard ofHosts[host] != nil || ofHosts.count < limit else { return false }
    ofHosts[host, default: 0] += 1
    return true
  }

  /// Counts the end of a stream.
  /// - Parameter host: the host that the stream was assigned to; nil if it was not assigned.
  mutating func close(of host: HostName?) {
    open -= 1
    guard let host, let count = ofHosts[host] else { return }
    ofHosts[host] = count > 1 ? count - 1 : nil
  }
}
