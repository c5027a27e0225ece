import CBatonProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Says when links, addresses or routes change (rtnetlink(7)), or when a driver says something of a device (uevents),
/// without polling. What changed is not interpreted: read it again. A sequence for one reader, which ends when the task
/// is cancelled.
///
/// It watches the network namespace of the thread that makes it.
package final class NetlinkWatch: AsyncSequence, Sendable {
  package typealias Element = Void
  package typealias Failure = Never

  package enum Subject: Hashable, Sendable { case network, devices }

  private let socket: Int32

  /// Nil where there is no such thing (macOS), or a sandbox forbids it: then poll.
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

    /// Returns after the next change, or nil when the task is cancelled. Changes in quick succession may be one.
    package func next() async -> Void? {
      while !Task.isCancelled {
        await Readiness.wait(reading: watch.socket)
        if watch.drain() { return () }
      }
      return nil
    }

    package func next(isolation actor: isolated (any Actor)?) async -> Void? { await next() }
  }

  /// Takes everything that waits; false if there was nothing. At most 1000 messages, so that a storm of them does not
  /// hold the caller.
  private func drain() -> Bool {
    for count in 0..<1000 {
      // ENOBUFS says that messages were lost, so there were some.
      if SystemCall.read(socket, limit: 8192) == nil && errno != ENOBUFS { return count > 0 }
    }
    return true
  }
}
