package import BatonBase
package import BatonModel
internal import Synchronization

/// One connection between a worker and the coordinator, with a mailbox for each direction. When either end closes it,
/// the connection ends.
package struct Connection: Sendable {
  /// Messages from the worker to the coordinator.
  package let up: Mailbox<WorkerMessage>
  /// Messages from the coordinator to the worker.
  package let down: Mailbox<CoordinatorMessage>
  private let abandonment = Abandonment()

  /// The largest number of messages that may wait in one direction. If more gather, the connection is closed.
  package static let capacity = 65_536

  package init() {
    up = Mailbox(capacity: Self.capacity)
    down = Mailbox(capacity: Self.capacity)
  }

  package func close() {
    up.close()
    down.close()
  }

  /// Closes the connection because its coordinator is of no use to the worker, for example because it does not answer.
  /// A connector that knows several addresses connects to another one next, and does not wait for the coordinator to
  /// close its end.
  package func giveUp() {
    abandonment.isGivenUp.withLock { $0 = true }
    close()
  }

  /// Whether the worker has given this connection up.
  package var isGivenUp: Bool { abandonment.isGivenUp.withLock { $0 } }
}

/// Whether a connection has been given up. It is a class because the copies of a `Connection` share it.
private final class Abandonment: Sendable {
  let isGivenUp = Mutex(false)
}

/// Connects a worker to its coordinator, over gRPC or within the same process.
package protocol Connector: Sendable {
  /// The address of the coordinator, for people.
  var address: String { get }
  /// Opens a connection, runs `body` on it, and closes it. Throws `ConnectionError` if no connection can be made now.
  func withConnection(_ body: @escaping @Sendable (Connection) async throws -> Void) async throws
}

/// Why no connection to the coordinator can be made.
package struct ConnectionError: Error, Sendable, CustomStringConvertible {
  package var message: String
  /// Whether trying again cannot help, for example because the token is wrong or the address is not valid.
  package var isFinal: Bool
  /// Whether the coordinator has refused the host because of its certificate, which only a person can change.
  package var isRefusedCertificate: Bool
  package init(_ message: String, isFinal: Bool = false, isRefusedCertificate: Bool = false) {
    self.message = message
    self.isFinal = isFinal
    self.isRefusedCertificate = isRefusedCertificate
  }
  package var description: String { message }
}
