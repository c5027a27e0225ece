import BatonBase
import BatonModel
import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Sends commands to a worker on this host on behalf of the host's owner. `baton-worker pause`, `resume` and `status`
/// use it.
package struct OwnerClient: Hashable, Sendable {
  package let path: String
  /// How long the worker may take to answer.
  private let patience: Duration

  package init(path: String, patience: Duration = .seconds(5)) {
    self.path = path
    self.patience = patience
  }

  /// Sends a request and waits for the answer.
  /// - Returns: the status of the host after the command, and a warning that the owner should see, if there is one.
  /// - Throws: `OwnerClientError` if the worker cannot be reached, does not answer in time, or refuses.
  package func ask(_ request: OwnerRequest) async throws(OwnerClientError) -> (HostStatus, warning: String?) {
    let answer = try await exchange(request)
    if let error = answer.error {
      throw OwnerClientError(error.code == "notPermitted" ? .notPermitted : .refused, error.message)
    }
    guard let status = answer.status else {
      throw OwnerClientError(
        .refused, "the worker at \(path) sent an empty answer; it may be another version of baton-worker")
    }
    return (status, answer.warning)
  }

  private func exchange(_ request: OwnerRequest) async throws(OwnerClientError) -> OwnerAnswer {
    do {
      return try await onOwnThread { try exchangeNow(request) }
    } catch let error as OwnerClientError {
      throw error
    } catch {
      throw OwnerClientError(.refused, "\(error)")
    }
  }

  private func exchangeNow(_ request: OwnerRequest) throws -> OwnerAnswer {
    let socket = try connected()
    let deadline = ContinuousClock.now + patience
    // The result of `send` does not matter: a worker that refuses answers without reading the request.
    _ = socket.send(Array(try JSONEncoder().encode(request)) + [UInt8(ascii: "\n")], until: deadline)
    guard case .line(let line) = socket.line(atMost: Self.longestAnswer, until: deadline) else {
      throw OwnerClientError(.unreachable, "the worker at \(path) did not answer within \(patience.inWords)")
    }
    do {
      return try JSONDecoder().decode(OwnerAnswer.self, from: Data(line))
    } catch {
      throw OwnerClientError(
        .refused,
        "the answer of the worker at \(path) cannot be understood; it may be another version of baton-worker")
    }
  }

  private static let longestAnswer = 64 << 20

  private func connected() throws(OwnerClientError) -> UnixSocket {
    guard path.utf8.count <= UnixSocket.longestPath else {
      throw OwnerClientError(
        .unreachable,
        "the socket's path is too long: \(path.utf8.count) bytes, at most \(UnixSocket.longestPath) are possible: "
          + "\(path)"
      )
    }
    guard let socket = UnixSocket.make() else {
      throw OwnerClientError(.unreachable, "cannot make a socket: \(SystemCall.explanation(of: errno))")
    }
    switch socket.connect(to: path) {
    case 0: return socket
    case EACCES, EPERM:
      throw OwnerClientError(
        .notPermitted,
        "this user may not ask the worker at \(path): only root, the worker's user and members of the "
          + "group '\(OwnerAccess.groupName)' may")
    case let code:
      throw OwnerClientError(.unreachable, "no worker answers at \(path): \(SystemCall.explanation(of: code))")
    }
  }
}

/// Why an owner's command failed.
package struct OwnerClientError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// No worker listens on the socket, or the worker does not answer.
    case unreachable
    case notPermitted
    /// The worker refused the command, or its answer was not understood.
    case refused
  }

  package let code: Code
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
