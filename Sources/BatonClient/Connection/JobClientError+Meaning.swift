import BatonIdentity
import BatonModel
import BatonWire
import GRPCCore

extension JobClientError {
  /// What an error of a call or of the connection means for the caller.
  /// - Returns: a `JobClientError`, or `CancellationError` if the caller's task was cancelled.
  static func meaning(of error: any Error, at endpoint: HostPort) -> any Error {
    switch error {
    case let error as JobClientError: error
    case let error as CancellationError: error
    case let error as RPCError: meaning(of: error, at: endpoint)
    case let error as LinkError: JobClientError(error.code == .notPermitted ? .notPermitted : .unreachable, "\(error)")
    case let error as TokenFileError: JobClientError(.notPermitted, "\(error)")
    case let error as IdentityError: JobClientError(.notPermitted, "\(error)")
    case let error as WireError: JobClientError(.unexpectedAnswer, error.message)
    // The client of gRPC has stopped, because its connection has ended.
    case is RuntimeError: JobClientError(.unreachable, "the connection to the coordinator at \(endpoint) has ended")
    default: JobClientError(.unexpectedAnswer, "the coordinator at \(endpoint) failed: \(error)")
    }
  }

  private static func meaning(of error: RPCError, at endpoint: HostPort) -> any Error {
    let text = error.message
    switch error.metadata[stringValues: ErrorMetadata.code].first(where: { _ in true }) {
    case "notFound": return JobClientError(.notFound, text)
    case "conflict": return JobClientError(.conflict, text)
    case "invalid": return JobClientError(.invalid, text)
    case "notPermitted": return JobClientError(.notPermitted, text)
    case "unknown": return JobClientError(.unknownOutcome, text)
    case "unavailable": return JobClientError(.unavailable, text)
    case "overloaded":
      let pause = error.metadata[stringValues: ErrorMetadata.retry].first { _ in true }.flatMap { Int64($0) }
      return JobClientError(.overloaded, text, retryAfter: .milliseconds(pause ?? 1000))
    default: break
    }
    switch error.code {
    case .cancelled where Task.isCancelled: return CancellationError()
    case .unauthenticated, .permissionDenied:
      return JobClientError(.notPermitted, "the coordinator at \(endpoint) does not let this client in: \(text)")
    case .unavailable, .cancelled:
      return JobClientError(.unreachable, "the connection to the coordinator at \(endpoint) has ended: \(text)")
    case .deadlineExceeded:
      return JobClientError(.unreachable, "the coordinator at \(endpoint) does not answer: \(text)")
    case .resourceExhausted: return JobClientError(.overloaded, text, retryAfter: .seconds(1))
    default:
      return JobClientError(.unexpectedAnswer, "the coordinator at \(endpoint) failed: \(text) (\(error.code))")
    }
  }

  /// Why a submission was refused: one of Apple's four codes.
  init(refusal code: String, _ message: String) {
    let known: Code =
      switch Refusal.Kind(rawValue: code) {
      case .notPermitted?: .notPermitted
      case .tooManyPendingTaskRequests?: .tooManyPending
      case .immediateRunIneligible?: .immediateRunIneligible
      case .unavailable?: .unavailable
      case nil: .conflict
      }
    self.init(known, message)
  }

  /// Whether another attempt, perhaps at another coordinator, may succeed.
  var isOfConnection: Bool { code == .unreachable || code == .unavailable }
}
