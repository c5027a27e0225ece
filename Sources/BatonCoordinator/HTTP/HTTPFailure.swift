import GRPCCore

/// Why a call over HTTP was not carried out. The codes are those of gRPC and of the command line.
package struct HTTPFailure: Error, Hashable, Sendable {
  /// The status of HTTP, 400 to 599.
  package var status: Int
  /// One word for programs.
  package var code: String
  /// What happened, where, and what to do about it.
  package var message: String
  /// How long the caller should wait before it repeats the call; `nil` if a repetition does not help by itself.
  package var retryAfter: Duration?

  package init(_ status: Int, _ code: String, _ message: String, retryAfter: Duration? = nil) {
    (self.status, self.code, self.message, self.retryAfter) = (status, code, message, retryAfter)
  }
}

extension HTTPFailure {
  /// How long a caller should wait for a coordinator that takes nothing now. It is shutting down, paused or without
  /// room, which lasts longer than a full queue.
  package static let unavailableFor = Duration.seconds(5)

  /// The same failure as gRPC tells it.
  init(_ error: RPCError) {
    let status: Int =
      switch error.code {
      case .unauthenticated: 401
      case .permissionDenied: 403
      case .notFound: 404
      case .invalidArgument: 400
      case .failedPrecondition: 409
      case .resourceExhausted: 429
      case .unknown: 500
      default: 503
      }
    let retryAfter: Duration? =
      switch status {
      case 429: error.pause ?? .seconds(1)
      case 503: Self.unavailableFor
      default: nil
      }
    self.init(status, error.meaningCode ?? "notPermitted", error.message, retryAfter: retryAfter)
  }
}
