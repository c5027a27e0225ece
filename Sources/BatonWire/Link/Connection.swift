package import BatonModel

/// One connection between a worker and the coordinator: what goes up and what comes down. Closing either end ends it.
package struct Connection: Sendable {
  package let up: Mailbox<WorkerMessage>
  package let down: Mailbox<CoordinatorMessage>

  /// Messages that may wait in one direction; a peer that lets more gather is cut off.
  package static let capacity = 65_536

  package init() {
    up = Mailbox(capacity: Self.capacity)
    down = Mailbox(capacity: Self.capacity)
  }

  package func close() {
    up.close()
    down.close()
  }
}

/// The way to a coordinator: over gRPC, or to the one in the same process.
package protocol Connector: Sendable {
  /// Where it leads, for people.
  var address: String { get }
  /// Opens a connection, runs `body` on it, and closes it. Throws `ConnectionError` if there is no way now.
  func withConnection(_ body: @escaping @Sendable (Connection) async throws -> Void) async throws
}

package struct ConnectionError: Error, Sendable, CustomStringConvertible {
  package var message: String
  /// Trying again cannot help: a wrong token, an address that is none.
  package var isFinal: Bool
  package init(_ message: String, isFinal: Bool = false) {
    self.message = message
    self.isFinal = isFinal
  }
  package var description: String { message }
}
