import BatonBase
import BatonProcess
import CBatonHost

/// Reports changes without polling: of links, addresses and routes (rtnetlink(7)), or of devices (uevents of their
/// drivers). It does not tell what changed, so the caller has to read the state again. It is a sequence for one reader,
/// and ends when the reader's task is cancelled.
///
/// It watches the network namespace of the thread that creates it.
package final class NetlinkWatch: AsyncSequence, Sendable {
  package typealias Element = Void
  package typealias Failure = Never

  package enum Subject: Hashable, Sendable { case network, devices }

  private let socket: Int32

  /// - Returns: `nil` if the system has no netlink (macOS) or a sandbox forbids it. The caller then has to poll.
  package init?(_ subject: Subject = .network) {
    socket =
      switch subject {
      case .network: baton_open_route_events()
      case .devices: baton_open_device_events()
      }
    if socket < 0 { return nil }
  }

  deinit { close(socket) }

  package func makeAsyncIterator() -> Iterator { Iterator(watch: self) }

  package struct Iterator: AsyncIteratorProtocol {
    fileprivate let watch: NetlinkWatch

    /// Returns after the next change, or returns `nil` when the task is cancelled. Changes in quick succession may be
    /// reported as one.
    package func next() async -> Void? {
      while !Task.isCancelled {
        await Readiness.wait(reading: watch.socket)
        if watch.drain() { return () }
      }
      return nil
    }

    package func next(isolation actor: isolated (any Actor)?) async -> Void? { await next() }
  }

  /// Reads the messages that wait, at most 1000, so that a storm of messages does not hold up the caller.
  /// - Returns: `false` if no message waited.
  private func drain() -> Bool {
    for count in 0..<1000 {
      // ENOBUFS tells that the kernel had to drop messages, so there was a change.
      if SystemCall.read(socket, limit: 8192) == nil && errno != ENOBUFS { return count > 0 }
    }
    return true
  }
}
