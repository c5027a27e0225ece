/// An error of BatonTestKit. `code` says which error it is; `message` says what happened and what to do about it.
///
/// The kit reports every problem by throwing this error, so a test that lets it pass fails with the message, in Swift
/// Testing and in XCTest. Errors that the handler throws are not among them: they are in `TestLaunch.outcome` and
/// `TestLaunch.error`.
public struct TestKitError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error. Later versions may add some.
  public struct Code: Hashable, Sendable {
    private let name: String
    private init(_ name: String) { self.name = name }

    /// A coordinator would refuse the request because of its identifier, pattern, payload, or one of its durations. The
    /// first launch throws this error.
    public static let invalidRequest = Code("invalidRequest")
    /// The request cannot be launched, because a launch of it is running or because it has ended.
    public static let notLaunchable = Code("notLaunchable")
    /// The launch ended before the point at which it was to be interrupted.
    public static let interruptionNotReached = Code("interruptionNotReached")
    /// The request failed or was cancelled, or it had not ended when the body of a check returned.
    public static let notCompleted = Code("notCompleted")
    /// The handler or the request would never end, or a check got too many batches. The kit gives up after 1,000
    /// launches of a request, 100,000 batches of a launch, 1,000 refused checkpoints, 10,000 sleeps after an expiry, or
    /// 200 batches in `TestRequest.checkEveryInterruption`.
    public static let endless = Code("endless")
    /// The request has transfers, or its handler has added some, and it was made without a `TestServer`.
    public static let noServer = Code("noServer")
    /// `TestRequest.checkEveryInterruption` found interruptions that change the result of the work. The message lists
    /// the first ten.
    public static let interruptionsMatter = Code("interruptionsMatter")
  }

  /// Which error it is.
  public let code: Code
  /// Describes the error for people. Its text may change; compare `code` instead.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }
}
