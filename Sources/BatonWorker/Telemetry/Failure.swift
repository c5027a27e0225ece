import BatonModel
import BatonProcess

/// What a launch failed with.
struct Failure: Sendable {
  /// The value of `error.type`. It has few different values, so that failures can be counted by it, and it never
  /// contains the message.
  var type: String
  var text: String
  /// The error that was thrown, if there was one.
  var error: (any Error)?

  init(type: String, text: String, error: (any Error)? = nil) {
    (self.type, self.text, self.error) = (type.prefix(bytes: Self.maximumTypeBytes), text, error)
  }

  init(_ error: any Error) {
    let text = String(describing: error).prefix(bytes: LaunchOutcome.maximumErrorBytes)
    self.init(type: Self.type(of: error), text: text, error: error)
  }

  static let maximumTypeBytes = 255
  /// The type of a failure whose type is not known
  /// (https://opentelemetry.io/docs/specs/semconv/registry/attributes/error).
  static let other = "_OTHER"
  /// A refresh that reported its own failure counts as if it had thrown an error. The store writes the same type.
  static let refresh = Failure(type: "refreshFailed", text: "the refresh reported that it failed")

  /// The type of an error. For a command it is `exit 3`, `signal SIGSEGV` or another code. For a handler it is the type
  /// of the thrown error without its module, because with the module Swift would include an address for a private type.
  private static func type(of error: any Error) -> String {
    if let error = error as? CommandError { return error.type }
    if error is SystemError { return CommandError.Code.host.name }
    return String(describing: Swift.type(of: error))
  }
}
