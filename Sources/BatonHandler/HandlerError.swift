/// An error of the API for handlers. `code` says which error it is; `message` describes it for people.
///
/// A handler does not need to catch it. If the handler lets it pass, the launch ends as it should: a launch that gets
/// `superseded` has been stopped anyway, and with the other codes the launch fails with `message`, unless it was asked
/// to stop before.
public struct HandlerError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error. Later versions may add some.
  public struct Code: Hashable, Sendable {
    private let name: String
    private init(_ name: String) { self.name = name }

    /// This launch can save nothing more, because another launch of the request is live or because this launch is over.
    /// Stop at once: the work of this launch no longer counts, and another host may be doing it.
    public static let superseded = Code("superseded")
    /// The checkpoint was refused, and nothing was saved; the message says why. The launch goes on, so the handler may
    /// save another checkpoint. A cursor of more than 1 MiB is refused with this code.
    public static let checkpointRefused = Code("checkpointRefused")
    /// The last checkpoint was saved with another version number than the one that the handler reads.
    public static let otherVersion = Code("otherVersion")
    /// The handler asked for the payload of a request that was submitted without one.
    public static let noPayload = Code("noPayload")
    /// The handler added a transfer that no host could carry out; the message says why.
    public static let badTransfer = Code("badTransfer")
    /// The handler gave a result that is no JSON, or has more than 64 KiB; the message says which.
    public static let badResult = Code("badResult")
    /// What `JobTask.submit` asked for was refused, and nothing was submitted; `refusal` and the message say why. The
    /// launch goes on.
    public static let submissionRefused = Code("submissionRefused")
  }

  /// Which error it is.
  public let code: Code
  /// Describes the error for people. Its text may change; compare `code` instead.
  public let message: String
  /// Why a submission was refused; `nil` for every other error.
  public let refusal: SubmissionRefusal?

  package init(_ code: Code, _ message: String, refusal: SubmissionRefusal? = nil) {
    self.code = code
    self.message = message
    self.refusal = refusal
  }

  /// The message.
  public var description: String { message }
}

/// Why a submission was refused: Apple's four codes (BGTaskScheduler.Error).
public enum SubmissionRefusal: String, Hashable, Sendable, CaseIterable {
  /// The identifier is not defined, or the definition of the launch does not name it in `maySubmit`.
  case notPermitted
  /// As many requests wait as the definition, its namespace or the coordinator allows. Some have to start first.
  case tooManyPendingTaskRequests
  /// The coordinator accepts nothing now, for example because the fleet is paused. Try again later.
  case unavailable
  /// The definition has `strategy: fail`, and nothing can start the request at once.
  case immediateRunIneligible
}
