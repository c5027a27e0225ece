import BatonHost
package import BatonModel
import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The side of a command: it submits through the socket of its launch, whose path the variable `variable` has.
package struct SubmissionSocketClient: Sendable {
  /// The environment variable with the path of the socket. A command of a definition with `maySubmit` has it.
  package static let variable = "BATON_SUBMIT_SOCKET"

  private let path: String

  package init(path: String) { self.path = path }

  /// Submits a request, and returns the answer. The worker may wait long for its coordinator, and so does this.
  /// - Parameter name: see `SubmissionRequest.name`.
  /// - Throws: `SystemError` if the launch is over.
  package func submit(_ submission: LaunchSubmission, name: String?) async throws -> SubmissionReply {
    guard let line = try? JSONEncoder().encode(SubmissionRequest(submission, name: name)) else {
      preconditionFailure("a submission cannot be written as JSON: \(submission)")
    }
    return try await onOwnThreadUntilCancelled { [path] in try Self.ask(Array(line) + [UInt8(ascii: "\n")], path) }
  }

  private static func ask(_ line: [UInt8], _ path: String) throws -> SubmissionReply {
    guard let socket = UnixSocket.make() else { throw SystemCall.failure("cannot make a socket for", path) }
    let problem = try socket.connect(toLong: path)
    guard problem == 0 else {
      throw SystemError(
        .failed,
        "cannot reach the worker of this launch at \(path): \(SystemCall.explanation(of: problem)). Only a command that "
          + "a worker runs can submit here, and only while its launch runs", cause: problem)
    }
    guard socket.send(line, until: .now + .seconds(30)),
      case .line(let answer) = socket.line(atMost: SubmissionReply.maximumBytes, until: .now + .seconds(86_400)),
      let reply = try? JSONDecoder().decode(SubmissionReply.self, from: Data(answer))
    else { throw SystemError(.failed, "the worker of this launch gave no answer: the launch is over") }
    return reply
  }
}
