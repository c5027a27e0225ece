import BatonModel

/// How a handler ended, before the core says what that comes to.
struct HandlerEnd: Sendable {
  var outcome: LaunchOutcome
  var isGraceful = true
  var failure: Failure?
}

/// What a launch failed with.
struct Failure: Sendable {
  /// `error.type`: of few values, so that failures can be counted by it. Never the message.
  var type: String
  var text: String
  /// What was thrown, if something was.
  var error: (any Error)?

  init(type: String, text: String, error: (any Error)? = nil) {
    (self.type, self.text, self.error) = (type.prefix(bytes: Self.maximumTypeBytes), text, error)
  }

  init(_ error: any Error) {
    let text = String(describing: error).prefix(bytes: LaunchOutcome.maximumErrorBytes)
    self.init(type: Self.type(of: error), text: text, error: error)
  }

  static let maximumTypeBytes = 255
  /// Where nobody knows (https://opentelemetry.io/docs/specs/semconv/registry/attributes/error).
  static let other = "_OTHER"
  /// A refresh that says that it failed did, as if it had thrown; the store writes the same.
  static let refresh = Failure(type: "refreshFailed", text: "the refresh reported that it failed")

  /// `exit 3`, `signal SIGSEGV` or another code for a command; for a handler the type of what it threw, without its
  /// module: for a private one Swift would put an address there.
  private static func type(of error: any Error) -> String {
    if let error = error as? CommandError { return error.type }
    return String(describing: Swift.type(of: error))
  }
}
