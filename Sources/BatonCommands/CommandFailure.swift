import BatonCoordinator
import BatonModel
import BatonStore
import BatonWire

/// The error that ends a command: the exit status, and a message that says what happened, where, and what to do
/// about it.
package struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
  package var status: ExitStatus
  /// Empty if the command has already written everything there is to say.
  package var message: String

  package init(_ status: ExitStatus, _ message: String = "") {
    self.status = status
    self.message = message
  }

  package var description: String { message }
}

extension CommandFailure {
  /// Maps an error to the exit status and the message of the command. No other place decides on them.
  package init(_ error: any Error) {
    switch error {
    case let failure as CommandFailure: self = failure
    case let error as OperatorError: self.init(error)
    case let error as CoordinatorUnreachable:
      self.init(error.isNotPermitted ? .notPermitted : .unreachable, error.message.onOneLine)
    case let error as ListenError:
      self.init(error.status, error.description)
    case let error as StoreError: self.init(error)
    // This is the coordinator's own token file: a client's error arrives here as `CoordinatorUnreachable`.
    case let error as TokenFileError:
      self.init(error.code == .refused ? .needsMending : .unavailable, error.description.onOneLine)
    case is CancellationError: self.init(.interrupted, "interrupted")
    default: self.init(.failed, String(describing: error))
    }
  }

  /// The message is kept on one line, so that a host's name in it cannot forge a second line.
  private init(_ error: OperatorError) {
    let message = error.description.onOneLine
    switch error {
    case .refused(let refusal): self.init(ExitStatus(refusalCode: refusal.code), "\(refusal.code): \(message)")
    case .notFound: self.init(.notFound, message)
    case .conflict: self.init(.refused, message)
    case .invalid: self.init(.usage, message)
    case .notPermitted: self.init(.notPermitted, message)
    case .overloaded: self.init(.unavailable, message)
    case .unknown: self.init(.unavailable, message + " Then give the same command again.")
    }
  }

  private init(_ error: StoreError) {
    let message = error.message.onOneLine
    switch error.code {
    case .notFound: self.init(.notFound, message)
    case .refused: self.init(.refused, message)
    case .superseded, .newerVersion: self.init(.needsMending, message)
    case .locked, .cannotWrite, .overloaded, .unknown, .unavailable, .moved, .relocated, .wentBackwards:
      self.init(.unavailable, message)
    case .corrupt: self.init(.failed, message)
    }
  }
}

extension ListenError {
  fileprivate var status: ExitStatus {
    switch code {
    case .addressInUse, .cannotListen: .unavailable
    case .notPermitted: .notPermitted
    }
  }
}
