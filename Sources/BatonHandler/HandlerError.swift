/// What the runtime tells a handler that it cannot do.
public struct HandlerError: Error, Sendable, CustomStringConvertible {
  public struct Code: Hashable, Sendable {
    private let name: String
    private init(_ name: String) { self.name = name }

    /// Another launch of the request is live: this one can save nothing any more.
    public static let superseded = Code("superseded")
    /// The store does not take the checkpoint; the message says why.
    public static let checkpointRefused = Code("checkpointRefused")
    /// The last checkpoint was saved with another version number.
    public static let otherVersion = Code("otherVersion")
    public static let noPayload = Code("noPayload")
  }

  public let code: Code
  public let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
