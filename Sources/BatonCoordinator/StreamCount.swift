import BatonModel

/// How many streams of workers are open: at most so many of known workers, and in all at most twice as many, because a
/// worker that comes back may have left one that nobody has noticed to be gone, and some have not said hello yet.
struct StreamCount: Sendable {
  private var open = 0
  private var ofHosts: [HostName: Int] = [:]

  /// False if there is no room for another stream: it is refused before it has said anything.
  mutating func open(atMost limit: Int) -> Bool {
    guard open < 2 * limit else { return false }
    open += 1
    return true
  }

  /// The stream is of this host now. False if there are enough hosts already, and it is none of them.
  mutating func claim(_ host: HostName, atMost limit: Int) -> Bool {
    guard ofHosts[host] != nil || ofHosts.count < limit else { return false }
    ofHosts[host, default: 0] += 1
    return true
  }

  /// - Parameter host: that it was claimed for, if it was.
  mutating func close(of host: HostName?) {
    open -= 1
    guard let host, let count = ofHosts[host] else { return }
    ofHosts[host] = count > 1 ? count - 1 : nil
  }
}
