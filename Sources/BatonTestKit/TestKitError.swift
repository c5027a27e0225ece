/// What a test asked for and did not get. The message says what happened and what to do about it.
public struct TestKitError: Error, Sendable, CustomStringConvertible {
  public struct Code: Hashable, Sendable {
    private let name: String
    private init(_ name: String) { self.name = name }

    /// The request cannot be made: an identifier, pattern or payload that the coordinator would not take.
    public static let invalidRequest = Code("invalidRequest")
    /// The request is running, or has ended.
    public static let notLaunchable = Code("notLaunchable")
    /// The launch ended before the point at which it was to be interrupted.
    public static let interruptionNotReached = Code("interruptionNotReached")
    /// The request did not succeed.
    public static let notCompleted = Code("notCompleted")
    /// A handler or a request that does not come to an end.
    public static let endless = Code("endless")
    /// The work does not come out the same when it is interrupted.
    public static let interruptionsMatter = Code("interruptionsMatter")
  }

  public let code: Code
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
