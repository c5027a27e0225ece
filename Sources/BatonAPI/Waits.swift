import BatonCoordinator
import Synchronization

/// Bounds how many calls wait for something at the same time, because each holds a connection.
package final class Waits: Sendable {
  /// The place of one call that waits. It is free again when nothing refers to it any more.
  final class Place: Sendable {
    private let waits: Waits

    fileprivate init(_ waits: Waits) { self.waits = waits }

    deinit { waits.count.withLock { $0 -= 1 } }
  }

  private let most: Int
  private let count = Mutex(0)

  init(most: Int) { self.most = most }

  func place() throws(HTTPFailure) -> Place {
    let isFree = count.withLock { count in
      guard count < most else { return false }
      count += 1
      return true
    }
    guard isFree else {
      throw HTTPFailure(
        503, "overloaded", "\(most) calls wait already, which is the most: ask without waiting, or again in a moment",
        retryAfter: .seconds(5))
    }
    return Place(self)
  }
}
