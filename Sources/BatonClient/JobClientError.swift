/// Why a call of `JobClient` did not do what it was asked for. `code` says which error it is; `message` describes it
/// for people, with what to do about it.
///
/// ```swift
/// do {
///   try await client.submit("com.example.import.orders")
/// } catch let error as JobClientError where error.code == .tooManyPending {
///   try await Task.sleep(for: error.retryAfter ?? .seconds(30))
/// }
/// ```
///
/// The sample is from `Examples/Client/ImportClient.swift`.
public struct JobClientError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error. Later versions may add some.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, such as `notFound`, for logs.
    public let rawValue: String
    /// The name of the code.
    public var description: String { rawValue }
    private init(_ rawValue: String) { self.rawValue = rawValue }

    /// No coordinator answers. Start one, or correct the address.
    public static let unreachable = Code("unreachable")
    /// The coordinator does not let this client in, its credential does not permit the call, or no definition is
    /// applied for the submitted identifier. The message says which.
    public static let notPermitted = Code("notPermitted")
    /// There is no such request.
    public static let notFound = Code("notFound")
    /// The call is not possible in the present state of the request.
    public static let conflict = Code("conflict")
    /// An argument is wrong, such as an identifier or a payload of more than 64 KiB. Trying again does not help.
    public static let invalid = Code("invalid")
    /// As many requests are pending as the coordinator's limits allow. Submit later.
    public static let tooManyPending = Code("tooManyPending")
    /// The job's `strategy` is `fail`, and no host could start it at once. Nothing was submitted.
    public static let immediateRunIneligible = Code("immediateRunIneligible")
    /// The coordinator takes nothing at present, because its store is out of reach or it shuts down.
    public static let unavailable = Code("unavailable")
    /// The coordinator has too much to do, or this client has asked too much. Nothing was changed; `retryAfter` says
    /// when to repeat the call.
    public static let overloaded = Code("overloaded")
    /// It is not known whether the change was made, because the coordinator's disk failed. Repeat a submission with the
    /// same id: it is then accepted once.
    public static let unknownOutcome = Code("unknownOutcome")
    /// A wait took as long as its caller allowed. The request goes on.
    public static let timedOut = Code("timedOut")
    /// The client was closed.
    public static let closed = Code("closed")
    /// The coordinator answered what this version does not understand. Use a client of the coordinator's version.
    public static let unexpectedAnswer = Code("unexpectedAnswer")
  }

  /// Which error it is.
  public let code: Code
  /// Describes the error for people. Its text may change; compare `code` instead.
  public let message: String
  /// How long to wait before the call is repeated, if the coordinator has said it.
  public let retryAfter: Duration?

  init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
    (self.code, self.message, self.retryAfter) = (code, message, retryAfter)
  }

  /// The message.
  public var description: String { message }
}
