import BatonModel
import BatonStore
package import BatonWire
import GRPCCore

/// Runs `body` and translates its errors to gRPC statuses. `RPCError.meaning(at:)` translates them back on the client.
func answering<Result>(_ body: () async throws -> Result) async throws -> Result {
  do {
    return try await body()
  } catch let error as OperatorError {
    throw RPCError(error)
  } catch let error as WireError {
    throw RPCError(code: .invalidArgument, message: error.message, metadata: [ErrorMetadata.code: "invalid"])
  } catch let error as StoreError where error.code == .unknown {
    throw RPCError(OperatorError.unknown(error.message))
  } catch let error as StoreError where error.code == .overloaded {
    throw RPCError(OperatorError.overloaded(error.message))
  } catch let error as StoreError {
    throw RPCError(OperatorError.refused(.unavailable(error.message)))
  } catch let error as DefinitionProblem {
    throw RPCError(OperatorError.invalid(error.description))
  }
}

extension RPCError {
  init(_ error: OperatorError) {
    switch error {
    case .notFound(let text): self.init(code: .notFound, message: text, metadata: [ErrorMetadata.code: "notFound"])
    case .conflict(let text):
      self.init(code: .failedPrecondition, message: text, metadata: [ErrorMetadata.code: "conflict"])
    case .invalid(let text): self.init(code: .invalidArgument, message: text, metadata: [ErrorMetadata.code: "invalid"])
    case .notPermitted(let text):
      self.init(code: .permissionDenied, message: text, metadata: [ErrorMetadata.code: "notPermitted"])
    case .unknown(let text): self.init(code: .unknown, message: text, metadata: [ErrorMetadata.code: "unknown"])
    case .overloaded(let text, let pause):
      self.init(
        code: .resourceExhausted, message: text,
        metadata: [ErrorMetadata.code: "overloaded", ErrorMetadata.retry: "\(pause.nanoseconds / 1_000_000)"])
    case .refused(.unavailable(let why)):
      self.init(code: .unavailable, message: why, metadata: [ErrorMetadata.code: "unavailable"])
    case .refused(let refusal):
      self.init(code: .resourceExhausted, message: refusal.message, metadata: [ErrorMetadata.code: "conflict"])
    }
  }
}

extension RPCError {
  /// The error that the server translated to this status, for the client at `endpoint`.
  func meaning(at endpoint: HostPort) -> any Error {
    switch metadata[stringValues: ErrorMetadata.code].first(where: { _ in true }) {
    case "notFound": return OperatorError.notFound(message)
    case "conflict": return OperatorError.conflict(message)
    case "invalid": return OperatorError.invalid(message)
    case "notPermitted": return OperatorError.notPermitted(message)
    case "unknown": return OperatorError.unknown(message)
    case "overloaded":
      return OperatorError.overloaded(message, retryAfter: pause ?? .seconds(1))
    case "unavailable": return OperatorError.refused(.unavailable(message))
    default: break
    }
    switch code {
    case .unauthenticated:
      return CoordinatorUnreachable(
        "the coordinator at \(endpoint) does not let you in: \(message)", isNotPermitted: true)
    case .deadlineExceeded:
      return CoordinatorUnreachable(
        "the coordinator at \(endpoint) took the call and did not answer: \(message). It may stand still, or wait for "
          + "its store: baton doctor, on its machine, looks at both")
    case .unavailable:
      return CoordinatorUnreachable(
        "no coordinator answers at \(endpoint): start one (baton coordinator, or baton up), or name another with "
          + "--coordinator HOST:PORT")
    case .cancelled:
      return CancellationError()
    default:
      return CoordinatorUnreachable("the coordinator at \(endpoint) failed: \(message) (\(code))")
    }
  }
}

extension CoordinatorUnreachable {
  package init(_ error: LinkError) {
    self.init(error.description, isNotPermitted: error.code == .notPermitted)
  }
}

extension RPCError {
  /// The code of the `OperatorError` that was translated to this status; `nil` if the status is none.
  var meaningCode: String? { metadata[stringValues: ErrorMetadata.code].first { _ in true } }

  /// How long the caller should wait before it repeats the call; `nil` if the server has not said it.
  var pause: Duration? {
    metadata[stringValues: ErrorMetadata.retry].first { _ in true }.flatMap { Int64($0) }.map { .milliseconds($0) }
  }
}
